#include "lib/threads.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "lib/launcher_libraries.hpp"
#include "lib/weft.h"

namespace host = weft::host;
namespace lib = weft::lib;

namespace {

#define REAL(name)                              \
  static decltype(&name) next_##name = nullptr; \
  if (!next_##name) next_##name = reinterpret_cast<decltype(&name)>(dlsym(RTLD_NEXT, #name))

// What each lane waits for: the address of a condition or semaphore, or a thread.
std::atomic<const void*> awaited[host::kLanes];

// Threads that have given up their lanes and may be joined; their times.
struct Ended {
  pthread_t thread;
  std::int64_t clock;
};
Ended ended[64];
unsigned ended_count = 0;
pthread_mutex_t ended_mutex = PTHREAD_MUTEX_INITIALIZER;

bool threads_expected = false;

host::Lane* virtual_lane() { return lib::segment() && !lib::outside() ? lib::lane_if_any() : nullptr; }

unsigned index_of(const host::Lane& lane) {
  return static_cast<unsigned>(&lane - host::lane_at(lib::segment(), 0));
}

const void* key_of(pthread_t thread) { return reinterpret_cast<const void*>(thread); }

/// Out of virtual time, until what is waited for has happened.
class Waiting {
 public:
  Waiting(host::Lane& lane, const void* what) : place_(awaited[index_of(lane)]) {
    place_.store(what);
    weft_outside_begin();
  }
  ~Waiting() {
    place_.store(nullptr);
    weft_outside_end();
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  std::atomic<const void*>& place_;
};

/// Whoever waits for this goes on, at the caller's time.
void let_go_on(const void* what, bool all) {
  host::Lane* by = virtual_lane();
  if (!by) return;
  for (unsigned i = 0; i < host::kLanes; ++i) {
    if (awaited[i].load() != what) continue;
    awaited[i].store(nullptr);
    lib::resume(*host::lane_at(lib::segment(), i), *by);
    if (!all) return;
  }
}

struct Start {
  void* (*function)(void*);
  void* argument;
  host::Lane* lane;
};

void* begin_thread(void* p) {
  Start start = *static_cast<Start*>(p);
  free(p);
  if (start.lane) {
    lib::adopt(*start.lane);
    lib::ask(*start.lane, host::Call::Sleep, host::kNoPort, lib::now(*start.lane), host::kNoRank);  // its turn
  }
  return start.function(start.argument);
}

}  // namespace

namespace weft::lib {

void expect_threads() { threads_expected = true; }

void thread_ends(host::Lane& lane) {
  static decltype(&pthread_mutex_lock) lock = nullptr;
  if (!lock) lock = reinterpret_cast<decltype(lock)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  lock(&ended_mutex);
  ended[ended_count++ % 64] = {pthread_self(), now(lane)};
  pthread_mutex_unlock(&ended_mutex);
  for (unsigned i = 0; i < host::kLanes; ++i) {
    if (awaited[i].load() != key_of(pthread_self())) continue;
    awaited[i].store(nullptr);
    resume(*host::lane_at(segment(), i), lane);
  }
}

}  // namespace weft::lib

extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*), void* argument) {
  REAL(pthread_create);
  host::Lane* parent = threads_expected ? virtual_lane() : nullptr;
  if (!parent || lib::of_launcher_library(__builtin_return_address(0)))
    return next_pthread_create(thread, attributes, function, argument);
  auto* start = static_cast<Start*>(malloc(sizeof(Start)));
  if (!start) return EAGAIN;
  *start = {function, argument, lib::lane_for_child(*parent)};
  int result = next_pthread_create(thread, attributes, begin_thread, start);
  if (result != 0) free(start);
  return result;
}

int pthread_join(pthread_t thread, void** result) {
  REAL(pthread_join);
  host::Lane* lane = virtual_lane();
  if (!lane) return next_pthread_join(thread, result);
  for (unsigned i = 0; i < 64 && i < ended_count; ++i) {
    if (!pthread_equal(ended[i].thread, thread)) continue;
    lib::jump_to(*lane, ended[i].clock);  // it is about to end, whatever virtual time does
    ended[i].thread = {};
    return next_pthread_join(thread, result);
  }
  Waiting waiting(*lane, key_of(thread));
  return next_pthread_join(thread, result);
}

int pthread_barrier_wait(pthread_barrier_t* barrier) {
  REAL(pthread_barrier_wait);
  host::Lane* lane = virtual_lane();
  if (!lane) return next_pthread_barrier_wait(barrier);
  Waiting waiting(*lane, barrier);
  return next_pthread_barrier_wait(barrier);
}

// A thread that holds a mutex may wait for the simulator: others then wait in virtual time, where it goes on.
int pthread_mutex_lock(pthread_mutex_t* mutex) {
  REAL(pthread_mutex_lock);
  host::Lane* lane = virtual_lane();
  if (!lane || lib::segment()->joins.load(std::memory_order_relaxed) == 0) return next_pthread_mutex_lock(mutex);
  int result;
  for (std::int64_t pause = 1000; (result = pthread_mutex_trylock(mutex)) == EBUSY;
       pause = pause < 1'000'000 ? pause * 2 : pause) {
    if (!lib::has_lane(mutex->__data.__owner)) return next_pthread_mutex_lock(mutex);
    lib::ask(*lane, host::Call::Yield, host::kNoPort, lib::now(*lane) + pause, host::kNoRank);
  }
  return result;
}

// Conditions are asked for by version: without one, the old function of the same name is found.
#define REAL_CONDITION(name)                                                                          \
  static decltype(&name) next = nullptr;                                                              \
  if (!next) next = reinterpret_cast<decltype(next)>(dlvsym(RTLD_NEXT, #name, "GLIBC_2.3.2"));        \
  if (!next) next = reinterpret_cast<decltype(next)>(dlsym(RTLD_NEXT, #name))

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  REAL_CONDITION(pthread_cond_wait);
  host::Lane* lane = virtual_lane();
  if (!lane || lib::of_launcher_library(__builtin_return_address(0))) return next(condition, mutex);
  int result;
  {
    Waiting waiting(*lane, condition);
    result = next(condition, mutex);
    // Coming back into virtual time may take a while; others may want the mutex for that.
    pthread_mutex_unlock(mutex);
  }
  pthread_mutex_lock(mutex);
  return result;
}

int pthread_cond_signal(pthread_cond_t* condition) {
  REAL_CONDITION(pthread_cond_signal);
  let_go_on(condition, false);
  return next(condition);
}

int pthread_cond_broadcast(pthread_cond_t* condition) {
  REAL_CONDITION(pthread_cond_broadcast);
  let_go_on(condition, true);
  return next(condition);
}

int sem_wait(sem_t* semaphore) {
  REAL(sem_wait);
  host::Lane* lane = virtual_lane();
  if (!lane) return next_sem_wait(semaphore);
  if (sem_trywait(semaphore) == 0) return 0;
  Waiting waiting(*lane, semaphore);
  return next_sem_wait(semaphore);
}

int sem_post(sem_t* semaphore) {
  REAL(sem_post);
  let_go_on(semaphore, false);
  return next_sem_post(semaphore);
}
}
