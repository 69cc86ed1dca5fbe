#include <gtest/gtest.h>

#include "topology/test_support.hpp"

namespace weft::topology {
namespace {

using testing::build;
using testing::cable_of;
using testing::cables_between;
using testing::distances;
using testing::errors;
using testing::routers_by_tier;

// Level l of an XGFT has w1 * .. * wl * m(l+1) * .. * mh routers.
TEST(FatTree, CountsFollowTheClosedForm) {
  Graph graph = build("fat-tree", {"children=[4,3,2]", "parents=[1,2,5]"});
  EXPECT_EQ(graph.endpoints(), 24u);
  EXPECT_EQ(routers_by_tier(graph), (std::vector<std::uint32_t>{3 * 2, 2 * 2, 2 * 5}));
  EXPECT_EQ(graph.cables(), 3u * 2 * 2 + 2u * 2 * 5);
  EXPECT_EQ(graph.tier_names(), (std::vector<std::string>{"level 1", "level 2", "level 3"}));
}

TEST(FatTree, DistanceIsTwiceTheLevelOfTheLowestCommonSubtree) {
  Graph graph = build("fat-tree", {"children=[4,3,2]", "parents=[1,2,5]"});
  for (EndpointId a = 0; a < graph.endpoints(); ++a) {
    auto from_here = distances(graph, graph.endpoint_router(a));
    for (EndpointId b = 0; b < graph.endpoints(); ++b) {
      std::uint32_t expected = a / 4 == b / 4 ? 0 : a / 12 == b / 12 ? 2 : 4;
      EXPECT_EQ(from_here[graph.endpoint_router(b)], expected) << a << " to " << b;
    }
  }
}

TEST(FatTree, ParallelCablesLieSideBySide) {
  Graph graph = build("fat-tree", {"children=[4,2]", "parents=[1,3]", "parallel=[1,2]"});
  EXPECT_EQ(graph.cables(), 2u * 3 * 2);
  EXPECT_EQ(cables_between(graph, 0, 2), 2u);
  EXPECT_EQ(graph.port_router(graph.peer(graph.port(0, 4))), 2u);
  EXPECT_EQ(graph.port_router(graph.peer(graph.port(0, 5))), 2u);
  EXPECT_EQ(graph.port_router(graph.peer(graph.port(0, 6))), 3u);
}

TEST(FatTree, EachLevelHasItsCableType) {
  Graph graph = build("fat-tree", {"children=[2,2,2]", "parents=[1,2,2]", "cables=[\"copper\",\"fibre\"]"},
                      {cable_of("default", {1}), cable_of("copper", {2}), cable_of("fibre", {3})});
  for (CableId c = 0; c < graph.cables(); ++c) {
    bool lower = graph.router_tier(graph.port_router(graph.cable_ends(c).a)) == 0;
    EXPECT_EQ(graph.cable_type(c).name, lower ? "copper" : "fibre");
  }
}

TEST(FatTree, LabelsSayWhatARouterCovers) {
  Graph graph = build("fat-tree", {"children=[2,2]", "parents=[1,2]"});
  EXPECT_EQ(graph.router_name(1), "r1 (level 1, endpoints 2 to 3)");
  EXPECT_EQ(graph.router_name(3), "r3 (level 2, endpoints 0 to 3)");
}

TEST(FatTree, ComplainsAboutListsThatDoNotFit) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(errors("fat-tree", {"children=[4,4]", "parents=[1]"}),
            Lines{"topology.parents: has 1 entry, expected 2: one for each entry of children"});
  EXPECT_EQ(errors("fat-tree", {"children=[4,4]", "parents=[2,4]", "parallel=[2,1]"}),
            (Lines{"topology.parents: the first entry is 2; an endpoint attaches to 1 router",
                   "topology.parallel: the first entry is 2; an endpoint has 1 cable"}));
  EXPECT_EQ(errors("fat-tree", {"children=[4,4]", "parents=[1,4]", "cables=[\"default\",\"default\"]"}),
            Lines{"topology.cables: has 2 entries, expected 1: one between every two levels of routers"});
  EXPECT_EQ(errors("fat-tree", {"children=[]", "parents=[]"}),
            Lines{"topology.children: expected 1 to 16 levels, got 0"});
  EXPECT_EQ(
      errors("fat-tree", {"children=[40000,4]", "parents=[1,30000]"}),
      Lines{"topology.children: a router of level 1 would have 70000 ports; at most 65000 can be built"});
}

TEST(FatTree, SizesTooLargeToCountDoNotWrapRound) {
  testing::Reading moon("fat-tree", {"children=[60000,60000,60000]", "parents=[1,4,4]"},
                        {cable_of("default", {0})});
  EXPECT_DOUBLE_EQ(moon.size().endpoints, 6e4 * 6e4 * 6e4);
}

TEST(FatTree, AMillionEndpointsBuild) {
  Graph graph = build("fat-tree", {"children=[100,100,100]", "parents=[1,100,100]"});
  EXPECT_EQ(graph.endpoints(), 1'000'000u);
  EXPECT_EQ(graph.routers(), 30'000u);
  EXPECT_EQ(graph.cables(), 2'000'000u);
}

}  // namespace
}  // namespace weft::topology
