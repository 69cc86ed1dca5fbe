#include "routing/shortest_path.hpp"

#include <algorithm>

#include "routing/kind.hpp"

namespace weft::routing {

ShortestPath::ShortestPath(const Graph& graph, const topology::Faults& faults, ChannelRule rule,
                           bool per_input_port, std::uint32_t item_limit)
    : Routing(graph, faults),
      rule_(rule),
      per_input_port_(per_input_port),
      item_limit_(item_limit),
      destinations_(graph) {
  // With tables per input port, injected packets share one more table: endpoints enter by several ports.
  std::uint64_t tables = graph.routers() + (per_input_port ? graph.ports() : 0);
  std::uint64_t width = destinations_.routers.size();
  check_table_bytes(static_cast<double>(tables) * static_cast<double>(width) * sizeof(PortIndex),
                    "shortest-path tables");
  tables_.next.assign(tables * width, kNoRoute);

  std::vector<std::uint16_t> left;
  std::vector<RouterId> queue;
  std::vector<PortIndex> good;
  // As a fabric manager does: each route by the port that carries least so far, farthest routers first, so
  // that what they send is known where routes join.
  std::vector<std::uint64_t> passing(graph.routers());
  tables_.load.assign(graph.ports(), 0);
  auto& load = tables_.load;
  for (std::uint32_t d = 0; d < width; ++d) {
    RouterId to = destinations_.routers[d];
    distances_to(graph, faults, to, left, queue);
    for (RouterId r : queue) passing[r] = std::uint64_t{graph.endpoint_count(r)} * graph.endpoint_count(to);
    for (std::size_t i = queue.size(); i-- > 1;) {
      RouterId r = queue[i];
      if (graph.endpoint_count(r) > 0) diameter_ = std::max<std::uint32_t>(diameter_, left[r]);
      good.clear();
      for (PortId p = graph.port_begin(r); p < graph.port_begin(r + 1); ++p)
        if (faults.usable(graph, p) && left[graph.port_router(graph.peer(p))] + 1 == left[r])
          good.push_back(graph.port_index(p));
      auto pick = [&](std::uint32_t who) {
        return good[spread_choice(who, to, static_cast<std::uint32_t>(good.size()))];
      };
      PortIndex best = pick(r);  // of ports that carry the same
      for (PortIndex p : good)
        if (load[graph.port(r, p)] < load[graph.port(r, best)]) best = p;
      tables_.next[std::uint64_t{r} * width + d] = best;
      load[graph.port(r, best)] += passing[r];
      passing[graph.port_router(graph.peer(graph.port(r, best)))] += passing[r];
      if (per_input_port)
        for (PortId p = graph.port_begin(r); p < graph.port_begin(r + 1); ++p)
          tables_.next[(graph.routers() + std::uint64_t{p}) * width + d] = pick(graph.routers() + p);
    }
  }
  if (!per_input_port) relieve_busiest_cables(graph, faults, destinations_, tables_);
  tables_.load = {};
}

void ShortestPath::candidates(const Hop& hop, Candidates& out) const {
  out.clear();
  bool injected = hop.in_port == kInjected;
  std::uint64_t table = per_input_port_ && !injected
                            ? graph_.routers() + std::uint64_t{graph_.port(hop.router, hop.in_port)}
                            : hop.router;
  std::uint32_t column = destinations_.index[graph_.endpoint_router(hop.target)];
  PortIndex port = tables_.next[table * destinations_.routers.size() + column];
  if (port == kNoRoute) return;
  unsigned cls = rule_ == ChannelRule::One || injected ? 0 : hop.in_class + 1u;
  out.add(port, static_cast<ChannelClass>(cls));
}

std::vector<TableUse> ShortestPath::tables() const {
  return {{per_input_port_ ? "per input port" : "per router", destinations_.routers.size(), item_limit_}};
}

namespace {

struct Parameters {
  ChannelRule channel_rule = ChannelRule::ByHop;
  bool per_input_port = false;
  std::uint32_t table_items = 0;
};

std::string refusal(const Parameters&, const Graph&) { return ""; }

std::unique_ptr<Routing> make(const Parameters& p, const Graph& graph, const topology::Faults& faults) {
  return std::make_unique<ShortestPath>(graph, faults, p.channel_rule, p.per_input_port, p.table_items);
}

WEFT_REGISTER(
    RoutingKind,
    routing_kind<Parameters>(
        "shortest-path", "a shortest path from a table, on any graph; routes around dead cables and routers",
        config::Schema<Parameters>()
            .choice(&Parameters::channel_rule, "channel_rule",
                    "'by-hop' uses a new class at each hop, which rules out deadlock; 'one' uses one class",
                    {"by-hop", "one"})
            .field(&Parameters::per_input_port, "per_input_port",
                   "A private table for each input port, as in EXTOLL, instead of one for the router")
            .field(&Parameters::table_items, "table_items", "Items one table holds; 0: no limit",
                   config::Range<std::uint32_t>{0, 1u << 30})
            .section(),
        refusal, make, {{"per_input_port=true"}, {"channel_rule=one"}}));

}  // namespace

}  // namespace weft::routing
