// Processes in virtual time over a fabric.
//
// Ranks and the simulator take turns. Ranks run, each on its own clock, until every one of them waits; then
// the simulator moves the fabric on until it knows of some that have nothing more to wait for, and lets those
// run. This class takes the rounds; who runs next is the Scheduler's business, processes are the
// Supervisor's, what ranks ask for is the CallHandler's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/call_log.hpp"
#include "host/rank_now.hpp"
#include "host/run.hpp"
#include "host/scheduler.hpp"
#include "host/segment.hpp"
#include "nic/fabric.hpp"

namespace weft::host {

class CallHandler;
class Neighbours;
class Pace;
class CoreShares;
class Pacing;
class RankPorts;
class StorageCalls;
class StorageHost;
class Supervisor;
class WaitExplainer;

class Simulation : private nic::Host {
 public:
  /// `neighbours`: who else lives on the fabric; nullptr: nobody.
  Simulation(const machine::Machine& machine, network::Network& network, RunOptions options,
             Neighbours* neighbours = nullptr);
  ~Simulation() override;

  /// Until every rank has ended, or one has failed, or none can go on.
  RunResult run();

  nic::Fabric& fabric() { return *fabric_; }
  network::EndpointId node_of(std::uint32_t rank) const { return options_.place[rank]; }
  /// Rank of a port, for reports; kNoRank: nobody's.
  std::uint32_t rank_of(nic::PortRef port) const;
  /// Is it one of the file system's?
  bool is_storage(nic::PortRef port) const;

  /// The calls of a rank to MPI, where they were asked for; and how many more there were.
  std::vector<CallRecord> calls(unsigned rank) const;
  std::uint64_t calls_left_out() const;

  /// How far it has come, and what every rank does: from `interrupted`, for those who look on.
  Progress progress() const { return progress_now(fabric_->now(), *supervisor_, segments_); }
  std::vector<RankNow> ranks_now() const { return host::ranks_now(scheduler_, *supervisor_, segments_); }

  /// Told of every wait, once it is over.
  std::function<void(std::uint32_t rank, std::uint32_t thread, Time from, Time until, Call call)> on_wait;

  /// Told every ten seconds of real time.
  std::function<void(const Progress&)> on_progress;
  /// From the start on the speed of processors is what it says.
  void follow(Pace& pace);

  /// Asked now and then: true ends the run.
  std::function<bool()> interrupted;

 private:
  // nic::Host
  bool read(node::SpaceId owner, std::uint64_t address, void* to, std::uint64_t length) override;
  bool write(node::SpaceId owner, std::uint64_t address, const void* from, std::uint64_t length) override;
  bool has_space(node::NodeId node, node::SpaceId space) const override;
  void device_copied(std::uint64_t token, bool well) override;
  void loaded(std::uint64_t token, nic::Status status, std::uint64_t value) override;
  void register_read(std::uint64_t token, std::uint64_t value) override;
  void device_interrupt(node::NodeId node, node::DeviceId device) override;
  void message(nic::PortRef port, const nic::Message& message) override;
  void event(nic::PortRef port, const nic::Event& event) override;
  void slot_free(nic::PortRef port, Time at) override;

  void make_segments();
  void start();
  void take_turns();
  bool time_passes();
  void finish();
  void tell_progress();

  // The ranks' turn.
  void collect();
  void collect_thread(ThreadRef thread);
  void collect_posted(std::uint32_t rank);
  void take_turns_with_others(std::uint32_t rank);
  bool talks(std::uint32_t rank) const;
  void lived_until(std::uint32_t rank, Time last);
  void last_thread_left(std::uint32_t rank);
  bool watch_processes();
  void end_rank(std::uint32_t rank, const Ending& ending);
  bool ended_well(std::uint32_t rank);
  bool dies(const std::string& what);
  bool buried(Time now);
  bool left_behind();

  // The simulator's turn.
  void advance();
  void find_runnable();
  bool come_to(Time at);
  bool may_run(ThreadRef thread, Time at);
  bool keep_pace(const std::vector<ThreadRef>& runnable);
  void grant();
  bool only_polling() const;
  bool stuck();

  bool fail(const std::string& what);
  bool fail_at(const std::string& what, Time when);
  bool access_failed(std::uint32_t rank, int error);

  const machine::Machine& machine_;
  network::Network& network_;
  RunOptions options_;
  Segments segments_;
  event::EventQueue queue_;
  Neighbours* neighbours_;
  std::unique_ptr<nic::Host> shared_host_;     // tells ranks and neighbours apart
  std::unique_ptr<StorageHost> storage_host_;  // and the file system
  std::unique_ptr<nic::Fabric> fabric_;
  Scheduler scheduler_;
  std::unique_ptr<Supervisor> supervisor_;
  std::unique_ptr<RankPorts> ports_;
  std::unique_ptr<CallHandler> calls_;
  std::unique_ptr<StorageCalls> storage_;  // where programs see a file system
  std::unique_ptr<WaitExplainer> explainer_;
  std::unique_ptr<CoreShares> core_shares_;  // where ranks share cores of their node
  std::unique_ptr<Pacing> pacing_;           // where processors do not keep their speed
  std::vector<std::uint32_t> fell_silent_;   // ranks that ended since output was last passed on
  Time talked_until_{0};  // the latest clock of a rank with sockets: what it has sent may still be on its way
  bool failed_ = false;
  struct Death {
    std::string what;
    Time at;
    double deadline;  // in real time
  };
  std::optional<Death> death_;  // of a rank, while the others go on for a little
  double next_progress_;        // in real time
  RunResult result_;
};

}  // namespace weft::host
