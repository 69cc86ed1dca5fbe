// A program's threads in virtual time: how they read their clocks, move them on and wait.
#pragma once

#include <poll.h>
#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "abi/port_layout.hpp"
#include "lib/disturbance.hpp"
#include "lib/segment.hpp"
#include "lib/thread_clock.hpp"

namespace weft::lib {

/// The calling thread, or null. Only threads that have used the library are in virtual time.
abi::Thread* thread_if_any();
/// The same; a thread without one takes one.
abi::Thread* this_thread();

/// For a thread about to be started by the calling one: its record, at the caller's time, which runs from now
/// on; or null.
abi::Thread* thread_for_child(abi::Thread& parent);
/// To be called by that thread first.
void adopt(abi::Thread& thread);

/// Lets a thread that is outside go on, not before this time; counted as running from now on. It says
/// when it has noticed.
void resume(abi::Thread& thread, std::int64_t time);

/// Are threads of this process beside its first in virtual time?
bool has_threads();

/// Is this one of the process's threads in virtual time?
bool is_rank_thread(int tid);

/// The calling thread where waiting is in virtual time; null where it is real.
abi::Thread* virtual_thread();

/// The calling thread while it runs and has its turn, for handlers of signals; else null.
abi::Thread* running_thread();

/// A thread's place among those of its process.
std::size_t index_of(const abi::Thread& thread);

/// Makes this process the one that has the rank's threads, if none has opened a port yet.
bool take_over();

/// Charges the time computed since leave(); not within MPI, where the description says what is charged.
void enter(abi::Thread& thread);
void leave();

/// The processor works for so long, and longer where it is slowed down or interrupted.
inline void move_on(abi::Thread& thread, std::int64_t picoseconds) {
  std::int64_t by = disturbed(thread, picoseconds), from = now(thread);
  // Past the end of virtual time it stands; the simulator ends the run as soon as it hears of it.
  thread.clock.store(by <= abi::kLastClock - from ? from + by : abi::kLastClock + 1,
                     std::memory_order_relaxed);
}

/// The program computes for so long. What the interface does by itself meanwhile is done on the way.
void compute_for(abi::Thread& thread, std::int64_t picoseconds);
/// Who does that: up to a time, on the thread's clock. Threads beside the first do without.
void set_background(void (*work_until)(abi::Thread& thread, std::int64_t time));

/// Timers that are set: waits end when one runs out.
extern std::atomic<unsigned> timers_set;

/// What other parts of the library do when threads wait and end; each sets its own before the program runs.
struct Hooks {
  void (*thread_ends)(abi::Thread& thread) = nullptr;
  /// As pthread_create, for a thread that is in virtual time from its beginning.
  int (*start_thread)(abi::Thread& parent, pthread_t* pthread, const pthread_attr_t* attributes,
                      void* (*function)(void*), void* argument) = nullptr;
  std::int64_t (*next_timer)(const abi::Thread& thread) = nullptr;  // while some are set
  bool (*run_timers)(abi::Thread& thread) = nullptr;
};
extern Hooks hooks;

/// Asks the simulator and waits for its answer; arguments are in its record. Returns the result. Timers
/// that run out meanwhile do so on the way: a sleep that a handler interrupts gives -EINTR.
int ask(abi::Thread& thread, abi::Call call, std::uint32_t port, std::int64_t deadline,
        std::uint32_t for_rank);

/// Waits until all ranks have called this; all go on at the latest of their clocks.
int meet(abi::Thread& thread);
/// The same; -EAGAIN where something has arrived meanwhile, which may need an answer before the others can
/// come.
int meet_or_event(abi::Thread& thread);

/// While it lives, virtual time waits for the thread although it may sleep: for something real that comes by
/// itself and soon.
class Awaited {
 public:
  explicit Awaited(abi::Thread* thread) : thread_(thread) {
    if (thread_) thread_->awaited.store(1);
  }
  ~Awaited() {
    if (thread_) thread_->awaited.store(0);
  }
  Awaited(const Awaited&) = delete;
  Awaited& operator=(const Awaited&) = delete;

 private:
  abi::Thread* thread_;
};

/// From here on the rank runs while no other does that shares memory of its node, or talks over sockets as it
/// does: who comes first must not depend on the system.
inline constexpr std::uint32_t kSharesMemory = 1, kTalks = 2;
void run_apart(std::uint32_t why);

/// Between weft_outside_begin and weft_outside_end: the thread waits for something real.
bool outside();
/// Since it began to.
std::int64_t real_time_outside();
/// Does the thread wait for the simulator? Then this is a handler of a signal, which has no turn.
bool is_blocked();

/// The first thread of the run this process belongs to, whosever it is; null outside of one.
const abi::Thread* first_thread();
/// The first thread of the process that started this one, which waits for this one: null where it does
/// not, or another has borrowed it. To be given back.
abi::Thread* borrow_thread();
void give_thread_back();
/// For the owner: it waits for processes it has started, which may take virtual time for it.
class ChildWait {
 public:
  ChildWait();
  ~ChildWait();
  ChildWait(const ChildWait&) = delete;
  ChildWait& operator=(const ChildWait&) = delete;

 private:
  abi::Thread* thread_;
};

/// Files the thread has looked at in vain, without waiting, by this system call: after a thousand such looks
/// in a row it waits for one of them, for a time that grows. True where it has.
bool look_again_at_files(abi::Thread& thread, const pollfd* files, std::size_t count, long call);
void found_file();
/// Those files, as arguments of a wait: they end it too.
void name_watched_files(abi::Thread& thread);
/// Waits for one of these files, something in the rings of the port, or the deadline. -ENOSYS where the
/// simulator cannot watch the files.
int ask_for_files(abi::Thread& thread, const pollfd* files, std::size_t count, std::int64_t deadline,
                  long call, std::uint32_t port);

/// A look that found nothing, for free. True where time has moved on since, so that looking again makes
/// sense. Who expects nothing that is under way has probably other work to go on with.
bool look_again(abi::Thread& thread, std::uint32_t port, std::uint32_t for_rank, bool expects = true);
/// The same, at the cost of a look. True where time has moved on since, so that looking again makes sense.
bool found_nothing(abi::Thread& thread, std::uint32_t port);
void found_something();
/// A call of MPI begins that may wait. What calls before it looked for in vain says nothing about this one:
/// it may look once and come back. But a program that waits by calling again and again gets there.
void begin_call();
/// Out of the way of others for a moment, which is longer each time until something is found: threads that
/// poll in turn must not take a turn each nanosecond.
void let_others_go_first(abi::Thread& thread);
/// A look at memory that found nothing new: until something is written to the process or arrives, or a while.
void pause(abi::Thread& thread);
/// The same for a thread that was found to do nothing but look; `times` it has waited so before.
void wait_for_memory(abi::Thread& thread, unsigned times);

/// A look at the clock, from this place of the program; one that only looks at it must see it move. Outside,
/// it stands still unless somebody waits for it.
std::int64_t read_clock(abi::Thread& thread, const void* site);
/// The program has done something else since it read its clock.
void clock_was_not_read();
/// The next look is on behalf of this place, not of the function that makes it.
void look_for(const void* site);

}  // namespace weft::lib
