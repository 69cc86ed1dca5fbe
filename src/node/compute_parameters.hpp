// What a description says of a compute accelerator.
#pragma once

#include "base/quantity.hpp"
#include "config/schema.hpp"
#include "node/bus.hpp"
#include "node/kind.hpp"

namespace weft::node {

enum class DevicePath { Peer, Staged };
enum class DeviceSystem { None, Linux };

struct ComputeParameters {
  DataSize memory{std::int64_t{64} << 20};
  unsigned blocks = 8;
  double block_gflops = 1;
  DataRate block_bandwidth{0}, memory_bandwidth{80'000'000'000};
  Time launch{5'000'000};
  DataRate copy_rate{100'000'000'000};
  Time copy_startup{1'000'000};
  DataSize burst{4096};
  unsigned buffers = 16;
  unsigned queue_slots = 64;
  Time post{200'000};
  DevicePath path = DevicePath::Peer;
  DataRate peer_rate{0};
  DataSize peer_read_request{512};
  unsigned peer_reads = 32;
  Time peer_read_latency{600'000}, peer_write_latency{300'000};
  DeviceSystem os = DeviceSystem::None;

  PeerParameters peer() const {
    return {peer_rate, peer_read_request, peer_reads, peer_read_latency, peer_write_latency};
  }
};

config::Section compute_section();

/// Those of a device that runs an operating system of its own; null where it does not.
const ComputeParameters* with_own_system(const DeviceDescription& device);

}  // namespace weft::node
