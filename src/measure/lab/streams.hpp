// Long transfers between pairs of endpoints, all at once, over the network alone.
#pragma once

#include <string>
#include <vector>

#include "network/network.hpp"

namespace weft::measure::lab {

struct Stream {
  network::EndpointId from, to;
};

struct StreamSetup {
  std::string engine = "flit";
  std::uint64_t packet = 288;  // bytes, header included
  unsigned packets = 512;      // of each stream
  unsigned window = 16;        // packets a source has handed over and that have not left
  std::uint64_t seed = 1;
};

/// What each stream got while it lasted, in bytes each second. As in a benchmark that every pair runs by
/// itself, streams that are done leave the network to the others.
std::vector<double> stream_rates(const machine::Machine& machine, const std::vector<Stream>& streams,
                                 const StreamSetup& setup);

/// All endpoints in pairs drawn at random, each pair in both directions.
std::vector<Stream> random_pairs(const machine::Machine& machine, std::uint64_t seed);

}  // namespace weft::measure::lab
