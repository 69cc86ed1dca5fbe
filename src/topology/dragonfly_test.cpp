#include <gtest/gtest.h>

#include <map>

#include "topology/dragonfly_shape.hpp"
#include "topology/test_support.hpp"

namespace weft::topology {
namespace {

using testing::build;
using testing::cable_of;
using testing::diameter;
using testing::errors;
using testing::Settings;

TEST(Dragonfly, BalancedOneHasTheCountsOfTheClosedForm) {
  Graph graph =
      build("dragonfly", {"routers_per_group=8", "endpoints_per_router=4", "global_cables_per_router=4"});
  EXPECT_EQ(graph.routers(), 33u * 8);
  EXPECT_EQ(graph.endpoints(), 1056u);
  EXPECT_EQ(graph.cables(), 33u * 8 * 7 / 2 + 33u * 32 / 2);
  EXPECT_EQ(diameter(graph), 3u);
}

TEST(Dragonfly, EveryTwoGroupsShareTheCablesEvenly) {
  for (std::uint32_t groups : {2, 3, 4, 5, 6, 7, 8, 9}) {
    Graph graph = build("dragonfly", {"groups=" + std::to_string(groups)});
    auto* shape = graph.shape_as<DragonflyShape>();
    std::map<std::pair<std::uint32_t, std::uint32_t>, unsigned> between;
    unsigned free_ports = 0;
    for (PortId p = 0; p < graph.ports(); ++p) {
      if (graph.peer(p) == kNone) {
        free_ports += graph.port_endpoint(p) == kNone;
        continue;
      }
      std::uint32_t a = shape->group(graph.port_router(p)),
                    b = shape->group(graph.port_router(graph.peer(p)));
      if (a != b) ++between[{a, b}];
    }
    EXPECT_EQ(between.size(), groups * (groups - 1)) << groups;
    for (auto [pair, cables] : between) {
      EXPECT_GE(cables, 8 / (groups - 1)) << groups;
      EXPECT_LE(cables, 8 / (groups - 1) + 1) << groups;
    }
    EXPECT_EQ(free_ports, 0u) << groups;
    EXPECT_LE(diameter(graph), 3u) << groups;
  }
}

TEST(Dragonfly, OneSlotStaysFreeWhereAnOddNumberCannotBePaired) {
  Graph graph = build("dragonfly", {"groups=5", "routers_per_group=3", "global_cables_per_router=3"});
  EXPECT_EQ(graph.cables(), 5u * 3 + 5u * 8 / 2);
}

TEST(Dragonfly, GatewaysLeadWhereTheySay) {
  for (const Settings& example : Topologies::find("dragonfly")->examples) {
    Graph graph = build("dragonfly", example);
    auto* shape = graph.shape_as<DragonflyShape>();
    ASSERT_NE(shape, nullptr);
    for (std::uint32_t from = 0; from < shape->groups; ++from)
      for (std::uint32_t to = 0; to < shape->groups; ++to) {
        auto cables = shape->gateways(from, to);
        EXPECT_EQ(cables.empty(), from == to);
        for (std::size_t n = 0; n < cables.size(); ++n) {
          PortId peer = graph.peer(graph.port(from * shape->group_routers + cables[n].place, cables[n].port));
          ASSERT_NE(peer, kNone);
          EXPECT_EQ(shape->group(graph.port_router(peer)), to);
          EXPECT_EQ(shape->place(graph.port_router(peer)), shape->gateways(to, from)[n].place);
          EXPECT_EQ(graph.port_index(peer), shape->gateways(to, from)[n].port);
          auto before = cables[n > 0 ? n - 1 : 0], here = cables[n];
          EXPECT_TRUE(n == 0 || std::pair(before.place, before.port) < std::pair(here.place, here.port));
        }
      }
    for (RouterId r = 0; r < graph.routers(); ++r)
      for (RouterId s = 0; s < graph.routers(); ++s)
        if (r != s && shape->group(r) == shape->group(s)) {
          EXPECT_EQ(graph.port_router(graph.peer(graph.port(r, shape->local_port(r, s)))), s);
        }
  }
}

TEST(Dragonfly, LocalAndGlobalCablesHaveTheirOwnTypes) {
  Graph graph = build("dragonfly", {"local_cable=copper", "global_cable=fibre"},
                      {cable_of("default", {0}), cable_of("copper", {1000}), cable_of("fibre", {30'000})});
  auto* shape = graph.shape_as<DragonflyShape>();
  for (CableId c = 0; c < graph.cables(); ++c) {
    auto [a, b] = graph.cable_ends(c);
    bool local = shape->group(graph.port_router(a)) == shape->group(graph.port_router(b));
    EXPECT_EQ(graph.cable_type(c).name, local ? "copper" : "fibre");
  }
}

TEST(Dragonfly, ComplainsWhenGroupsCannotAllBeJoined) {
  EXPECT_EQ(errors("dragonfly", {"groups=10"}),
            std::vector<std::string>{
                "topology.groups: 10 groups need 9 global cables from each; 4 routers with 2 each have 8"});
}

TEST(Dragonfly, AMillionEndpointsBuild) {
  Graph graph =
      build("dragonfly", {"routers_per_group=45", "endpoints_per_router=22", "global_cables_per_router=23"});
  EXPECT_EQ(graph.endpoints(), (45u * 23 + 1) * 45 * 22);
}

}  // namespace
}  // namespace weft::topology
