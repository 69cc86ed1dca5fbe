// Timers of a program in virtual time: alarm, setitimer, timer_create, timerfd.
//
// A timer runs out when the clock of a thread gets there: while it waits in virtual time, or when its clock
// has moved on over it. Its signal is sent by the thread it is for (the first one, unless the program says
// otherwise), at that point of the program and at that time, so a handler sees the same in every run. A timer
// behind a file makes the file ready.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstdint>

#include "lib/rank_thread.hpp"

namespace weft::lib {

inline bool timers_are_set() { return timers_set.load(std::memory_order_relaxed) != 0; }

/// When the next timer this thread has to see to runs out; kNoDeadline: none is set.
std::int64_t next_timer(const abi::Thread& thread);

/// Lets those run out whose time has come. True where a handler of the program has run.
bool run_timers(abi::Thread& thread);

inline void check_timers(abi::Thread& thread) {
  if (timers_are_set() && !outside() && next_timer(thread) <= now(thread)) [[unlikely]]
    run_timers(thread);
}

/// While it lives, this thread waits for these signals: as in the kernel, one of a timer is for this thread
/// and not for another that lets it in, such as those an MPI library starts.
class SignalWait {
 public:
  explicit SignalWait(const sigset_t& set);
  ~SignalWait();
  SignalWait(const SignalWait&) = delete;
  SignalWait& operator=(const SignalWait&) = delete;

 private:
  sigset_t outer_;  // of a wait that a handler interrupts
};

}  // namespace weft::lib
