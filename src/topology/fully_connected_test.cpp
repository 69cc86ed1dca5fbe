#include <gtest/gtest.h>

#include "topology/test_support.hpp"

namespace weft::topology {
namespace {

using testing::build;

TEST(FullyConnected, EveryPairHasItsCables) {
  Graph graph = build("fully-connected", {"routers=9", "parallel_cables=2", "endpoints_per_router=3"});
  EXPECT_EQ(graph.cables(), 2u * 9 * 8 / 2);
  EXPECT_EQ(graph.endpoints(), 27u);
  EXPECT_EQ(testing::diameter(graph), 1u);
  for (RouterId a = 0; a < graph.routers(); ++a)
    for (RouterId b = 0; b < graph.routers(); ++b)
      EXPECT_EQ(testing::cables_between(graph, a, b), a == b ? 0u : 2u);
}

TEST(FullyConnected, OneRouterStandsAlone) {
  Graph graph = build("fully-connected", {"routers=1", "endpoints_per_router=4"});
  EXPECT_EQ(graph.cables(), 0u);
  EXPECT_EQ(graph.endpoints(), 4u);
}

TEST(FullyConnected, RefusesMorePortsThanARouterCanHave) {
  EXPECT_EQ(testing::errors("fully-connected", {"routers=10000", "parallel_cables=10"}),
            std::vector<std::string>{
                "topology.routers: a router would have 99991 ports; at most 65000 can be built"});
}

}  // namespace
}  // namespace weft::topology
