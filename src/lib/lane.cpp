#include "lib/lane.hpp"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/places.hpp"
#include "lib/threads.hpp"

namespace weft::lib {

using host::Bell;
using host::Call;
using host::Header;
using host::Lane;
using host::LaneState;

namespace {

Header* header = nullptr;  // the segment, whoever owns it
Bell* bell = nullptr;
int own_pid = 0;
bool forked = false;
pthread_key_t thread_end;

// In a preloaded library these are set before main; -1 marks a thread that must not have a lane.
thread_local Lane* my_lane = nullptr;
thread_local unsigned empty_looks = 0;
thread_local unsigned clock_reads = 0;
thread_local std::int64_t quantum = 0;
thread_local std::int64_t computed_until = 0;
thread_local std::int64_t aside = 0;  // its last moment out of the way of others
thread_local unsigned outside_depth = 0;
thread_local std::int64_t outside_since = 0;

constexpr unsigned kFreeLooks = 3;          // that find nothing and cost no visit to the simulator
constexpr unsigned kFreeClockReads = 1000;  // in a row, before they cost time
constexpr std::int64_t kFirstQuantum = 1'000'000, kLastQuantum = 100'000'000'000;

long futex(std::atomic<std::uint32_t>* word, int operation, std::uint32_t value) {
  return syscall(SYS_futex, word, operation, value, nullptr, nullptr, 0);
}

std::int64_t cpu_time() {
  timespec t{};
  syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1'000'000'000'000 + t.tv_nsec * 1000;
}

/// What asking for it takes: not the program's.
std::int64_t cost_of_asking() {
  static const std::int64_t least = [] {
    std::int64_t found = INT64_MAX;
    for (int i = 0; i < 50; ++i) {
      std::int64_t before = cpu_time(), took = cpu_time() - before;
      if (took < found) found = took;
    }
    return found;
  }();
  return least;
}

std::int64_t real_time() {
  timespec t{};
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000'000 + t.tv_nsec * 1000;
}

void stop_running() {
  if (bell->running.fetch_sub(1, std::memory_order_acq_rel) == 1) futex(&bell->running, FUTEX_WAKE, 1);
}

/// It runs no longer; perhaps it was not counted as running, because its thread slept.
void stop_counting(Lane& lane, LaneState now) {
  std::uint32_t was = lane.state.exchange(static_cast<std::uint32_t>(now), std::memory_order_acq_rel);
  if (was == static_cast<std::uint32_t>(LaneState::Running)) stop_running();
}

void block(Lane& lane) {
  std::uint32_t before = lane.grant.load(std::memory_order_relaxed);
  std::uint32_t was =
      lane.state.exchange(static_cast<std::uint32_t>(LaneState::Blocked), std::memory_order_acq_rel);
  if (was != static_cast<std::uint32_t>(LaneState::Running))
    bell->running.fetch_add(1);  // it was not counted
  stop_running();
  while (lane.grant.load(std::memory_order_acquire) == before) futex(&lane.grant, FUTEX_WAIT, before);
}

/// Virtual time has gone on without a thread that slept: it waits for its turn.
void come_back(Lane& l) {
  if (l.state.load(std::memory_order_relaxed) != static_cast<std::uint32_t>(LaneState::Running)) [[unlikely]]
    ask(l, Call::Sleep, host::kNoPort, now(l), host::kNoRank);
}

void end_of_thread(void* p) {
  auto* lane = static_cast<Lane*>(p);
  my_lane = nullptr;
  if (getpid() != own_pid) return;
  come_back(*lane);
  thread_ends(*lane);
  lane->thread.store(0);
  stop_counting(*lane, LaneState::Left);
}

int thread_number() { return static_cast<int>(syscall(SYS_gettid)); }

/// A lane nobody has, running and counted.
Lane* take_lane(std::int64_t clock) {
  for (unsigned i = 1; i < host::kLanes; ++i) {
    Lane* candidate = host::lane_at(header, i);
    std::uint32_t is_free = static_cast<std::uint32_t>(LaneState::Free);
    if (!candidate->state.compare_exchange_strong(is_free, static_cast<std::uint32_t>(LaneState::Running)))
      continue;
    candidate->clock.store(clock);
    candidate->safe_until = 0;
    candidate->thread.store(0);
    candidate->awaited.store(0);
    bell->running.fetch_add(1);
    header->joins.fetch_add(1);
    return candidate;
  }
  return nullptr;
}

void* map(const char* variable, std::size_t bytes) {
  const char* text = getenv(variable);
  if (!text) return nullptr;
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(text), 0);
  return at == MAP_FAILED ? nullptr : at;
}

// A forked child shares the mapping, not the place in the run.
void in_child() {
  own_pid = getpid();
  forked = true;
  my_lane = nullptr;
}

__attribute__((constructor)) void attach() {
  void* first = map(host::kSegmentVariable, 4096);
  if (!first) return;
  auto* h = static_cast<Header*>(first);
  if (h->magic != host::kMagic || h->version != host::kLayoutVersion) return;
  std::uint64_t bytes = h->bytes;
  munmap(first, 4096);
  void* all = map(host::kSegmentVariable, bytes);
  bell = static_cast<Bell*>(map(host::kBellVariable, 4096));
  if (!all || !bell) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  own_pid = getpid();
  pthread_key_create(&thread_end, end_of_thread);
  pthread_atfork(nullptr, nullptr, in_child);
  header = static_cast<Header*>(all);
  if (header->owner.load() == own_pid) my_lane = host::lane_at(header, 0);
  setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
}

__attribute__((destructor)) void detach() {
  if (!segment() || !my_lane) return;
  fflush(stdout);
  if (outside_depth) {  // it ends in the middle of something real, and is not counted as running
    my_lane->state.store(static_cast<std::uint32_t>(LaneState::Left), std::memory_order_release);
    my_lane = nullptr;
    return;
  }
  if (header->opened.load()) ask(*my_lane, Call::Leave, host::kAnyPort, host::kNoDeadline, host::kNoRank);
  stop_counting(*my_lane, LaneState::Left);
  my_lane = nullptr;
}

}  // namespace

Header* segment() {
  return header && header->owner.load(std::memory_order_relaxed) == own_pid ? header : nullptr;
}

Header* run() { return forked ? nullptr : header; }

Lane* lane_if_any() {
  if (my_lane && !outside_depth) come_back(*my_lane);
  return my_lane;
}

Lane* virtual_lane() { return segment() && !outside_depth ? lane_if_any() : nullptr; }

std::size_t index_of(const Lane& l) { return static_cast<std::size_t>(&l - host::lane_at(header, 0)); }

bool take_over() {
  if (!run()) return false;
  std::int32_t owner = header->owner.load();
  if (owner == own_pid) return true;
  if (header->opened.load() || !header->owner.compare_exchange_strong(owner, own_pid)) return false;
  my_lane = host::lane_at(header, 0);  // still running, for the process that started this one
  return true;
}

Lane* lane() {
  if (lane_if_any() || !segment()) return my_lane;
  Lane* fresh = take_lane(now(*host::lane_at(header, 0)));
  if (!fresh) return nullptr;
  adopt(*fresh);
  ask(*fresh, Call::Sleep, host::kNoPort, now(*fresh), host::kNoRank);
  return fresh;
}

Lane* lane_for_child(Lane& parent) { return take_lane(now(parent)); }

void adopt(Lane& l) {
  my_lane = &l;
  stack_is_new();
  l.thread.store(thread_number());
  pthread_setspecific(thread_end, &l);
}

void resume(Lane& l, std::int64_t time) {
  auto external = static_cast<std::uint32_t>(LaneState::External);
  jump_to(l, time);
  l.awaited.store(1);
  bell->running.fetch_add(1);
  if (!l.state.compare_exchange_strong(external, static_cast<std::uint32_t>(LaneState::Running)))
    stop_running();
}

bool has_threads() { return segment()->joins.load(std::memory_order_relaxed) != 0; }

bool has_lane(int thread) {
  if (thread == own_pid) return true;
  for (unsigned i = 1; i < host::kLanes; ++i)
    if (host::lane_at(header, i)->thread.load(std::memory_order_relaxed) == thread) return true;
  return false;
}

void enter(Lane& l) {
  clock_reads = 0;
  const host::Costs& costs = header->costs;
  if (costs.compute == 0 || l.doing.inside()) return;  // what MPI itself does, the description says
  if (costs.compute == 2) return move_on(l, costs.fixed);
  std::int64_t cpu = cpu_time();
  std::int64_t computed = computed_until ? cpu - computed_until - cost_of_asking() : 0;
  if (computed > 0) move_on(l, static_cast<std::int64_t>(static_cast<double>(computed) * costs.scale));
  computed_until = cpu;
}

void leave() {
  if (header->costs.compute == 1) computed_until = cpu_time();
}

void jump_to(Lane& l, std::int64_t time) {
  if (time > now(l)) l.clock.store(time, std::memory_order_relaxed);
}

int ask(Lane& l, Call call, std::uint32_t port, std::int64_t deadline, std::uint32_t for_rank) {
  l.call = call;
  l.port = port;
  l.deadline = deadline;
  l.for_rank = for_rank;
  l.result = 0;
  std::int64_t from = now(l);
  block(l);
  waited_since(l, from);
  if (outside_depth) {  // back to where it was
    l.state.store(static_cast<std::uint32_t>(LaneState::External), std::memory_order_release);
    stop_running();
  }
  return l.result;
}

int meet(Lane& l) {
  if (outside_depth) {
    outside_depth = 0;
    clock_reads = 0;
  }
  return ask(l, Call::Meet, host::kNoPort, host::kNoDeadline, host::kNoRank);
}

int meet_or_event(Lane& l) { return ask(l, Call::Meet, host::kAnyPort, host::kNoDeadline, host::kNoRank); }

bool outside() { return outside_depth != 0; }

bool found_nothing(Lane& l, std::uint32_t port) {
  move_on(l, header->costs.poll);
  return look_again(l, port, host::kNoRank);
}

namespace {

/// MPI_Test and its like: a program that calls them has other work in between, which costs nothing where
/// computing is not counted. So time must not run ahead of it: for a thousand looks it moves on by what a
/// look costs, then by more and more, so that a program that only waits gets there.
bool test_again(Lane& l, std::uint32_t port, std::uint32_t for_rank) {
  constexpr unsigned kLooksOfAStage = 1024;
  unsigned stage = ++empty_looks / kLooksOfAStage;
  if (stage == 0) {
    move_on(l, header->costs.poll);
    if (now(l) <= l.safe_until) return false;
    ask(l, Call::Wait, port, now(l), for_rank);
    return true;
  }
  l.argument[0] = 0;
  std::int64_t step = kFirstQuantum;
  for (unsigned i = 1; i < stage && step < kLastQuantum; ++i) step *= 10;
  ask(l, Call::Spin, port, now(l) + step, for_rank);
  return true;
}

}  // namespace

bool look_again(Lane& l, std::uint32_t port, std::uint32_t for_rank) {
  if (l.doing.inside() && host::call_facts(l.doing.call()).only_looks) return test_again(l, port, for_rank);
  if (++empty_looks > kFreeLooks) {
    l.argument[0] = quantum == 0;
    quantum = quantum == 0 ? kFirstQuantum : quantum < kLastQuantum ? quantum * 2 : quantum;
    ask(l, Call::Spin, port, now(l) + quantum, for_rank);
    return true;
  }
  if (now(l) <= l.safe_until) return false;
  ask(l, Call::Wait, port, now(l), for_rank);
  return true;
}

void pause(Lane& l) {
  move_on(l, header->costs.poll);
  l.argument[0] = quantum == 0;  // it may have done something since it looked last
  quantum = quantum == 0 ? kFirstQuantum : quantum < kLastQuantum ? quantum * 2 : quantum;
  std::int64_t until = now(l) + quantum;
  ask(l, Call::Pause, host::kAnyPort, until, host::kNoRank);
  if (now(l) < until) quantum = 0;  // something came
}

void found_something() {
  empty_looks = 0;
  quantum = 0;
  aside = 0;
}

void let_others_go_first(Lane& l) {
  constexpr std::int64_t kFirst = 1'000, kLast = 128'000;
  aside = aside == 0 ? kFirst : aside < kLast ? aside * 2 : aside;
  ask(l, Call::Sleep, host::kNoPort, now(l) + aside, host::kNoRank);
}

std::int64_t read_clock(Lane& l) {
  unsigned reads = clock_reads;
  if (outside_depth) {
    if (reads < kFreeClockReads) ++clock_reads;
    return reads < kFreeClockReads ? now(l) : now(l) + (real_time() - outside_since);
  }
  enter(l);
  clock_reads = reads < kFreeClockReads ? reads + 1 : reads;
  if (reads >= kFreeClockReads) move_on(l, 1'000'000);
  return now(l);
}

}  // namespace weft::lib

extern "C" {

void weft_outside_begin(void) {
  using namespace weft;
  host::Lane* l = lib::lane_if_any();
  if (!l || lib::outside_depth++) return;
  lib::enter(*l);
  lib::outside_since = lib::real_time();
  lib::stop_counting(*l, host::LaneState::External);
}

void weft_outside_end(void) {
  using namespace weft;
  host::Lane* l = lib::lane_if_any();
  if (!l || !lib::outside_depth || --lib::outside_depth) return;
  lib::clock_reads = 0;
  lib::ask(*l, host::Call::Sleep, host::kNoPort, lib::now(*l), host::kNoRank);
  lib::leave();
}
}
