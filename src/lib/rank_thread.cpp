#include "lib/rank_thread.hpp"

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

namespace weft::lib {

using abi::Bell;
using abi::Call;
using abi::Header;
using abi::Thread;
using abi::ThreadState;

namespace {

Header*& header = attachment.header;
Bell*& bell = attachment.bell;
int& own_pid = attachment.process;
pthread_key_t thread_end;

// In a preloaded library these are set before main; -1 marks a thread that must not be in virtual time.
thread_local Thread* my_thread = nullptr;
void (*background)(Thread&, std::int64_t) = nullptr;
thread_local bool in_background = false;
thread_local std::int64_t computed_until = 0;
thread_local unsigned outside_depth = 0;
thread_local std::int64_t outside_since = 0;
thread_local bool blocked = false;  // a handler that runs meanwhile has no turn

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
void stop_counting(Thread& thread, ThreadState now) {
  std::uint32_t was = thread.state.exchange(static_cast<std::uint32_t>(now), std::memory_order_acq_rel);
  if (was == static_cast<std::uint32_t>(ThreadState::Running)) stop_running();
}

void block(Thread& thread) {
  std::uint32_t before = thread.grant.load(std::memory_order_relaxed);
  std::uint32_t was =
      thread.state.exchange(static_cast<std::uint32_t>(ThreadState::Blocked), std::memory_order_acq_rel);
  if (was != static_cast<std::uint32_t>(ThreadState::Running))
    bell->running.fetch_add(1);  // it was not counted
  stop_running();
  blocked = true;
  while (thread.grant.load(std::memory_order_acquire) == before) futex(&thread.grant, FUTEX_WAIT, before);
  blocked = false;
}

/// Virtual time has gone on without a thread that slept: it waits for its turn.
void come_back(Thread& l) {
  if (l.state.load(std::memory_order_relaxed) != static_cast<std::uint32_t>(ThreadState::Running) && !blocked)
      [[unlikely]]
    ask(l, Call::Sleep, abi::kNoPort, now(l), abi::kNoRank);
}

void end_of_thread(void* p) {
  auto* thread = static_cast<Thread*>(p);
  my_thread = nullptr;
  if (getpid() != own_pid) return;
  come_back(*thread);
  if (hooks.thread_ends) hooks.thread_ends(*thread);
  thread->tid.store(0);
  stop_counting(*thread, ThreadState::Left);
}

int thread_number() { return static_cast<int>(syscall(SYS_gettid)); }

/// A record nobody has, running and counted.
Thread* take_thread(std::int64_t clock) {
  for (unsigned i = 1; i < abi::kThreads; ++i) {
    Thread* candidate = abi::thread_at(header, i);
    std::uint32_t is_free = static_cast<std::uint32_t>(ThreadState::Free);
    if (!candidate->state.compare_exchange_strong(is_free, static_cast<std::uint32_t>(ThreadState::Running)))
      continue;
    candidate->clock.store(clock);
    candidate->safe_until = 0;
    candidate->tid.store(0);
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
  attachment.forked = true;
  my_thread = nullptr;
}

// Before the other parts of the library look whether they are in a run.
__attribute__((constructor(1000))) void attach() {
  void* first = map(abi::kSegmentVariable, 4096);
  if (!first) return;
  auto* h = static_cast<Header*>(first);
  if (h->magic != abi::kMagic || h->version != abi::kLayoutVersion) return;
  std::uint64_t bytes = h->bytes;
  munmap(first, 4096);
  void* all = map(abi::kSegmentVariable, bytes);
  bell = static_cast<Bell*>(map(abi::kBellVariable, 4096));
  if (!all || !bell) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  own_pid = getpid();
  pthread_key_create(&thread_end, end_of_thread);
  pthread_atfork(nullptr, nullptr, in_child);
  header = static_cast<Header*>(all);
  if (header->owner.load() == own_pid) my_thread = abi::thread_at(header, 0);
  setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
}

__attribute__((destructor)) void detach() {
  if (!segment() || !my_thread) return;
  fflush(stdout);
  if (outside_depth) {  // it ends in the middle of something real, and is not counted as running
    my_thread->state.store(static_cast<std::uint32_t>(ThreadState::Left), std::memory_order_release);
    my_thread = nullptr;
    return;
  }
  if (header->opened.load()) ask(*my_thread, Call::Leave, abi::kAnyPort, abi::kNoDeadline, abi::kNoRank);
  stop_counting(*my_thread, ThreadState::Left);
  my_thread = nullptr;
}

}  // namespace

constinit std::atomic<unsigned> timers_set{0};
constinit Hooks hooks;

Thread* thread_if_any() {
  if (my_thread && !outside_depth) come_back(*my_thread);
  return my_thread;
}

Thread* virtual_thread() { return segment() && !outside_depth && !blocked ? thread_if_any() : nullptr; }

Thread* running_thread() {
  bool runs =
      my_thread && !outside_depth && !blocked && segment() &&
      my_thread->state.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(ThreadState::Running);
  return runs ? my_thread : nullptr;
}

std::size_t index_of(const Thread& l) { return static_cast<std::size_t>(&l - abi::thread_at(header, 0)); }

bool take_over() {
  if (!run()) return false;
  std::int32_t owner = header->owner.load();
  if (owner == own_pid) return true;
  if (header->opened.load() || !header->owner.compare_exchange_strong(owner, own_pid)) return false;
  my_thread = abi::thread_at(header, 0);  // still running, for the process that started this one
  header->poked.store(own_pid);
  header->waits_for_child.store(0);
  my_thread->awaited.store(0);
  return true;
}

Thread* this_thread() {
  if (thread_if_any() || !segment()) return my_thread;
  Thread* fresh = take_thread(now(*abi::thread_at(header, 0)));
  if (!fresh) return nullptr;
  adopt(*fresh);
  ask(*fresh, Call::Sleep, abi::kNoPort, now(*fresh), abi::kNoRank);
  return fresh;
}

Thread* thread_for_child(Thread& parent) { return take_thread(now(parent)); }

void adopt(Thread& l) {
  my_thread = &l;
  stack_is_new();
  l.tid.store(thread_number());
  pthread_setspecific(thread_end, &l);
}

void resume(Thread& l, std::int64_t time) {
  auto external = static_cast<std::uint32_t>(ThreadState::External);
  jump_to(l, time);
  l.awaited.store(1);
  bell->running.fetch_add(1);
  if (!l.state.compare_exchange_strong(external, static_cast<std::uint32_t>(ThreadState::Running)))
    stop_running();
}

bool has_threads() { return segment()->joins.load(std::memory_order_relaxed) != 0; }

bool is_rank_thread(int tid) {
  if (tid == own_pid) return true;
  for (unsigned i = 1; i < abi::kThreads; ++i)
    if (abi::thread_at(header, i)->tid.load(std::memory_order_relaxed) == tid) return true;
  return false;
}

void enter(Thread& l) {
  clock_was_not_read();
  const abi::Costs& costs = header->costs;
  // What MPI itself does, the description says, and what the interface does meanwhile is no computing.
  if (costs.compute == 0 || l.doing.inside() || in_background) return;
  if (costs.compute == 2) return compute_for(l, costs.fixed);
  std::int64_t cpu = cpu_time();
  std::int64_t computed = computed_until ? cpu - computed_until - cost_of_asking() : 0;
  if (computed > 0) {
    double scaled = static_cast<double>(computed) * costs.scale;
    constexpr auto kMost = static_cast<double>(abi::kLastClock);
    compute_for(l, scaled < kMost ? static_cast<std::int64_t>(scaled) : abi::kLastClock);
    // What was done there is not the program's.
    if (background || header->disturbance.until != abi::kNoDeadline) cpu = cpu_time();
  }
  computed_until = cpu;
}

void leave() {
  if (header->costs.compute == 1) computed_until = cpu_time();
}

void set_background(void (*work_until)(Thread&, std::int64_t)) { background = work_until; }

namespace {

/// Without asking meanwhile.
void compute_at_one_speed(Thread& l, std::int64_t picoseconds) {
  if (!background || outside_depth || has_threads()) return move_on(l, picoseconds);
  std::int64_t by = disturbed(l, picoseconds), from = now(l);
  std::int64_t until = by <= abi::kLastClock - from ? from + by : abi::kLastClock + 1;
  in_background = true;
  background(l, until);
  in_background = false;
  jump_to(l, until);
}

/// What of the work is left at the next time at which the processor's speed may change; 0: it is done before.
std::int64_t left_at_next_pace(const Thread& l, std::int64_t picoseconds) {
  const abi::Disturbance& d = header->disturbance;
  const std::int64_t room = d.until - now(l);
  const double slow = d.slow;
  if (static_cast<double>(picoseconds) * slow <= static_cast<double>(room)) return 0;
  const double done = room <= 0 ? 0 : static_cast<double>(room) / slow;
  return picoseconds - static_cast<std::int64_t>(done);
}

}  // namespace

void compute_for(Thread& l, std::int64_t picoseconds) {
  // The first thread alone warms its chip, but all of them run on it.
  while (header->disturbance.until != abi::kNoDeadline && !outside_depth && !blocked && !in_background) {
    const std::int64_t left = left_at_next_pace(l, picoseconds);
    if (left <= 0) break;
    compute_at_one_speed(l, picoseconds - left);
    jump_to(l, header->disturbance.until);
    ask(l, Call::Sleep, abi::kNoPort, now(l), abi::kNoRank);
    picoseconds = left;
  }
  compute_at_one_speed(l, picoseconds);
}

namespace {

int ask_once(Thread& l, Call call, std::uint32_t port, std::int64_t deadline, std::uint32_t for_rank) {
  if (call == Call::Spin) name_watched_files(l);
  if (call == Call::Spin || call == Call::Yield || call == Call::Pause)  // a timer may yet call a handler
    l.argument[3] = timers_set.load(std::memory_order_relaxed) != 0;
  l.call = call;
  l.port = port;
  l.deadline = deadline;
  l.for_rank = for_rank;
  l.result = 0;
  std::int64_t from = now(l);
  block(l);
  waited_since(l, from);
  if (outside_depth) {  // back to where it was
    l.state.store(static_cast<std::uint32_t>(ThreadState::External), std::memory_order_release);
    stop_running();
  }
  return l.result;
}

/// Timers that run out before the deadline do so at their time; then the wait goes on.
int ask_beside_timers(Thread& l, Call call, std::uint32_t port, std::int64_t deadline,
                      std::uint32_t for_rank) {
  for (;;) {
    std::int64_t timer = hooks.next_timer(l);
    if (timer > deadline || timer == abi::kNoDeadline) return ask_once(l, call, port, deadline, for_rank);
    int result = ask_once(l, call, port, timer > now(l) ? timer : now(l), for_rank);
    if (now(l) < timer) return result;
    bool handled = hooks.run_timers(l);
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

int ask(Thread& l, Call call, std::uint32_t port, std::int64_t deadline, std::uint32_t for_rank) {
  if (timers_set.load(std::memory_order_relaxed) != 0 && may_be_interrupted(call) && !outside_depth)
      [[unlikely]]
    return ask_beside_timers(l, call, port, deadline, for_rank);
  return ask_once(l, call, port, deadline, for_rank);
}

int meet(Thread& l) {
  if (outside_depth) {
    outside_depth = 0;
    clock_was_not_read();
  }
  return ask(l, Call::Meet, abi::kNoPort, abi::kNoDeadline, abi::kNoRank);
}

int meet_or_event(Thread& l) { return ask(l, Call::Meet, abi::kAnyPort, abi::kNoDeadline, abi::kNoRank); }

void run_apart(std::uint32_t why) {
  Thread* l = virtual_thread();
  if (!l || header->shares.fetch_or(why) & why) return;
  enter(*l);
  ask(*l, Call::Sleep, abi::kNoPort, now(*l), abi::kNoRank);
  leave();
}

bool outside() { return outside_depth != 0; }

std::int64_t real_time_outside() { return real_time() - outside_since; }

bool is_blocked() { return blocked; }

const Thread* first_thread() { return header ? abi::thread_at(header, 0) : nullptr; }

Thread* borrow_thread() {
  if (!header || segment() || header->waits_for_child.load() == 0) return nullptr;
  std::int32_t nobody = 0;
  if (!header->borrower.compare_exchange_strong(nobody, own_pid)) return nullptr;
  Thread* thread = abi::thread_at(header, 0);
  if (header->waits_for_child.load() &&
      thread->state.load() == static_cast<std::uint32_t>(ThreadState::Running))
    return thread;
  header->borrower.store(0);
  return nullptr;
}

void give_thread_back() { header->borrower.store(0); }

ChildWait::ChildWait() : thread_(virtual_thread()) {
  if (!thread_ || thread_ != abi::thread_at(header, 0)) thread_ = nullptr;
  if (!thread_) return;
  enter(*thread_);
  thread_->awaited.store(1);
  header->waits_for_child.store(1);
}

ChildWait::~ChildWait() {
  if (!thread_) return;
  header->waits_for_child.store(0);
  // One that has borrowed it gives it back when its sleep is over; one that has died meanwhile does not.
  auto running = static_cast<std::uint32_t>(ThreadState::Running);
  while (std::int32_t child = header->borrower.load()) {
    if (kill(child, 0) == 0 || errno != ESRCH) {
      syscall(SYS_sched_yield);
    } else if (thread_->state.load() == running) {
      header->borrower.store(0);
    }
  }
  thread_->awaited.store(0);
  leave();
}

}  // namespace weft::lib

extern "C" {

void weft_outside_begin(void) {
  using namespace weft;
  abi::Thread* l = lib::thread_if_any();
  if (!l || lib::outside_depth++) return;
  lib::enter(*l);
  lib::outside_since = lib::real_time();
  lib::stop_counting(*l, abi::ThreadState::External);
}

void weft_outside_end(void) {
  using namespace weft;
  abi::Thread* l = lib::thread_if_any();
  if (!l || !lib::outside_depth || --lib::outside_depth) return;
  lib::clock_was_not_read();
  lib::ask(*l, abi::Call::Sleep, abi::kNoPort, lib::now(*l), abi::kNoRank);
  lib::leave();
}
}
