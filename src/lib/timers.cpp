#include "lib/timers.hpp"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "lib/clocks.hpp"
#include "lib/real.hpp"
#include "lib/storage.hpp"

namespace abi = weft::abi;
namespace lib = weft::lib;

using lib::kSecond;

namespace {

constexpr std::int64_t kMicrosecond = 1'000'000;
constexpr std::uint32_t kAnyThread = ~0u;

struct Timer {
  enum Kind { Free, Signal, Thread, File } kind = Free;
  std::int64_t at = abi::kNoDeadline, interval = 0;
  clockid_t clock = CLOCK_MONOTONIC;
  std::uint32_t thread = 0;  // the one that sees to it
  int signal = SIGALRM;
  bool has_value = false;  // it tells the handler one
  sigval value{};
  void (*function)(sigval) = nullptr;
  int file = -1;
  std::uint64_t missed = 0;  // at its last signal
};

// The first three are those of setitimer. Threads in virtual time run one after the other: nothing is locked.
constexpr unsigned kIntervalTimers = 3, kTimers = 128;
Timer timers[kTimers];
unsigned used = kIntervalTimers;  // all in use lie before this

thread_local sigset_t waited_for;  // a copy: a handler may jump out of a wait

void set(Timer& t, std::int64_t at, std::int64_t interval) {
  bool was = t.at != abi::kNoDeadline, is = at != abi::kNoDeadline;
  t.at = at;
  t.interval = interval;
  if (was != is) lib::timers_set.fetch_add(is ? 1 : ~0u);
}

Timer* new_timer(Timer::Kind kind) {
  for (unsigned i = kIntervalTimers; i < kTimers; ++i) {
    if (timers[i].kind != Timer::Free) continue;
    timers[i] = {};
    timers[i].kind = kind;
    if (i >= used) used = i + 1;
    return &timers[i];
  }
  errno = EAGAIN;
  return nullptr;
}

void give_up(Timer& t) {
  set(t, abi::kNoDeadline, 0);
  t.kind = Timer::Free;
}

/// Does the program have a handler for it, which runs at once?
bool is_handled(int signal) {
  struct sigaction action {};
  sigset_t mask;
  sigemptyset(&mask);
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return !sigismember(&mask, signal) && sigaction(signal, nullptr, &action) == 0 &&
         action.sa_handler != SIG_IGN && action.sa_handler != SIG_DFL;
}

void send(const Timer& t) {
  siginfo_t info{};
  info.si_signo = t.signal;
  info.si_code = t.has_value ? SI_TIMER : SI_KERNEL;
  info.si_value = t.value;
  info.si_overrun = static_cast<int>(t.missed);
  bool for_this_thread = t.thread != 0 || sigismember(&waited_for, t.signal) == 1;
  if (!for_this_thread) {
    syscall(SYS_rt_sigqueueinfo, getpid(), t.signal, &info);
  } else {
    syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), t.signal, &info);
  }
}

struct Start {
  void (*function)(sigval);
  sigval value;
};

void* notify(void* p) {
  Start start = *static_cast<Start*>(p);
  free(p);
  start.function(start.value);
  return nullptr;
}

void start_thread(const Timer& t, abi::Thread& thread) {
  auto* start = static_cast<Start*>(malloc(sizeof(Start)));
  if (!start) return;
  *start = {t.function, t.value};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t pthread;
  if (lib::hooks.start_thread(thread, &pthread, &attributes, notify, start) != 0) free(start);
  pthread_attr_destroy(&attributes);
}

/// It has run out `times` times. True where a handler has run.
bool run_out(Timer& t, std::uint64_t times, abi::Thread& thread) {
  switch (t.kind) {
    case Timer::Signal: {
      t.missed = times - 1;
      bool handled = is_handled(t.signal);
      send(t);
      return handled;
    }
    case Timer::Thread:
      start_thread(t, thread);
      return false;
    case Timer::File: {
      [[maybe_unused]] ssize_t ignored = write(t.file, &times, sizeof times);
      return false;
    }
    case Timer::Free:
      break;
  }
  return false;
}

bool sees_to(const abi::Thread& thread, const Timer& t) {
  return t.at != abi::kNoDeadline && (t.thread == kAnyThread || t.thread == lib::index_of(thread));
}

std::int64_t picoseconds(const timespec& t) { return lib::saturated(0, t.tv_sec, t.tv_nsec * 1000); }
std::int64_t picoseconds(const timeval& t) { return lib::saturated(0, t.tv_sec, t.tv_usec * kMicrosecond); }
bool is_valid(const timespec& t) { return t.tv_sec >= 0 && t.tv_nsec >= 0 && t.tv_nsec < 1'000'000'000; }
bool is_valid(const timeval& t) { return t.tv_sec >= 0 && t.tv_usec >= 0 && t.tv_usec < 1'000'000; }
timespec spec(std::int64_t ps) { return {ps / kSecond, ps % kSecond / 1000}; }
timeval val(std::int64_t ps) { return {ps / kSecond, ps % kSecond / kMicrosecond}; }

std::int64_t left(const Timer& t, const abi::Thread& thread) {
  if (t.at == abi::kNoDeadline) return 0;
  std::int64_t rest = t.at - lib::now(thread);
  return rest > 1000 ? rest : 1000;  // one that is set never shows nothing
}

void set_by_spec(Timer& t, const abi::Thread& thread, bool absolute, const itimerspec& to) {
  if (to.it_value.tv_sec == 0 && to.it_value.tv_nsec == 0) return set(t, abi::kNoDeadline, 0);
  std::int64_t at = absolute
                        ? lib::time_on_clock(t.clock, to.it_value)
                        : lib::saturated(lib::now(thread), to.it_value.tv_sec, to.it_value.tv_nsec * 1000);
  t.missed = 0;
  set(t, at, picoseconds(to.it_interval));
}

itimerspec shown(const Timer& t, const abi::Thread& thread) {
  return {spec(t.interval), spec(left(t, thread))};
}

/// An interval timer of the process: its number where it is in virtual time.
Timer* interval_timer(int which) {
  static const int signals[] = {SIGALRM, SIGVTALRM, SIGPROF};
  if (which < 0 || which > 2) return nullptr;
  if (which != ITIMER_REAL && !lib::is_processor_time(CLOCK_PROCESS_CPUTIME_ID)) return nullptr;
  timers[which].kind = Timer::Signal;
  timers[which].signal = signals[which];
  return &timers[which];
}

Timer* of_handle(timer_t handle) {
  auto* t = static_cast<Timer*>(handle);
  return t >= timers && t < timers + kTimers && t->kind != Timer::Free ? t : nullptr;
}

Timer* of_file(int file) {
  for (unsigned i = kIntervalTimers; i < used; ++i)
    if (timers[i].kind == Timer::File && timers[i].file == file) return &timers[i];
  return nullptr;
}

}  // namespace

namespace weft::lib {

std::int64_t next_timer(const abi::Thread& thread) {
  std::int64_t out = abi::kNoDeadline;
  for (unsigned i = 0; i < used; ++i)
    if (sees_to(thread, timers[i]) && timers[i].at < out) out = timers[i].at;
  return out;
}

bool run_timers(abi::Thread& thread) {
  bool handled = false;
  for (unsigned i = 0; i < used; ++i) {
    Timer& t = timers[i];
    if (!sees_to(thread, t) || t.at > now(thread)) continue;
    std::uint64_t times = 1;
    if (t.interval > 0) {
      times += static_cast<std::uint64_t>((now(thread) - t.at) / t.interval);
      t.at += static_cast<std::int64_t>(times) * t.interval;
    } else {
      set(t, abi::kNoDeadline, 0);
    }
    handled |= run_out(t, times, thread);
  }
  return handled;
}

SignalWait::SignalWait(const sigset_t& set) : outer_(waited_for) { waited_for = set; }

SignalWait::~SignalWait() { waited_for = outer_; }

}  // namespace weft::lib

namespace {

__attribute__((constructor)) void serve_waits() {
  lib::hooks.next_timer = lib::next_timer;
  lib::hooks.run_timers = lib::run_timers;
}

}  // namespace

extern "C" {

int setitimer(__itimer_which_t which, const struct itimerval* __restrict to,
              struct itimerval* __restrict before) {
  WEFT_REAL(setitimer);
  abi::Thread* thread = lib::virtual_thread();
  Timer* t = thread ? interval_timer(which) : nullptr;
  if (!t) return next_setitimer(which, to, before);
  if (to && (!is_valid(to->it_value) || !is_valid(to->it_interval))) {
    errno = EINVAL;
    return -1;
  }
  if (before) *before = {val(t->interval), val(left(*t, *thread))};
  if (!to) return 0;
  std::int64_t after = picoseconds(to->it_value);
  set(*t, after ? lib::now(*thread) + after : abi::kNoDeadline, picoseconds(to->it_interval));
  return 0;
}

int getitimer(__itimer_which_t which, struct itimerval* out) {
  WEFT_REAL(getitimer);
  abi::Thread* thread = lib::virtual_thread();
  Timer* t = thread ? interval_timer(which) : nullptr;
  if (!t) return next_getitimer(which, out);
  *out = {val(t->interval), val(left(*t, *thread))};
  return 0;
}

unsigned alarm(unsigned seconds) {
  WEFT_REAL(alarm);
  abi::Thread* thread = lib::virtual_thread();
  if (!thread) return next_alarm(seconds);
  Timer& t = *interval_timer(ITIMER_REAL);
  std::int64_t rest = left(t, *thread);
  set(t, seconds ? lib::now(*thread) + seconds * kSecond : abi::kNoDeadline, 0);
  return static_cast<unsigned>((rest + kSecond - 1) / kSecond);
}

useconds_t ualarm(useconds_t value, useconds_t interval) {
  itimerval before{},
      to{{interval / 1'000'000, interval % 1'000'000}, {value / 1'000'000, value % 1'000'000}};
  if (setitimer(ITIMER_REAL, &to, &before) != 0) return static_cast<useconds_t>(-1);
  return static_cast<useconds_t>(before.it_value.tv_sec * 1'000'000 + before.it_value.tv_usec);
}

int timer_create(clockid_t clock, struct sigevent* __restrict event, timer_t* __restrict out) {
  WEFT_REAL(timer_create);
  abi::Thread* thread = lib::virtual_thread();
  if (!thread || !(lib::is_virtual(clock) || lib::is_processor_time(clock)))
    return next_timer_create(clock, event, out);
  Timer* t = new_timer(event && event->sigev_notify == SIGEV_THREAD ? Timer::Thread : Timer::Signal);
  if (!t) return -1;
  t->clock = clock;
  t->has_value = true;
  t->value.sival_ptr = t;
  if (event) {
    t->signal = event->sigev_signo;
    t->value = event->sigev_value;
    if (event->sigev_notify == SIGEV_NONE) t->thread = kAnyThread - 1;  // nobody's: it only counts
    if (event->sigev_notify == SIGEV_THREAD) {
      t->function = event->sigev_notify_function;
      t->thread = kAnyThread;
    }
    if (event->sigev_notify == SIGEV_THREAD_ID && event->_sigev_un._tid == syscall(SYS_gettid))
      t->thread = static_cast<std::uint32_t>(lib::index_of(*thread));
  }
  *out = t;
  return 0;
}

int timer_settime(timer_t handle, int flags, const struct itimerspec* __restrict to,
                  struct itimerspec* __restrict before) {
  WEFT_REAL(timer_settime);
  abi::Thread* thread = lib::virtual_thread();
  Timer* t = thread ? of_handle(handle) : nullptr;
  if (!t) return next_timer_settime(handle, flags, to, before);
  if (!is_valid(to->it_value) || !is_valid(to->it_interval)) {
    errno = EINVAL;
    return -1;
  }
  if (before) *before = shown(*t, *thread);
  set_by_spec(*t, *thread, flags & TIMER_ABSTIME, *to);
  lib::check_timers(*thread);
  return 0;
}

int timer_gettime(timer_t handle, struct itimerspec* out) {
  WEFT_REAL(timer_gettime);
  abi::Thread* thread = lib::virtual_thread();
  Timer* t = thread ? of_handle(handle) : nullptr;
  if (!t) return next_timer_gettime(handle, out);
  *out = shown(*t, *thread);
  return 0;
}

int timer_getoverrun(timer_t handle) {
  WEFT_REAL(timer_getoverrun);
  Timer* t = of_handle(handle);
  return t ? static_cast<int>(t->missed) : next_timer_getoverrun(handle);
}

int timer_delete(timer_t handle) {
  WEFT_REAL(timer_delete);
  Timer* t = of_handle(handle);
  if (!t) return next_timer_delete(handle);
  give_up(*t);
  return 0;
}

// A file whose count is what a timer's would be: reading it gives how often it has run out, and it can be
// polled.
int timerfd_create(__clockid_t clock, int flags) {
  WEFT_REAL(timerfd_create);
  if (!lib::virtual_thread() || !lib::is_virtual(clock)) return next_timerfd_create(clock, flags);
  Timer* t = new_timer(Timer::File);
  if (!t) return -1;
  t->clock = clock;
  t->thread = kAnyThread;
  t->file = eventfd(0, (flags & TFD_NONBLOCK ? EFD_NONBLOCK : 0) | (flags & TFD_CLOEXEC ? EFD_CLOEXEC : 0));
  if (t->file < 0) give_up(*t);
  return t->file;
}

int timerfd_settime(int file, int flags, const struct itimerspec* to, struct itimerspec* before) {
  WEFT_REAL(timerfd_settime);
  abi::Thread* thread = lib::virtual_thread();
  Timer* t = thread ? of_file(file) : nullptr;
  if (!t) return next_timerfd_settime(file, flags, to, before);
  if (!is_valid(to->it_value) || !is_valid(to->it_interval)) {
    errno = EINVAL;
    return -1;
  }
  if (before) *before = shown(*t, *thread);
  std::uint64_t old;  // what was not read of the last setting is gone
  pollfd there{file, POLLIN, 0};
  if (syscall(SYS_poll, &there, 1, 0) == 1) {
    [[maybe_unused]] ssize_t ignored = syscall(SYS_read, file, &old, sizeof old);
  }
  set_by_spec(*t, *thread, flags & TFD_TIMER_ABSTIME, *to);
  lib::check_timers(*thread);
  return 0;
}

int timerfd_gettime(int file, struct itimerspec* out) {
  WEFT_REAL(timerfd_gettime);
  abi::Thread* thread = lib::virtual_thread();
  Timer* t = thread ? of_file(file) : nullptr;
  if (!t) return next_timerfd_gettime(file, out);
  *out = shown(*t, *thread);
  return 0;
}

int close(int file) {
  if (used > kIntervalTimers)
    if (Timer* t = of_file(file)) give_up(*t);
  if (lib::is_storage(file)) lib::storage_closed(file);
  return static_cast<int>(syscall(SYS_close, file));
}
}
