// Ways of flows: the formula for grids against the relation, and shares that add up at every router.
#include "network/flow/routes.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/random.hpp"
#include "routing/fat_tree.hpp"

namespace weft::network::flow {

namespace {

machine::Machine build(const std::string& text) {
  return machine::build(machine::describe_text(text, "test", {}));
}

using Sorted = std::map<LinkId, std::uint32_t>;

Sorted sorted(const std::vector<Share>& route) {
  Sorted out;
  for (const Share& s : route) out[s.link] += s.weight;
  return out;
}

TEST(FlowRoutes, OnGridsTheFormulaIsTheRelation) {
  for (const char* dims : {"[5,4,6]", "[2,3]", "[8]", "[4,4,2,2]", "[7,1,3]"})
    for (const char* kind : {"torus", "mesh"}) {
      machine::Machine m = build(std::string("[topology]\nkind = \"") + kind + "\"\ndims = " + dims +
                                 "\n[routing]\nkind = \"dimension-order\"\n");
      Links links(m);
      RouteMaker maker(m, links);
      RouteMaker::Scratch scratch;
      std::vector<Share> route;
      routing::Candidates candidates;
      for (EndpointId from = 0; from < m.graph->endpoints(); ++from)
        for (EndpointId to = 0; to < m.graph->endpoints(); ++to) {
          ASSERT_TRUE(maker.route(from, to, nullptr, scratch, route));
          std::vector<LinkId> expected{links.injection(from)};
          routing::Hop hop{m.graph->endpoint_router(from), routing::kInjected, 0, false, to};
          while (hop.router != m.graph->endpoint_router(to)) {
            m.routing->candidates(hop, candidates);
            topology::PortId port = m.graph->port(hop.router, candidates[0].port), peer = m.graph->peer(port);
            expected.push_back(port);
            hop.router = m.graph->port_router(peer);
            hop.in_port = m.graph->port_index(peer);
            hop.in_class = candidates[0].channel_class;
          }
          expected.push_back(links.ejection(to));
          ASSERT_EQ(route.size(), expected.size()) << kind << dims << from << " " << to;
          for (std::size_t i = 0; i < route.size(); ++i) ASSERT_EQ(route[i].link, expected[i]);
        }
    }
}

TEST(FlowRoutes, InTreesTheFormulaIsTheRelation) {
  for (const char* ways : {"mode = \"deterministic\"", "candidates = 0", "candidates = 1", "candidates = 3"})
    for (const char* shape : {"children = [4,3,5]\nparents = [1,6,2]", "children = [8,4]\nparents = [1,2]"}) {
      machine::Machine m = build(std::string("[topology]\nkind = \"fat-tree\"\n") + shape +
                                 "\n[routing]\nkind = \"fat-tree\"\n" + ways + "\n");
      auto& tree = dynamic_cast<const routing::FatTree&>(*m.routing);
      routing::Candidates candidates;
      for (topology::RouterId r = 0; r < m.graph->routers(); ++r)
        for (EndpointId to = 0; to < m.graph->endpoints(); ++to) {
          if (m.graph->endpoint_router(to) == r) continue;
          tree.candidates({.router = r, .target = to}, candidates);
          routing::FatTree::PortChoice formula = tree.choice(r, to);
          ASSERT_EQ(formula.offered, candidates.size()) << ways << " " << shape << " " << r << " " << to;
          for (std::uint32_t i = 0; i < formula.offered; ++i) ASSERT_EQ(formula.port(i), candidates[i].port);
        }
    }
}

struct Machine {
  const char *topology, *routing;
};

/// What enters a router leaves it, over all links of a flow.
TEST(FlowRoutes, SharesAreConservedAtEveryRouter) {
  const Machine all[] = {
      {"kind = \"torus\"\ndims = [5,4,3]", "kind = \"minimal-adaptive\""},
      {"kind = \"torus\"\ndims = [4,4]", "kind = \"valiant\""},
      {"kind = \"fat-tree\"\nchildren = [4,4,4]\nparents = [1,4,4]", "kind = \"fat-tree\"\ncandidates = 0"},
      {"kind = \"fat-tree\"\nchildren = [4,4,4]\nparents = [1,4,4]",
       "kind = \"fat-tree\"\nmode = \"deterministic\""},
      {"kind = \"dragonfly\"\nrouters_per_group = 4\nendpoints_per_router = 2\nglobal_cables_per_router = 2",
       "kind = \"dragonfly\"\nmode = \"ugal\""},
      {"kind = \"dragonfly\"\nrouters_per_group = 4\nendpoints_per_router = 2\nglobal_cables_per_router = 2",
       "kind = \"dragonfly\"\nmode = \"valiant\""},
      {"kind = \"jellyfish\"\nrouters = 40\ndegree = 5\nendpoints_per_router = 2", "kind = \"searched\""},
      {"kind = \"jellyfish\"\nrouters = 40\ndegree = 5\nendpoints_per_router = 2", "kind = \"up-down\""},
  };
  for (const Machine& one : all) {
    machine::Machine m =
        build(std::string("[topology]\n") + one.topology + "\n[routing]\n" + one.routing + "\n");
    const topology::Graph& graph = *m.graph;
    Links links(m);
    RouteMaker maker(m, links);
    RouteMaker::Scratch scratch;
    std::vector<Share> route;
    std::vector<std::uint32_t> load(links.count());
    for (std::uint32_t i = 0; i < 500; ++i) {
      EndpointId from = random_below(1, i, 0, graph.endpoints()),
                 to = random_below(1, i, 1, graph.endpoints());
      ASSERT_TRUE(maker.route(from, to, load.data(), scratch, route)) << one.routing;
      std::vector<std::int64_t> balance(graph.routers());
      for (const auto& [link, weight] : sorted(route)) {
        load[link] += weight;
        ASSERT_GT(links.capacity(link), 0);
        if (link >= graph.ports()) {
          ASSERT_EQ(link, links.injection(from));
          balance[graph.endpoint_router(from)] += weight;
          continue;
        }
        balance[graph.port_router(link)] -= weight;
        if (topology::PortId peer = graph.peer(link); peer != topology::kNone)
          balance[graph.port_router(peer)] += weight;
        else
          ASSERT_EQ(graph.port_endpoint(link), to);
      }
      for (std::int64_t left : balance) ASSERT_EQ(left, 0) << one.routing << " " << from << " -> " << to;
    }
  }
}

TEST(FlowRoutes, AFlowInATreeSplitsEvenlyOverAllWaysUp) {
  machine::Machine m = build(
      "[topology]\nkind = \"fat-tree\"\nchildren = [4,4]\nparents = [1,4]\n[routing]\nkind = "
      "\"fat-tree\"\ncandidates = 0\n");
  Links links(m);
  RouteMaker maker(m, links);
  RouteMaker::Scratch scratch;
  std::vector<Share> route;
  ASSERT_TRUE(maker.route(0, 15, nullptr, scratch, route));
  ASSERT_EQ(route.size(), 1 + 4 + 4 + 1u);
  for (std::size_t i = 1; i + 1 < route.size(); ++i) EXPECT_EQ(route[i].weight, kWhole / 4);
}

TEST(FlowRoutes, DelayIsThatOfTheCablesAndRoutersCrossed) {
  machine::Machine m = build(
      "[topology]\nkind = \"mesh\"\ndims = [4]\n[routing]\nkind = \"dimension-order\"\n[router]\nlatency = "
      "\"60ns\"\n"
      "clock = \"500MHz\"\n[cable.default]\ndelay = \"80ns\"\nlength = \"2m\"\n");
  Links links(m);
  RouteMaker maker(m, links);
  RouteMaker::Scratch scratch;
  std::vector<Share> route;
  ASSERT_TRUE(maker.route(0, 3, nullptr, scratch, route));
  // Four routers, three cables, a cycle of 2 ns from and to an endpoint.
  EXPECT_EQ(maker.delay_ps(route), 4 * 60'000 + 3 * (80'000 + 10'000) + 2 * 2'000);
}

}  // namespace

}  // namespace weft::network::flow
