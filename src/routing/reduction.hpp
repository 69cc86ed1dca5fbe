// Trees along which packets of many endpoints become one: those of packets for many, turned round.
//
// A way that climbs and then descends does so in either direction, so the same rule keeps both free of
// deadlock, and one class of channels is enough for both together (verify_multicast). What comes to a router
// from different inputs is combined there in a fixed order: the router's own members first, in their order,
// then what comes from other routers, nearest first. So results do not depend on what arrives first.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "routing/multicast.hpp"

namespace weft::routing {

/// Member `from` is combined into member `into`; in the end all is in the first one's.
struct Fold {
  std::uint32_t into, from;
  friend bool operator==(const Fold&, const Fold&) = default;
};
struct FoldOrder {
  std::uint32_t first = 0;
  std::vector<Fold> folds;
};

/// A router on the way to the root.
struct ReductionStop {
  RouterId router;
  PortId out;                           // towards the root
  std::uint32_t parent = kNone;         // the stop behind that port; kNone: the root is there
  std::uint32_t depth = 0;              // cables to the root's router
  std::vector<std::uint32_t> members;   // that are here, by their place among all
  std::vector<std::uint32_t> children;  // stops

  std::size_t inputs() const { return members.size() + children.size(); }
  bool joins() const { return inputs() > 1; }
};

struct ReductionTree {
  std::vector<ReductionStop> stops;  // children before their parents; the root's router is the last
  bool whole = true;                 // every member has a way to the root

  FoldOrder order() const;
};

ReductionTree grow_reduction(const Graph& graph, const MulticastTrees& trees,
                             std::span<const EndpointId> members, EndpointId root);

}  // namespace weft::routing
