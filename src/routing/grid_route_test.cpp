// Arithmetic on coordinates against the relation it stands for: every router, input, class and target of
// every small machine.
#include "routing/grid_route.hpp"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "base/diagnostics.hpp"
#include "machines.hpp"

namespace weft::routing {
namespace {

/// Calls use(hop) for every state that a packet can be in: injected at any router, where legs start too, or
/// come there by any answer of the relation; on its way to an endpoint (on both legs, where there are two) or
/// to an intermediate place.
template <class Use>
void for_every_hop(const Routing& routing, Use use) {
  const Graph& graph = routing.graph();
  auto for_every_state = [&](Hop hop) {
    auto arrived = [&](const Hop& at) {
      return at.via_leg ? routing.via_reached(at.router, at.target)
                        : graph.endpoint_router(at.target) == at.router;
    };
    std::set<std::tuple<RouterId, PortIndex, ChannelClass>> seen;
    std::vector<Hop> open;
    for (hop.router = 0; hop.router < graph.routers(); ++hop.router) open.push_back(hop);
    Candidates out;
    while (!open.empty()) {
      hop = open.back();
      open.pop_back();
      if (arrived(hop) || !seen.emplace(hop.router, hop.in_port, hop.in_class).second) continue;
      use(hop);
      routing.candidates(hop, out);
      for (const Candidate& c : out) {
        PortId in = graph.peer(graph.port(hop.router, c.port));
        Hop next = hop;
        next.router = graph.port_router(in);
        next.in_port = graph.port_index(in);
        next.in_class = c.channel_class;
        open.push_back(next);
      }
    }
  };
  for (EndpointId e = 0; e < graph.endpoints(); ++e)
    for (bool second : {false, true})
      if (!second || routing.via_count() > 0)
        for_every_state({.router = 0, .target = e, .second_leg = second});
  for (std::uint32_t via = 0; via < routing.via_count(); ++via)
    for_every_state({.router = 0, .via_leg = true, .target = via});
}

using List = std::vector<std::pair<unsigned, unsigned>>;

List list_of(const Candidates& candidates) {
  List out;
  for (const Candidate& c : candidates) out.emplace_back(c.port, c.channel_class);
  return out;
}

List answer_of(const GridRoute& grid, const Graph& graph, const Hop& hop) {
  GridRoute::Place there = grid.place(graph.endpoint_router(hop.target));
  std::set<std::pair<unsigned, unsigned>> out;
  for (std::uint32_t coin : {0u, 1u}) {
    GridRoute::Output next = grid.next(grid.place(hop.router), there, GridRoute::parity(there),
                                       grid.rows(hop.router, hop.in_port), hop.in_class, coin);
    out.emplace(next.port, next.channel_class);
  }
  return {out.begin(), out.end()};
}

/// Returns how many states there are.
std::uint64_t compare(const Routing& routing, const GridRoute& grid) {
  Candidates out;
  std::uint64_t states = 0, wrong = 0;
  for_every_hop(routing, [&](const Hop& hop) {
    ++states;
    routing.candidates(hop, out);
    List expected = list_of(out), got = answer_of(grid, routing.graph(), hop);
    if (got != expected && ++wrong == 1)
      ADD_FAILURE() << "router " << hop.router << ", in port " << hop.in_port << ", class "
                    << unsigned{hop.in_class} << ", target " << hop.target << ": " << got.size()
                    << " candidates instead of " << expected.size();
  });
  EXPECT_EQ(wrong, 0u);
  return states;
}

TEST(GridRoute, IsTheRelationItStandsFor) {
  unsigned grids = 0;
  std::uint64_t states = 0;
  test::for_every_machine([&](const std::string& topology, const test::Settings& size,
                              const std::string& kind, const test::Settings& variant) {
    SCOPED_TRACE(test::name_of(topology, size, kind, variant));
    std::optional<machine::Machine> m;
    try {
      m.emplace(test::make_machine(topology, size, kind, variant));
    } catch (const UserError&) {
      return;  // they do not fit together
    }
    if (m->graph->endpoints() > 130) return;
    const std::optional<GridRoute> grid = GridRoute::of(*m->routing);
    EXPECT_TRUE(!grid || kind == "dimension-order") << "no other relation is this arithmetic";
    if (!grid) return;
    ++grids;
    states += compare(*m->routing, *grid);
  });
  EXPECT_GT(grids, 10u);
  EXPECT_GT(states, 5'000u);
}

TEST(GridRoute, KnowsNoFaults) {
  machine::Machine m = test::make_machine("torus", {"dims=[4,4]"}, "dimension-order", {}, 64,
                                          {"faults.dead_cables=[\"r0.p0\", \"r5.p2\"]"});
  EXPECT_FALSE(GridRoute::of(*m.routing));
}

}  // namespace
}  // namespace weft::routing
