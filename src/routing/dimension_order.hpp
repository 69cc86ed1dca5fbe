// Dimension-order routing on a grid, and the channel classes that keep its rings free of deadlock.
#pragma once

#include "routing/routing.hpp"
#include "topology/grid_shape.hpp"

namespace weft::routing {

enum class Dateline {
  /// A packet uses class 1 while it still has to cross the dateline of its ring, class 0 after. Depends on
  /// where
  /// the packet is and goes, on nothing else.
  Ahead,
  /// Two datelines, opposite each other: packets that cross the first use class 1, those that cross the
  /// second
  /// class 0, and those that cross neither take either class and keep it. Spreads load over both classes.
  Balanced,
};

/// The first dimension in which two grid routers differ, or -1.
int first_difference(const topology::GridShape& grid, RouterId a, RouterId b);

class DimensionOrder final : public Routing {
 public:
  DimensionOrder(const Graph& graph, const topology::Faults& faults, Dateline dateline, bool spread_parallel);

  void candidates(const Hop& hop, Candidates& out) const override;
  unsigned classes() const override { return has_rings_ ? 2 : 1; }
  bool uses_input() const override { return has_rings_ && dateline_ == Dateline::Balanced; }
  std::uint32_t destination_key(EndpointId e) const override { return spread_ ? 0 : e % grid_.parallel; }
  bool keeps_order() const override {
    return (grid_.parallel == 1 || !spread_) && dateline_ == Dateline::Ahead;
  }

  Dateline dateline() const { return dateline_; }

  /// The candidates toward a router rather than an endpoint; `flow` picks among parallel cables.
  void toward(const Hop& hop, RouterId to, std::uint32_t flow, ChannelClass base, Candidates& out) const;

 private:
  const topology::GridShape& grid_;
  Dateline dateline_;
  bool spread_;
  bool has_rings_ = false;
};

}  // namespace weft::routing
