// Linux kernels on the nodes of a machine, in virtual time over a fabric.
//
// Nodes and the simulator take turns. Nodes run until every one of them waits; then the fabric moves on to
// the earliest time that one of them has asked for, and nodes run: each up to the first time at which
// anything outside could reach it, without asking. What nodes ask of their devices is carried out when all
// have stopped, each at the time at which it was asked.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "guest/accelerator_service.hpp"
#include "guest/boot_options.hpp"
#include "guest/file_service.hpp"
#include "guest/file_watch.hpp"
#include "guest/guest_node.hpp"
#include "guest/starter.hpp"
#include "guest/storm.hpp"
#include "guest/terminal.hpp"
#include "host/neighbours.hpp"
#include "host/storage_host.hpp"
#include "nic/fabric.hpp"

namespace weft::guest {

struct NodeResult {
  std::string name;
  network::EndpointId node = 0;
  std::string accelerator;  // that it ran on; empty: a processor
  int code = 0;
  std::string failure;                  // empty where the node turned itself off
  std::vector<std::string> last_lines;  // of its console, where it failed
  Time network_up{0}, end{0};
  Time booted{0};  // over the network: it had all
  EthernetCounters ethernet;
  FileShareCounters files;
  std::vector<std::string> accelerators;  // in words, all it has been granted
  std::uint64_t peak_memory = 0;
};

struct BootResult {
  std::string failure;  // of the run as a whole; empty where all nodes ended
  Time end{0};
  std::vector<NodeResult> nodes;
  std::uint64_t rounds = 0, messages = 0;
  std::vector<Time> skeletons;  // when each had all it boots with
  std::size_t recorded = 0;     // frames, by which they did
  Recording recording;          // where one was asked for
  std::vector<GrantRecord> grants;
  storage::Figures storage;  // of servers, where nodes have used files and no ranks were there
};

/// Of a storm; of no nodes where there was none.
StormTimes storm_times(const BootResult& result);

class Cluster : public host::Neighbours, private nic::Host {
 public:
  Cluster(const machine::Machine& machine, BootOptions options);
  ~Cluster() override;

  /// Alone on a network, until all nodes are off. Throws UserError where a node has no port for its Ethernet.
  BootResult run(network::Network& network);
  /// What came of them, where they were neighbours of ranks.
  BootResult result() const;

  // host::Neighbours
  std::vector<network::EndpointId> nodes() const override;
  nic::Host& host() override { return *this; }
  void join(nic::Fabric& fabric, event::EventQueue& queue, node::SpaceId first_space) override;
  void start() override;
  std::vector<network::EndpointId> file_users() const override;
  void use_files(host::StorageCalls& files, std::uint32_t first) override;
  Time first_turn() const override { return earliest_request(); }
  void take_turn() override;
  void go_on_alone() override;
  void end() override;

  /// For nodes that have no job but are there.
  static const std::vector<std::string>& waiting_command();

  /// The terminal of options.shell; its node's console is there and nowhere else. Without a command, all
  /// others wait until that node is off.
  Terminal* terminal = nullptr;
  /// A line of a console, with its node's name and its end.
  std::function<void(std::string_view line)> on_line = [](std::string_view) {};
  std::function<void(std::size_t node, bool sent, Time at, std::span<const std::uint8_t> frame)> on_frame;
  /// Told every ten seconds of real time.
  std::function<void(Time now)> on_progress;
  /// Asked now and then: true ends the run.
  std::function<bool()> interrupted = [] { return false; };

 private:
  static constexpr std::chrono::seconds kProgressInterval{10};
  static constexpr int kLook = 1000;  // milliseconds between looks at processes

  // nic::Host
  bool read(node::SpaceId space, std::uint64_t address, void* to, std::uint64_t length) override;
  bool write(node::SpaceId space, std::uint64_t address, const void* from, std::uint64_t length) override;
  bool has_space(node::NodeId node, node::SpaceId space) const override;
  void device_interrupt(node::NodeId node, node::DeviceId device) override;
  void message(nic::PortRef, const nic::Message&) override {}
  void event(nic::PortRef port, const nic::Event& event) override;
  void slot_free(nic::PortRef port, Time at) override;

  void make_nodes();
  nic::NicId nic_of(network::EndpointId node) const;
  std::vector<network::EndpointId> ethernet_nodes() const;
  void make_skeletons();
  void watch_frame(std::size_t node, bool sent, Time at, std::span<const std::uint8_t> frame);
  void settle();

  // While nodes run.
  void serve_until_stopped();
  void watch_files();
  void serve(std::uint32_t number, int file);
  void connect(std::uint32_t number, VhostUser& vhost, File& door);
  void serve_device(GuestNode& node, VhostUser& vhost, const char* kind);
  bool still_waiting(GuestNode& node);
  void look_after(GuestNode& node);
  void connection_lost(GuestNode& node);
  void ended(GuestNode& node, const KernelEnding& ending);
  void fail(GuestNode& node, std::string why);

  // While all wait.
  void end_those_who_wait();
  bool storm_is_over();
  void attend_terminal();
  void type(GuestNode& node);
  void carry_out_kicks();
  void pass_on_consoles();
  bool advance();
  void run_nodes();
  Time quiet_until() const;
  Time free_until(const GuestNode& node, Time quiet) const;
  void interrupt(GuestNode& node, VhostUser& vhost, unsigned queue);
  void check_rings(GuestNode& node);
  Time earliest_request() const;
  std::size_t alive() const;
  void tell_progress();
  Time now() const { return fabric_->now(); }

  const machine::Machine& machine_;
  BootOptions options_;
  event::EventQueue own_queue_;  // where the nodes are alone
  std::unique_ptr<host::StorageHost> own_host_;
  std::unique_ptr<nic::Fabric> own_fabric_;
  std::unique_ptr<host::StorageCalls> own_files_;
  event::EventQueue* queue_ = nullptr;
  nic::Fabric* fabric_ = nullptr;
  node::SpaceId first_space_ = 0;
  nic::NicId nics_ = 0;  // of nodes and ranks, in the order of their nodes; more may be attached later
  bool alone_ = false;   // nobody but them does anything on the fabric
  std::vector<std::unique_ptr<GuestNode>> nodes_;
  std::vector<Ethernet*> ethernets_;                  // by interface; nullptr: of a rank
  std::vector<node::DeviceId> devices_;               // their numbers on the nodes' buses
  std::vector<BootWatch> watches_;                    // by node, where they boot over the network
  std::unique_ptr<AcceleratorService> accelerators_;  // where the job may have some
  std::unique_ptr<Storm> storm_;
  Recorder recorder_;
  std::vector<EthernetPeer> peers_;
  std::unique_ptr<Starter> starter_;
  std::unique_ptr<FileWatch> sockets_;  // of the nodes, while they live
  std::string failure_;
  std::uint64_t rounds_ = 0;
  std::chrono::steady_clock::time_point next_progress_;
  Pace pace_;
};

}  // namespace weft::guest
