// Functions of the C library that tell or take time, in virtual time for threads that are in it.
#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "lib/children.hpp"
#include "lib/clocks.hpp"
#include "lib/launcher_libraries.hpp"
#include "lib/rank_thread.hpp"
#include "lib/real.hpp"

namespace lib = weft::lib;
namespace abi = weft::abi;

using lib::base_seconds;
using lib::is_processor_time;
using lib::is_virtual;
using lib::kSecond;
using lib::saturated;

namespace {

abi::Thread* clock_thread() { return lib::segment() ? lib::thread_if_any() : nullptr; }

/// False where a signal's handler has run before.
bool sleep_until(abi::Thread& thread, std::int64_t time) {
  lib::enter(thread);
  int result = 0;
  if (time > lib::now(thread)) result = lib::ask(thread, abi::Call::Sleep, abi::kNoPort, time, abi::kNoRank);
  lib::leave();
  return result != -EINTR;
}

// Libraries for network cards that nobody has here, which libfabric brings along, measure the processor's
// clock when they are loaded: each for a tenth of a second, in 800 sleeps, on the first core, where all ranks
// then meet. A tenth of a second by gettimeofday() is all they ask for, and no clock slower than 1 GHz: so
// they get one sleep of as many cycles as that has, and then a time that fits. Nobody uses what they find.
constexpr useconds_t kTheirSleep = 125;
constexpr std::uint64_t kLeastCycles = 105'000'000;
constexpr std::int64_t kTheirTenth = 100'200;  // microseconds
constexpr useconds_t kOneLook = 2'000;

struct Measurement {
  bool read_next = false;  // the next who reads the time ends it
  std::int64_t began = 0;  // microseconds
};
thread_local Measurement measurement;

/// The time as any other library is told it.
timeval time_told(const void* caller) {
  timeval out{};
  if (abi::Thread* thread = clock_thread()) {
    const std::int64_t now = lib::read_clock(*thread, caller);
    out = {static_cast<time_t>(base_seconds(CLOCK_REALTIME) + now / kSecond),
           static_cast<suseconds_t>(now % kSecond / 1'000'000)};
  } else {
    WEFT_REAL(gettimeofday);
    next_gettimeofday(&out, nullptr);
  }
  return out;
}
std::int64_t microseconds_of(const timeval& t) { return t.tv_sec * std::int64_t{1'000'000} + t.tv_usec; }

bool sleeps_to_measure([[maybe_unused]] useconds_t microseconds, [[maybe_unused]] const void* caller) {
#if defined(__x86_64__)
  if (microseconds != kTheirSleep ||
      !(lib::of_library("libinfinipath.so", caller) || lib::of_library("libpsm2.so", caller)))
    return false;
  WEFT_REAL(usleep);
  measurement = {true, microseconds_of(time_told(caller))};
  for (const std::uint64_t from = __builtin_ia32_rdtsc(); __builtin_ia32_rdtsc() - from < kLeastCycles;)
    next_usleep(kOneLook);
  return true;
#else
  return false;
#endif
}

void end_measurement(timeval& t) {
  measurement.read_next = false;
  const std::int64_t now = std::max(measurement.began + kTheirTenth, microseconds_of(t));
  t = {static_cast<time_t>(now / 1'000'000), static_cast<suseconds_t>(now % 1'000'000)};
}

/// While MPI starts or ends, ranks look for each other in short sleeps. Many of them would keep the
/// processors busy with that, and those they wait for from getting there.
useconds_t unhurried(useconds_t microseconds) {
  abi::Header* header = lib::segment();
  if (!header || !lib::outside()) return microseconds;
  abi::MpiPhase phase = header->phase.load();
  if (phase != abi::MpiPhase::Starting && phase != abi::MpiPhase::Ending) return microseconds;
  useconds_t patient = 20 * header->ranks;
  return microseconds < patient ? patient : microseconds;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, struct timespec* t) {
  bool busy = is_processor_time(clock);
  abi::Thread* thread = busy || is_virtual(clock) ? clock_thread() : nullptr;
  if (!thread) {
    WEFT_REAL(clock_gettime);
    if (next_clock_gettime) return next_clock_gettime(clock, t);
    return static_cast<int>(syscall(SYS_clock_gettime, clock, t));
  }
  std::int64_t now = lib::read_clock(*thread, __builtin_return_address(0));
  t->tv_sec = (busy ? 0 : base_seconds(clock)) + now / kSecond;
  t->tv_nsec = now % kSecond / 1000;
  return 0;
}

clock_t clock(void) {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec * CLOCKS_PER_SEC + t.tv_nsec / (1'000'000'000 / CLOCKS_PER_SEC);
}

int getrusage(__rusage_who_t who, struct rusage* usage) {
  WEFT_REAL(getrusage);
  int result = next_getrusage(who, usage);
  abi::Thread* thread = clock_thread();
  if (result != 0 || !thread || who == RUSAGE_CHILDREN || !is_processor_time(CLOCK_PROCESS_CPUTIME_ID))
    return result;
  std::int64_t now = lib::read_clock(*thread, __builtin_return_address(0));
  usage->ru_utime = {now / kSecond, now % kSecond / 1'000'000};
  usage->ru_stime = {};
  return 0;
}

int gettimeofday(struct timeval* __restrict t, void* __restrict) {
  *t = time_told(__builtin_return_address(0));
  if (measurement.read_next) [[unlikely]]
    end_measurement(*t);
  return 0;
}

time_t time(time_t* out) {
  abi::Thread* thread = clock_thread();
  timespec t{};
  if (thread) {
    t.tv_sec = base_seconds(CLOCK_REALTIME) + lib::read_clock(*thread, __builtin_return_address(0)) / kSecond;
  } else {
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &t);
  }
  if (out) *out = t.tv_sec;
  return t.tv_sec;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec* t, struct timespec* left) {
  abi::Thread* thread = is_virtual(clock) ? lib::virtual_thread() : nullptr;
  bool absolute = flags & TIMER_ABSTIME;
  bool valid = t->tv_nsec >= 0 && t->tv_nsec <= 999'999'999 && t->tv_sec >= 0;
  if (!thread) {
    if (valid && !absolute && is_virtual(clock) &&
        lib::sleep_as_child(saturated(0, t->tv_sec, t->tv_nsec * 1000)))
      return 0;
    WEFT_REAL(clock_nanosleep);
    return next_clock_nanosleep(clock, flags, t, left);
  }
  if (!valid) return EINVAL;
  std::int64_t until =
      absolute ? lib::time_on_clock(clock, *t) : saturated(lib::now(*thread), t->tv_sec, t->tv_nsec * 1000);
  bool whole = sleep_until(*thread, until);
  if (left && !absolute) {
    std::int64_t rest = until > lib::now(*thread) ? until - lib::now(*thread) : 0;
    *left = {rest / kSecond, rest % kSecond / 1000};
  }
  return whole ? 0 : EINTR;
}

int nanosleep(const struct timespec* t, struct timespec* left) {
  if (!lib::is_child() && (!lib::virtual_thread() || lib::of_launcher_library(__builtin_return_address(0)))) {
    WEFT_REAL(nanosleep);
    lib::Awaited awaited(lib::virtual_thread());
    return next_nanosleep(t, left);
  }
  int error = clock_nanosleep(CLOCK_MONOTONIC, 0, t, left);
  if (error) errno = error;
  return error ? -1 : 0;
}

int usleep(useconds_t microseconds) {
  timespec t{static_cast<time_t>(microseconds / 1'000'000),
             static_cast<long>(microseconds % 1'000'000) * 1000};
  if (lib::of_launcher_library(__builtin_return_address(0)) || (lib::outside() && clock_thread())) {
    if (sleeps_to_measure(microseconds, __builtin_return_address(0))) return 0;
    WEFT_REAL(usleep);
    lib::Awaited awaited(lib::virtual_thread());
    return next_usleep(unhurried(microseconds));
  }
  return nanosleep(&t, nullptr);
}

unsigned sleep(unsigned seconds) {
  // Open MPI's layer for remote memory ends with a second's sleep, out of fear of another provider.
  if (lib::of_library("mca_btl_ofi.so", __builtin_return_address(0))) return 0;
  timespec t{static_cast<time_t>(seconds), 0};
  timespec left{};
  // What is left is rounded, as the C library does.
  return nanosleep(&t, &left) == 0 ? 0 : static_cast<unsigned>(left.tv_sec + (left.tv_nsec >= 500'000'000));
}
}
