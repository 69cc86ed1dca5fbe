// The clock: windows of cycles, and when the next one begins. The same on the host and on the device.
//
// The flit engine runs its tiles for a window of cycles at a time and jumps over cycles in which nothing
// happens. Neither shows in a router, but in the sources: what they make in a window is queued, or refused,
// at its beginning. So windows must be the same here.
#pragma once

#include "network/gpu/network.hpp"

namespace weft::network::gpu {

/// How far to go without the host.
struct Span {
  u64 until = 0;       // the end of the run
  u64 made_to = 0;     // what sources make is known up to here
  u64 patience = 0;    // cycles in which nothing moves before the host has a look
  u64 pause_at = 0;    // the same, at the first window that ends there or later
  bool fresh = false;  // what sources make has been handed in anew
};

/// What is handed in begins a little before the end of what was handed in last, as the host did not know how
/// far the network would come: what has been made already is passed over.
template <class Net>
WEFT_DEVICE void begin_segment(const Net& n, u64 now, u32 endpoint) {
  u32 next = n.made_begin[endpoint];
  const u32 end = n.made_end[endpoint];
  while (next < end && static_cast<std::int32_t>(n.made[next].cycle - static_cast<u32>(now)) < 0) ++next;
  n.next_made[endpoint] = next;
}

/// The first cycle from `from` to before `to` in which something happens, or else `to`.
WEFT_DEVICE u64 next_work(const Network& n, u64 from, u64 to) {
  for (u64 c = from; c < to;) {
    const bool may_arrive = c <= from + n.slot_mask;
    if (may_arrive && n.activity[c & n.slot_mask] == static_cast<u32>(c)) return c;
    const u64 bit = c - n.due_from;
    const u32 word = n.due[bit / 32];
    if (word >> (bit & 31) & 1) return c;
    c += !may_arrive && (bit & 31) == 0 && word == 0 ? 32 : 1;
  }
  return to;
}

/// The next window, or false where the host must be asked first. `begin` and `known` as in Control.
WEFT_DEVICE bool next_window(const Network& n, const Span& span, u64& begin, bool& known, u64& end) {
  if (begin >= span.until) return false;
  if (!known) {
    begin = next_work(n, begin, span.made_to);
    if (begin == span.made_to) return false;
    known = true;
  }
  end = least(begin + n.window, span.until);
  return end <= span.made_to;
}

/// Whether the host must look at a network that has come to the end of a window.
WEFT_DEVICE bool host_must_look(const Network& n, const Span& span, u64 now) {
  return now >= span.until || now >= span.pause_at || now - n.control->moved_at > span.patience;
}

WEFT_DEVICE void set_cycle(const Network& n, Moment& t, u64 now, u64 begin, u64 end) {
  t.now = now;
  t.soon >>= 1;
  t.coin = (now ^ n.seed << 48) * kMixer;
  t.window_begins = now == begin;
  t.window_end = end;
}

/// What threads have noted in a window, at its end: a flit has moved in it, and when something happens next.
WEFT_DEVICE void end_window(const Network& n, const Moment& t, bool moved, u64 soon) {
  if (moved) n.control->moved_at = t.window_end;
  for (u64 cycle = t.now + 1, later = soon >> 1; later; ++cycle, later >>= 1)
    if (later & 1) n.wake(cycle);
}

}  // namespace weft::network::gpu
