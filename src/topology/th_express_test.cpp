// Figures from the facts of TH Express-2: hop structure C14, board counts C17, router counts C41.
#include <gtest/gtest.h>

#include <map>

#include "topology/test_support.hpp"
#include "topology/tree_shape.hpp"

namespace weft::topology {
namespace {

using testing::build;
using testing::cable_of;
using testing::distances;
using testing::errors;
using testing::routers_by_tier;
using testing::Settings;

Graph build_with_fibre(Settings settings) {
  settings.insert(settings.end(), {"leaf_cable=short", "root_cable=long"});
  return build("th-express", settings,
               {cable_of("default", {0}), cable_of("short", {10'000}), cable_of("long", {20'000})});
}

// Routers crossed from a node to every other, and the metres of cable on a shortest path.
struct Walk {
  std::vector<std::uint32_t> routers;
  std::vector<std::int64_t> metres;
};

Walk walk_from(const Graph& graph, EndpointId from) {
  Walk walk{std::vector<std::uint32_t>(graph.routers()), std::vector<std::int64_t>(graph.routers())};
  std::vector<RouterId> queue{graph.endpoint_router(from)};
  walk.routers[queue[0]] = 1;
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (PortId p = graph.port_begin(queue[i]); p < graph.port_begin(queue[i] + 1); ++p) {
      if (graph.peer(p) == kNone) continue;
      RouterId next = graph.port_router(graph.peer(p));
      if (walk.routers[next]) continue;
      walk.routers[next] = walk.routers[queue[i]] + 1;
      walk.metres[next] = walk.metres[queue[i]] + graph.cable_length(graph.port_cable(p)).value / 1000;
      queue.push_back(next);
    }
  return walk;
}

TEST(ThExpress, FullMachineHasTheCountsOfThePaper) {
  Graph graph = build_with_fibre({});
  EXPECT_EQ(graph.endpoints(), 18'432u);
  EXPECT_EQ(graph.routers(), 3456u + 1536 + 2304);
  EXPECT_EQ(graph.tier_names(),
            (std::vector<std::string>{"frame lower", "frame upper", "leaf", "root lower", "root upper"}));
  EXPECT_EQ(routers_by_tier(graph), (std::vector<std::uint32_t>{1728, 1728, 1536, 1536, 768}));
  for (RouterId r = 0; r < graph.routers(); ++r) EXPECT_LE(graph.port_count(r), 24u);
  // A frame's three upper routers have 11, 11 and 10 of its 32 optical uplinks.
  auto* shape = graph.shape_as<TreeShape>();
  EXPECT_EQ(shape->nodes[1728].up_count, 11);
  EXPECT_EQ(shape->nodes[1729].up_count, 11);
  EXPECT_EQ(shape->nodes[1730].up_count, 10);
}

TEST(ThExpress, PairsAreOneThreeFiveSevenOrNineRoutersApart) {
  Graph graph = build_with_fibre({});
  const std::map<std::uint32_t, std::int64_t> metres_at{{1, 0}, {3, 0}, {5, 20}, {7, 60}, {9, 60}};
  for (EndpointId from : {0u, 31u, 9'999u, 18'431u}) {
    Walk walk = walk_from(graph, from);
    std::map<std::uint32_t, unsigned> pairs;
    for (EndpointId to = 0; to < graph.endpoints(); ++to) {
      std::uint32_t routers = walk.routers[graph.endpoint_router(to)];
      bool same_frame = from / 32 == to / 32, same_group = from / 384 == to / 384;
      bool same_root_lower = from / 4608 == to / 4608;
      std::uint32_t expected = same_frame        ? (from % 32 / 11 == to % 32 / 11 ? 1 : 3)
                               : same_group      ? 5
                               : same_root_lower ? 7
                                                 : 9;
      ASSERT_EQ(routers, expected) << from << " to " << to;
      ASSERT_EQ(walk.metres[graph.endpoint_router(to)], metres_at.at(routers));
      ++pairs[routers];
    }
    EXPECT_EQ(pairs[9], 18'432u - 4'608);
    EXPECT_EQ(pairs[7], 4'608u - 384);
    EXPECT_EQ(pairs[5], 384u - 32);
  }
}

TEST(ThExpress, ThirtySixPlanesUseEveryPortOfAFrame) {
  Graph graph = build("th-express", {"planes=36", "frame_nodes=36", "groups=13", "group_frames=2"});
  EXPECT_EQ(routers_by_tier(graph)[0], 78u);
  for (RouterId r = 0; r < 156; ++r) EXPECT_EQ(graph.port_count(r), 24u);
}

TEST(ThExpress, SmallMachinesLeaveOutWhatTheyDoNotNeed) {
  EXPECT_EQ(routers_by_tier(build("th-express", {"groups=1", "group_frames=1"})),
            (std::vector<std::uint32_t>{3, 3}));
  EXPECT_EQ(routers_by_tier(build("th-express", {"groups=1", "group_frames=2"})),
            (std::vector<std::uint32_t>{6, 6, 32}));
  EXPECT_EQ(routers_by_tier(build("th-express", {"groups=12"})),
            (std::vector<std::uint32_t>{432, 432, 384, 384}));
  EXPECT_EQ(routers_by_tier(build("th-express", {"groups=13", "group_frames=1", "planes=3"})),
            (std::vector<std::uint32_t>{39, 39, 39, 72, 72}));
  for (const Settings& example : Topologies::find("th-express")->examples) {
    Graph graph = build("th-express", example);
    auto reached = distances(graph, 0);
    EXPECT_EQ(std::count(reached.begin(), reached.end(), kNone), 0);
  }
}

TEST(ThExpress, NodesOfAFrameFillItsLowerRoutersInTurn) {
  Graph graph = build("th-express", {"groups=1", "group_frames=2"});
  std::vector<std::uint32_t> nodes;
  for (RouterId r = 0; r < 6; ++r) nodes.push_back(graph.endpoint_count(r));
  EXPECT_EQ(nodes, (std::vector<std::uint32_t>{11, 11, 10, 11, 11, 10}));
  EXPECT_EQ(build("th-express", {"groups=1", "group_frames=1", "frame_nodes=4"}).endpoint_count(2), 0u);
}

TEST(ThExpress, FortyEightPortLeafsDoubleTheMachine) {
  Graph graph = build("th-express", {"leaf_ports=48", "group_frames=24", "leaf_up=24"});
  EXPECT_EQ(graph.endpoints(), 36'864u);
  auto tiers = routers_by_tier(graph);
  EXPECT_EQ(tiers[2], 48u * 32);
  EXPECT_EQ(tiers[3], 32u * 24 * 4);
}

TEST(ThExpress, LabelsNameTheBoard) {
  Graph graph = build("th-express", {});
  EXPECT_EQ(graph.router_name(10), "r10 (frame 3 lower 1)");
  EXPECT_EQ(graph.router_name(1728), "r1728 (frame 0 upper 0)");
  EXPECT_EQ(graph.router_name(3456 + 33), "r3489 (group 1 leaf of plane 1)");
  EXPECT_EQ(graph.router_name(4992 + 12 * 4 + 5), "r5045 (plane 1 root 1 lower 1)");
  EXPECT_EQ(graph.router_name(7295), "r7295 (plane 31 root 11 upper 1)");
}

TEST(ThExpress, ComplainsAboutPortsThatAreNotThere) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(errors("th-express", {"leaf_ports=32"}), Lines{"topology.leaf_ports: expected 24 or 48, got 32"});
  EXPECT_EQ(errors("th-express", {"group_frames=13", "leaf_up=14"}),
            (Lines{"topology.group_frames: 13 is more than the 12 ports a leaf router of 24 has on each side",
                   "topology.leaf_up: 14 is more than the 12 ports a leaf router of 24 has on each side"}));
  EXPECT_EQ(errors("th-express", {"planes=37"}), Lines{"topology.planes: 37 is outside 3 to 36"});
}

}  // namespace
}  // namespace weft::topology
