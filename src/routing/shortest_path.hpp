// Shortest paths from tables, for any graph.
#pragma once

#include "routing/relief.hpp"

namespace weft::routing {

enum class ChannelRule {
  ByHop,  // every hop uses the next class: no cycle can form, at the price of a class for each hop
  One,    // one class throughout: free of deadlock only where the graph itself allows no cycle
};

class ShortestPath final : public Routing {
 public:
  /// `per_input_port`: a table for each input port, so that flows entering by different ports spread
  /// differently.
  ShortestPath(const Graph& graph, const topology::Faults& faults, ChannelRule rule, bool per_input_port,
               std::uint32_t item_limit);

  void candidates(const Hop& hop, Candidates& out) const override;
  unsigned classes() const override { return rule_ == ChannelRule::ByHop ? std::max(1u, diameter_) : 1; }
  bool uses_input() const override { return rule_ == ChannelRule::ByHop || per_input_port_; }
  bool claims_deadlock_free() const override { return rule_ == ChannelRule::ByHop || diameter_ <= 1; }
  bool keeps_order() const override { return true; }
  std::vector<TableUse> tables() const override;
  std::uint64_t bytes() const override { return tables_.next.size() * sizeof(PortIndex); }

 private:
  ChannelRule rule_;
  bool per_input_port_;
  std::uint32_t item_limit_;
  std::uint32_t diameter_ = 0;
  DestinationRouters destinations_;
  RouteTables tables_;  // a table for each router, and for each port where they differ by port
};

}  // namespace weft::routing
