// Capabilities of the machines of the papers, one test each; docs/features.md names them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "machines.hpp"
#include "measure/stress/proof_case.hpp"
#include "routing/verify.hpp"
#include "topology/exanest_shape.hpp"
#include "topology/grid_shape.hpp"
#include "topology/metrics.hpp"
#include "topology/test_support.hpp"

namespace weft::test {
namespace {

using machine::Machine;
using routing::Candidate;
using routing::Candidates;
using routing::Verdict;
using ::testing::HasSubstr;
using topology::EndpointId;
using topology::Graph;
using topology::kNone;
using topology::PortId;
using topology::PortIndex;
using topology::RouterId;
namespace of = topology::testing;

Verdict prove(const Machine& m) {
  routing::VerifyOptions options;
  options.channels = m.description.router.channels;
  return routing::verify(*m.routing, options);
}

/// What a description that asks for too much is told; empty where it builds.
std::string refusal(const std::string& topology, const Settings& size, const std::string& routing,
                    const Settings& more) {
  try {
    make_machine(topology, size, routing, {}, 64, more);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

RouterId next_router(const Machine& m, RouterId at, PortIndex port) {
  return m.graph->port_router(m.graph->peer(m.graph->port(at, port)));
}

/// The routers a packet crosses when it takes the first way offered everywhere.
std::vector<RouterId> follow(const Machine& m, RouterId from, EndpointId to) {
  const Graph& g = *m.graph;
  std::vector<RouterId> path{from};
  routing::Hop hop{.router = from, .target = to};
  Candidates candidates;
  while (path.back() != g.endpoint_router(to) && path.size() <= g.routers()) {
    m.routing->candidates(hop, candidates);
    if (candidates.empty()) break;
    PortId arrived = g.peer(g.port(hop.router, candidates[0].port));
    hop = {g.port_router(arrived), g.port_index(arrived), candidates[0].channel_class, false, to};
    path.push_back(hop.router);
  }
  return path;
}

/// Calls `see(hop, candidates)` at every router but the destination's own, for every endpoint.
template <class See>
void for_every_hop(const Machine& m, See see) {
  Candidates candidates;
  for (EndpointId to = 0; to < m.graph->endpoints(); ++to)
    for (RouterId r = 0; r < m.graph->routers(); ++r) {
      if (r == m.graph->endpoint_router(to)) continue;
      routing::Hop hop{.router = r, .target = to};
      m.routing->candidates(hop, candidates);
      see(hop, candidates);
    }
}

TEST(Capability, LanesAndTheirRateAreSetInTheDescription) {
  for (auto [rate, expected] :
       {std::pair{"14Gbps", 112'000'000'000}, {"10Gbps", 80'000'000'000}, {"5Gbps", 40'000'000'000}}) {
    Machine m = make_machine("torus", {"dims=[4]"}, "dimension-order", {}, 2,
                             {"cable.default.lanes=8", std::string("cable.default.lane_rate=") + rate,
                              "cable.default.coding=none"});
    EXPECT_EQ(m.graph->cable_type(0).rate().value, expected);
  }
}

TEST(Capability, RoutersHaveTheirPortCounts) {
  struct Case {
    unsigned ports;
    std::string topology;
    Settings size;
  };
  const std::vector<Case> cases{
      {5, "torus", {"dims=[3,3]"}},                                                // four links, one node
      {7, "torus", {"dims=[3,3,3]"}},                                              // six links, one node
      {9, "torus", {"dims=[3,3,3]", "endpoints_per_router=3"}},                    // six links, three units
      {11, "torus", {"dims=[3,3,3]", "spare_ports=1", "endpoints_per_router=4"}},  // seven links, four units
      {24, "th-express", {"groups=2"}},                                            // the tree of TH Express-2
  };
  for (const Case& c : cases) {
    auto with = [&](unsigned ports) {
      return refusal(c.topology, c.size, "up-down", {"router.ports=" + std::to_string(ports)});
    };
    EXPECT_EQ(with(c.ports), "") << c.ports;
    EXPECT_THAT(with(c.ports - 1), HasSubstr("asks for " + std::to_string(c.ports) + " ports"));
  }
}

TEST(Capability, ACardOfFourLinksMakesA2DTorusAndOneOfSixA3DTorus) {
  EXPECT_EQ(refusal("torus", {"dims=[4,4]"}, "dimension-order", {"router.ports=5"}), "");
  EXPECT_THAT(refusal("torus", {"dims=[4,4,4]"}, "dimension-order", {"router.ports=5"}),
              HasSubstr("router.ports: the topology asks for 7 ports"));
  EXPECT_EQ(refusal("torus", {"dims=[4,4,4]"}, "dimension-order", {"router.ports=7"}), "");
}

TEST(Capability, TwoChannelsKeepATorusFreeOfDeadlockAndOneDoesNot) {
  for (const char* dims : {"dims=[8]", "dims=[4,4]", "dims=[4,5,3]"}) {
    EXPECT_TRUE(prove(make_machine("torus", {dims}, "dimension-order", {}, 2)).holds()) << dims;
    EXPECT_FALSE(prove(make_machine("torus", {dims}, "dimension-order", {}, 1)).deadlock_free()) << dims;
  }
}

TEST(Capability, DimensionsAreCrossedInTheirOrder) {
  for (const char* kind : {"torus", "mesh"}) {
    Machine m = make_machine(kind, {"dims=[5,4,3]"}, "dimension-order", {}, 2);
    auto* grid = m.graph->shape_as<topology::GridShape>();
    for (RouterId from = 0; from < m.graph->routers(); ++from)
      for (EndpointId to = 0; to < m.graph->endpoints(); ++to) {
        auto path = follow(m, from, to);
        ASSERT_EQ(path.back(), m.graph->endpoint_router(to));
        ASSERT_EQ(path.size(), 1 + grid->distance(from, path.back()));
        unsigned last = 0;
        for (std::size_t i = 1; i < path.size(); ++i) {
          unsigned now = 0;
          while (grid->coordinate(path[i - 1], now) == grid->coordinate(path[i], now)) ++now;
          ASSERT_GE(now, last) << kind << " r" << from << " to e" << to;
          last = now;
        }
      }
  }
}

TEST(Capability, StaticRoutingsOfferOnePath) {
  const std::vector<std::tuple<std::string, Settings, std::string, Settings>> cases{
      {"torus", {"dims=[4,4]", "parallel_cables=2"}, "dimension-order", {}},
      {"fat-tree", {"children=[3,3]", "parents=[1,3]"}, "fat-tree", {"mode=deterministic"}},
      {"th-express", {"groups=2", "group_frames=2"}, "level-tables", {"candidates=1"}},
      {"exanest", {"mezzanines_per_chassis=2"}, "exanest-tiers", {}},
      {"jellyfish", {"routers=20", "degree=4"}, "up-down", {}},
      {"jellyfish", {"routers=20", "degree=4"}, "shortest-path", {}},
  };
  for (const auto& [topology, size, routing, variant] : cases) {
    Machine m = make_machine(topology, size, routing, variant);
    EXPECT_TRUE(m.routing->keeps_order()) << routing;
    for_every_hop(m, [&](const routing::Hop&, const Candidates& candidates) {
      ASSERT_LE(candidates.size(), 1u) << routing;
    });
    EXPECT_TRUE(prove(m).holds()) << routing;
  }
}

TEST(Capability, ArithmeticRoutingNeedsNoTableAndNoInput) {
  const std::vector<std::tuple<std::string, Settings, std::string>> cases{
      {"torus", {"dims=[4,3]"}, "dimension-order"},
      {"fat-tree", {"children=[3,3]", "parents=[1,2]"}, "fat-tree"},
      {"dragonfly", {}, "dragonfly"},
      {"exanest", {"mezzanines_per_chassis=2"}, "exanest-tiers"}};
  for (const auto& [topology, size, routing] : cases) {
    Machine m = make_machine(topology, size, routing, {});
    EXPECT_EQ(m.routing->bytes(), 0u) << routing;
    EXPECT_TRUE(m.routing->tables().empty()) << routing;
    Candidates other;
    for_every_hop(m, [&](routing::Hop hop, const Candidates& candidates) {
      for (PortIndex in = 0; in < m.graph->port_count(hop.router); ++in) {
        hop.in_port = in;
        m.routing->candidates(hop, other);
        ASSERT_TRUE(std::equal(candidates.begin(), candidates.end(), other.begin(), other.end())) << routing;
      }
    });
  }
}

TEST(Capability, UpperTiersFindTheChassisAndLowerTiersFinish) {
  Machine m = make_machine("exanest", {"racks=2", "chassis_per_rack=2", "mezzanines_per_chassis=2"},
                           "exanest-tiers", {}, 2);
  auto* shape = m.graph->shape_as<topology::ExanestShape>();
  for_every_hop(m, [&](const routing::Hop& hop, const Candidates& candidates) {
    RouterId to = m.graph->endpoint_router(hop.target);
    if (!shape->is_switch(hop.router)) return;
    ASSERT_EQ(candidates.size(), 1u);
    RouterId next = next_router(m, hop.router, candidates[0].port);
    if (shape->rack(hop.router) != shape->rack(to))
      ASSERT_EQ(next, shape->switch_of(shape->rack(to)));
    else
      ASSERT_TRUE(shape->same_chassis(next, to));
  });
  EXPECT_TRUE(prove(m).holds());
}

TEST(Capability, TablesPerInputPortGiveRoutesThatDependOnIt) {
  auto differing = [](const char* per_input_port) {
    Machine m = make_machine("torus", {"dims=[4,4]"}, "shortest-path", {per_input_port});
    EXPECT_TRUE(prove(m).holds());
    unsigned count = 0;
    Candidates candidates;
    for (EndpointId to = 0; to < m.graph->endpoints(); ++to)
      for (RouterId r = 0; r < m.graph->routers(); ++r) {
        if (r == m.graph->endpoint_router(to)) continue;
        std::set<PortIndex> outputs;
        for (PortIndex in = 0; in < 4; ++in) {
          m.routing->candidates({.router = r, .in_port = in, .target = to}, candidates);
          outputs.insert(candidates[0].port);
        }
        count += outputs.size() > 1;
      }
    return count;
  };
  EXPECT_EQ(differing("per_input_port=false"), 0u);
  EXPECT_GT(differing("per_input_port=true"), 50u);
}

TEST(Capability, TablesHaveThreeLevelsOfConfigurableSize) {
  const Settings tree{"frame_nodes=6", "group_frames=3", "groups=4", "planes=3", "leaf_up=2"};
  auto use = [&](const Settings& levels) {
    Machine m = make_machine("th-express", tree, "level-tables", levels);
    EXPECT_TRUE(prove(m).holds());
    std::vector<std::uint64_t> used;
    for (const routing::TableUse& table : m.routing->tables()) used.push_back(table.used);
    return used;
  };
  EXPECT_EQ(use({}), (std::vector<std::uint64_t>{6, 3, 4})) << "nodes of a frame, frames of a group, groups";
  EXPECT_EQ(use({"cabinet_level=1", "group_level=2"}), (std::vector<std::uint64_t>{2, 3, 12}));
  Verdict v = prove(make_machine("th-express", tree, "level-tables", {"group_items=2"}));
  EXPECT_FALSE(v.tables_fit());
  EXPECT_TRUE(v.deadlock_free());
}

TEST(Capability, AnItemHoldsOneOutputOrUpToFour) {
  const Settings tree{"frame_nodes=12", "group_frames=2", "groups=2"};
  auto most_candidates = [&](const char* candidates) {
    Machine m = make_machine("th-express", tree, "level-tables", {candidates}, 1);
    std::size_t most = 0;
    for_every_hop(m, [&](const routing::Hop&, const Candidates& out) { most = std::max(most, out.size()); });
    EXPECT_TRUE(prove(m).holds());
    return most;
  };
  EXPECT_EQ(most_candidates("candidates=1"), 1u);
  EXPECT_EQ(most_candidates("candidates=4"), 4u);
}

TEST(Capability, A3DTorusHasSixLinksToSixNeighbours) {
  Machine m = make_machine("torus", {"dims=[4,3,5]"}, "dimension-order", {}, 2);
  for (RouterId r = 0; r < m.graph->routers(); ++r) {
    std::set<RouterId> neighbours;
    for (PortId p = m.graph->port_begin(r); p < m.graph->port_begin(r + 1); ++p)
      if (m.graph->peer(p) != kNone) neighbours.insert(m.graph->port_router(m.graph->peer(p)));
    EXPECT_EQ(neighbours.size(), 6u);
    EXPECT_EQ(m.graph->port_count(r), 7u);
  }
}

TEST(Capability, ASeventhLinkLeavesTheTorusWhole) {
  Machine plain = make_machine("torus", {"dims=[4,4,4]"}, "dimension-order", {}, 2);
  Machine m =
      make_machine("torus", {"dims=[4,4,4]", "spare_ports=1", "attach=[0,42]"}, "dimension-order", {}, 2);
  EXPECT_EQ(m.graph->endpoints(), 66u);
  for (RouterId r = 0; r < 64; ++r) {
    auto before = of::distances(*plain.graph, r), after = of::distances(*m.graph, r);
    EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin()));
    EXPECT_EQ(m.graph->port_count(r), 8u) << "seven links and a node";
  }
  Verdict v = prove(m);
  EXPECT_TRUE(v.holds());
  EXPECT_EQ(v.longest, 6u + 2) << "from one device to the other, at the opposite corner";
}

TEST(Capability, SixLinksMakeAnyDirectTopology) {
  const std::vector<std::pair<std::string, Settings>> cases{
      {"fully-connected", {"routers=7"}},
      {"hypercube", {"dimension=6"}},
      {"torus", {"dims=[4,4,4]"}},
      {"jellyfish", {"routers=30", "degree=6", "endpoints_per_router=1"}},
      {"file", {R"(lines=["a b", "b c", "c d", "d e", "e a", "a c", "b e"])"}}};
  for (const auto& [topology, size] : cases) {
    EXPECT_EQ(refusal(topology, size, "up-down", {"router.ports=7"}), "") << topology;
    EXPECT_TRUE(prove(make_machine(topology, size, "up-down", {}, 1)).holds()) << topology;
    EXPECT_TRUE(prove(make_machine(topology, size, "shortest-path", {})).holds()) << topology;
  }
}

TEST(Capability, FourBoardsMakeAMesh) {
  Machine m = make_machine("mesh", {"dims=[2,2]"}, "dimension-order", {}, 1);
  EXPECT_EQ(m.graph->routers(), 4u);
  EXPECT_EQ(m.graph->cables(), 4u);
  Verdict v = prove(m);
  EXPECT_TRUE(v.holds()) << "a mesh needs one channel";
  EXPECT_EQ(v.longest, 2u);
}

TEST(Capability, FewerUplinksMakeTheTreeThinner) {
  for (unsigned planes : {32u, 16u, 4u}) {
    Machine m = make_machine("th-express", {"groups=2", "group_frames=2", "planes=" + std::to_string(planes)},
                             "level-tables", {}, 1);
    unsigned uplinks = 0;
    for (RouterId r = 0; r < m.graph->routers(); ++r)
      for (PortId p = m.graph->port_begin(r); p < m.graph->port_begin(r + 1); ++p)
        if (m.graph->peer(p) != kNone && m.graph->tier_names()[m.graph->router_tier(r)] == "frame upper")
          uplinks +=
              m.graph->tier_names()[m.graph->router_tier(m.graph->port_router(m.graph->peer(p)))] == "leaf";
    EXPECT_EQ(uplinks, 4 * planes) << "of four frames";
    EXPECT_TRUE(prove(m).holds());
  }
}

TEST(Capability, TheBisectionOfAnUncutTreeTakesAllThatIsInjected) {
  auto ratio = [](const std::string& topology, const Settings& size) {
    Machine m = make_machine(topology, size, "fat-tree", {});
    return topology::estimate_bisection(*m.graph, *m.faults).value().ratio();
  };
  EXPECT_DOUBLE_EQ(ratio("fat-tree", {"children=[4,4,4]", "parents=[1,4,4]"}), 1.0);
  EXPECT_DOUBLE_EQ(ratio("fat-tree", {"children=[4,4,4]", "parents=[1,4,2]"}), 0.5);
  EXPECT_DOUBLE_EQ(ratio("th-express", {"groups=4"}), 1.0);
  EXPECT_DOUBLE_EQ(ratio("th-express", {"groups=4", "planes=16"}), 0.5);
}

TEST(Capability, ParallelCablesAreUsedTogether) {
  auto ports_used = [](const char* parallel, std::size_t ports_of_a_packet) {
    Machine m = make_machine("exanest", {"mezzanines_per_chassis=2", "chassis_per_rack=1"}, "exanest-tiers",
                             {parallel}, 2);
    auto* shape = m.graph->shape_as<topology::ExanestShape>();
    auto right = shape->direction_ports(0, topology::ExanestShape::Direction::PlusX);
    EXPECT_EQ(right.count, 2u);
    std::map<PortIndex, unsigned> used;
    for_every_hop(m, [&](const routing::Hop& hop, const Candidates& candidates) {
      if (hop.router != 0 || candidates[0].port < right.first ||
          candidates[0].port >= right.first + right.count)
        return;
      EXPECT_EQ(candidates.size(), ports_of_a_packet);
      for (const Candidate& way : candidates) ++used[way.port];
    });
    EXPECT_TRUE(prove(m).holds());
    return used;
  };
  auto either = ports_used("parallel=any", 2), fixed = ports_used("parallel=by-destination", 1);
  EXPECT_EQ(either.size(), 2u) << "every packet may take either cable";
  ASSERT_EQ(fixed.size(), 2u) << "or each destination has its cable, half of them each";
  EXPECT_EQ(fixed.begin()->second, fixed.rbegin()->second);
}

TEST(Capability, AnyDeadRouterIsRoutedAround) {
  for (RouterId dead = 0; dead < 12; ++dead) {
    Machine m = make_machine("torus", {"dims=[4,3]"}, "fault-avoiding", {}, 3,
                             {"faults.dead_routers=[" + std::to_string(dead) + "]"});
    Verdict v = prove(m);
    EXPECT_TRUE(v.holds()) << "r" << dead << " dead";
    EXPECT_EQ(v.pairs, 11u * 10) << "all that are left";
  }
}

TEST(Capability, AdaptiveRoutingIsFreeOfDeadlockOnTheTiersOfExanest) {
  Machine m =
      make_machine("exanest", {"mezzanines_per_chassis=2", "chassis_per_rack=2"}, "minimal-adaptive", {}, 3);
  Verdict v = prove(m);
  EXPECT_TRUE(v.escape_proof);
  EXPECT_TRUE(v.holds());
}

TEST(Capability, AdaptiveRoutingRunsOnTheTiersOfExanest) {
  for (const Settings& more :
       std::vector<Settings>{{"topology.mezzanines_per_chassis=2", "routing.escape=true"},
                             {"topology.mezzanines_per_chassis=1", "router.channels=4"}}) {
    Settings settings{"routing.kind=minimal-adaptive", "topology.chassis_per_rack=2"};
    settings.insert(settings.end(), more.begin(), more.end());
    measure::ProofCase one{"base = \"exanest-track1\"\n[routing]\nkind = \"minimal-adaptive\"\n", settings};
    measure::ProofOutcome outcome = measure::run_proof_case(one);
    EXPECT_TRUE(outcome.holds) << outcome.proof;
    EXPECT_TRUE(outcome.delivered) << outcome.run;
  }
}

TEST(Capability, RecablingTheSameBoardsChangesTheTopology) {
  Machine line = make_machine("file", {R"(lines=["a b 1m", "b c 1m", "c d 1m"])"}, "up-down", {}, 1);
  Machine ring =
      make_machine("file", {R"(lines=["a b 1m", "b c 1m", "c d 1m", "d a 3m"])"}, "up-down", {}, 1);
  EXPECT_EQ(of::diameter(*line.graph), 3u);
  EXPECT_EQ(of::diameter(*ring.graph), 2u);
  EXPECT_TRUE(prove(line).holds());
  EXPECT_TRUE(prove(ring).holds());
}

TEST(Capability, NodesHaveTwentyBitNumbers) {
  Machine m = make_machine("torus", {"dims=[64,128,128]"}, "dimension-order", {}, 2);
  EXPECT_EQ(m.graph->endpoints(), 1u << 20);
  EndpointId last = (1u << 20) - 1;
  for (EndpointId to : {last, last / 2, 1u << 19, 1u})
    EXPECT_EQ(follow(m, 0, to).back(), m.graph->endpoint_router(to));
}

TEST(Capability, ARingOfTwoIsOneCable) {
  Machine m = make_machine("torus", {"dims=[4,2,4]"}, "dimension-order", {}, 2);
  EXPECT_EQ(m.graph->cables(), 80u);
  EXPECT_EQ(of::cables_between(*m.graph, 0, 4), 1u);
  EXPECT_EQ(m.graph->port_count(0), 6u) << "five links and a node";
  Machine card =
      make_machine("torus", {"dims=[4,2,4]", "both_ports_on_pairs=true"}, "dimension-order", {}, 2);
  EXPECT_EQ(card.graph->cables(), 80u);
  EXPECT_EQ(card.graph->port_count(0), 7u) << "the card has its sixth link, with nothing plugged in";
}

}  // namespace
}  // namespace weft::test
