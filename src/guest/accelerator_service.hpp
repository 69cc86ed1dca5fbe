// What a cluster of Linux nodes has where its job may have accelerators: the buses of nodes, lines to and
// from their agents, the control socket, and the backdoor.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "guest/accelerators.hpp"
#include "guest/boot_options.hpp"
#include "guest/control.hpp"

namespace weft::guest {

/// What it asks of the cluster.
struct ClusterCalls {
  std::function<nic::NicId(network::EndpointId node)> nic_of;
  std::function<void(GuestNode& node, VhostUser& vhost, unsigned queue)> interrupt;
  std::function<bool(GuestNode& node)> still_waiting;
  std::function<void(GuestNode& node)> connection_lost;
};

class AcceleratorService {
 public:
  using Nodes = std::vector<std::unique_ptr<GuestNode>>;

  /// Every node gets an empty bus, and some have accelerators on it from the start. Throws UserError.
  AcceleratorService(nic::Fabric& fabric, event::EventQueue& queue, const BootOptions& options,
                     const machine::HostParameters& host, Nodes& nodes, ClusterCalls calls);

  /// While all nodes wait: what agents have said, and what others ask for.
  void attend();
  void attend_control();
  void node_ended(const GuestNode& node);
  void end();

  const std::vector<GrantRecord>& records() const { return accelerators_->records(); }
  const std::vector<std::string>& granted_to(std::size_t node) const {
    return accelerators_->granted_to(node);
  }

 private:
  void make_bus(GuestNode& node, const machine::HostParameters& host);
  bool tell_agent(std::size_t node, const std::string& line);
  void hear_agents();
  void node_asks(std::size_t node, std::string_view question);
  void inject(const GrantRequest& request, nic::Backdoor::Answer answer);
  Time now() const { return fabric_.now(); }

  nic::Fabric& fabric_;
  event::EventQueue& queue_;
  const BootOptions& options_;
  Nodes& nodes_;
  ClusterCalls calls_;
  std::unique_ptr<Accelerators> accelerators_;
  std::unique_ptr<nic::Backdoor> backdoor_;  // where packets are looked at, or put in
  std::unique_ptr<Control> control_;
  std::chrono::steady_clock::time_point next_control_;
};

}  // namespace weft::guest
