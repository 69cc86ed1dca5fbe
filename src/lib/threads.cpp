#include "lib/threads.hpp"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/clocks.hpp"
#include "lib/launcher_libraries.hpp"
#include "lib/mpi_library.hpp"
#include "lib/real.hpp"
#include "lib/timers.hpp"
#include "lib/turns.hpp"

namespace abi = weft::abi;
namespace lib = weft::lib;

namespace {

// What each thread waits for: a condition, a semaphore or a thread; since when, to be let go on in order; the
// word it sleeps on; and whether it does so in virtual time, until a deadline.
struct Wait {
  std::atomic<const void*> what;
  std::uint64_t ticket;
  std::atomic<std::uint32_t> over;
  bool timed;
};
Wait waits[abi::kThreads];
std::atomic<std::uint64_t> tickets;

// The mutex each thread waits for.
std::atomic<const pthread_mutex_t*> wanted[abi::kThreads];

// Threads that have left virtual time and may be joined; their times.
struct Ended {
  pthread_t pthread;
  std::int64_t clock;
  bool ready;
};
Ended ended[64];
unsigned ended_count = 0;
pthread_mutex_t ended_mutex = PTHREAD_MUTEX_INITIALIZER;

bool threads_expected = false;

const void* key_of(pthread_t pthread) { return reinterpret_cast<const void*>(pthread); }

long futex(std::atomic<std::uint32_t>* word, int operation, std::uint32_t value) {
  return syscall(SYS_futex, word, operation, value, nullptr, nullptr, 0);
}

/// To be called before what lets others see that it waits.
void begin_wait(abi::Thread& thread, const void* what, bool timed = false) {
  Wait& wait = waits[lib::index_of(thread)];
  wait.over.store(0);
  wait.timed = timed;
  wait.ticket = tickets.fetch_add(1);
  wait.what.store(what);
}

bool wait_until_over(abi::Thread& thread, std::int64_t deadline);

/// Are there timers to be seen to while a thread waits for another one?
bool beside_timers() { return lib::timers_are_set() && lib::has_threads(); }

/// Until somebody lets it go on: out of virtual time, unless a timer may have to be seen to meanwhile.
void sleep_until_over(abi::Thread& thread) {
  Wait& wait = waits[lib::index_of(thread)];
  if (wait.timed) {
    wait_until_over(thread, abi::kNoDeadline);
    return;
  }
  weft_outside_begin();
  while (!wait.over.load()) futex(&wait.over, FUTEX_WAIT_PRIVATE, 0);
  thread.awaited.store(0);
  weft_outside_end();
}

/// Until somebody lets it go on, or the deadline. Returns whether somebody has.
bool wait_until_over(abi::Thread& thread, std::int64_t deadline) {
  Wait& wait = waits[lib::index_of(thread)];
  while (!wait.over.load()) {
    if (lib::now(thread) >= deadline) return wait.what.exchange(nullptr) == nullptr;
    thread.argument[0] = 0;
    lib::ask(thread, abi::Call::YieldUntil, abi::kNoPort, deadline, abi::kNoRank);
  }
  return true;
}

/// Lets those who wait for this go on, or the one that has waited for longest; at this time, if it is known.
/// False where nobody waits.
bool let_go_on(const void* what, bool all, std::int64_t time) {
  bool any = false;
  for (;;) {
    unsigned oldest = abi::kThreads;
    for (unsigned i = 0; i < abi::kThreads; ++i)
      if (waits[i].what.load() == what && (oldest == abi::kThreads || waits[i].ticket < waits[oldest].ticket))
        oldest = i;
    if (oldest == abi::kThreads) return any;
    const void* expected = what;
    if (!waits[oldest].what.compare_exchange_strong(expected, nullptr)) continue;  // its time was over
    any = true;
    if (waits[oldest].timed) {  // it looks again when the caller has had a turn that was no mere look
      waits[oldest].over.store(1);
      if (abi::Thread* here = lib::virtual_thread())
        lib::ask(*here, abi::Call::Sleep, abi::kNoPort, lib::now(*here), abi::kNoRank);
      if (!all) return true;
      continue;
    }
    abi::Thread* thread = abi::thread_at(lib::segment(), oldest);
    // It may be on its way to sleep: it is outside before that.
    while (thread->state.load() != static_cast<std::uint32_t>(abi::ThreadState::External))
      syscall(SYS_sched_yield);
    lib::resume(*thread, time);
    waits[oldest].over.store(1);
    futex(&waits[oldest].over, FUTEX_WAKE_PRIVATE, 1);
    if (!all) return true;
  }
}

/// A thread that is not in virtual time may end the wait, in real time: it may take as long as the program
/// said. In parts, since that thread may come to have one.
struct RealWait {
  static constexpr std::int64_t kPart = 50'000'000;  // nanoseconds
  RealWait(const abi::Thread& thread, std::int64_t deadline) {
    std::int64_t left = deadline > lib::now(thread) ? (deadline - lib::now(thread)) / 1000 : 0;
    whole = left <= kPart;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &until);
    until.tv_nsec += whole ? left : kPart;
    until.tv_sec += until.tv_nsec / 1'000'000'000;
    until.tv_nsec %= 1'000'000'000;
  }
  timespec until;
  bool whole;  // what is left of it
};

bool is_valid(clockid_t clock, const timespec& t) {
  return (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) && t.tv_nsec >= 0 && t.tv_nsec < 1'000'000'000;
}

std::int64_t time_here() {
  abi::Thread* thread = lib::virtual_thread();
  return thread ? lib::now(*thread) : 0;
}

/// Has this thread left virtual time? The caller's clock is not before that then.
bool end_of(pthread_t pthread, abi::Thread& thread) {
  for (unsigned i = 0; i < 64 && i < ended_count; ++i) {
    if (!ended[i].ready || !pthread_equal(ended[i].pthread, pthread)) continue;
    lib::jump_to(thread, ended[i].clock);
    ended[i].ready = false;
    return true;
  }
  return false;
}

bool wanted_by_others(const abi::Thread& thread, const pthread_mutex_t* mutex) {
  for (unsigned i = 0; i < abi::kThreads; ++i)
    if (i != lib::index_of(thread) && wanted[i].load(std::memory_order_relaxed) == mutex) return true;
  return false;
}

bool anybody_waits() { return lib::segment() && tickets.load(std::memory_order_relaxed) != 0; }

struct Start {
  void* (*function)(void*);
  void* argument;
  abi::Thread* thread;
};

void* begin_thread(void* p) {
  Start start = *static_cast<Start*>(p);
  free(p);
  if (start.thread) {
    lib::adopt(*start.thread);
    lib::ask(*start.thread, abi::Call::Sleep, abi::kNoPort, lib::now(*start.thread),
             abi::kNoRank);  // its turn
  }
  return start.function(start.argument);
}

}  // namespace

namespace weft::lib {

void expect_threads() { threads_expected = true; }

int start_thread(abi::Thread& parent, pthread_t* pthread, const pthread_attr_t* attributes,
                 void* (*function)(void*), void* argument) {
  WEFT_REAL(pthread_create);
  auto* start = static_cast<Start*>(malloc(sizeof(Start)));
  if (!start) return EAGAIN;
  *start = {function, argument, thread_for_child(parent)};
  int result = next_pthread_create(pthread, attributes, begin_thread, start);
  if (result != 0) free(start);
  return result;
}

void thread_ends(abi::Thread& thread) {
  WEFT_REAL(pthread_mutex_lock);
  next_pthread_mutex_lock(&ended_mutex);
  ended[ended_count++ % 64] = {pthread_self(), now(thread), true};
  pthread_mutex_unlock(&ended_mutex);
  let_go_on(key_of(pthread_self()), true, now(thread));
}

}  // namespace weft::lib

namespace {

__attribute__((constructor)) void serve_threads() {
  lib::hooks.thread_ends = lib::thread_ends;
  lib::hooks.start_thread = lib::start_thread;
}

}  // namespace

extern "C" {

int pthread_create(pthread_t* pthread, const pthread_attr_t* attributes, void* (*function)(void*),
                   void* argument) {
  WEFT_REAL(pthread_create);
  abi::Thread* parent = threads_expected ? lib::virtual_thread() : nullptr;
  if (!parent || lib::of_launcher_library(__builtin_return_address(0)))
    return next_pthread_create(pthread, attributes, function, argument);
  return lib::start_thread(*parent, pthread, attributes, function, argument);
}

int pthread_join(pthread_t pthread, void** result) {
  WEFT_REAL(pthread_join);
  abi::Thread* thread = lib::virtual_thread();
  if (!thread) return next_pthread_join(pthread, result);
  if (!end_of(pthread, *thread)) {
    begin_wait(*thread, key_of(pthread));
    lib::Outside outside;
    int joined = next_pthread_join(pthread, result);
    waits[lib::index_of(*thread)].what.store(nullptr);
    thread->awaited.store(0);
    end_of(pthread, *thread);
    return joined;
  }
  lib::Awaited awaited(thread);
  return next_pthread_join(pthread, result);  // it is about to end, whatever virtual time does
}

// A thread that holds a mutex may wait for the simulator: others then wait in virtual time, where it goes on.
int pthread_mutex_lock(pthread_mutex_t* mutex) {
  WEFT_REAL(pthread_mutex_lock);
  abi::Thread* thread = lib::virtual_thread();
  if (!thread || !lib::has_threads()) return next_pthread_mutex_lock(mutex);
  WEFT_REAL(pthread_mutex_trylock);
  // A thread of MPICH that polls unlocks and locks again at once: whoever waits in between comes first.
  if (lib::is_mpich() && wanted_by_others(*thread, mutex)) lib::let_others_go_first(*thread);
  int result;
  unsigned times = 0;
  while ((result = next_pthread_mutex_trylock(mutex)) == EBUSY) {
    if (!lib::is_rank_thread(mutex->__data.__owner)) {
      lib::Awaited awaited(thread);
      return next_pthread_mutex_lock(mutex);
    }
    wanted[lib::index_of(*thread)].store(mutex);
    lib::give_way(*thread, times);
    wanted[lib::index_of(*thread)].store(nullptr);
  }
  return result;
}

// Conditions are asked for by version: without one, the old function of the same name is found.
#define REAL_CONDITION(name)                                                                   \
  static decltype(&name) next = nullptr;                                                       \
  if (!next) next = reinterpret_cast<decltype(next)>(dlvsym(RTLD_NEXT, #name, "GLIBC_2.3.2")); \
  if (!next) next = reinterpret_cast<decltype(next)>(dlsym(RTLD_NEXT, #name))

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  REAL_CONDITION(pthread_cond_wait);
  abi::Thread* thread = lib::virtual_thread();
  if (!thread || lib::of_launcher_library(__builtin_return_address(0))) {
    lib::Awaited awaited(thread);
    return next(condition, mutex);
  }
  begin_wait(*thread, condition, beside_timers());
  pthread_mutex_unlock(mutex);
  sleep_until_over(*thread);
  return pthread_mutex_lock(mutex);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  WEFT_REAL(pthread_cond_clockwait);
  abi::Thread* thread = lib::virtual_thread();
  if (!thread || lib::of_launcher_library(__builtin_return_address(0)))
    return next_pthread_cond_clockwait(condition, mutex, clock, until);
  if (!is_valid(clock, *until)) return EINVAL;
  std::int64_t deadline = lib::time_on_clock(clock, *until);
  if (!lib::has_threads()) {
    lib::Awaited awaited(thread);
    RealWait real(*thread, deadline);
    int result = next_pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, &real.until);
    if (result != ETIMEDOUT) return result;
    // A condition may seem to be signalled when it is not: the program looks, and waits for the next part.
    lib::jump_to(*thread, real.whole ? deadline : lib::now(*thread) + RealWait::kPart * 1000);
    return real.whole ? ETIMEDOUT : 0;
  }
  begin_wait(*thread, condition, true);
  pthread_mutex_unlock(mutex);
  bool told = wait_until_over(*thread, deadline);
  pthread_mutex_lock(mutex);
  return told ? 0 : ETIMEDOUT;
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const struct timespec* until) {
  if (!lib::virtual_thread() || lib::of_launcher_library(__builtin_return_address(0))) {
    REAL_CONDITION(pthread_cond_timedwait);
    return next(condition, mutex, until);
  }
  constexpr unsigned kMonotonic = 2;  // where glibc keeps the clock a condition was made with
  clockid_t clock = condition->__data.__wrefs & kMonotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME;
  return pthread_cond_clockwait(condition, mutex, clock, until);
}

int pthread_cond_signal(pthread_cond_t* condition) {
  REAL_CONDITION(pthread_cond_signal);
  if (anybody_waits() && let_go_on(condition, false, time_here())) return 0;
  return next(condition);
}

int pthread_cond_broadcast(pthread_cond_t* condition) {
  REAL_CONDITION(pthread_cond_broadcast);
  if (anybody_waits()) let_go_on(condition, true, time_here());
  return next(condition);
}

int sem_wait(sem_t* semaphore) {
  WEFT_REAL(sem_wait);
  abi::Thread* thread = lib::virtual_thread();
  if (!thread) return next_sem_wait(semaphore);
  while (sem_trywait(semaphore) != 0) {
    begin_wait(*thread, semaphore, beside_timers());
    if (sem_trywait(semaphore) == 0) {  // posted meanwhile, by a thread that is not in virtual time
      waits[lib::index_of(*thread)].what.store(nullptr);
      return 0;
    }
    sleep_until_over(*thread);
  }
  return 0;
}

int sem_clockwait(sem_t* semaphore, clockid_t clock, const struct timespec* until) {
  WEFT_REAL(sem_clockwait);
  abi::Thread* thread = lib::virtual_thread();
  if (!thread) return next_sem_clockwait(semaphore, clock, until);
  if (!is_valid(clock, *until)) {
    errno = EINVAL;
    return -1;
  }
  std::int64_t deadline = lib::time_on_clock(clock, *until);
  while (!lib::has_threads()) {
    lib::Awaited awaited(thread);
    RealWait real(*thread, deadline);
    int result = next_sem_clockwait(semaphore, CLOCK_MONOTONIC, &real.until);
    if (result == 0 || errno != ETIMEDOUT) return result;
    lib::jump_to(*thread, real.whole ? deadline : lib::now(*thread) + RealWait::kPart * 1000);
    if (real.whole) return result;
  }
  while (sem_trywait(semaphore) != 0) {
    begin_wait(*thread, semaphore, true);
    if (sem_trywait(semaphore) == 0) {
      waits[lib::index_of(*thread)].what.store(nullptr);
      return 0;
    }
    if (!wait_until_over(*thread, deadline)) {
      errno = ETIMEDOUT;
      return -1;
    }
  }
  return 0;
}

int sem_timedwait(sem_t* semaphore, const struct timespec* until) {
  if (lib::virtual_thread()) return sem_clockwait(semaphore, CLOCK_REALTIME, until);
  WEFT_REAL(sem_timedwait);
  return next_sem_timedwait(semaphore, until);
}

int sem_post(sem_t* semaphore) {
  WEFT_REAL(sem_post);
  int result = next_sem_post(semaphore);
  if (result == 0 && anybody_waits()) let_go_on(semaphore, false, time_here());
  return result;
}
}
