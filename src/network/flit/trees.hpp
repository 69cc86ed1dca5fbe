// The trees of packets for many, as routers look them up: at each router a packet comes to, where its copies
// go on.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "network/groups.hpp"
#include "routing/multicast.hpp"

namespace weft::network::flit {

using HopNumber = std::uint32_t;
inline constexpr HopNumber kNoHop = 0xffff'ffff;

/// One way on from a router.
struct Branch {
  topology::PortId out;
  HopNumber next;  // at the router behind it; kNoHop: an endpoint is there
};

/// A router that a packet of some tree comes to.
struct TreeHop {
  std::uint32_t first = 0, count = 0;  // of its branches
  std::uint32_t inputs = 0;    // contributions that are combined here before they go on; 0: it is not that
  std::uint32_t meetings = 0;  // the first of what it keeps for rounds of them (MulticastState)
};

class Trees {
 public:
  Trees(const topology::Graph& graph, const topology::Faults& faults)
      : graph_(graph), faults_(faults), shapes_(std::in_place, graph_, faults_) {}
  Trees(const Trees&) = delete;  // its shapes know where its faults are
  Trees& operator=(const Trees&) = delete;

  struct Root {
    HopNumber hop = kNoHop;  // kNoHop: nobody can be reached
    bool planted = false;
    std::vector<EndpointId> cut_off;  // members that cannot
  };
  /// Makes the tree of a group and a source, unless it is there.
  void plant(GroupNumber group, const std::vector<EndpointId>& members, EndpointId source);
  const Root& root(GroupNumber group, EndpointId source) const { return roots_[group][source]; }
  /// The same trees on what is left of the network.
  void replant(const topology::Faults& faults, const Groups& groups);

  const TreeHop& hop(HopNumber number) const { return hops_[number]; }
  const Branch& branch(std::uint32_t number) const { return branches_[number]; }
  /// The endpoints behind a branch.
  void add_endpoints(const Branch& branch, std::vector<EndpointId>& out) const;
  /// Those behind all branches of a hop.
  void add_endpoints(HopNumber hop, std::vector<EndpointId>& out) const;
  std::size_t hops() const { return hops_.size(); }
  /// A hop of a tree that somebody else makes; replant() forgets it.
  HopNumber add_hop(std::span<const Branch> ways);
  TreeHop& hop(HopNumber number) { return hops_[number]; }
  const routing::MulticastTrees& shapes() const { return *shapes_; }

 private:
  const topology::Graph& graph_;
  topology::Faults faults_;
  std::optional<routing::MulticastTrees> shapes_;
  std::vector<TreeHop> hops_;
  std::vector<Branch> branches_;
  std::vector<std::vector<Root>> roots_;  // by group and source
  std::vector<routing::TreeStep> steps_;
};

}  // namespace weft::network::flit
