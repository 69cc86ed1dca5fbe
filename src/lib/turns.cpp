#include "lib/turns.hpp"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "lib/mpi_library.hpp"
#include "lib/real.hpp"

namespace abi = weft::abi;
namespace lib = weft::lib;

namespace weft::lib {

namespace {

/// What the thread's last look came to, since it last yielded. It waits when it yields for what it looked
/// for in vain; a look that was none because the one before had found something is to be done again.
struct LastLook {
  enum { None, InVain, Skipped } is = None;
  std::uint32_t port = abi::kNoPort, for_rank = abi::kNoRank;
};

thread_local LastLook last_look;
thread_local unsigned looks_since_yield = 0;
thread_local unsigned yields = 0;    // in a row, without a look between them
thread_local unsigned refusals = 0;  // by mutexes it tried, in a row

// Threads that look a hundred times without yielding will not yield.
constexpr unsigned kLooksWithoutYield = 100;

std::atomic<bool> reading[abi::kThreads];

}  // namespace

bool shares_open_mpi(const abi::Thread& thread) {
  return has_threads() && thread.doing.inside() && !outside() && !is_mpich();
}

void give_way(abi::Thread& thread, unsigned& times) {
  constexpr std::int64_t kFirst = 1'000'000;  // picoseconds
  constexpr unsigned kMostDoublings = 10;
  thread.argument[0] = times == 0;
  std::int64_t most = kFirst << std::min(times, kMostDoublings);
  ++times;
  ask(thread, abi::Call::Yield, abi::kNoPort, now(thread) + most, abi::kNoRank);
}

void wait_or_be_called(abi::Thread& thread, std::uint32_t port, std::int64_t deadline,
                       std::uint32_t for_rank) {
  thread.argument[0] = 0;
  ask(thread, has_threads() ? abi::Call::Spin : abi::Call::Wait, port, deadline, for_rank);
}

bool waits_when_it_yields(abi::Thread& thread, std::uint32_t port, std::uint32_t for_rank) {
  if (!shares_open_mpi(thread)) return false;
  last_look = {LastLook::InVain, port, for_rank};
  return ++looks_since_yield <= kLooksWithoutYield;
}

void skipped_look() { last_look.is = LastLook::Skipped; }

void set_reading(abi::Thread& thread, bool now_reading) {
  reading[index_of(thread)].store(now_reading, std::memory_order_relaxed);
}

bool reads(const abi::Thread& thread) { return reading[index_of(thread)].load(std::memory_order_relaxed); }

bool others_read(const abi::Thread& thread) {
  std::size_t own = index_of(thread);
  for (std::size_t i = 0; i < abi::kThreads; ++i)
    if (i != own && reading[i].load(std::memory_order_relaxed)) return true;
  return false;
}

bool on_own_stack(const void* at) {
  static thread_local const char *low = nullptr, *high = nullptr;
  if (!high) {
    pthread_attr_t attributes;
    void* base = nullptr;
    std::size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return false;
    pthread_attr_getstack(&attributes, &base, &bytes);
    pthread_attr_destroy(&attributes);
    low = static_cast<const char*>(base);
    high = low + bytes;
  }
  return at >= low && at < high;
}

}  // namespace weft::lib

extern "C" {

int sched_yield(void) {
  abi::Thread* thread = lib::virtual_thread();
  if (!thread) return static_cast<int>(syscall(SYS_sched_yield));
  if (!lib::has_threads()) {
    // A rank of one thread has waited where it looked.
    return thread->doing.inside() ? 0 : static_cast<int>(syscall(SYS_sched_yield));
  }
  lib::set_reading(*thread, false);
  lib::looks_since_yield = 0;
  auto look = std::exchange(lib::last_look.is, lib::LastLook::None);
  if (look == lib::LastLook::None) {
    lib::give_way(*thread, lib::yields);
  } else {
    lib::yields = 0;
    if (look == lib::LastLook::InVain) lib::look_again(*thread, lib::last_look.port, lib::last_look.for_rank);
  }
  return 0;
}

// Whoever holds it may wait for the simulator: others that try it again and again let it go on.
int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  WEFT_REAL(pthread_mutex_trylock);
  int result = next_pthread_mutex_trylock(mutex);
  abi::Thread* thread = result == EBUSY ? lib::virtual_thread() : nullptr;
  if (thread && lib::has_threads() && lib::is_rank_thread(mutex->__data.__owner)) {
    lib::give_way(*thread, lib::refusals);
    result = next_pthread_mutex_trylock(mutex);
  }
  if (result == 0) lib::refusals = 0;
  return result;
}
}
