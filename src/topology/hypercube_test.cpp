#include <gtest/gtest.h>

#include <bit>

#include "topology/grid_shape.hpp"
#include "topology/test_support.hpp"

namespace weft::topology {
namespace {

using testing::build;

TEST(Hypercube, DistanceIsTheNumberOfBitsThatDiffer) {
  Graph graph = build("hypercube", {"dimension=6"});
  EXPECT_EQ(graph.routers(), 64u);
  EXPECT_EQ(graph.cables(), 6u * 32);
  EXPECT_EQ(testing::diameter(graph), 6u);
  for (RouterId a = 0; a < graph.routers(); ++a) {
    auto from_here = testing::distances(graph, a);
    for (RouterId b = 0; b < graph.routers(); ++b)
      EXPECT_EQ(from_here[b], static_cast<unsigned>(std::popcount(a ^ b)));
  }
}

TEST(Hypercube, IsAGridToThoseWhoAskForOne) {
  Graph graph = build("hypercube", {"dimension=4", "endpoints_per_router=3"});
  ASSERT_NE(graph.shape_as<GridShape>(), nullptr);
  EXPECT_EQ(graph.endpoints(), 48u);
  EXPECT_EQ(graph.router_name(5), "r5 (1,0,1,0)");
}

TEST(Hypercube, RefusesDimensionsThatCannotBe) {
  EXPECT_EQ(testing::errors("hypercube", {"dimension=21"}),
            std::vector<std::string>{"topology.dimension: 21 is outside 1 to 20"});
}

}  // namespace
}  // namespace weft::topology
