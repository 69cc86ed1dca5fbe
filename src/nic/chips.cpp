#include "nic/chips.hpp"

namespace weft::nic {

using topology::kNone;
using topology::RouterId;

topology::EndpointId Chips::node_of(ChipNumber router) {
  find_ways();
  return router - 1 < ways_.size() ? ways_[router_of(router)].node : kNone;
}

Time Chips::way_to(ChipNumber router) {
  find_ways();
  return router - 1 < ways_.size() ? ways_[router_of(router)].time : Time{0};
}

/// From all routers with nodes at once, hop by hop; of several that are as near, the first.
void Chips::find_ways() {
  const topology::Graph& graph = *machine_.graph;
  if (!ways_.empty() || graph.routers() == 0) return;
  ways_.resize(graph.routers());
  std::vector<RouterId> reached;
  for (RouterId r = 0; r < graph.routers(); ++r) {
    if (graph.endpoint_count(r) == 0 || machine_.faults->router_dead(r)) continue;
    ways_[r].node = graph.first_endpoint(r);
    reached.push_back(r);
  }
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const RouterId from = reached[i];
    for (std::uint32_t p = 0; p < graph.port_count(from); ++p) {
      const topology::PortId out = graph.port(from, static_cast<topology::PortIndex>(p));
      if (!machine_.faults->usable(graph, out)) continue;
      const RouterId to = graph.port_router(graph.peer(out));
      if (ways_[to].node != kNone) continue;
      const topology::CableId cable = graph.port_cable(out);
      ways_[to] = {ways_[from].node, ways_[from].time + machine_.description.router.latency +
                                         graph.cable_type(cable).flight_time(graph.cable_length(cable))};
      reached.push_back(to);
    }
  }
}

}  // namespace weft::nic
