// The benchmarks the papers used, on the interfaces of a machine: ping-pong, rates and bandwidths with one or
// more pairs of processes, random updates, an exchange with neighbours.
#pragma once

#include <string>
#include <vector>

#include "machine/machine.hpp"

namespace weft::measure::lab {

/// Pairs of nodes, which engine is between them, and how the experiment is dimensioned.
struct PairSetup {
  using Node = topology::EndpointId;
  std::vector<std::pair<Node, Node>> nodes = {{0, 1}};
  std::string engine = "ideal";
  unsigned pairs = 1;                 // of processes on each pair of nodes
  bool memory_queue = false;          // descriptors are fetched after a doorbell
  bool both_ways = false;             // each process of a pair sends and receives
  unsigned window = 64;               // messages sent before an answer is waited for
  std::uint64_t volume = 512 * 1024;  // bytes each pair sends, about; at least four bursts of two messages
};

/// Half a round trip of `bytes` in the interface's own operation: put (TH Express-2), or small messages.
double put_latency_ns(const machine::Machine& machine, const PairSetup& setup, std::uint64_t bytes);
double message_latency_ns(const machine::Machine& machine, const PairSetup& setup, std::uint64_t bytes);

/// Half a round trip between processes that use a message-passing library, averaged over the pairs.
double library_latency_ns(const machine::Machine& machine, const PairSetup& setup, std::uint64_t bytes);

/// Messages each second over all pairs, and both directions, with a message-passing library.
double message_rate(const machine::Machine& machine, const PairSetup& setup, std::uint64_t bytes);

/// Bytes of wire, header and gap included, that a library message of `bytes` takes.
std::uint64_t wire_bytes(const machine::Machine& machine, std::uint64_t bytes);

/// A program over all processes of a cluster.
struct ApplicationResult {
  double seconds = 0;        // of virtual time, for all of it or the part that was measured
  double work = 0;           // updates or floating-point operations in that time
  double library_share = 0;  // of the time, spent in the message-passing library
  double per_second() const { return work / seconds; }
};

/// HPCC RandomAccess; workload_file.hpp has its values.
struct RandomUpdates {
  unsigned nodes = 0, per_node = 0;
  std::uint64_t updates = 0;  // of each process
  unsigned pending = 0;       // updates a process holds back
  Time compute{0};            // a process's own time for an update, at the processor's nominal clock
  std::string engine = "flit";
  std::uint64_t seed = 1;
};
ApplicationResult random_updates(const machine::Machine& machine, const RandomUpdates& how);

/// A weather model's exchange on a grid of two dimensions.
struct HaloExchange {
  unsigned nodes = 0, per_node = 0;
  unsigned steps = 0;
  DataSize bytes{0};  // to each of four neighbours in a step
  Time compute{0};    // of a process in a step, at the processor's nominal clock
  double gflops = 0;  // of a process while it computes
  std::string engine = "flit";
};
ApplicationResult halo_exchange(const machine::Machine& machine, const HaloExchange& how);

}  // namespace weft::measure::lab
