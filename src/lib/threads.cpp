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

// What each lane waits for: a condition, a semaphore or a thread; since when, to be let go on in order; the
// word it sleeps on; and whether it does so in virtual time, until a deadline.
struct Wait {
  std::atomic<const void*> what;
  std::uint64_t ticket;
  std::atomic<std::uint32_t> over;
  bool timed;
};
Wait waits[abi::kLanes];
std::atomic<std::uint64_t> tickets;

// The mutex each lane waits for.
std::atomic<const pthread_mutex_t*> wanted[abi::kLanes];

// Threads that have given up their lanes and may be joined; their times.
struct Ended {
  pthread_t thread;
  std::int64_t clock;
  bool ready;
};
Ended ended[64];
unsigned ended_count = 0;
pthread_mutex_t ended_mutex = PTHREAD_MUTEX_INITIALIZER;

bool threads_expected = false;

const void* key_of(pthread_t thread) { return reinterpret_cast<const void*>(thread); }

long futex(std::atomic<std::uint32_t>* word, int operation, std::uint32_t value) {
  return syscall(SYS_futex, word, operation, value, nullptr, nullptr, 0);
}

/// To be called before what lets others see that it waits.
void begin_wait(abi::Lane& lane, const void* what, bool timed = false) {
  Wait& wait = waits[lib::index_of(lane)];
  wait.over.store(0);
  wait.timed = timed;
  wait.ticket = tickets.fetch_add(1);
  wait.what.store(what);
}

bool wait_until_over(abi::Lane& lane, std::int64_t deadline);

/// Are there timers to be seen to while a thread waits for another one?
bool beside_timers() { return lib::timers_are_set() && lib::has_threads(); }

/// Until somebody lets it go on: out of virtual time, unless a timer may have to be seen to meanwhile.
void sleep_until_over(abi::Lane& lane) {
  Wait& wait = waits[lib::index_of(lane)];
  if (wait.timed) {
    wait_until_over(lane, abi::kNoDeadline);
    return;
  }
  weft_outside_begin();
  while (!wait.over.load()) futex(&wait.over, FUTEX_WAIT_PRIVATE, 0);
  lane.awaited.store(0);
  weft_outside_end();
}

/// Until somebody lets it go on, or the deadline. Returns whether somebody has.
bool wait_until_over(abi::Lane& lane, std::int64_t deadline) {
  Wait& wait = waits[lib::index_of(lane)];
  while (!wait.over.load()) {
    if (lib::now(lane) >= deadline) return wait.what.exchange(nullptr) == nullptr;
    lane.argument[0] = 0;
    lib::ask(lane, abi::Call::YieldUntil, abi::kNoPort, deadline, abi::kNoRank);
  }
  return true;
}

/// Lets those who wait for this go on, or the one that has waited for longest; at this time, if it is known.
/// False where nobody waits.
bool let_go_on(const void* what, bool all, std::int64_t time) {
  bool any = false;
  for (;;) {
    unsigned oldest = abi::kLanes;
    for (unsigned i = 0; i < abi::kLanes; ++i)
      if (waits[i].what.load() == what && (oldest == abi::kLanes || waits[i].ticket < waits[oldest].ticket))
        oldest = i;
    if (oldest == abi::kLanes) return any;
    const void* expected = what;
    if (!waits[oldest].what.compare_exchange_strong(expected, nullptr)) continue;  // its time was over
    any = true;
    if (waits[oldest].timed) {  // it looks again when the caller has had a turn that was no mere look
      waits[oldest].over.store(1);
      if (abi::Lane* here = lib::virtual_lane())
        lib::ask(*here, abi::Call::Sleep, abi::kNoPort, lib::now(*here), abi::kNoRank);
      if (!all) return true;
      continue;
    }
    abi::Lane* lane = abi::lane_at(lib::segment(), oldest);
    // It may be on its way to sleep: it is outside before that.
    while (lane->state.load() != static_cast<std::uint32_t>(abi::LaneState::External))
      syscall(SYS_sched_yield);
    lib::resume(*lane, time);
    waits[oldest].over.store(1);
    futex(&waits[oldest].over, FUTEX_WAKE_PRIVATE, 1);
    if (!all) return true;
  }
}

/// A thread without a lane may end the wait, in real time: it may take as long as the program said. In parts,
/// since that thread may come to have one.
struct RealWait {
  static constexpr std::int64_t kPart = 50'000'000;  // nanoseconds
  RealWait(const abi::Lane& lane, std::int64_t deadline) {
    std::int64_t left = deadline > lib::now(lane) ? (deadline - lib::now(lane)) / 1000 : 0;
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
  abi::Lane* lane = lib::virtual_lane();
  return lane ? lib::now(*lane) : 0;
}

/// Has this thread given up its lane? The caller's clock is not before that then.
bool end_of(pthread_t thread, abi::Lane& lane) {
  for (unsigned i = 0; i < 64 && i < ended_count; ++i) {
    if (!ended[i].ready || !pthread_equal(ended[i].thread, thread)) continue;
    lib::jump_to(lane, ended[i].clock);
    ended[i].ready = false;
    return true;
  }
  return false;
}

bool wanted_by_others(const abi::Lane& lane, const pthread_mutex_t* mutex) {
  for (unsigned i = 0; i < abi::kLanes; ++i)
    if (i != lib::index_of(lane) && wanted[i].load(std::memory_order_relaxed) == mutex) return true;
  return false;
}

bool anybody_waits() { return lib::segment() && tickets.load(std::memory_order_relaxed) != 0; }

struct Start {
  void* (*function)(void*);
  void* argument;
  abi::Lane* lane;
};

void* begin_thread(void* p) {
  Start start = *static_cast<Start*>(p);
  free(p);
  if (start.lane) {
    lib::adopt(*start.lane);
    lib::ask(*start.lane, abi::Call::Sleep, abi::kNoPort, lib::now(*start.lane),
             abi::kNoRank);  // its turn
  }
  return start.function(start.argument);
}

}  // namespace

namespace weft::lib {

void expect_threads() { threads_expected = true; }

int start_thread(abi::Lane& parent, pthread_t* thread, const pthread_attr_t* attributes,
                 void* (*function)(void*), void* argument) {
  WEFT_REAL(pthread_create);
  auto* start = static_cast<Start*>(malloc(sizeof(Start)));
  if (!start) return EAGAIN;
  *start = {function, argument, lane_for_child(parent)};
  int result = next_pthread_create(thread, attributes, begin_thread, start);
  if (result != 0) free(start);
  return result;
}

void thread_ends(abi::Lane& lane) {
  WEFT_REAL(pthread_mutex_lock);
  next_pthread_mutex_lock(&ended_mutex);
  ended[ended_count++ % 64] = {pthread_self(), now(lane), true};
  pthread_mutex_unlock(&ended_mutex);
  let_go_on(key_of(pthread_self()), true, now(lane));
}

}  // namespace weft::lib

namespace {

__attribute__((constructor)) void serve_threads() {
  lib::hooks.thread_ends = lib::thread_ends;
  lib::hooks.start_thread = lib::start_thread;
}

}  // namespace

extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                   void* argument) {
  WEFT_REAL(pthread_create);
  abi::Lane* parent = threads_expected ? lib::virtual_lane() : nullptr;
  if (!parent || lib::of_launcher_library(__builtin_return_address(0)))
    return next_pthread_create(thread, attributes, function, argument);
  return lib::start_thread(*parent, thread, attributes, function, argument);
}

int pthread_join(pthread_t thread, void** result) {
  WEFT_REAL(pthread_join);
  abi::Lane* lane = lib::virtual_lane();
  if (!lane) return next_pthread_join(thread, result);
  if (!end_of(thread, *lane)) {
    begin_wait(*lane, key_of(thread));
    lib::Outside outside;
    int joined = next_pthread_join(thread, result);
    waits[lib::index_of(*lane)].what.store(nullptr);
    lane->awaited.store(0);
    end_of(thread, *lane);
    return joined;
  }
  lib::Awaited awaited(lane);
  return next_pthread_join(thread, result);  // it is about to end, whatever virtual time does
}

// A thread that holds a mutex may wait for the simulator: others then wait in virtual time, where it goes on.
int pthread_mutex_lock(pthread_mutex_t* mutex) {
  WEFT_REAL(pthread_mutex_lock);
  abi::Lane* lane = lib::virtual_lane();
  if (!lane || !lib::has_threads()) return next_pthread_mutex_lock(mutex);
  WEFT_REAL(pthread_mutex_trylock);
  // A thread of MPICH that polls unlocks and locks again at once: whoever waits in between comes first.
  if (lib::is_mpich() && wanted_by_others(*lane, mutex)) lib::let_others_go_first(*lane);
  int result;
  unsigned times = 0;
  while ((result = next_pthread_mutex_trylock(mutex)) == EBUSY) {
    if (!lib::has_lane(mutex->__data.__owner)) {
      lib::Awaited awaited(lane);
      return next_pthread_mutex_lock(mutex);
    }
    wanted[lib::index_of(*lane)].store(mutex);
    lib::give_way(*lane, times);
    wanted[lib::index_of(*lane)].store(nullptr);
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
  abi::Lane* lane = lib::virtual_lane();
  if (!lane || lib::of_launcher_library(__builtin_return_address(0))) {
    lib::Awaited awaited(lane);
    return next(condition, mutex);
  }
  begin_wait(*lane, condition, beside_timers());
  pthread_mutex_unlock(mutex);
  sleep_until_over(*lane);
  return pthread_mutex_lock(mutex);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  WEFT_REAL(pthread_cond_clockwait);
  abi::Lane* lane = lib::virtual_lane();
  if (!lane || lib::of_launcher_library(__builtin_return_address(0)))
    return next_pthread_cond_clockwait(condition, mutex, clock, until);
  if (!is_valid(clock, *until)) return EINVAL;
  std::int64_t deadline = lib::time_on_clock(clock, *until);
  if (!lib::has_threads()) {
    lib::Awaited awaited(lane);
    RealWait real(*lane, deadline);
    int result = next_pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, &real.until);
    if (result != ETIMEDOUT) return result;
    // A condition may seem to be signalled when it is not: the program looks, and waits for the next part.
    lib::jump_to(*lane, real.whole ? deadline : lib::now(*lane) + RealWait::kPart * 1000);
    return real.whole ? ETIMEDOUT : 0;
  }
  begin_wait(*lane, condition, true);
  pthread_mutex_unlock(mutex);
  bool told = wait_until_over(*lane, deadline);
  pthread_mutex_lock(mutex);
  return told ? 0 : ETIMEDOUT;
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const struct timespec* until) {
  if (!lib::virtual_lane() || lib::of_launcher_library(__builtin_return_address(0))) {
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
  abi::Lane* lane = lib::virtual_lane();
  if (!lane) return next_sem_wait(semaphore);
  while (sem_trywait(semaphore) != 0) {
    begin_wait(*lane, semaphore, beside_timers());
    if (sem_trywait(semaphore) == 0) {  // posted meanwhile, by a thread without a lane
      waits[lib::index_of(*lane)].what.store(nullptr);
      return 0;
    }
    sleep_until_over(*lane);
  }
  return 0;
}

int sem_clockwait(sem_t* semaphore, clockid_t clock, const struct timespec* until) {
  WEFT_REAL(sem_clockwait);
  abi::Lane* lane = lib::virtual_lane();
  if (!lane) return next_sem_clockwait(semaphore, clock, until);
  if (!is_valid(clock, *until)) {
    errno = EINVAL;
    return -1;
  }
  std::int64_t deadline = lib::time_on_clock(clock, *until);
  while (!lib::has_threads()) {
    lib::Awaited awaited(lane);
    RealWait real(*lane, deadline);
    int result = next_sem_clockwait(semaphore, CLOCK_MONOTONIC, &real.until);
    if (result == 0 || errno != ETIMEDOUT) return result;
    lib::jump_to(*lane, real.whole ? deadline : lib::now(*lane) + RealWait::kPart * 1000);
    if (real.whole) return result;
  }
  while (sem_trywait(semaphore) != 0) {
    begin_wait(*lane, semaphore, true);
    if (sem_trywait(semaphore) == 0) {
      waits[lib::index_of(*lane)].what.store(nullptr);
      return 0;
    }
    if (!wait_until_over(*lane, deadline)) {
      errno = ETIMEDOUT;
      return -1;
    }
  }
  return 0;
}

int sem_timedwait(sem_t* semaphore, const struct timespec* until) {
  if (lib::virtual_lane()) return sem_clockwait(semaphore, CLOCK_REALTIME, until);
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
