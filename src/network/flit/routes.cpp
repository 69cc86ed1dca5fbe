#include "network/flit/routes.hpp"

#include "base/check.hpp"
#include "network/flit/buffers.hpp"

namespace weft::network::flit {

using topology::EndpointId;
using topology::kNone;
using topology::RouterId;

void Routes::use(const Fabric& fabric, const routing::Routing& routing) {
  relation = &routing;
  share_channels(fabric.settings);
  set_paces(fabric);
  place_ports(fabric);
  grow_trees(fabric);
}

void Routes::grow_trees(const Fabric& fabric) {
  if (!fabric.settings.multicast()) return;
  if (trees)
    trees->replant(relation->faults(), groups);
  else
    trees.emplace(fabric.graph, relation->faults());
  if (reductions)
    reductions->replant(*trees);
  else if (fabric.settings.reduces())
    reductions.emplace(fabric.graph, fabric.settings.router.reduction);
}

/// Which channels each class of the routing has.
void Routes::share_channels(const Settings& settings) {
  routing::ChannelPlan plan = relation->plan(settings.channels);
  WEFT_CHECK(plan.complete, "every class of the routing has channels");
  class_channels.clear();
  channel_class.assign(settings.all_channels(), 0);
  for (unsigned c = 0; c < relation->classes(); ++c) {
    std::uint32_t mask = 0;
    for (unsigned k = plan.begin[c]; k < plan.end[c]; ++k) {
      mask |= 1u << k;
      for (unsigned m = 0; m < settings.message_classes; ++m)
        channel_class[m * settings.channels + k] = static_cast<std::uint8_t>(c);
    }
    class_channels.push_back(mask);
  }
  while (class_channels.size() < 2) class_channels.push_back(class_channels.front());
}

/// For sources that choose between a direct route and one by way of a third place.
void Routes::set_paces(const Fabric& fabric) {
  paces.clear();
  if (relation->via_count() == 0 || !relation->may_go_direct()) return;
  paces.resize(fabric.graph.ports());
  for (PortNumber p = 0; p < fabric.graph.ports(); ++p)
    if (topology::CableId cable = fabric.graph.port_cable(p); cable != kNone) {
      paces[p].round_trip = credit_round_trip(fabric.settings, fabric.settings.cable_cycles[cable]);
      paces[p].full = paces[p].round_trip * 256u / fabric.settings.cable_interval[cable] * 15 / 16;
    }
}

void Routes::place_ports(const Fabric& fabric) {
  grid.reset();
  if (!fabric.settings.router.queue_per_output && fabric.settings.router.inner_stages == 0 &&
      fabric.port_remainder.empty())
    grid = GridRoute::of(*relation);
  const topology::Graph& graph = fabric.graph;
  port_info = PartArray<PortInfo>(graph.ports(), {fabric.part.ports});
  grid_ports = PartArray<GridPort>(grid ? graph.ports() : 0, {grid ? fabric.part.ports : Run{}});
  grid_endpoints.clear();
  for (std::size_t at = fabric.part.ports.begin; at < fabric.part.ports.end; ++at) {
    const auto p = static_cast<PortNumber>(at);
    const RouterId router = graph.port_router(p);
    const PortNumber first = graph.port_begin(router);
    port_info[p] = {first, router};
    if (grid) grid_ports[p] = {grid->place(router), first, grid->rows(router, p - first)};
  }
  if (grid) grid_endpoints.reserve(graph.endpoints());
  if (grid)
    for (EndpointId e = 0; e < graph.endpoints(); ++e)
      grid_endpoints.push_back({grid->place(fabric.endpoint_router[e]), fabric.endpoint_port[e] & 0x7fff'ffff,
                                GridRoute::parity(grid->place(fabric.endpoint_router[e])) & 1});
}

}  // namespace weft::network::flit
