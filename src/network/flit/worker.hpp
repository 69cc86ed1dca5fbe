// A thread's share of the engine: a run of tiles, the endpoints on them, and its own counters.
#pragma once

#include <algorithm>
#include <vector>

#include "network/flit/engine.hpp"

namespace weft::network::flit {

/// Endpoints that want to be asked for a packet later, or ends of guarded cables that want to speak: a ring
/// of lists, by the low bits of the cycle. Each is in it at most once.
class Timers {
 public:
  explicit Timers(std::uint32_t first_endpoint, std::uint32_t endpoints)
      : first_(first_endpoint), list_(kSlots, kEnd), timers_(endpoints, {kNever, kEnd}) {}

  void set(EndpointId e, Cycle when) {
    if (when == kNever) return;
    std::uint32_t i = e - first_;
    if (timers_[i].when != kNever) {
      if (timers_[i].when <= when) return;
      remove(i);
    }
    timers_[i] = {when, list_[when % kSlots]};
    list_[when % kSlots] = i;
    ++pending_;
  }

  /// Calls due(endpoint) for everyone whose time has come; those of later rounds stay.
  template <class Due>
  void fire(Cycle now, Due due) {
    std::uint32_t i = list_[now % kSlots];
    if (i == kEnd) return;
    list_[now % kSlots] = kEnd;
    while (i != kEnd) {
      Timer& timer = timers_[i];
      std::uint32_t after = timer.next;
      if (timer.when == now) {
        --pending_;
        timer.when = kNever;
        due(first_ + i);
      } else {
        timer.next = list_[now % kSlots];
        list_[now % kSlots] = i;
      }
      i = after;
    }
  }

  bool any() const { return pending_ > 0; }
  /// The first cycle from `from` to before `bound` in which someone is due, or else `bound`.
  Cycle next_due(Cycle from, Cycle bound) const {
    if (pending_ == 0) return bound;
    for (Cycle c = from; c < bound && c < from + kSlots; ++c) {
      for (std::uint32_t i = list_[c % kSlots]; i != kEnd; i = timers_[i].next)
        bound = std::min(bound, timers_[i].when);
    }
    return bound;
  }

 private:
  struct Timer {
    Cycle when;  // kNever: not set
    std::uint32_t next;
  };
  void remove(std::uint32_t i) {
    std::uint32_t* at = &list_[timers_[i].when % kSlots];
    while (*at != i) at = &timers_[*at].next;
    *at = timers_[i].next;
    --pending_;
  }

  static constexpr std::uint32_t kSlots = 4096;
  std::uint32_t first_;
  std::vector<std::uint32_t> list_;
  LargeArray<Timer> timers_;
  std::uint64_t pending_ = 0;
};

/// The ends of guarded cables that belong to a thread. An end sleeps until it hears something, is given a
/// flit or a credit, or comes to the time it named itself.
struct Engine::Links {
  explicit Links(std::uint32_t ends) : timers(0, ends), marks(ends, Mark::kNo) {}
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

struct Engine::Worker {
  Worker(unsigned number, std::uint32_t first_tile, std::uint32_t last_tile, std::uint32_t first_endpoint,
         std::uint32_t last_endpoint)
      : index(number),
        tile_begin(first_tile),
        tile_end(last_tile),
        endpoint_begin(first_endpoint),
        endpoint_end(last_endpoint),
        timers(first_endpoint, last_endpoint - first_endpoint) {}

  PacketId take_packet(Engine& engine) {
    if (free.empty()) {
      std::lock_guard lock(engine.packets_guard_);
      engine.packets_.grow(free);
    }
    PacketId id = free.back();
    free.pop_back();
    return id;
  }

  unsigned index;
  std::uint32_t tile_begin, tile_end;
  std::uint32_t endpoint_begin, endpoint_end;
  Timers timers;
  std::vector<PacketId> free;
  static constexpr std::size_t kBatch = 256;  // more would push the network's state out of the caches
  std::vector<Creation> creations;            // scratch: sources that are due in a cycle
  std::vector<Delivery> deliveries;           // that the observer has not been told of
  Bag<PortNumber> outputs, inputs;            // scratch: ports touched by an allocation
  std::vector<std::uint8_t> matched;          // scratch, by port: sides that have a partner in this cycle,
  Bag<PortNumber> matched_ports;              // and the ports that have one; only with several rounds
  Counters counters;
  std::uint64_t in_network = 0;     // flits injected here less flits delivered here; sums over workers
  std::optional<Links> links = {};  // with a guard
};

}  // namespace weft::network::flit
