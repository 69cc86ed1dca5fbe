// Trees for packets that go to many endpoints at once: a router copies such a packet wherever its tree
// branches.
//
// Trees follow up*/down*: from its source a packet climbs, then descends, and never climbs again. So one
// class of channels is enough on any graph, whole or broken, and of two routers on a route the way is as
// short as that rule allows. In one tree no cable is crossed twice in one direction: a packet is sent once
// over every cable, however many it is for.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "routing/up_down.hpp"
#include "routing/verify.hpp"

namespace weft::routing {

/// A router that a packet comes to; the first step is the source's own.
struct TreeStep {
  RouterId router;
  PortId in = kNone;             // it arrives here; kNone: from an endpoint
  std::uint32_t parent = kNone;  // the step before
  std::uint32_t depth = 0;       // cables crossed
};

class MulticastTrees {
 public:
  MulticastTrees(const Graph& graph, const topology::Faults& faults)
      : graph_(graph), faults_(faults), levels_(graph, faults, kNone) {}

  /// The steps from a source to every router that can be reached, parents before children, nearest first. A
  /// router may have two: climbing and descending. What is for its endpoints leaves at the first.
  void grow(RouterId source, std::vector<TreeStep>& steps) const;

  // Reduction goes such a tree backwards: contributions climb to the router where all of a group's ways meet,
  // and the result descends from there.

  /// The nearest router that all of `members` can climb to: the least distance of the farthest, then of all,
  /// then the first. kNone: they are in different pieces.
  RouterId meeting_point(std::span<const RouterId> members) const;
  /// The steps from a router downwards alone, to every router below it once, parents before children.
  void descend(RouterId root, std::vector<TreeStep>& steps) const;

 private:
  const Graph& graph_;
  const topology::Faults& faults_;
  UpDownLevels levels_;
};

struct MulticastVerdict {
  std::uint64_t sources = 0;  // routers with endpoints: the root of a tree each
  std::uint64_t unreached =
      0;  // pairs of routers with endpoints, where one's tree does not come to the other
  std::uint64_t crossed_twice = 0;  // cables that a tree crosses more than once in one direction
  std::uint32_t deepest = 0;        // cables
  std::uint64_t channels = 0, dependencies = 0;
  std::uint64_t meeting_points = 0;  // roots of reductions that were looked at
  std::vector<CycleHop> cycle;       // empty: none

  bool holds() const { return unreached == 0 && crossed_twice == 0 && cycle.empty(); }
};

/// Looks at the trees of all sources. A packet that has come by one channel holds it until it has gone on by
/// all branches of its step: so each of these is a dependency of that channel, and without a cycle among them
/// no deadlock can form, whoever is in a group: its tree is part of its source's. `grow` as MulticastTrees'.
///
/// Where routers reduce, `descend` (as MulticastTrees') gives the trees below every router there is: a
/// combined contribution holds the channel of the last that came until it has gone on towards the root, and
/// at the root until it has gone on by all branches, whoever was last. All other contributions have left for
/// memory that is reserved for them, and wait for nothing.
using GrowTree = std::function<void(RouterId source, std::vector<TreeStep>& steps)>;
MulticastVerdict verify_multicast(const Graph& graph, const topology::Faults& faults, const GrowTree& grow,
                                  const GrowTree& descend = {});

}  // namespace weft::routing
