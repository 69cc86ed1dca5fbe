// Compiled forms against the relation they stand for: every registered routing on every registered topology,
// every router, input, class and target.
#include "routing/compile.hpp"

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

template <class Range>
List list_of(const Range& candidates) {
  List out;
  for (const Candidate& c : candidates) out.emplace_back(c.port, c.channel_class);
  return out;
}

List answer_of(const GridRoute& grid, const Graph& graph, const Hop& hop) {
  GridRoute::Place there = grid.place(graph.endpoint_router(hop.target));
  std::set<std::pair<unsigned, unsigned>> out;
  for (std::uint32_t coin : {0u, 1u}) {
    GridRoute::Way way = grid.next(grid.place(hop.router), there, GridRoute::parity(there),
                                   grid.rows(hop.router, hop.in_port), hop.in_class, coin);
    out.emplace(way.port, way.channel_class);
  }
  return {out.begin(), out.end()};
}

struct Counts {
  unsigned grids = 0, tables = 0;
  std::uint64_t states = 0;
};

void compare(const Routing& routing, bool may_be_grid, Counts& counts) {
  Compiled compiled = compile(routing, {.may_be_grid = may_be_grid});
  ASSERT_EQ(compiled.grid.has_value() + compiled.table.has_value(), 1) << compiled.refusal;
  counts.grids += compiled.grid.has_value();
  counts.tables += compiled.table.has_value();
  Candidates out;
  std::uint64_t wrong = 0;
  for_every_hop(routing, [&](const Hop& hop) {
    ++counts.states;
    routing.candidates(hop, out);
    List expected = list_of(out);
    List got = compiled.grid ? answer_of(*compiled.grid, routing.graph(), hop)
                             : list_of(compiled.table->candidates(hop));
    if (got != expected && ++wrong == 1)
      ADD_FAILURE() << "router " << hop.router << ", in port " << hop.in_port << ", class "
                    << unsigned{hop.in_class} << ", target " << hop.target << ", via leg " << hop.via_leg
                    << ", second leg " << hop.second_leg << ": " << got.size() << " candidates instead of "
                    << expected.size();
  });
  EXPECT_EQ(wrong, 0u);
}

TEST(CompiledRoutings, AreTheRelationsTheyStandFor) {
  Counts counts;
  std::set<std::string> seen;
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
    seen.insert(kind);
    compare(*m->routing, true, counts);
    compare(*m->routing, false, counts);
  });
  EXPECT_EQ(seen.size(), Routings::all().size()) << "every routing fits a small machine";
  EXPECT_GT(counts.grids, 10u);
  EXPECT_GT(counts.tables, 100u);
  EXPECT_GT(counts.states, 300'000u);
}

TEST(CompiledRoutings, AlsoOfABrokenMachine) {
  Counts counts;
  for (const char* kind : {"dimension-order", "minimal-adaptive", "up-down", "fault-avoiding"}) {
    SCOPED_TRACE(kind);
    machine::Machine m = test::make_machine("torus", {"dims=[4,4]"}, kind, {}, 64,
                                            {"faults.dead_cables=[\"r0.p0\", \"r5.p2\"]"});
    compare(*m.routing, true, counts);
  }
  EXPECT_EQ(counts.grids, 0u) << "arithmetic knows no faults";
  EXPECT_EQ(counts.tables, 4u);
}

TEST(CompiledRoutings, SayWhyNot) {
  machine::Machine m = test::make_machine("torus", {"dims=[8,8]"}, "minimal-adaptive", {});
  Compiled compiled = compile(*m.routing, {.most_bytes = 1000});
  EXPECT_FALSE(compiled.grid || compiled.table);
  EXPECT_NE(compiled.refusal.find("64 it can go to"), std::string::npos) << compiled.refusal;
}

TEST(CompiledRoutings, EqualAnswersAreStoredOnce) {
  machine::Machine m = test::make_machine("torus", {"dims=[8,8]"}, "minimal-adaptive", {});
  RouteTable table = *compile(*m.routing).table;
  EXPECT_GE(table.rows(), 64u);
  EXPECT_EQ(table.columns(), 64u);
  EXPECT_LT(table.lists(), 200u);
}

}  // namespace
}  // namespace weft::routing
