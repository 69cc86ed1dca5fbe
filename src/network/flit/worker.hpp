// A thread's share of the network: a run of tiles, the endpoints on them, and its own counters.
#pragma once

#include <optional>
#include <vector>

#include "network/cycle_engine.hpp"
#include "network/flit/fabric.hpp"
#include "network/flit/sources.hpp"
#include "network/flit/timers.hpp"

namespace weft::network::flit {

/// The ends of cables with a link layer that belong to a thread. An end sleeps until something arrives, it is
/// given a flit or a credit, or comes to the time it named itself.
struct AwakeEnds {
  explicit AwakeEnds(std::uint32_t ends) : timers(0, ends), marks(ends, Mark::kNo) {}
  void wake(EndNumber end) {
    if (marks[end] == Mark::kYes) return;
    marks[end] = Mark::kYes;
    awake.push_back(end);
  }
  void sleep_all() {
    for (EndNumber end : awake) marks[end] = Mark::kNo;
    awake.clear();
  }

  Timers timers;                 // by end
  std::vector<EndNumber> awake;  // in this cycle, each once
  std::vector<Mark> marks;       // by end: it is among them
};

struct Worker {
  Worker(unsigned number, const Share& of_network)
      : index(number),
        share(of_network),
        timers(of_network.endpoint_begin, of_network.endpoint_end - of_network.endpoint_begin) {}

  PacketId take_packet(PacketStore& packets) {
    if (free.empty()) packets.grow(free);
    PacketId id = free.back();
    free.pop_back();
    return id;
  }

  unsigned index;
  Share share;
  Timers timers;               // by endpoint
  std::vector<PacketId> free;  // packet numbers
  CycleCounters counters;
  std::uint64_t in_network = 0;   // flits injected here less flits delivered here; sums over workers
  std::uint64_t copied = 0;       // flits that routers have added by copying; the same
  std::optional<AwakeEnds> ends;  // with a link layer
  Traffic* traffic = nullptr;     // of the run under way,
  Observer* observer = nullptr;   // and who hears of it
};

}  // namespace weft::network::flit
