// A thread's share of the engine: a run of routers, when each has something to do, and its own counters.
#pragma once

#include <bit>
#include <vector>

#include "network/flit/engine.hpp"

namespace weft::network::flit {

/// Endpoints that want to be asked for a packet later: a ring of lists, by the low bits of the cycle.
class Timers {
 public:
  explicit Timers(std::uint32_t first_endpoint, std::uint32_t endpoints)
      : first_(first_endpoint), list_(kSlots, kEnd), next_(endpoints), when_(endpoints) {}

  void set(EndpointId e, Cycle when) {
    if (when == kNever) return;
    std::uint32_t i = e - first_;
    when_[i] = when;
    next_[i] = list_[when % kSlots];
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
      std::uint32_t after = next_[i];
      if (when_[i] == now) {
        --pending_;
        due(first_ + i);
      } else {
        next_[i] = list_[now % kSlots];
        list_[now % kSlots] = i;
      }
      i = after;
    }
  }

  /// The first cycle at or after `from` in which someone is due, or kNever.
  Cycle next_due(Cycle from) const {
    if (pending_ == 0) return kNever;
    Cycle best = kNever;
    for (Cycle c = from; c < from + kSlots; ++c) {
      for (std::uint32_t i = list_[c % kSlots]; i != kEnd; i = next_[i]) best = std::min(best, when_[i]);
      if (best == c) return c;
    }
    return best;
  }

 private:
  static constexpr std::uint32_t kSlots = 4096, kEnd = 0xffff'ffff;
  std::uint32_t first_;
  std::vector<std::uint32_t> list_, next_;
  std::vector<Cycle> when_;
  std::uint64_t pending_ = 0;
};

struct Engine::Worker {
  Worker(Engine& engine, unsigned thread, std::uint32_t first_router, std::uint32_t last_router,
         std::uint32_t first_endpoint, std::uint32_t last_endpoint)
      : index(thread),
        router_begin(first_router),
        router_end(last_router),
        endpoint_begin(first_endpoint),
        endpoint_end(last_endpoint),
        words((last_router - first_router + 63) / 64),
        timers(first_endpoint, last_endpoint - first_endpoint),
        awake(engine.settings_.threads) {
    for (auto& bits : awake) bits.assign(std::size_t{engine.links_.slots} * words, 0);
  }

  PacketId take_packet(Engine& engine) {
    if (free.empty()) {
      std::lock_guard lock(engine.packets_guard_);
      engine.packets_.grow(free);
    }
    PacketId id = free.back();
    free.pop_back();
    return id;
  }

  /// Any router of this worker to visit in a slot?
  bool any_awake(std::uint32_t slot) const {
    for (const auto& bits : awake)
      for (std::uint32_t w = 0; w < words; ++w)
        if (bits[std::size_t{slot} * words + w]) return true;
    return false;
  }

  unsigned index;
  std::uint32_t router_begin, router_end, endpoint_begin, endpoint_end;
  std::uint32_t words;
  Timers timers;
  /// [thread that wakes][slot * words + word]: each thread writes bits of its own, the owner reads them all.
  std::vector<std::vector<std::uint64_t>> awake;
  std::vector<std::uint32_t> visits;  // scratch: routers to visit in this cycle
  std::vector<PacketId> free;
  Counters counters;
  std::uint64_t in_network = 0;  // flits injected here less flits delivered here; sums over workers
};

}  // namespace weft::network::flit
