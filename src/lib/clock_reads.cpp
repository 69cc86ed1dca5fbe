// A program's looks at its clock, which must see it move where it does nothing else.
#include <utility>

#include "lib/rank_thread.hpp"
#include "lib/spin.hpp"
#include "lib/timers.hpp"

namespace weft::lib {

using abi::Call;
using abi::Thread;

namespace {

thread_local unsigned clock_reads = 0;          // in a row
thread_local const void* clock_site = nullptr;  // of the last one
thread_local const void* site_for = nullptr;    // of the next one
thread_local bool worked = false;               // before the last one, for so long that it took time

constexpr unsigned kFreeClockReads = 1000;  // in a row, before they cost time

}  // namespace

void clock_was_not_read() { clock_reads = 0; }

void look_for(const void* site) { site_for = site; }

namespace {

/// What lies between a look at the clock from some place and the next one.
struct Way {
  const void* from = nullptr;
  bool is_work = false;
};
constexpr unsigned kWays = 16;
thread_local Way ways[kWays];
thread_local unsigned known_ways = 0;
thread_local bool counts = false;  // the way that has just begun

const Way* way_from(const void* site) {
  for (const Way& way : ways)
    if (way.from == site) return &way;
  return nullptr;
}

/// A program that looks at its clock again and again computes until it shows some time. Where it looks before
/// and after each piece of work, the way back to the first look is no work, and takes no time: it is a matter
/// of some hundred instructions. The way after each look is counted once.
bool passes_time(const void* site, unsigned counted) {
  constexpr unsigned kWork = 400;
  static_assert(kWork < kMostCounted);
  const void* from = std::exchange(clock_site, site);
  if (std::exchange(counts, false)) ways[known_ways++ % kWays] = {from, counted >= kWork};
  const Way* way = way_from(from);
  bool work = way && way->is_work;
  bool passes = work || !worked;
  worked = work;
  return passes;
}

/// Before the program goes on from there.
void begin_way(const void* site) {
  if (way_from(site)) return;
  end_counting();  // its first call takes longer
  counts = begin_counting();
}

}  // namespace

std::int64_t read_clock(Thread& l, const void* site) {
  const unsigned counted = counts ? end_counting() : 0;
  if (site_for) site = std::exchange(site_for, nullptr);
  if (is_blocked()) return now(l);
  unsigned reads = clock_reads;
  run()->clock_reads.store(run()->clock_reads.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (outside()) {
    if (reads < kFreeClockReads) ++clock_reads;
    return reads < kFreeClockReads ? now(l) : now(l) + real_time_outside();
  }
  enter(l);
  clock_reads = reads < kFreeClockReads ? reads + 1 : reads;
  if (reads >= kFreeClockReads) {
    if (passes_time(site, counted)) compute_for(l, 1'000'000);
    begin_way(site);
  }
  check_timers(l);
  if (now(l) > abi::kLastClock) [[unlikely]]  // nobody comes back from there
    ask(l, Call::Sleep, abi::kNoPort, now(l), abi::kNoRank);
  return now(l);
}

}  // namespace weft::lib
