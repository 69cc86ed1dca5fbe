// Functions of the C library that tell or take time, in virtual time for threads that are in it.
#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

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

/// Libraries for network cards that nobody has here, which libfabric brings along, measure the processor's
/// clock when they are loaded: each for a tenth of a second, in 800 sleeps, on the first core, where all
/// ranks then meet. They give an attempt up when time goes back, and ask the system after nine. Their sleeps
/// show that they are at it: after each they read the time, and once more for the next attempt.
thread_local unsigned reads_of_a_measurement = 0;

bool measures_clocks(const void* caller) {
  return lib::of_library("libinfinipath.so", caller) || lib::of_library("libpsm2.so", caller);
}

bool sleeps_to_measure(useconds_t microseconds, const void* caller) {
  if (microseconds != 125 || !measures_clocks(caller)) return false;
  reads_of_a_measurement = 2;
  return true;
}

bool reads_to_measure(const void* caller) {
  return reads_of_a_measurement > 0 && reads_of_a_measurement-- > 0 && measures_clocks(caller);
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

int gettimeofday(struct timeval* __restrict t, void* __restrict zone) {
  if (reads_to_measure(__builtin_return_address(0))) {
    static time_t back = 1'000'000'000;
    *t = {--back, 0};
    return 0;
  }
  abi::Thread* thread = clock_thread();
  if (!thread) {
    WEFT_REAL(gettimeofday);
    return next_gettimeofday(t, zone);
  }
  std::int64_t now = lib::read_clock(*thread, __builtin_return_address(0));
  t->tv_sec = base_seconds(CLOCK_REALTIME) + now / kSecond;
  t->tv_usec = now % kSecond / 1'000'000;
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
