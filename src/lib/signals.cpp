// Waiting for signals in virtual time, and signals that must get through.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "lib/children.hpp"
#include "lib/clocks.hpp"
#include "lib/rank_thread.hpp"
#include "lib/real.hpp"
#include "lib/timers.hpp"

namespace abi = weft::abi;
namespace lib = weft::lib;

namespace {

/// Until a timer sends a signal, or the deadline; others may send one at any time. -EINTR: a handler has run.
int sleep_for_signal(abi::Thread& thread, std::int64_t deadline) {
  lib::enter(thread);
  int result = lib::ask(thread, abi::Call::Sleep, abi::kNoPort, deadline, abi::kNoRank);
  lib::leave();
  return result;
}

/// Is there a signal that is not in the mask?
bool is_pending(const sigset_t* mask) {
  sigset_t pending;
  sigpending(&pending);
  for (int i = 1; i < NSIG; ++i)
    if (sigismember(&pending, i) == 1 && sigismember(mask, i) == 0) return true;
  return false;
}

int mask(int (*next)(int, const sigset_t*, sigset_t*), int how, const sigset_t* set, sigset_t* before) {
  if (!set || how == SIG_UNBLOCK || !lib::segment()) return next(how, set, before);
  sigset_t open = *set;  // the simulator's question, and steps to find the answer (lib/spin.cpp)
  sigdelset(&open, abi::kPoke);
  sigdelset(&open, SIGTRAP);
  return next(how, &open, before);
}

}  // namespace

extern "C" {

int pause(void) {
  WEFT_REAL(pause);
  abi::Thread* thread = lib::virtual_thread();
  if (!thread) return next_pause();
  while (lib::timers_are_set())
    if (sleep_for_signal(*thread, abi::kNoDeadline) == -EINTR) {
      errno = EINTR;
      return -1;
    }
  lib::Outside outside;
  return next_pause();
}

int sigsuspend(const sigset_t* set) {
  WEFT_REAL(sigsuspend);
  abi::Thread* thread = lib::virtual_thread();
  if (!thread) return next_sigsuspend(set);
  sigset_t let_in;
  sigfillset(&let_in);
  for (int i = 1; i < NSIG; ++i)
    if (sigismember(set, i) == 1) sigdelset(&let_in, i);
  lib::SignalWait waits(let_in);
  while (!is_pending(set)) {
    if (!lib::timers_are_set() && lib::has_children()) {  // as shells wait for theirs
      lib::ChildWait wait;
      return next_sigsuspend(set);
    }
    if (!lib::timers_are_set()) {
      lib::Outside outside;
      return next_sigsuspend(set);
    }
    // A timer's signal may be blocked but for this wait: then no handler ends the sleep.
    if (sleep_for_signal(*thread, lib::next_timer(*thread)) == -EINTR) {
      errno = EINTR;
      return -1;
    }
  }
  return next_sigsuspend(set);
}

int sigtimedwait(const sigset_t* __restrict set, siginfo_t* __restrict info,
                 const struct timespec* __restrict timeout) {
  WEFT_REAL(sigtimedwait);
  abi::Thread* thread = lib::virtual_thread();
  if (!thread) return next_sigtimedwait(set, info, timeout);
  std::int64_t deadline = timeout
                              ? lib::saturated(lib::now(*thread), timeout->tv_sec, timeout->tv_nsec * 1000)
                              : abi::kNoDeadline;
  const timespec none{};
  lib::SignalWait waits(*set);
  for (;;) {
    int found = next_sigtimedwait(set, info, &none);
    if (found >= 0 || errno != EAGAIN || lib::now(*thread) >= deadline) return found;
    if (!timeout && !lib::timers_are_set()) {
      lib::Outside outside;
      return next_sigtimedwait(set, info, nullptr);
    }
    if (lib::timers_are_set()) {  // one may send it before the deadline, blocked as it is
      std::int64_t next = lib::next_timer(*thread);
      sleep_for_signal(*thread, next < deadline ? next : deadline);
    } else {
      sleep_for_signal(*thread, deadline);
    }
  }
}

int sigwaitinfo(const sigset_t* __restrict set, siginfo_t* __restrict info) {
  return sigtimedwait(set, info, nullptr);
}

int sigwait(const sigset_t* __restrict set, int* __restrict signal) {
  int found;
  while ((found = sigtimedwait(set, nullptr, nullptr)) < 0)
    if (errno != EINTR) return errno;
  *signal = found;
  return 0;
}

int sigprocmask(int how, const sigset_t* __restrict set, sigset_t* __restrict before) {
  WEFT_REAL(sigprocmask);
  return mask(next_sigprocmask, how, set, before);
}

int pthread_sigmask(int how, const sigset_t* __restrict set, sigset_t* __restrict before) {
  WEFT_REAL(pthread_sigmask);
  return mask(next_pthread_sigmask, how, set, before);
}
}
