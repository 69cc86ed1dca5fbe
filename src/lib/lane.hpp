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

/// The calling thread's lane, or null. Only threads that have used the library have one.
abi::Lane* lane_if_any();
/// The same; a thread without one takes one.
abi::Lane* lane();

/// For a thread about to be started by the calling one: a lane at the caller's time, which runs from now on;
/// or null.
abi::Lane* lane_for_child(abi::Lane& parent);
/// To be called by that thread first.
void adopt(abi::Lane& lane);

/// Lets a lane that is outside go on, not before this time; counted as running from now on. Its thread says
/// when it has noticed.
void resume(abi::Lane& lane, std::int64_t time);

/// Have threads of this process beside its first taken lanes?
bool has_threads();

/// Is this one of the process's threads that have a lane?
bool has_lane(int thread);

/// The calling thread's lane where waiting is in virtual time; null where it is real.
abi::Lane* virtual_lane();

/// The calling thread's lane while it runs and has its turn, for handlers of signals; else null.
abi::Lane* lane_of_runner();

/// A lane's place among those of its process.
std::size_t index_of(const abi::Lane& lane);

/// Makes this process the one that has the rank's lanes, if none has opened a port yet.
bool take_over();

/// Charges the time computed since leave(); not within MPI, where the description says what is charged.
void enter(abi::Lane& lane);
void leave();

/// The processor works for so long, and longer where it is slowed down or interrupted.
inline void move_on(abi::Lane& lane, std::int64_t picoseconds) {
  std::int64_t by = disturbed(lane, picoseconds), from = now(lane);
  // Past the end of virtual time it stands; the simulator ends the run as soon as it hears of it.
  lane.clock.store(by <= abi::kLastClock - from ? from + by : abi::kLastClock + 1, std::memory_order_relaxed);
}

/// The program computes for so long. What the interface does by itself meanwhile is done on the way.
void compute_for(abi::Lane& lane, std::int64_t picoseconds);
/// Who does that: up to a time, on the lane's clock. Threads beside the first do without.
void set_background(void (*work_until)(abi::Lane& lane, std::int64_t time));

/// Timers that are set: waits end when one runs out.
extern std::atomic<unsigned> timers_set;

/// What other parts of the library do when threads wait and end; each sets its own before the program runs.
struct Hooks {
  void (*thread_ends)(abi::Lane& lane) = nullptr;
  /// As pthread_create, for a thread that is in virtual time from its beginning.
  int (*start_thread)(abi::Lane& parent, pthread_t* thread, const pthread_attr_t* attributes,
                      void* (*function)(void*), void* argument) = nullptr;
  std::int64_t (*next_timer)(const abi::Lane& lane) = nullptr;  // while some are set
  bool (*run_timers)(abi::Lane& lane) = nullptr;
};
extern Hooks hooks;

/// Asks the simulator and waits for its answer; arguments are in the lane. Returns the lane's result. Timers
/// that run out meanwhile do so on the way: a sleep that a handler interrupts gives -EINTR.
int ask(abi::Lane& lane, abi::Call call, std::uint32_t port, std::int64_t deadline, std::uint32_t for_rank);

/// Waits until all ranks have called this; all go on at the latest of their clocks.
int meet(abi::Lane& lane);
/// The same; -EAGAIN where something has arrived meanwhile, which may need an answer before the others can
/// come.
int meet_or_event(abi::Lane& lane);

/// While it lives, virtual time waits for the thread although it may sleep: for something real that comes by
/// itself and soon.
class Awaited {
 public:
  explicit Awaited(abi::Lane* lane) : lane_(lane) {
    if (lane_) lane_->awaited.store(1);
  }
  ~Awaited() {
    if (lane_) lane_->awaited.store(0);
  }
  Awaited(const Awaited&) = delete;
  Awaited& operator=(const Awaited&) = delete;

 private:
  abi::Lane* lane_;
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

/// The first lane of the run this process belongs to, whosever it is; null outside of one.
const abi::Lane* first_lane();
/// The first thread's lane of the process that started this one, which waits for this one: null where it does
/// not, or another has borrowed it. To be given back.
abi::Lane* borrow_lane();
void give_lane_back();
/// For the owner: it waits for processes it has started, which may take virtual time for it.
class ChildWait {
 public:
  ChildWait();
  ~ChildWait();
  ChildWait(const ChildWait&) = delete;
  ChildWait& operator=(const ChildWait&) = delete;

 private:
  abi::Lane* lane_;
};

/// Files the thread has looked at in vain, without waiting, by this system call: after a thousand such looks
/// in a row it waits for one of them, for a time that grows. True where it has.
bool look_again_at_files(abi::Lane& lane, const pollfd* files, std::size_t count, long call);
void found_file();
/// Those files, as arguments of a wait: they end it too.
void name_watched_files(abi::Lane& lane);
/// Waits for one of these files, something in the rings of the port, or the deadline. -ENOSYS where the
/// simulator cannot watch the files.
int ask_for_files(abi::Lane& lane, const pollfd* files, std::size_t count, std::int64_t deadline, long call,
                  std::uint32_t port);

/// A look that found nothing, for free. True where time has moved on since, so that looking again makes
/// sense. Who expects nothing that is under way has probably other work to go on with.
bool look_again(abi::Lane& lane, std::uint32_t port, std::uint32_t for_rank, bool expects = true);
/// The same, at the cost of a look. True where time has moved on since, so that looking again makes sense.
bool found_nothing(abi::Lane& lane, std::uint32_t port);
void found_something();
/// A call of MPI begins that may wait. What calls before it looked for in vain says nothing about this one:
/// it may look once and come back. But a program that waits by calling again and again gets there.
void begin_call();
/// Out of the way of others for a moment, which is longer each time until something is found: threads that
/// poll in turn must not take a turn each nanosecond.
void let_others_go_first(abi::Lane& lane);
/// A look at memory that found nothing new: until something is written to the process or arrives, or a while.
void pause(abi::Lane& lane);
/// The same for a thread that was found to do nothing but look; `times` it has waited so before.
void wait_for_memory(abi::Lane& lane, unsigned times);

/// A look at the clock, from this place of the program; one that only looks at it must see it move. Outside,
/// it stands still unless somebody waits for it.
std::int64_t read_clock(abi::Lane& lane, const void* site);
/// The program has done something else since it read its clock.
void clock_was_not_read();
/// The next look is on behalf of this place, not of the function that makes it.
void look_for(const void* site);

}  // namespace weft::lib
