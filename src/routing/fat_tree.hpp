#pragma once

#include "routing/routing.hpp"
#include "topology/tree_shape.hpp"

namespace weft::routing {

/// Routing on a tree: any way up leads to an ancestor, so only the count of ways offered is a choice.
class FatTree final : public Routing {
 public:
  /// `ways` offered at each step: 1 is deterministic, 0 means all. `by_endpoint`: which ones differs by the
  /// destination, and not only by its router.
  FatTree(const Graph& graph, const topology::Faults& faults, unsigned ways, bool by_endpoint = false);

  void candidates(const Hop& hop, Candidates& out) const override;
  /// The same as a formula, for those who need only some of many: way i is port first + (start + i) % count
  /// of the router, for i below `offered`; dead ones included.
  struct Ways {
    PortIndex first;
    std::uint32_t start, count, offered;
    PortIndex port(std::uint32_t i) const { return static_cast<PortIndex>(first + (start + i) % count); }
  };
  Ways ways(RouterId router, EndpointId to) const;
  unsigned classes() const override { return 1; }
  bool uses_input() const override { return false; }
  std::uint32_t destination_key(EndpointId e) const override;
  bool keeps_order() const override { return ways_ == 1; }

 private:
  const topology::TreeShape& tree_;
  unsigned ways_;
  bool by_endpoint_;
};

}  // namespace weft::routing
