#include "topology/tree_shape.hpp"

#include <gtest/gtest.h>

#include "topology/test_support.hpp"

namespace weft::topology {
namespace {

// What TreeShape promises about every port, checked against the cables.
void expect_shape_matches_cables(const Graph& graph) {
  auto* shape = graph.shape_as<TreeShape>();
  ASSERT_NE(shape, nullptr);
  ASSERT_EQ(shape->nodes.size(), graph.routers());
  ASSERT_EQ(shape->spread.size(), shape->levels + 1);
  for (RouterId r = 0; r < graph.routers(); ++r) {
    const TreeShape::Node& node = shape->nodes[r];
    for (EndpointId e = node.below_begin; e < node.below_end; ++e)
      for (PortIndex k = 0; k < node.down_parallel; ++k) {
        PortId down = graph.port(r, static_cast<PortIndex>(shape->down_port(r, e) + k));
        if (node.level == 1) {
          EXPECT_EQ(graph.port_endpoint(down), e);
        } else {
          ASSERT_NE(graph.peer(down), kNone);
          RouterId child = graph.port_router(graph.peer(down));
          EXPECT_TRUE(shape->covers(child, e));
          EXPECT_EQ(shape->nodes[child].level + 1, node.level);
        }
      }
    EXPECT_EQ(node.up_count == 0, node.level == shape->levels);
    for (PortIndex k = 0; k < node.up_count; ++k) {
      PortId peer = graph.peer(graph.port(r, static_cast<PortIndex>(node.first_up + k)));
      ASSERT_NE(peer, kNone);
      const TreeShape::Node& parent = shape->nodes[graph.port_router(peer)];
      EXPECT_LE(parent.below_begin, node.below_begin);
      EXPECT_GE(parent.below_end, node.below_end);
      EXPECT_EQ(parent.level, node.level + 1);
    }
  }
}

TEST(TreeShape, SaysWhereEveryPortLeads) {
  for (const char* kind : {"fat-tree", "th-express"})
    for (const auto& example : Topologies::find(kind)->examples)
      expect_shape_matches_cables(testing::build(kind, example));
}

}  // namespace
}  // namespace weft::topology
