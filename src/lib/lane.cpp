#include "lib/lane.hpp"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <utility>

#include "lib/places.hpp"
#include "lib/spin.hpp"
#include "lib/threads.hpp"
#include "lib/timers.hpp"

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
thread_local unsigned calls_in_vain = 0;  // of MPI, since something was found
thread_local unsigned file_looks = 0;     // the same, at files
thread_local unsigned clock_reads = 0;
thread_local const void* clock_site = nullptr;  // of the last look at the clock
thread_local const void* site_for = nullptr;    // of the next one
thread_local bool worked = false;               // before the last look, for so long that it took time
void (*background)(Lane&, std::int64_t) = nullptr;
thread_local bool in_background = false;
thread_local std::int64_t quantum = 0;
thread_local std::int64_t computed_until = 0;
thread_local std::int64_t aside = 0;  // its last moment out of the way of others
thread_local unsigned outside_depth = 0;
thread_local std::int64_t outside_since = 0;
thread_local bool blocked = false;  // a handler that runs meanwhile has no turn
constexpr std::size_t kWatched = 8;
thread_local pollfd watched[kWatched];  // looked at in vain since something was found
thread_local std::size_t watched_count = 0;

constexpr unsigned kFreeLooks = 3;          // that find nothing and cost no visit to the simulator
constexpr unsigned kIdleLooks = 64;         // where nothing is under way, before they take longer
constexpr unsigned kFreshCalls = 1000;      // in a row, before their looks add up
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
  blocked = true;
  while (lane.grant.load(std::memory_order_acquire) == before) futex(&lane.grant, FUTEX_WAIT, before);
  blocked = false;
}

/// Virtual time has gone on without a thread that slept: it waits for its turn.
void come_back(Lane& l) {
  if (l.state.load(std::memory_order_relaxed) != static_cast<std::uint32_t>(LaneState::Running) && !blocked)
      [[unlikely]]
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
  if (understand_pokes() && my_lane) header->poked.store(own_pid);
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

Lane* virtual_lane() { return segment() && !outside_depth && !blocked ? lane_if_any() : nullptr; }

Lane* lane_of_runner() {
  bool runs =
      my_lane && !outside_depth && !blocked && segment() &&
      my_lane->state.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(LaneState::Running);
  return runs ? my_lane : nullptr;
}

std::size_t index_of(const Lane& l) { return static_cast<std::size_t>(&l - host::lane_at(header, 0)); }

bool take_over() {
  if (!run()) return false;
  std::int32_t owner = header->owner.load();
  if (owner == own_pid) return true;
  if (header->opened.load() || !header->owner.compare_exchange_strong(owner, own_pid)) return false;
  my_lane = host::lane_at(header, 0);  // still running, for the process that started this one
  header->poked.store(own_pid);
  header->waits_for_child.store(0);
  my_lane->awaited.store(0);
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
  // What MPI itself does, the description says, and what the interface does meanwhile is no computing.
  if (costs.compute == 0 || l.doing.inside() || in_background) return;
  if (costs.compute == 2) return compute_for(l, costs.fixed);
  std::int64_t cpu = cpu_time();
  std::int64_t computed = computed_until ? cpu - computed_until - cost_of_asking() : 0;
  if (computed > 0) {
    double scaled = static_cast<double>(computed) * costs.scale;
    constexpr auto kMost = static_cast<double>(host::kLastClock);
    compute_for(l, scaled < kMost ? static_cast<std::int64_t>(scaled) : host::kLastClock);
    if (background) cpu = cpu_time();  // what was done there is not the program's
  }
  computed_until = cpu;
}

void leave() {
  if (header->costs.compute == 1) computed_until = cpu_time();
}

void set_background(void (*work_until)(Lane&, std::int64_t)) { background = work_until; }

void compute_for(Lane& l, std::int64_t picoseconds) {
  if (!background || outside_depth || has_threads()) return move_on(l, picoseconds);
  std::int64_t by = disturbed(l, picoseconds), from = now(l);
  std::int64_t until = by <= host::kLastClock - from ? from + by : host::kLastClock + 1;
  in_background = true;
  background(l, until);
  in_background = false;
  jump_to(l, until);
}

void jump_to(Lane& l, std::int64_t time) {
  if (time > now(l)) l.clock.store(time, std::memory_order_relaxed);
}

namespace {

int ask_once(Lane& l, Call call, std::uint32_t port, std::int64_t deadline, std::uint32_t for_rank) {
  if (call == Call::Spin) {
    l.argument[1] = reinterpret_cast<std::uint64_t>(watched);
    l.argument[2] = watched_count;
  }
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

/// Timers that run out before the deadline do so at their time; then the wait goes on.
int ask_beside_timers(Lane& l, Call call, std::uint32_t port, std::int64_t deadline, std::uint32_t for_rank) {
  for (;;) {
    std::int64_t timer = next_timer(l);
    if (timer > deadline || timer == host::kNoDeadline) return ask_once(l, call, port, deadline, for_rank);
    int result = ask_once(l, call, port, timer > now(l) ? timer : now(l), for_rank);
    if (now(l) < timer) return result;
    bool handled = run_timers(l);
    if ((call == Call::Sleep || call == Call::Files) && handled) return -EINTR;
    if (now(l) >= deadline || (call == Call::Wait && result != -ETIMEDOUT)) return result;
    if (call != Call::Sleep && call != Call::Wait) return 0;  // those look again
  }
}

bool may_be_interrupted(Call call) {
  return call == Call::Wait || call == Call::Sleep || call == Call::Spin || call == Call::Yield ||
         call == Call::YieldUntil || call == Call::Pause || call == Call::Files;
}

}  // namespace

int ask(Lane& l, Call call, std::uint32_t port, std::int64_t deadline, std::uint32_t for_rank) {
  if (timers_are_set() && may_be_interrupted(call) && !outside_depth) [[unlikely]]
    return ask_beside_timers(l, call, port, deadline, for_rank);
  return ask_once(l, call, port, deadline, for_rank);
}

int meet(Lane& l) {
  if (outside_depth) {
    outside_depth = 0;
    clock_reads = 0;
  }
  return ask(l, Call::Meet, host::kNoPort, host::kNoDeadline, host::kNoRank);
}

int meet_or_event(Lane& l) { return ask(l, Call::Meet, host::kAnyPort, host::kNoDeadline, host::kNoRank); }

void run_apart(std::uint32_t why) {
  Lane* l = virtual_lane();
  if (!l || header->shares.fetch_or(why) & why) return;
  enter(*l);
  ask(*l, Call::Sleep, host::kNoPort, now(*l), host::kNoRank);
  leave();
}

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

bool look_again(Lane& l, std::uint32_t port, std::uint32_t for_rank, bool expects) {
  if (l.doing.inside() && host::call_facts(l.doing.call()).only_looks) return test_again(l, port, for_rank);
  if (++empty_looks > kFreeLooks) {
    l.argument[0] = quantum == 0;
    bool first = quantum == 0 || (!expects && empty_looks <= kIdleLooks);
    quantum = first ? kFirstQuantum : quantum < kLastQuantum ? quantum * 2 : quantum;
    ask(l, Call::Spin, port, now(l) + quantum, for_rank);
    return true;
  }
  if (now(l) <= l.safe_until) return false;
  ask(l, Call::Wait, port, now(l), for_rank);
  return true;
}

void begin_call() {
  if (calls_in_vain >= kFreshCalls) return;
  ++calls_in_vain;
  empty_looks = 0;
  quantum = 0;
}

void pause(Lane& l) {
  move_on(l, header->costs.poll);
  l.argument[0] = quantum == 0;  // it may have done something since it looked last
  l.argument[1] = 0;
  quantum = quantum == 0 ? kFirstQuantum : quantum < kLastQuantum ? quantum * 2 : quantum;
  std::int64_t until = now(l) + quantum;
  ask(l, Call::Pause, host::kAnyPort, until, host::kNoRank);
  if (now(l) < until) quantum = 0;  // something came
}

void wait_for_memory(Lane& l, unsigned times) {
  constexpr unsigned kMostDoublings = 17;
  l.argument[0] = times == 0;
  l.argument[1] = 1;
  std::int64_t most = kFirstQuantum << (times < kMostDoublings ? times : kMostDoublings);
  // What lies in the rings is for those who call; memory itself changes by puts, and by others who run.
  ask(l, Call::Pause, host::kNoPort, now(l) + most, host::kNoRank);
  if (header->costs.compute == 1) computed_until = cpu_time();  // looking is not computing
}

int ask_for_files(Lane& l, const pollfd* files, std::size_t count, std::int64_t deadline, long call,
                  std::uint32_t port) {
  l.argument[0] = 1;
  l.argument[1] = reinterpret_cast<std::uint64_t>(files);
  l.argument[2] = count;
  l.argument[3] = static_cast<std::uint64_t>(call);
  return ask(l, Call::Files, port, deadline, host::kNoRank);
}

bool look_again_at_files(Lane& l, const pollfd* files, std::size_t count, long call) {
  constexpr unsigned kLooksOfAStage = 1024;
  for (std::size_t i = 0; i < count; ++i) {
    bool known = files[i].fd < 0;
    for (std::size_t j = 0; j < watched_count && !known; ++j)
      known = watched[j].fd == files[i].fd && watched[j].events == files[i].events;
    if (!known && watched_count < kWatched) watched[watched_count++] = files[i];
  }
  unsigned stage = ++file_looks / kLooksOfAStage;
  if (stage == 0) return false;
  std::int64_t step = kFirstQuantum;
  for (unsigned i = 1; i < stage && step < kLastQuantum; ++i) step *= 10;
  const std::int64_t begun = now(l), until = begun + step;
  int asked = ask_for_files(l, files, count, until, call, host::kAnyPort);
  // What lay in the rings before is nothing this thread takes, or it would have: not again for that.
  if (asked == 0 && now(l) == begun) asked = ask_for_files(l, files, count, until, call, host::kNoPort);
  if (asked == -ENOSYS) ask(l, Call::Sleep, host::kNoPort, until, host::kNoRank);
  return true;
}

const Lane* first_lane() { return header ? host::lane_at(header, 0) : nullptr; }

Lane* borrow_lane() {
  if (!header || segment() || header->waits_for_child.load() == 0) return nullptr;
  std::int32_t nobody = 0;
  if (!header->borrower.compare_exchange_strong(nobody, own_pid)) return nullptr;
  Lane* lane = host::lane_at(header, 0);
  if (header->waits_for_child.load() && lane->state.load() == static_cast<std::uint32_t>(LaneState::Running))
    return lane;
  header->borrower.store(0);
  return nullptr;
}

void give_lane_back() { header->borrower.store(0); }

ChildWait::ChildWait() : lane_(virtual_lane()) {
  if (!lane_ || lane_ != host::lane_at(header, 0)) lane_ = nullptr;
  if (!lane_) return;
  enter(*lane_);
  lane_->awaited.store(1);
  header->waits_for_child.store(1);
}

ChildWait::~ChildWait() {
  if (!lane_) return;
  header->waits_for_child.store(0);
  // One that has the lane gives it back when its sleep is over; one that has died meanwhile does not.
  auto running = static_cast<std::uint32_t>(LaneState::Running);
  while (std::int32_t child = header->borrower.load()) {
    if (kill(child, 0) == 0 || errno != ESRCH) {
      syscall(SYS_sched_yield);
    } else if (lane_->state.load() == running) {
      header->borrower.store(0);
    }
  }
  lane_->awaited.store(0);
  leave();
}

void found_file() {
  file_looks = 0;
  watched_count = 0;
}

void found_something() {
  empty_looks = 0;
  calls_in_vain = 0;
  watched_count = 0;
  quantum = 0;
  aside = 0;
}

void let_others_go_first(Lane& l) {
  constexpr std::int64_t kFirst = 1'000, kLast = 128'000;
  aside = aside == 0 ? kFirst : aside < kLast ? aside * 2 : aside;
  ask(l, Call::Sleep, host::kNoPort, now(l) + aside, host::kNoRank);
}

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

std::int64_t read_clock(Lane& l, const void* site) {
  const unsigned counted = counts ? end_counting() : 0;
  if (site_for) site = std::exchange(site_for, nullptr);
  if (blocked) return now(l);
  unsigned reads = clock_reads;
  header->clock_reads.store(header->clock_reads.load(std::memory_order_relaxed) + 1,
                            std::memory_order_relaxed);
  if (outside_depth) {
    if (reads < kFreeClockReads) ++clock_reads;
    return reads < kFreeClockReads ? now(l) : now(l) + (real_time() - outside_since);
  }
  enter(l);
  clock_reads = reads < kFreeClockReads ? reads + 1 : reads;
  if (reads >= kFreeClockReads) {
    if (passes_time(site, counted)) compute_for(l, 1'000'000);
    begin_way(site);
  }
  check_timers(l);
  if (now(l) > host::kLastClock) [[unlikely]]  // nobody comes back from there
    ask(l, Call::Sleep, host::kNoPort, now(l), host::kNoRank);
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
