// What the flit engine needs to know of a machine, in cycles and flits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::network::flit {

enum class Switching { Wormhole, CutThrough };
enum class Allocator { RoundRobin, Islip, Age };

struct Settings {
  unsigned channels = 2;          // of each message class
  unsigned message_classes = 1;
  unsigned buffer_flits = 16;     // of each channel of an input port, its own
  unsigned shared_flits = 0;      // of each input port, for any of its channels (DAMQ)
  Switching switching = Switching::CutThrough;
  Allocator allocator = Allocator::Islip;
  unsigned iterations = 1;

  // A head that arrives in cycle c asks for a channel in c + route, for the switch `allocate` later, and is on the cable
  // `traverse` after it won the switch. Their sum is the router's latency.
  unsigned route_cycles = 1, allocate_cycles = 1, traverse_cycles = 2;
  unsigned endpoint_cycles = 1;                 // between an endpoint and its router
  std::vector<std::uint16_t> cable_cycles;      // by cable
  std::vector<std::uint16_t> cable_interval;    // by cable: 1/256 cycles per flit
  unsigned smallest_packet_flits = 1;           // bounds how many packets a buffer can hold
  unsigned threads = 1;
  std::uint64_t seed = 1;

  unsigned all_channels() const { return channels * message_classes; }
};

}  // namespace weft::network::flit
