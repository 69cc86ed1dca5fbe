// Benchmarks between accelerators of two nodes: memory of devices read and written by the interfaces
// themselves, or staged through the processors' memory.
#pragma once

#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "measure/lab/workload_file.hpp"

namespace weft::measure::lab {

struct DevicePair {
  std::string device = "gpu";
  bool from_device = true, to_device = true;  // else memory of the processor is sent, or received in
  std::uint32_t first = 0, second = 1;        // nodes
  std::string engine = "ideal";
};

/// Half a round trip of a put. Memory that interfaces do not reach is copied to the processor's before it is
/// sent, and from there after it has come.
double device_put_latency_ns(const machine::Machine& machine, const DevicePair& pair, std::uint64_t bytes);
/// The same with the messages of a library, which knows the processor's memory alone: always staged.
double device_library_latency_ns(const machine::Machine& machine, const DevicePair& pair,
                                 std::uint64_t bytes);
/// Bytes a second of puts in a row, four of them under way. Where they are staged, copies overlap with puts.
double device_put_bandwidth(const machine::Machine& machine, const DevicePair& pair, std::uint64_t bytes);

/// Two ranks of MPI and the memory their buffers lie in. Without a device that is the memory of the processor
/// that runs them, be it an accelerator's own; with one, every message is copied from its memory to the
/// processor's before it is sent, and to the other's after it has come.
struct RankPair {
  std::string device = {};
  std::string engine = "ideal";
};
/// Time of a program's messages in a step, on average.
double exchange_step_ns(const machine::Machine& machine, const RankPair& pair, const AtomExchange& how);
/// Bytes a second of one message at a time, there and back, and of 64 in a row.
double rank_ping_pong_bandwidth(const machine::Machine& machine, const RankPair& pair, std::uint64_t bytes);
double rank_stream_bandwidth(const machine::Machine& machine, const RankPair& pair, std::uint64_t bytes);

/// Picoseconds that an accelerator takes for forces between atoms of a crystal, over 1, 2, ... of its blocks,
/// and the pairs it has computed each time. The forces are real; atoms in the middle of the crystal must feel
/// none.
struct ForceTimes {
  double pairs = 0;
  std::vector<double> picoseconds;  // over one block more each
  double force_in_the_middle = 0;
};
ForceTimes force_times(const machine::Machine& machine, const std::string& device, unsigned neighbours);

}  // namespace weft::measure::lab
