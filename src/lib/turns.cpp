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

std::atomic<bool> reading[abi::kLanes];

}  // namespace

bool shares_open_mpi(const abi::Lane& lane) {
  return has_threads() && lane.doing.inside() && !outside() && !is_mpich();
}

void give_way(abi::Lane& lane, unsigned& times) {
  constexpr std::int64_t kFirst = 1'000'000;  // picoseconds
  constexpr unsigned kMostDoublings = 10;
  lane.argument[0] = times == 0;
  std::int64_t most = kFirst << std::min(times, kMostDoublings);
  ++times;
  ask(lane, abi::Call::Yield, abi::kNoPort, now(lane) + most, abi::kNoRank);
}

void wait_or_be_called(abi::Lane& lane, std::uint32_t port, std::int64_t deadline, std::uint32_t for_rank) {
  lane.argument[0] = 0;
  ask(lane, has_threads() ? abi::Call::Spin : abi::Call::Wait, port, deadline, for_rank);
}

bool waits_when_it_yields(abi::Lane& lane, std::uint32_t port, std::uint32_t for_rank) {
  if (!shares_open_mpi(lane)) return false;
  last_look = {LastLook::InVain, port, for_rank};
  return ++looks_since_yield <= kLooksWithoutYield;
}

void skipped_look() { last_look.is = LastLook::Skipped; }

void set_reading(abi::Lane& lane, bool now_reading) {
  reading[index_of(lane)].store(now_reading, std::memory_order_relaxed);
}

bool reads(const abi::Lane& lane) { return reading[index_of(lane)].load(std::memory_order_relaxed); }

bool others_read(const abi::Lane& lane) {
  std::size_t own = index_of(lane);
  for (std::size_t i = 0; i < abi::kLanes; ++i)
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
  abi::Lane* lane = lib::virtual_lane();
  if (!lane) return static_cast<int>(syscall(SYS_sched_yield));
  if (!lib::has_threads()) {
    // A rank of one thread has waited where it looked.
    return lane->doing.inside() ? 0 : static_cast<int>(syscall(SYS_sched_yield));
  }
  lib::set_reading(*lane, false);
  lib::looks_since_yield = 0;
  auto look = std::exchange(lib::last_look.is, lib::LastLook::None);
  if (look == lib::LastLook::None) {
    lib::give_way(*lane, lib::yields);
  } else {
    lib::yields = 0;
    if (look == lib::LastLook::InVain) lib::look_again(*lane, lib::last_look.port, lib::last_look.for_rank);
  }
  return 0;
}

// Whoever holds it may wait for the simulator: others that try it again and again let it go on.
int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  WEFT_REAL(pthread_mutex_trylock);
  int result = next_pthread_mutex_trylock(mutex);
  abi::Lane* lane = result == EBUSY ? lib::virtual_lane() : nullptr;
  if (lane && lib::has_threads() && lib::has_lane(mutex->__data.__owner)) {
    lib::give_way(*lane, lib::refusals);
    result = next_pthread_mutex_trylock(mutex);
  }
  if (result == 0) lib::refusals = 0;
  return result;
}
}
