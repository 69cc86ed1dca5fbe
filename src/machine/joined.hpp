// A machine of several networks (networks.hpp) that stands: each is a machine of its own, and all their
// routers, ports and cables have numbers one after the other in the graph of the whole. An endpoint of that
// graph is a node, at its router in the first network it is on.
#pragma once

#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "machine/networks.hpp"
#include "routing/routing.hpp"

namespace weft::machine {

struct JoinedPart {
  std::string name;
  Machine machine;
  topology::RouterId first_router = 0;  // in the graph of the whole
  topology::PortId first_port = 0;
  std::uint64_t up_to = 0;                        // bytes; 0: of any size
  std::vector<topology::EndpointId> node_of;      // by endpoint of this network; kNone: nobody's
  std::vector<topology::EndpointId> endpoint_of;  // by node; kNone: it is not on this network

  bool has(topology::EndpointId node) const { return endpoint_of[node] != topology::kNone; }
};

/// How packets get from a node to another: by one network, or by two and a gateway between them.
struct Way {
  std::uint32_t first = 0, second = 0;      // networks; the same where there is no gateway
  std::uint32_t gateway = topology::kNone;  // which of them
};

/// The routing of the whole: in each network by its own, to other networks by way of any gateway.
class Joined final : public routing::Routing {
 public:
  Joined(const Networks& networks, const topology::Graph& graph, const topology::Faults& faults);

  const std::vector<JoinedPart>& parts() const { return parts_; }
  /// Nodes that are gateways.
  const std::vector<topology::EndpointId>& gateways() const { return gateways_; }
  bool is_gateway(topology::EndpointId node) const;
  std::uint32_t nodes() const { return static_cast<std::uint32_t>(home_.size()); }
  /// The first network a node is on: its interface is that one's.
  std::uint32_t home(topology::EndpointId node) const { return home_[node]; }
  std::uint32_t part_of_router(topology::RouterId router) const;
  /// `avoid(g)`: gateway g is not to be used where another can be.
  Way way(topology::EndpointId from, topology::EndpointId to, std::uint64_t bytes,
          const std::function<bool(std::uint32_t)>& avoid = {}) const;

  void candidates(const routing::Hop& hop, routing::Candidates& out) const override;
  unsigned classes() const override;
  bool uses_input() const override { return true; }
  bool claims_deadlock_free() const override;

 private:
  std::vector<JoinedPart> parts_;
  std::vector<topology::EndpointId> gateways_;
  GatewayShare share_;
  std::vector<std::uint32_t> home_;                  // by node
  std::vector<std::vector<std::uint32_t>> between_;  // by two networks: gateways on both
};

/// What a machine of several networks is made of; nothing where it has one, or no routes yet.
const Joined* joined(const Machine& machine);

}  // namespace weft::machine
