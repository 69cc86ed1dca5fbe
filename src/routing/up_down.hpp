// Up*/down*: every cable has an end nearer the root of a spanning tree; routes climb first, then descend, and
// never climb again. No cycle of channels can form on any graph, whole or broken.
#pragma once

#include <utility>

#include "routing/distances.hpp"

namespace weft::routing {

/// Which end of each cable is up: nearer the root, or of the lower number where both are as near.
class UpDownLevels {
 public:
  /// `root` kNone: the most central router. Faults may leave pieces; each has a root of its own.
  UpDownLevels(const Graph& graph, const topology::Faults& faults, RouterId root);

  bool leads_up(PortId p) const;
  /// From the root downwards, as climbs are counted.
  bool above(RouterId a, RouterId b) const { return std::pair(level_[a], a) < std::pair(level_[b], b); }

 private:
  RouterId most_central_router() const;
  void root_other_pieces();

  const Graph& graph_;
  const topology::Faults& faults_;
  std::vector<std::uint16_t> level_;  // distance from the root
};

class UpDown final : public Routing {
 public:
  /// `root` kNone: the most central router. `all_paths` offers every shortest legal path instead of one.
  UpDown(const Graph& graph, const topology::Faults& faults, RouterId root, bool all_paths);

  void candidates(const Hop& hop, Candidates& out) const override;
  unsigned classes() const override { return 1; }
  bool uses_input() const override { return true; }
  std::uint32_t max_hops() const override { return longest_; }
  bool keeps_order() const override { return !all_paths_; }
  std::uint64_t bytes() const override { return (down_.size() + any_.size()) * sizeof(std::uint16_t); }

  /// Candidates at `router`; `descending` when the packet has already begun its descent.
  void offer(RouterId router, bool descending, EndpointId to, ChannelClass cls, Candidates& out) const;
  /// Did a packet that arrived on this port come down to get here?
  bool came_down(RouterId router, PortIndex in_port) const;

 private:
  void fill_tables();

  bool all_paths_;
  UpDownLevels levels_;
  std::uint32_t longest_ = 0;
  DestinationRouters destinations_;
  std::vector<std::uint16_t> down_;  // [destination][router]: hops by descending only
  std::vector<std::uint16_t> any_;   // [destination][router]: hops by climbing first
};

}  // namespace weft::routing
