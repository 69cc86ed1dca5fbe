#pragma once

#include <vector>

#include "routing/routing.hpp"
#include "topology/tree_shape.hpp"

namespace weft::routing {

/// Routing on a tree: any port up leads to an ancestor, so which few are offered is only a matter of balance.
///
/// By endpoint, the ports follow from the destination alone (D-mod-k): destinations spread over all of them,
/// and a destination is reached by one path from everywhere. By router, destinations are too few to reach all
/// cables, so every router turns the choice by its own number as well: sources differ, and each destination
/// is reached by all cables that lead down to it.
class FatTree final : public Routing {
 public:
  /// `offered` ports at each step: 1 is deterministic, 0 means all. `by_endpoint`: which ones differs by the
  /// destination, and not only by its router and the one the packet stands at.
  FatTree(const Graph& graph, const topology::Faults& faults, unsigned offered, bool by_endpoint = false);

  void candidates(const Hop& hop, Candidates& out) const override;
  /// The same as a formula, for those who need only some of many: choice i is port first + (start + i) %
  /// count of the router, for i below `offered`; dead ones included.
  struct PortChoice {
    PortIndex first;
    std::uint32_t start, count, offered;
    PortIndex port(std::uint32_t i) const { return static_cast<PortIndex>(first + (start + i) % count); }
  };
  PortChoice choice(RouterId router, EndpointId to) const { return choice(router, to, number_of(to)); }
  /// The same for a destination that goes by another number: that of its cabinet or group, say.
  PortChoice choice(RouterId router, EndpointId to, std::uint64_t number) const;
  unsigned classes() const override { return 1; }
  bool uses_input() const override { return false; }
  std::uint32_t destination_key(EndpointId e) const override {
    return by_endpoint_ || last_cable_by_endpoint_ ? e : 0;
  }
  bool keeps_order() const override { return offered_ == 1; }

 private:
  std::uint64_t number_of(EndpointId to) const { return by_endpoint_ ? to : graph_.endpoint_router(to); }
  /// How far a router turns the choice: its subtree's number among those of its level.
  std::uint64_t turn(RouterId router) const {
    const topology::TreeShape::Node& node = tree_.nodes[router];
    return node.level == 1 ? router : node.below_begin / span_[node.level];
  }

  const topology::TreeShape& tree_;
  unsigned offered_;
  bool by_endpoint_;
  bool last_cable_by_endpoint_ = false;  // more cables lead down to a router of level 1 than are offered
  std::vector<std::uint32_t> span_;      // endpoints under a router, by level
};

}  // namespace weft::routing
