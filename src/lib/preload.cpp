// Functions of the C library that tell or take time, in virtual time for threads that have a lane.
#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "lib/clocks.hpp"
#include "lib/lane.hpp"
#include "lib/launcher_libraries.hpp"
#include "lib/real.hpp"

namespace lib = weft::lib;
namespace host = weft::host;

using lib::base_seconds;
using lib::kSecond;
using lib::saturated;

namespace {

/// Processor time of MPI programs is the time they have lived: a rank that waits in MPI looks all the while.
/// For others it stays real.
bool is_processor_time(clockid_t clock) {
  bool asked = clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID;
  return asked && lib::segment() && lib::segment()->phase.load() != host::MpiPhase::None;
}

/// A clock of the wall or of uptime.
bool is_virtual(clockid_t clock) {
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_BOOTTIME:
      return true;
    default:
      return false;
  }
}

host::Lane* clock_lane() { return lib::segment() ? lib::lane_if_any() : nullptr; }

void sleep_until(host::Lane& lane, std::int64_t time) {
  lib::enter(lane);
  if (time > lib::now(lane)) lib::ask(lane, host::Call::Sleep, host::kNoPort, time, host::kNoRank);
  lib::leave();
}

/// While MPI starts or ends, ranks look for each other in short sleeps. Many of them would keep the
/// processors busy with that, and those they wait for from getting there.
useconds_t unhurried(useconds_t microseconds) {
  host::Header* header = lib::segment();
  if (!header || !lib::outside()) return microseconds;
  host::MpiPhase phase = header->phase.load();
  if (phase != host::MpiPhase::Starting && phase != host::MpiPhase::Ending) return microseconds;
  useconds_t patient = 20 * header->ranks;
  return microseconds < patient ? patient : microseconds;
}

/// Looks at once, then after the time-out has passed in virtual time; without a time-out, waits outside.
template <class Look>
int wait_on_files(host::Lane& lane, std::int64_t picoseconds, Look look) {
  int found = look(true);
  if (found != 0 || picoseconds == 0) return found;
  if (picoseconds < 0) {
    lib::Outside outside;
    return look(false);
  }
  sleep_until(lane, lib::now(lane) + picoseconds);
  return look(true);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, struct timespec* t) {
  bool busy = is_processor_time(clock);
  host::Lane* lane = busy || is_virtual(clock) ? clock_lane() : nullptr;
  if (!lane) {
    WEFT_REAL(clock_gettime);
    if (next_clock_gettime) return next_clock_gettime(clock, t);
    return static_cast<int>(syscall(SYS_clock_gettime, clock, t));
  }
  std::int64_t now = lib::read_clock(*lane);
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
  host::Lane* lane = clock_lane();
  if (result != 0 || !lane || who == RUSAGE_CHILDREN || !is_processor_time(CLOCK_PROCESS_CPUTIME_ID))
    return result;
  std::int64_t now = lib::read_clock(*lane);
  usage->ru_utime = {now / kSecond, now % kSecond / 1'000'000};
  usage->ru_stime = {};
  return 0;
}

int gettimeofday(struct timeval* __restrict t, void* __restrict zone) {
  host::Lane* lane = clock_lane();
  if (!lane) {
    WEFT_REAL(gettimeofday);
    return next_gettimeofday(t, zone);
  }
  std::int64_t now = lib::read_clock(*lane);
  t->tv_sec = base_seconds(CLOCK_REALTIME) + now / kSecond;
  t->tv_usec = now % kSecond / 1'000'000;
  return 0;
}

time_t time(time_t* out) {
  host::Lane* lane = clock_lane();
  timespec t{};
  if (lane) {
    t.tv_sec = base_seconds(CLOCK_REALTIME) + lib::read_clock(*lane) / kSecond;
  } else {
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &t);
  }
  if (out) *out = t.tv_sec;
  return t.tv_sec;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec* t, struct timespec* left) {
  host::Lane* lane = is_virtual(clock) ? lib::virtual_lane() : nullptr;
  if (!lane) {
    WEFT_REAL(clock_nanosleep);
    return next_clock_nanosleep(clock, flags, t, left);
  }
  if (t->tv_nsec < 0 || t->tv_nsec > 999'999'999 || t->tv_sec < 0) return EINVAL;
  bool absolute = flags & TIMER_ABSTIME;
  sleep_until(*lane, absolute ? lib::time_on_clock(clock, *t)
                              : saturated(lib::now(*lane), t->tv_sec, t->tv_nsec * 1000));
  if (left && !absolute) *left = {};
  return 0;
}

int nanosleep(const struct timespec* t, struct timespec* left) {
  if (!lib::virtual_lane() || lib::of_launcher_library(__builtin_return_address(0))) {
    WEFT_REAL(nanosleep);
    lib::Awaited awaited(lib::virtual_lane());
    return next_nanosleep(t, left);
  }
  int error = clock_nanosleep(CLOCK_MONOTONIC, 0, t, left);
  if (error) errno = error;
  return error ? -1 : 0;
}

int usleep(useconds_t microseconds) {
  timespec t{static_cast<time_t>(microseconds / 1'000'000),
             static_cast<long>(microseconds % 1'000'000) * 1000};
  if (lib::of_launcher_library(__builtin_return_address(0)) || (lib::outside() && clock_lane())) {
    WEFT_REAL(usleep);
    lib::Awaited awaited(lib::virtual_lane());
    return next_usleep(unhurried(microseconds));
  }
  return nanosleep(&t, nullptr);
}

unsigned sleep(unsigned seconds) {
  // Open MPI's layer for remote memory ends with a second's sleep, out of fear of another provider.
  if (lib::of_library("mca_btl_ofi.so", __builtin_return_address(0))) return 0;
  timespec t{static_cast<time_t>(seconds), 0};
  timespec left{};
  return nanosleep(&t, &left) == 0 ? 0 : static_cast<unsigned>(left.tv_sec);
}

int poll(struct pollfd* files, nfds_t count, int timeout) {
  WEFT_REAL(poll);
  host::Lane* lane = lib::virtual_lane();
  if (!lane) return next_poll(files, count, timeout);
  return wait_on_files(*lane, timeout < 0 ? -1 : std::int64_t{timeout} * 1'000'000'000,
                       [&](bool at_once) { return next_poll(files, count, at_once ? 0 : -1); });
}

int select(int count, fd_set* __restrict reads, fd_set* __restrict writes, fd_set* __restrict errors,
           struct timeval* __restrict timeout) {
  WEFT_REAL(select);
  host::Lane* lane = lib::virtual_lane();
  if (!lane) return next_select(count, reads, writes, errors, timeout);
  fd_set in[3];  // select writes its answer over its question
  fd_set* sets[3] = {reads, writes, errors};
  for (int i = 0; i < 3; ++i)
    if (sets[i]) in[i] = *sets[i];
  std::int64_t wait = timeout ? saturated(0, timeout->tv_sec, timeout->tv_usec * 1'000'000) : -1;
  return wait_on_files(*lane, wait, [&](bool at_once) {
    for (int i = 0; i < 3; ++i)
      if (sets[i]) *sets[i] = in[i];
    timeval none{};
    return next_select(count, reads, writes, errors, at_once ? &none : nullptr);
  });
}
}
