#include "routing/balance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "topology/grid_shape.hpp"

namespace weft::routing {

LoadMap::LoadMap(const Routing& routing)
    : routing_(routing),
      graph_(routing.graph()),
      always_by_place_(routing.via_count() > 0 && !routing.may_go_direct()),
      load_(graph_.ports(), 0),
      arrivals_(always_by_place_ ? graph_.routers() : 0, 0) {}

void LoadMap::inject(const StateExplorer& explorer, RouterId r, Load load) {
  if (at_.size() < explorer.state_count()) at_.resize(explorer.state_count(), 0);
  at_[explorer.injected(r)] += load;
}

void LoadMap::flow(const StateExplorer& explorer, bool first_leg) {
  const auto& settled = explorer.settled();
  // From the sources on: a state comes after all that lead to it.
  for (std::size_t i = settled.size(); i-- > 0;) {
    std::uint32_t state = settled[i];
    Load load = at_[state];
    at_[state] = 0;
    if (load == 0) continue;
    auto counts = [&](const StateExplorer::Edge& e) { return !routing_.is_escape(e.channel_class); };
    Load choices = 0;
    for (auto* e = explorer.edges_begin(state); e != explorer.edges_end(state); ++e) choices += counts(*e);
    bool escape = choices == 0;  // escape channels are for those who find no other
    if (escape) choices = static_cast<Load>(explorer.edges_end(state) - explorer.edges_begin(state));
    if (choices == 0) continue;  // a dead end
    Load rest = load % choices;
    for (auto* e = explorer.edges_begin(state); e != explorer.edges_end(state); ++e) {
      if (!escape && !counts(*e)) continue;
      Load part = load / choices + (rest > 0);
      if (rest > 0) --rest;
      load_[e->out_port] += part;
      if (e->next != StateExplorer::kArrived)
        at_[e->next] += part;
      else if (first_leg)
        arrivals_[graph_.port_router(graph_.peer(e->out_port))] += part;
    }
  }
}

void LoadMap::add_first_leg(const StateExplorer& explorer, std::uint32_t via,
                            const std::vector<RouterId>& sources) {
  if (!always_by_place_) return;
  for (RouterId r : sources) {
    Load load = graph_.endpoint_count(r) * kPacket * graph_.endpoints() / routing_.via_count();
    if (routing_.via_reached(r, via))
      arrivals_[r] += load;
    else
      inject(explorer, r, load);
  }
  flow(explorer, true);
}

void LoadMap::add_destination(const StateExplorer& explorer, EndpointId to, std::uint32_t endpoints,
                              const std::vector<RouterId>& starts, const LoadMap* first_legs) {
  RouterId goal = graph_.endpoint_router(to);
  for (RouterId r : starts) {
    if (r == goal) continue;
    if (always_by_place_ && first_legs)
      inject(explorer, r,
             static_cast<Load>(static_cast<unsigned __int128>(first_legs->arrivals_[r]) * endpoints /
                               graph_.endpoints()));
    else
      inject(explorer, r, Load{graph_.endpoint_count(r)} * endpoints * kPacket);
  }
  flow(explorer, false);
}

void LoadMap::merge(const LoadMap& other) {
  for (std::size_t i = 0; i < load_.size(); ++i) load_[i] += other.load_[i];
  for (std::size_t i = 0; i < arrivals_.size(); ++i) arrivals_[i] += other.arrivals_[i];
}

namespace {

/// What a cable is compared with: others between the same ranks of routers, or along the same dimension.
std::string tier_of(const Graph& graph, PortId port) {
  RouterId from = graph.port_router(port), to = graph.port_router(graph.peer(port));
  if (const auto* grid = graph.shape_as<topology::GridShape>()) {
    if (from >= grid->grid_routers || to >= grid->grid_routers) return "to and from devices";
    for (unsigned d = 0; d < grid->dimensions.size(); ++d)
      if (grid->coordinate(from, d) != grid->coordinate(to, d)) return fmt::format("dimension {}", d);
  }
  std::string name = fmt::format("{} to {}", graph.tier_names()[graph.router_tier(from)],
                                 graph.tier_names()[graph.router_tier(to)]);
  if (graph.cable_types().size() > 1)
    name += fmt::format(" ({})", graph.cable_type(graph.port_cable(port)).name);
  return name;
}

}  // namespace

std::vector<TierBalance> LoadMap::by_tier() const {
  struct Sum {
    std::size_t place;
    unsigned __int128 load = 0;
    Load most = 0;
  };
  std::vector<TierBalance> out;
  std::map<std::string, Sum> sums;
  for (PortId p = 0; p < graph_.ports(); ++p) {
    if (!routing_.faults().usable(graph_, p)) continue;
    auto [at, fresh] = sums.try_emplace(tier_of(graph_, p), Sum{out.size()});
    Sum& sum = at->second;
    if (fresh) out.push_back({at->first});
    ++out[sum.place].cables;
    out[sum.place].idle += load_[p] == 0;
    sum.load += load_[p];
    sum.most = std::max(sum.most, load_[p]);
  }
  for (const auto& [name, sum] : sums) {
    TierBalance& tier = out[sum.place];
    if (sum.load > 0)
      tier.busiest =
          static_cast<double>(sum.most) * static_cast<double>(tier.cables) / static_cast<double>(sum.load);
  }
  return out;
}

}  // namespace weft::routing
