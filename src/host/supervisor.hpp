// The processes of a run: started, watched, ended. What is real is here: signals, the system's view of
// threads, time by the wall.
//
// A thread in virtual time runs until it says that it waits (its state in the segment). The supervisor waits
// until all have stopped; meanwhile it looks for those that will not say so by themselves: threads that sleep
// for each other, that wait for memory to change in a loop, or for something real by a call nobody sees.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/call_log.hpp"
#include "host/run.hpp"
#include "host/scheduler.hpp"
#include "host/segment.hpp"

namespace weft::host {

class Supervisor {
 public:
  /// Takes what a run needs of the system; throws UserError where that is not to be had. `segments` are
  /// filled later.
  Supervisor(const RunOptions& options, const Segments& segments);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  void start_all(bool on_one_core);
  Output& output() { return *output_; }
  const CallLogs* call_logs() const { return call_logs_.get(); }
  const MpiLauncher* mpi() const { return mpi_.get(); }

  // Processes.
  /// The process that has the rank's threads.
  pid_t process(std::uint32_t rank) const { return processes_[rank].owner; }
  /// Another process of a rank may take the place of its first, but only one of its own. False: it is not.
  bool follow_owner(std::uint32_t rank);
  pid_t tid(ThreadRef thread) const;
  unsigned alive() const { return alive_; }
  bool ended(std::uint32_t rank) const { return processes_[rank].ended; }
  const Ending& ending(std::uint32_t rank) const { return processes_[rank].ending; }
  /// Has the system said that a child has ended, since last asked?
  bool child_ended() const;
  void forget_child_ended();
  /// How the rank has ended, once.
  std::optional<Ending> reap(std::uint32_t rank);
  /// The same of one that ends at once: waits a while.
  std::optional<Ending> reap_soon(std::uint32_t rank);
  /// Ends all that is left of the run.
  void end_all();

  // Turns.
  /// Until no thread runs. `closely`: some may have to be found out, so they are looked at sooner.
  /// `meanwhile` is called now and then; it returns false to give up.
  void wait_until_stopped(bool closely, const std::function<bool()>& meanwhile);
  struct Stopped {
    std::vector<ThreadRef> ran;
    std::vector<ThreadRef> woken;  // had been left asleep, and were woken by one that ran
  };
  Stopped take_stopped();
  /// How a thread has stopped, noted here; the place of one that left is free again.
  ThreadState stopped(ThreadRef thread);
  void forget(std::uint32_t rank);
  /// These are about to go on.
  void let_run(const std::vector<ThreadRef>& threads);
  bool have_threads() const { return have_threads_; }

  // Where nobody can go on in virtual time.
  bool anyone_outside() const { return !outside_.empty(); }
  bool anyone_asleep() const { return !asleep_.empty(); }
  /// Has a process more threads than so many? One of them may yet join.
  bool has_more_threads(std::uint32_t rank, unsigned than) const {
    return threads_of(processes_[rank].owner) > than;
  }
  void wait_a_little();
  bool anyone_is_back() const;

 private:
  struct Process {
    pid_t pid = 0, owner = 0;
    bool ended = false;
    Ending ending;
    std::uint32_t joins = 0;                // threads that have joined, as far as known
    std::vector<bool> known;                // by thread: taken note of, and not gone
    std::vector<SystemThread> fell_asleep;  // by thread: as it was when virtual time went on without it
  };
  struct Sleeper {
    ThreadRef thread;
    ThreadState state;
    SystemThread seen;
    bool operator==(const Sleeper&) const = default;
  };
  /// One wait for the ranks, in real time.
  struct Stand {
    struct Computer {
      ThreadRef thread;
      std::uint64_t begun, next;  // processor time: when it was first looked at, and when it is asked next
    };
    /// A thread as it was when it was first seen so.
    struct Still {
      ThreadRef thread;
      SystemThread state;
      std::chrono::steady_clock::time_point since;
    };
    std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
    std::vector<Computer> computers;
    std::vector<Still> still;
    bool told = false;
    std::chrono::nanoseconds lasted() const { return std::chrono::steady_clock::now() - since; }
    /// For how long it has not run, as far as it was looked at. Not the same as how long the wait has lasted:
    /// a thread that computes for long and then sleeps for a moment has not waited for long.
    std::chrono::nanoseconds still_for(ThreadRef thread, const SystemThread& now);
  };

  void start(std::uint32_t rank, const std::string& program);
  void kill(const Process& process);
  bool runs(ThreadRef thread) const;
  bool all_stopped() const;
  bool has_thread(std::uint32_t rank, pid_t thread) const;
  void leave(ThreadRef thread, ThreadState state);
  // supervisor_watch.cpp
  void leave_sleepers(Stand& stand);
  void leave_sleepers(std::uint32_t rank, Stand& stand);
  std::vector<Sleeper> look_at_sleepers() const;
  bool sleepers_still_sleep();
  void ask_computers(Stand& stand);
  void ask_computer(Stand& stand, ThreadRef thread);
  void leave_real_waits(Stand& stand);
  void tell_why_time_stands(Stand& stand) const;
  bool tell_why_time_stands_for(ThreadRef thread, std::chrono::nanoseconds lasted) const;

  const RunOptions& options_;
  const Segments& segments_;
  std::unique_ptr<MpiLauncher> mpi_;
  SharedMemory bell_memory_;
  Bell* bell_ = nullptr;
  std::unique_ptr<Output> output_;
  std::unique_ptr<CallLogs> call_logs_;
  std::vector<Process> processes_;
  std::vector<pid_t> other_children_;  // of this process, which are no ranks
  std::vector<ThreadRef> running_, outside_, asleep_;
  unsigned alive_ = 0;
  bool have_threads_ = false;  // ranks with threads in virtual time beside their first
};

}  // namespace weft::host
