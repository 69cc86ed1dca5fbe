// Processes in virtual time over a fabric.
//
// Ranks and the simulator take turns. Ranks run, each on its own clock, until every one of them waits; then
// the simulator moves the fabric on until it knows of some that have nothing more to wait for, and lets those
// run. It may look a little further than the first of them: what a rank posts at time t reaches its interface
// no earlier than t + look-ahead, so all ranks that become runnable within that window can run at once, and
// none can be overtaken.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/virtual_time.hpp"
#include "host/call_log.hpp"
#include "host/files.hpp"
#include "host/mpi_launch.hpp"
#include "host/output.hpp"
#include "host/processes.hpp"
#include "host/segment.hpp"
#include "nic/fabric.hpp"

namespace weft::host {

const char* call_name(Call call);
/// Else its time is the rank's own: a sleep, or what the system takes for a port or for memory.
bool waits_for_others(Call call);
/// Is there nothing to be done for it but to wait?
bool asks_for_nothing(Call call);
/// Does it look for something again and again, which another thread of its process may bring about?
bool looks(Call call);

enum class Cores { Auto, One, All };

struct RunOptions {
  unsigned ranks = 1, per_node = 1;
  std::vector<network::EndpointId> place;  // the node of each rank; empty: per_node on each, from the first
  std::vector<std::string> command;
  std::string library;
  bool mpi = false;  // the program may be one of MPI
  MpiWindows mpi_windows = MpiWindows::Auto;
  OutputOptions output;
  std::uint64_t seed = 1;
  Cores cores = Cores::Auto;
  std::vector<double> slow;  // by rank: its work takes so many times as long; empty: none is slower
  Time noise_length{0}, noise_interval{0};  // of interruptions, on average; no length: there are none
  bool log_calls = false;                   // to MPI, for calls()
};

struct RankResult {
  network::EndpointId node = 0;
  Time end{0};     // its clock when it left
  Time waited{0};  // of that, in its first thread
  bool ended = false;
  Ending ending;
};

struct RunResult {
  bool fine = false;
  std::string failure;               // one line
  std::vector<std::string> details;  // who waited for what
  Time end{0};
  std::vector<RankResult> ranks;
  std::uint64_t rounds = 0, grants = 0;
  MpiSums mpi{};  // of all ranks, costs apart
  std::array<TimeSum, kProtocols> mpi_cost{};
  bool has_mpi = false;
};

/// How far a run has come.
struct Progress {
  Time now{0};
  std::uint64_t clock_reads = 0;  // by all ranks
};

class Simulation : private nic::Host {
 public:
  Simulation(const machine::Machine& machine, network::Network& network, RunOptions options);
  ~Simulation() override;

  /// Until every rank has ended, or one has failed, or none can go on.
  RunResult run();

  nic::Fabric& fabric() { return *fabric_; }
  network::EndpointId node_of(std::uint32_t rank) const { return options_.place[rank]; }
  /// Rank of a port, for reports; kNoRank: nobody's.
  std::uint32_t rank_of(nic::PortRef port) const;

  /// The calls of a rank to MPI, where they were asked for; and how many more there were.
  std::vector<CallRecord> calls(unsigned rank) const;
  std::uint64_t calls_left_out() const;

  /// Told of every wait, once it is over.
  std::function<void(std::uint32_t rank, std::uint32_t lane, Time from, Time until, Call call)> on_wait;

  /// Told every ten seconds of real time.
  std::function<void(const Progress&)> on_progress;

  /// Asked now and then: true ends the run.
  std::function<bool()> interrupted = [] { return false; };

 private:
  enum class State { Absent, Running, Waiting, Outside, Asleep, Gone };

  struct LaneBook {
    State state = State::Absent;
    Request request;
    Time granted{0};
    Time wake{kNoDeadline};  // when it goes on, as far as known
    std::uint32_t turn = 0;  // plans made for an earlier wait are out of date
    std::int32_t result = 0;
    std::uint64_t answer[4] = {};
    bool acting = false;                       // its call has not been carried out yet
    bool leaving = false, looking_up = false;  // waits for its work, or for another rank's port
    bool meeting = false;                      // waits for all ranks
    unsigned nudges = 0;  // by other threads of its process, since something last happened
    ThreadState asleep;   // its thread, when virtual time began to go on without it
  };
  struct PortBook {
    bool open = false;
    nic::PortNo number = 0;
  };
  struct Process {
    std::unique_ptr<Segment> segment;
    pid_t pid = 0, owner = 0;
    nic::NicId nic = 0;
    std::vector<PortBook> ports;
    std::vector<LaneBook> lanes;
    std::uint32_t joins = 0;
    std::uint32_t turn = 0;  // ranks of the same number run one after the other
    bool shares = false;     // it has memory in common with ranks of its node
    bool ended = false, left = false;
    /// Is this one of its threads in virtual time?
    bool has_lane(pid_t thread) const;
  };
  struct Plan {
    Time at;
    std::uint32_t rank, lane, turn;
    bool operator<(const Plan& o) const {
      if (at != o.at) return at > o.at;
      return rank != o.rank ? rank > o.rank : lane > o.lane;
    }
  };
  struct LaneRef {
    std::uint32_t rank, lane;
    friend auto operator<=>(const LaneRef&, const LaneRef&) = default;
  };

  struct Sleeper {
    LaneRef lane;
    LaneState state;
    ThreadState thread;
    bool operator==(const Sleeper&) const = default;
  };

  /// One wait for the ranks, in real time.
  struct Stand {
    struct Computer {
      LaneRef lane;
      std::uint64_t begun, next;  // processor time: when it was first looked at, and when it is asked next
    };
    std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
    std::vector<Computer> computers;
    bool told = false;
    std::chrono::nanoseconds lasted() const { return std::chrono::steady_clock::now() - since; }
  };
  static constexpr std::chrono::seconds kProgressInterval{10};

  // nic::Host
  bool read(node::SpaceId owner, std::uint64_t address, void* to, std::uint64_t length) override;
  bool write(node::SpaceId owner, std::uint64_t address, const void* from, std::uint64_t length) override;
  bool has_space(node::NodeId node, node::SpaceId space) const override;
  void register_read(std::uint64_t token, std::uint64_t value) override;
  void device_interrupt(node::NodeId node, node::DeviceId device) override;
  void message(nic::PortRef port, const nic::Message& message) override;
  void event(nic::PortRef port, const nic::Event& event) override;
  void slot_free(nic::PortRef port, Time at) override;

  std::string library_folder() const { return options_.library.substr(0, options_.library.rfind('/')); }
  void start_all();
  void take_turns();
  void finish();
  void add_sums(const Header& header);
  void choose_cores();
  // The ranks' turn.
  void wait_for_ranks();
  bool all_stopped();
  void leave_sleepers(std::chrono::nanoseconds waited);
  void leave_sleepers(Process& process, std::chrono::nanoseconds waited);
  static pid_t thread_of(const Process& process, std::uint32_t lane);
  bool sleepers_still_sleep();
  void ask_computers(Stand& stand);
  void leave_real_waits(Stand& stand);
  void tell_why_time_stands(Stand& stand);
  void tell_progress();
  bool watch_processes();
  void end_rank(std::uint32_t rank, Ending ending);
  void lived_until(std::uint32_t rank, Time last);
  bool ended_well(std::uint32_t rank);
  bool left_behind();
  // The simulator's turn.
  void collect();
  void collect_lane(std::uint32_t rank, std::uint32_t lane);
  void collect_ports(Process& process);
  void advance();
  void find_runnable();
  void plan(std::uint32_t rank, std::uint32_t lane, Time at);
  void act(std::uint32_t rank, std::uint32_t lane);
  void act_on_device(std::uint32_t rank, std::uint32_t lane, Time begin);
  unsigned& unseen_interrupts(nic::NicId nic, node::DeviceId device);
  std::int32_t open_port(std::uint32_t rank, LaneBook& lane);
  void close_ports(Process& process);
  void meet(std::uint32_t rank, std::uint32_t lane);
  void look_up(std::uint32_t rank, LaneBook& lane);
  void answer_lookups(std::uint32_t rank);
  void check_leaving();
  void plan_wait(std::uint32_t rank, std::uint32_t lane);
  void nudge_others(std::uint32_t rank, std::uint32_t lane);
  void nudge_node(std::uint32_t rank, std::uint32_t lane);
  void nudge(std::uint32_t rank, std::uint32_t lane, const LaneBook& ran);
  bool talks(std::uint32_t rank) const;
  void take_turns_by_node(std::uint32_t rank);
  bool watch_files(std::uint32_t rank, std::uint32_t lane);
  bool see_files(Time at, int milliseconds);
  void wake_waiters(std::uint32_t rank, unsigned port, Time at, bool slot);
  void grant();
  bool stuck();
  bool only_polling() const;
  bool fail(std::string what);
  bool access_failed(std::uint32_t rank, int error);
  void describe_waits();
  std::string wait_text(std::uint32_t rank) const;
  std::string last_call(std::uint32_t rank) const;

  const machine::Machine& machine_;
  network::Network& network_;
  RunOptions options_;
  Time look_ahead_, call_cost_;
  event::EventQueue queue_;
  std::unique_ptr<nic::Fabric> fabric_;
  SharedMemory bell_memory_;
  Bell* bell_ = nullptr;
  std::vector<Process> processes_;
  std::vector<std::vector<unsigned>> interrupts_;  // by nic and device: those no rank has waited for yet
  std::vector<std::vector<std::uint64_t>> owner_of_port_;  // by nic and port: rank << 8 | index
  std::unique_ptr<CallLogs> call_logs_;
  std::unique_ptr<Output> output_;
  std::unique_ptr<MpiLauncher> mpi_;
  BorrowedFiles files_;
  std::vector<pid_t> other_children_;  // of this process, which are no ranks
  std::vector<Plan> plans_;
  std::vector<Plan> deferred_;  // of threads whose process has another one running
  std::vector<bool> in_turn_;   // by Process::turn: with a thread that runs next
  std::vector<LaneRef> running_, runnable_, outside_, asleep_;
  std::vector<nic::Descriptor> posted_;
  std::vector<std::uint32_t> fell_silent_;  // ranks that ended since output was last passed on
  Time horizon_{kNoDeadline}, last_activity_{0};
  Time talked_until_{0};  // the latest clock of a rank with sockets: what it has sent may still be on its way
  unsigned leaving_ = 0;
  unsigned meeting_ = 0;
  Time meeting_time_{0};
  unsigned alive_ = 0;
  bool failed_ = false;
  bool have_threads_ = false;   // ranks with threads in virtual time beside their first
  bool have_spinners_ = false;  // ranks that were found to wait for memory to change
  std::chrono::steady_clock::time_point next_progress_ = std::chrono::steady_clock::now() + kProgressInterval;
  RunResult result_;
};

}  // namespace weft::host
