// Who runs next, in virtual time. Knows no operating system, no memory and no network: threads of ranks with
// what they wait for go in, and come out in the order in which they run.
//
// A round: every thread that ran has stopped. The simulator takes steps (`next`) until the scheduler has no
// more for it: it lets the network come as far as the scheduler allows, carries out calls when their time has
// come, and notes who runs. All of those run at once, in real time, until they have stopped.
//
// The rules:
// - Earliest first; at the same time by rank, then by thread. Nothing depends on when somebody asked.
// - Look-ahead: what a thread posts at time t reaches its interface no earlier than t + look-ahead. So after
//   the first of a round, at T, all that become runnable before T + look-ahead run in the same round, and the
//   network stays before that time.
// - Turns: of the threads of a rank one runs in a round, the others later. So do ranks that have memory in
//   common or talk over sockets: they are one group.
// - A thread that looks again and again for what another of its group may bring about looks again when that
//   one has run: always where that one found something, otherwise twice, or two that find nothing would wake
//   each other for ever.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "host/request.hpp"

namespace weft::host {

struct ThreadRef {
  std::uint32_t rank = 0, thread = 0;
  friend auto operator<=>(const ThreadRef&, const ThreadRef&) = default;
};

class Scheduler {
 public:
  enum class State {
    Absent,   // there is no such thread
    Running,  // virtual time waits for it
    Waiting,  // for what it asked for
    Outside,  // waits for something real; virtual time goes on without it
    Asleep,   // waits for another thread of its process, in ways nobody sees
    Gone,
  };
  /// How far the call of a waiting thread has come.
  enum class Stage {
    Waits,    // there is nothing to do for it, or all is done
    Acts,     // it is to be carried out when its time comes
    LooksUp,  // it needs what another rank has not done yet
    Meets,    // it needs all ranks
    Leaves,   // it needs the work posted before to be done
  };
  struct Thread {
    State state = State::Absent;
    Stage stage = Stage::Waits;
    Request request;
    Time granted{0};            // its clock when it went on last
    Time wake{kNever};          // when it goes on, as far as known
    std::uint32_t wait = 0;     // counts its waits: plans made for an earlier one are out of date
    unsigned looked_again = 0;  // because others ran, since something was last found
    bool acts() const { return stage == Stage::Acts || stage == Stage::LooksUp; }
  };
  struct Step {
    enum Kind { Done, Advance, Act, Run } kind = Done;
    ThreadRef thread{};
    Time at{0};  // Advance: as far as this
  };

  Scheduler(std::uint32_t ranks, Time look_ahead);
  /// When the first of those who wait will go on, as far as that is known; kNever.
  Time first_plan() {
    drop_old_plans();
    return plans_.empty() ? kNever : plans_.front().at;
  }

  std::uint32_t ranks() const { return static_cast<std::uint32_t>(ranks_.size()); }
  /// Threads a rank has had so far: those from there on are absent.
  std::uint32_t threads(std::uint32_t rank) const { return ranks_[rank].threads; }
  const Thread& thread(ThreadRef r) const { return threads_[r.rank * kThreads + r.thread]; }

  // What threads do.
  void starts(ThreadRef thread) { change(thread).state = State::Running; }
  /// It asks for something, and waits.
  void waits(ThreadRef thread, const Request& request);
  /// It has stopped running for another reason.
  void stops(ThreadRef thread, const Request& request, State state);
  /// It goes on no earlier than this.
  void hold_until(ThreadRef thread, Time at);
  void rank_ended(std::uint32_t rank);
  void set_stage(ThreadRef thread, Stage stage) { change(thread).stage = stage; }

  // When they go on.
  void plan(ThreadRef thread, Time at);
  /// Something lies in the rings of a port.
  void arrived(std::uint32_t rank, unsigned port, Time at);
  /// A full submission queue has room.
  void has_room(std::uint32_t rank, unsigned port, Time at);
  /// A thread has stopped: those that look for what it may have changed look again.
  void has_run(ThreadRef thread);

  // Turns.
  /// These ranks run one after the other from now on, and so do all that already did with one of them.
  void take_turns(std::span<const std::uint32_t> ranks);
  std::uint32_t group(std::uint32_t rank) const { return ranks_[rank].group; }
  /// Memory of the rank is changed by others of its group.
  void share_memory(std::uint32_t rank) { ranks_[rank].shares_memory = true; }
  bool shares_memory(std::uint32_t rank) const { return ranks_[rank].shares_memory; }
  /// Has a thread been found to wait for memory to change?
  bool have_spinners() const { return have_spinners_; }

  // A round.
  void begin_round();
  /// What is to be done, the network having come as far as `now`. A thread that may run does so once `run`
  /// was called for it.
  Step next(Time now);
  void run(ThreadRef thread, Time at);
  void end_round();
  /// Who runs, in order.
  const std::vector<ThreadRef>& runnable();
  /// Lets one of them run; its clock.
  Time grant(ThreadRef thread);

  // What goes on at all.
  void note_activity(Time at) { last_activity_ = at; }
  Time last_activity() const { return last_activity_; }
  /// Do all threads wait for others, or only look?
  bool all_look() const;

 private:
  struct Rank {
    std::uint32_t group = 0, threads = 1;
    bool shares_memory = false;
  };
  struct Plan {
    Time at;
    ThreadRef thread;
    std::uint32_t wait;
    bool operator<(const Plan& o) const { return at != o.at ? at > o.at : thread > o.thread; }
  };
  Thread& change(ThreadRef r);
  void push(const Plan& plan);
  void drop_old_plans();
  Plan pop();
  void look_again(ThreadRef thread, const Thread& ran);
  void bound(Time at);

  Time look_ahead_;
  std::vector<Rank> ranks_;
  std::vector<Thread> threads_;
  std::vector<Plan> plans_;     // a heap, the earliest in front
  std::vector<Plan> deferred_;  // of threads whose group has another one running
  std::vector<bool> group_runs_;
  std::vector<ThreadRef> runnable_;
  Time horizon_{kNever};  // nobody who goes on this late runs in this round
  Time last_activity_{0};
  bool have_spinners_ = false;
};

}  // namespace weft::host
