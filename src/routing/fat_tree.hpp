#pragma once

#include "routing/routing.hpp"
#include "topology/tree_shape.hpp"

namespace weft::routing {

/// Routing on a tree: any way up leads to an ancestor, so only the count of ways offered is a choice.
class FatTree final : public Routing {
 public:
  /// `ways` offered at each step: 1 is deterministic, 0 means all.
  FatTree(const Graph& graph, const topology::Faults& faults, unsigned ways);

  void candidates(const Hop& hop, Candidates& out) const override;
  unsigned classes() const override { return 1; }
  bool uses_input() const override { return false; }
  std::uint32_t destination_key(EndpointId e) const override;
  bool keeps_order() const override { return ways_ == 1; }

 private:
  const topology::TreeShape& tree_;
  unsigned ways_;
};

}  // namespace weft::routing
