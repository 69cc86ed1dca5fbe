// Who has something to do in a later cycle.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "network/flit/state.hpp"

namespace weft::network::flit {

/// Endpoints whose traffic names a time for its next packet, or ends of cables whose link layer names a time
/// to send: a ring of lists, by the low bits of the cycle. Each is in it at most once.
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
    earliest_ = std::min(earliest_, when);
    timers_[i] = {when, list_[when % kSlots]};
    list_[when % kSlots] = i;
    ++pending_;
  }

  /// False: nobody is due in a cycle.
  bool may_fire(Cycle now) const { return list_[now % kSlots] != kEnd; }
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
  Cycle next_due(Cycle from, Cycle bound) {
    if (pending_ == 0 || earliest_ >= bound) return bound;
    from = std::max(from, earliest_);
    for (Cycle c = from; c < bound && c < from + kSlots; ++c) {
      for (std::uint32_t i = list_[c % kSlots]; i != kEnd; i = timers_[i].next)
        bound = std::min(bound, timers_[i].when);
    }
    return earliest_ = bound;
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
  Cycle earliest_ = 0;  // nobody is due before
};

}  // namespace weft::network::flit
