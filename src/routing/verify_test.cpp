#include "routing/verify.hpp"

#include <gtest/gtest.h>

#include "machines.hpp"
#include "routing/dependencies.hpp"
#include "routing/vias.hpp"

namespace weft::routing {
namespace {

using test::make_machine;
using test::Settings;

Verdict check(const machine::Machine& m, unsigned threads = 1) {
  VerifyOptions options;
  options.channels = m.description.router.channels;
  options.threads = threads;
  return verify(*m.routing, options);
}

/// Every hop of a cycle must start where the one before it ends.
void expect_cycle(const Graph& graph, const std::vector<CycleHop>& cycle) {
  ASSERT_GE(cycle.size(), 2u);
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    PortId next = cycle[(i + 1) % cycle.size()].out_port;
    EXPECT_EQ(graph.port_router(graph.peer(cycle[i].out_port)), graph.port_router(next));
    EXPECT_NE(cycle[i].target, kNone) << "some packet makes this dependency";
  }
}

TEST(Verify, FindsTheDeadlockOfATorusWithOneChannel) {
  machine::Machine m = make_machine("torus", {"dims=[4,4]"}, "dimension-order", {}, 1);
  Verdict v = check(m);
  EXPECT_FALSE(v.deadlock_free());
  EXPECT_EQ(v.cycle.size(), 4u);
  expect_cycle(*m.graph, v.cycle);
}

TEST(Verify, FindsTheDeadlockOfAdaptiveRoutingWithoutEscape) {
  machine::Machine m = make_machine("torus", {"dims=[8]"}, "minimal-adaptive", {"escape=false"}, 4);
  Verdict v = check(m);
  EXPECT_EQ(v.cycle.size(), 8u);
  expect_cycle(*m.graph, v.cycle);
  EXPECT_TRUE(check(make_machine("torus", {"dims=[8]"}, "minimal-adaptive", {}, 3)).holds());
}

TEST(Verify, FindsTheDeadlockOfShortestPathsOnARing) {
  machine::Machine m = make_machine("torus", {"dims=[6]"}, "shortest-path", {"channel_rule=one"}, 1);
  Verdict v = check(m);
  EXPECT_FALSE(v.deadlock_free());
  expect_cycle(*m.graph, v.cycle);
}

TEST(Verify, PlacesInADeadGroupAreNotDrawn) {
  for (const char* mode : {"mode=ugal", "mode=valiant"}) {
    machine::Machine m = make_machine("dragonfly", {"routers_per_group=4", "global_cables_per_router=2"},
                                      "dragonfly", {mode}, 4, {"faults.dead_routers=[8,9,10,11]"});
    EXPECT_TRUE(check(m).holds()) << mode;
    ASSERT_NE(m.routing->vias(), nullptr);
    for (std::uint64_t step = 0; step < 1000; ++step)
      ASSERT_NE(draw_via(*m.routing, 0, 30, 1, 0, step), 2u) << "group 2 is dead";
    // One dead router takes its group's gateways to some groups with it: those pairs go another way round.
    machine::Machine one = make_machine("dragonfly", {"routers_per_group=4", "global_cables_per_router=2"},
                                        "dragonfly", {mode}, 4, {"faults.dead_routers=[8]"});
    EXPECT_TRUE(check(one).serves_what_is_left()) << mode;
  }
}

TEST(Verify, AMachineWithTooFewChannelsDoesNotHoldThoughNoCycleForms) {
  const Settings dead{"faults.dead_routers=[8,10,13]"};
  Verdict v = check(make_machine("torus", {"dims=[4,4]"}, "shortest-path", {}, 4, dead));
  EXPECT_TRUE(v.connected());
  EXPECT_TRUE(v.deadlock_free());
  EXPECT_FALSE(v.enough_channels);
  EXPECT_FALSE(v.holds()) << "engines refuse it";
  EXPECT_TRUE(check(make_machine("torus", {"dims=[4,4]"}, "shortest-path", {}, 16, dead)).holds());
}

TEST(Verify, BalanceTellsIdleAndBusyCables) {
  machine::Machine m =
      make_machine("fat-tree", {"children=[4,4]", "parents=[1,4]"}, "fat-tree", {"candidates=2"}, 2);
  VerifyOptions how;
  how.channels = 2;
  how.balance = true;
  for (unsigned threads : {1u, 3u}) {
    how.threads = threads;
    Verdict v = verify(*m.routing, how);
    ASSERT_EQ(v.balance.size(), 2u);
    for (const TierBalance& tier : v.balance) {
      EXPECT_EQ(tier.cables, 16u);
      EXPECT_EQ(tier.idle, 0u);
      EXPECT_LT(tier.busiest, 1.35) << tier.name;
    }
  }
  // A line: the middle carries 2 * 2 pairs each way, the ends 3.
  machine::Machine line = make_machine("mesh", {"dims=[4]"}, "dimension-order", {}, 2);
  Verdict v = verify(*line.routing, how);
  ASSERT_EQ(v.balance.size(), 1u);
  EXPECT_DOUBLE_EQ(v.balance[0].busiest, 4.0 / (10.0 / 3));
}

// Most pairs of a random graph have one or two shortest paths: choosing among them by what cables carry is
// what keeps the busiest near the mean. With cables dead, too, and every route still a shortest path.
TEST(Verify, ShortestPathsOfRandomGraphsAreEven) {
  for (int seed = 1; seed <= 6; ++seed)
    for (const Settings& dead :
         {Settings{}, Settings{"faults.dead_cables=[\"r0.p0\",\"r7.p3\",\"r40.p11\"]"}}) {
      std::string drawn = "seed=" + std::to_string(seed);
      machine::Machine m =
          make_machine("jellyfish", {"routers=128", "degree=12", "endpoints_per_router=4", drawn.c_str()},
                       "shortest-path", {}, 8, dead);
      VerifyOptions how;
      how.channels = 8;
      how.balance = true;
      Verdict v = verify(*m.routing, how);
      EXPECT_TRUE(v.holds()) << drawn;
      EXPECT_EQ(v.detours, 0u) << drawn;
      ASSERT_EQ(v.balance.size(), 1u);
      EXPECT_EQ(v.balance[0].idle, 0u) << drawn;
      EXPECT_LE(v.balance[0].busiest, 1.2) << drawn << (dead.empty() ? "" : ", three cables dead");
    }
}

// Escape channels that share a buffer with adaptive ones are no escape.
TEST(Verify, DoesNotTrustEscapeChannelsThatShareTheirChannel) {
  Verdict v = check(make_machine("torus", {"dims=[8]"}, "minimal-adaptive", {}, 2));
  EXPECT_FALSE(v.escape_proof);
  EXPECT_FALSE(v.deadlock_free());
}

TEST(Verify, NamesPairsWithoutARoute) {
  machine::Machine m =
      make_machine("torus", {"dims=[4,4]"}, "dimension-order", {}, 2, {"faults.dead_cables=[\"r0.p0\"]"});
  Verdict v = check(m);
  EXPECT_FALSE(v.connected());
  ASSERT_FALSE(v.broken.empty());
  EXPECT_FALSE(v.broken.front().cut_off) << "another route exists; this routing does not take it";
}

TEST(Verify, NamesEndpointsThatAreCutOff) {
  machine::Machine m = make_machine("mesh", {"dims=[3]"}, "up-down", {}, 1, {"faults.dead_routers=[1]"});
  Verdict v = check(m);
  EXPECT_EQ(v.broken_pairs, 2u);
  for (const BrokenPair& pair : v.broken) EXPECT_TRUE(pair.cut_off);
}

TEST(Verify, TablesThatDoNotFitAreAFailure) {
  machine::Machine m = make_machine("torus", {"dims=[4,4]"}, "shortest-path", {"table_items=15"}, 8);
  Verdict v = check(m);
  EXPECT_FALSE(v.tables_fit());
  EXPECT_FALSE(v.holds());
}

TEST(Verify, ThreadsDoNotChangeTheVerdict) {
  machine::Machine m = make_machine("torus", {"dims=[6,5]"}, "dimension-order", {"dateline=balanced"}, 1);
  Verdict one = check(m, 1), three = check(m, 3);
  EXPECT_EQ(one.dependencies, three.dependencies);
  EXPECT_EQ(one.states, three.states);
  ASSERT_EQ(one.cycle.size(), three.cycle.size());
  for (std::size_t i = 0; i < one.cycle.size(); ++i) {
    EXPECT_EQ(one.cycle[i].out_port, three.cycle[i].out_port);
    EXPECT_EQ(one.cycle[i].target, three.cycle[i].target);
  }
}

TEST(Verify, RefusesAProofThatWouldNotEnd) {
  machine::Machine m = make_machine("torus", {"dims=[100,100,100]"}, "dimension-order", {}, 2);
  VerifyOptions options;
  options.channels = 2;
  EXPECT_THROW(verify(*m.routing, options), UserError);
  options.sample = 2;
  Verdict v = verify(*m.routing, options);
  EXPECT_FALSE(v.exact());
  EXPECT_TRUE(v.holds());
}

TEST(FindCycle, FindsNoneInATreeAndTheShortestInALadder) {
  std::vector<std::vector<std::uint64_t>> tree{{1, 2}, {3}, {3}, {}};
  auto walk = [](auto& graph) {
    return [&graph](std::uint64_t v, const std::function<void(std::uint64_t)>& call) {
      for (std::uint64_t w : graph[v]) call(w);
    };
  };
  EXPECT_TRUE(find_cycle(4, walk(tree)).empty());
  std::vector<std::vector<std::uint64_t>> ladder{{1}, {2}, {3, 1}, {0}};
  EXPECT_EQ(find_cycle(4, walk(ladder)), (std::vector<std::uint64_t>{1, 2}));
}

}  // namespace
}  // namespace weft::routing
