#include <gtest/gtest.h>

#include "topology/test_support.hpp"

namespace weft::topology {
namespace {

using testing::build;
using testing::errors;

std::vector<std::pair<RouterId, RouterId>> neighbours(const Graph& graph) {
  std::vector<std::pair<RouterId, RouterId>> out;
  for (CableId c = 0; c < graph.cables(); ++c) {
    RouterId a = graph.port_router(graph.cable_ends(c).a), b = graph.port_router(graph.cable_ends(c).b);
    out.emplace_back(std::min(a, b), std::max(a, b));
  }
  std::sort(out.begin(), out.end());
  return out;
}

void expect_simple_regular_connected(const Graph& graph, std::uint32_t degree) {
  auto pairs = neighbours(graph);
  EXPECT_EQ(pairs.size(), graph.routers() * degree / 2);
  EXPECT_EQ(std::adjacent_find(pairs.begin(), pairs.end()), pairs.end())
      << "two cables join the same routers";
  std::vector<std::uint32_t> ends(graph.routers());
  for (auto [a, b] : pairs) {
    EXPECT_NE(a, b);
    ++ends[a], ++ends[b];
  }
  EXPECT_EQ(ends, std::vector<std::uint32_t>(graph.routers(), degree));
  auto reached = testing::distances(graph, 0);
  EXPECT_EQ(std::count(reached.begin(), reached.end(), kNone), 0);
}

TEST(Jellyfish, IsRegularSimpleAndConnected) {
  for (std::uint32_t routers : {4u, 5u, 7u, 8u, 12u, 33u})
    for (std::uint32_t degree = 3; degree < routers; ++degree)
      if (routers * degree % 2 == 0)
        for (const char* seed : {"seed=1", "seed=2", "seed=3"})
          expect_simple_regular_connected(build("jellyfish", {"routers=" + std::to_string(routers),
                                                              "degree=" + std::to_string(degree), seed}),
                                          degree);
}

TEST(Jellyfish, TheSeedAloneDecides) {
  auto graph_of = [](std::string seed) { return neighbours(build("jellyfish", {"seed=" + seed})); };
  EXPECT_EQ(graph_of("5"), graph_of("5"));
  EXPECT_NE(graph_of("5"), graph_of("6"));
}

TEST(Jellyfish, FiftyThousandRoutersBuild) {
  Graph graph = build("jellyfish", {"routers=50000", "degree=32", "endpoints_per_router=20"});
  EXPECT_EQ(graph.endpoints(), 1'000'000u);
  expect_simple_regular_connected(graph, 32);
}

TEST(Jellyfish, ComplainsAboutDegreesThatCannotBe) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(errors("jellyfish", {"routers=9", "degree=3"}),
            Lines{"topology.degree: 9 routers with 3 cable ends each: one end would be left over"});
  EXPECT_EQ(errors("jellyfish", {"routers=8", "degree=8"}),
            Lines{"topology.degree: each of 8 routers has only 7 others to be joined to, not 8"});
  EXPECT_EQ(errors("jellyfish", {"degree=2"}), Lines{"topology.degree: 2 is outside 3 to 16384"});
}

}  // namespace
}  // namespace weft::topology
