// The part of a machine that a process runs: routers in the order of their numbers, with their ports and
// endpoints. Where it is alone that is all of them.
#pragma once

#include "base/part_array.hpp"
#include "network/ranks.hpp"
#include "topology/graph.hpp"

namespace weft::network {

struct Part {
  Run routers, ports, endpoints;

  bool has_router(topology::RouterId r) const { return r - routers.begin < routers.size(); }
  bool has_endpoint(topology::EndpointId e) const { return e - endpoints.begin < endpoints.size(); }
};

/// That of one of `count` ranks.
Part part_of(const topology::Graph& graph, unsigned rank, unsigned count);
/// That of this process; `ranks` may be null.
inline Part part_of(const topology::Graph& graph, const Ranks* ranks) {
  return ranks ? part_of(graph, ranks->rank(), ranks->count()) : part_of(graph, 0, 1);
}

}  // namespace weft::network
