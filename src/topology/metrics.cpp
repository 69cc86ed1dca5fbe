#include "topology/metrics.hpp"

#include <algorithm>
#include <limits>

namespace weft::topology {

namespace {

std::vector<CableUse> count_cables(const Graph& graph) {
  std::vector<CableUse> all(graph.cable_types().size());
  for (CableId c = 0; c < graph.cables(); ++c) {
    CableUse& use = all[graph.cable_type_index(c)];
    Length length = graph.cable_length(c);
    use.shortest = use.cables == 0 ? length : std::min(use.shortest, length);
    use.longest = std::max(use.longest, length);
    use.total = use.total + length;
    ++use.cables;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].type = &graph.cable_types()[i];
    all[i].strands = all[i].cables * all[i].type->strands;
  }
  std::erase_if(all, [](const CableUse& use) { return use.cables == 0; });
  return all;
}

std::vector<TierUse> count_tiers(const Graph& graph) {
  std::vector<TierUse> tiers(graph.tier_names().size());
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    tiers[i].name = graph.tier_names()[i];
    tiers[i].fewest_ports = std::numeric_limits<std::uint32_t>::max();
  }
  for (RouterId r = 0; r < graph.routers(); ++r) {
    TierUse& tier = tiers[graph.router_tier(r)];
    ++tier.routers;
    tier.endpoints += graph.endpoint_count(r);
    tier.ports += graph.port_count(r);
    tier.fewest_ports = std::min(tier.fewest_ports, graph.port_count(r));
    tier.most_ports = std::max(tier.most_ports, graph.port_count(r));
    for (PortId p = graph.port_begin(r); p < graph.port_begin(r + 1); ++p)
      tier.ports_used += graph.peer(p) != kNone || graph.port_endpoint(p) != kNone;
  }
  std::erase_if(tiers, [](const TierUse& tier) { return tier.routers == 0; });
  return tiers;
}

}  // namespace

Inventory count_parts(const Graph& graph) {
  Inventory parts{count_cables(graph), count_tiers(graph)};
  for (const CableUse& use : parts.cables)
    parts.total_rate += static_cast<double>(use.type->rate().value) * static_cast<double>(use.cables);
  return parts;
}

LiveLinks::LiveLinks(const Graph& graph, const Faults& faults) {
  begin.reserve(graph.routers() + 1);
  begin.push_back(0);
  std::vector<std::pair<RouterId, double>> found;
  for (RouterId r = 0; r < graph.routers(); ++r) {
    found.clear();
    for (PortId p = graph.port_begin(r); p < graph.port_begin(r + 1); ++p)
      if (faults.usable(graph, p))
        found.emplace_back(graph.port_router(graph.peer(p)),
                           static_cast<double>(graph.cable_type(graph.port_cable(p)).rate().value));
    std::sort(found.begin(), found.end());
    for (auto [neighbour, bits_per_second] : found) {
      if (to.size() > begin.back() && to.back() == neighbour) {
        rate.back() += bits_per_second;
      } else {
        to.push_back(neighbour);
        rate.push_back(bits_per_second);
      }
    }
    begin.push_back(static_cast<std::uint32_t>(to.size()));
  }
}

std::optional<ZeroLoad> zero_load(const Graph& graph, const Faults& faults, RouterId from, RouterId to,
                                  Time router_latency) {
  struct Reach {
    std::uint32_t cables = kNone;
    Time flight;
  };
  std::vector<Reach> reach(graph.routers());
  std::vector<RouterId> queue{from};
  reach[from].cables = 0;
  // A router leaves the queue after all routers one cable nearer, so its own flight time is final by then.
  for (std::size_t i = 0; i < queue.size() && reach[to].cables >= reach[queue[i]].cables; ++i) {
    RouterId r = queue[i];
    for (PortId p = graph.port_begin(r); p < graph.port_begin(r + 1); ++p) {
      if (!faults.usable(graph, p)) continue;
      CableId cable = graph.port_cable(p);
      Time flight = reach[r].flight + graph.cable_type(cable).flight_time(graph.cable_length(cable));
      RouterId next = graph.port_router(graph.peer(p));
      Reach& there = reach[next];
      if (there.cables == kNone) {
        there = {reach[r].cables + 1, flight};
        queue.push_back(next);
      } else if (there.cables == reach[r].cables + 1) {
        there.flight = std::min(there.flight, flight);
      }
    }
  }
  if (reach[to].cables == kNone) return std::nullopt;
  std::uint32_t cables = reach[to].cables;
  return ZeroLoad{cables, router_latency * (cables + 1), reach[to].flight};
}

}  // namespace weft::topology
