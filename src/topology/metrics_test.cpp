#include "topology/metrics.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/random.hpp"
#include "machine/machine.hpp"

namespace weft::topology {
namespace {

machine::Machine build(const std::string& topology, const std::string& rest = "") {
  return machine::build_graph(machine::describe_text(
      fmt::format("[topology]\n{}\n[routing]\nkind = \"up-down\"\n{}", topology, rest), "test.toml", {}));
}

machine::Machine grid(const std::string& kind, const std::vector<std::uint32_t>& dims,
                      const std::string& more = "") {
  return build(fmt::format("kind = \"{}\"\ndims = [{}]\n{}", kind, fmt::join(dims, ", "), more));
}

std::uint64_t sum(const Histogram& histogram) {
  return std::accumulate(histogram.begin(), histogram.end(), std::uint64_t{0});
}

/// Distances by relaxing every cable until nothing changes: slow, and nothing like the code under test.
Histogram slow_distances(const Graph& graph) {
  std::uint32_t n = graph.routers();
  std::vector<std::vector<std::uint32_t>> distance(n, std::vector<std::uint32_t>(n, 1u << 20));
  for (RouterId r = 0; r < n; ++r) distance[r][r] = 0;
  for (CableId c = 0; c < graph.cables(); ++c) {
    RouterId a = graph.port_router(graph.cable_ends(c).a), b = graph.port_router(graph.cable_ends(c).b);
    distance[a][b] = distance[b][a] = 1;
  }
  for (RouterId k = 0; k < n; ++k)
    for (RouterId i = 0; i < n; ++i)
      for (RouterId j = 0; j < n; ++j)
        distance[i][j] = std::min(distance[i][j], distance[i][k] + distance[k][j]);
  Histogram out;
  for (EndpointId a = 0; a < graph.endpoints(); ++a)
    for (EndpointId b = 0; b < graph.endpoints(); ++b)
      if (a != b) add_pairs(out, distance[graph.endpoint_router(a)][graph.endpoint_router(b)], 1);
  return out;
}

Distances search(const machine::Machine& m) {
  DistanceOptions options;
  options.closed_forms = false;
  return measure_distances(*m.graph, *m.faults, options);
}

TEST(Distances, ClosedFormsOfRingsLinesAndGrids) {
  for (const char* kind : {"torus", "mesh"})
    for (const std::vector<std::uint32_t>& dims : std::vector<std::vector<std::uint32_t>>{
             {1}, {2}, {3}, {8}, {9}, {4, 4}, {5, 2}, {8, 3}, {4, 2, 4}, {3, 4, 5}, {2, 2, 2, 2}}) {
      SCOPED_TRACE(fmt::format("{} [{}]", kind, fmt::join(dims, ", ")));
      auto m = grid(kind, dims);
      Distances d = measure_distances(*m.graph, *m.faults);
      EXPECT_EQ(d.method, Distances::Method::ClosedForm);
      Histogram slow = slow_distances(*m.graph);
      EXPECT_EQ(d.pairs, slow);
      std::uint64_t n = m.graph->endpoints();
      EXPECT_EQ(sum(d.pairs), n * (n - 1));
      auto path = zero_load(*m.graph, *m.faults, d.from, d.to, Time{1});
      ASSERT_TRUE(path);
      EXPECT_EQ(path->cables, d.diameter()) << "the pair named is as far apart as said";
    }
}

TEST(Distances, GreenIceHasTheMeanAndDiameterOfItsPaper) {
  auto m = grid("torus", {4, 2, 4});
  Distances d = measure_distances(*m.graph, *m.faults);
  EXPECT_EQ(d.diameter(), 5u);
  EXPECT_DOUBLE_EQ(d.mean(), 80.0 / 31.0);
  EXPECT_DOUBLE_EQ(d.mean_between_routers(), 80.0 / 31.0);
  EXPECT_EQ(m.graph->cables(), 80u);
}

TEST(Distances, EndpointsOfOneRouterAreNoCableApart) {
  auto m = grid("torus", {4, 3}, "endpoints_per_router = 3\nparallel_cables = 2");
  Distances d = measure_distances(*m.graph, *m.faults);
  EXPECT_EQ(d.pairs[0], 12u * 3 * 2);
  EXPECT_EQ(d.pairs, slow_distances(*m.graph));
  EXPECT_EQ(d.pairs, search(m).pairs);
  EXPECT_EQ(d.router_pairs, search(m).router_pairs);
  EXPECT_GT(d.mean_between_routers(), d.mean());
}

TEST(Distances, ClosedFormsAgreeWithSearchesOnRandomGrids) {
  constexpr std::uint64_t seed = 20240611;
  for (std::uint64_t trial = 0; trial < 40; ++trial) {
    std::vector<std::uint32_t> dims(1 + random_below(seed, trial, 0, 4));
    for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = 1 + random_below(seed, trial, 1 + i, 6);
    bool wraps = random_below(seed, trial, 10, 2) == 1;
    unsigned endpoints = 1 + random_below(seed, trial, 11, 3),
             parallel = 1 + random_below(seed, trial, 12, 2);
    SCOPED_TRACE(fmt::format("seed {} trial {}: [{}]", seed, trial, fmt::join(dims, ", ")));
    auto m = grid(wraps ? "torus" : "mesh", dims,
                  fmt::format("endpoints_per_router = {}\nparallel_cables = {}", endpoints, parallel));
    Distances closed = measure_distances(*m.graph, *m.faults), searched = search(m);
    EXPECT_EQ(closed.method, Distances::Method::ClosedForm);
    EXPECT_EQ(searched.method, Distances::Method::EveryRouter);
    EXPECT_EQ(closed.pairs, searched.pairs);
    EXPECT_EQ(closed.router_pairs, searched.router_pairs);
    EXPECT_EQ(searched.unreachable, 0u);
  }
}

TEST(Distances, DevicesAreOneCableFurther) {
  auto m = grid("torus", {4, 2, 4}, "spare_ports = 1\nattach = [0, 9]");
  Distances d = measure_distances(*m.graph, *m.faults);
  EXPECT_EQ(d.method, Distances::Method::EveryRouter);
  EXPECT_EQ(d.pairs, slow_distances(*m.graph));
}

TEST(Distances, EveryTopologyKindAgreesWithSlowDistances) {
  for (const auto& [name, kind] : Topologies::all())
    for (const auto& example : kind.examples) {
      SCOPED_TRACE(fmt::format("{} {}", name, fmt::join(example, " ")));
      std::vector<std::string> settings;
      for (const std::string& setting : example) settings.push_back("topology." + setting);
      std::string text = fmt::format("[topology]\nkind = \"{}\"\n[routing]\nkind = \"up-down\"\n", name);
      auto m = machine::build_graph(machine::describe_text(text, "test.toml", settings));
      if (m.graph->routers() > 300) continue;
      Histogram slow = slow_distances(*m.graph);
      EXPECT_EQ(measure_distances(*m.graph, *m.faults).pairs, slow);
      EXPECT_EQ(search(m).pairs, slow);
    }
}

TEST(Distances, ClosedFormsAgreeWithSearchesOnWholeTrees) {
  for (const char* kind : {"th-express", "fat-tree"}) {
    SCOPED_TRACE(kind);
    auto m = build(fmt::format("kind = \"{}\"", kind));
    Distances closed = measure_distances(*m.graph, *m.faults), searched = search(m);
    EXPECT_EQ(closed.method, Distances::Method::ClosedForm);
    EXPECT_EQ(closed.pairs, searched.pairs);
    EXPECT_EQ(closed.router_pairs, searched.router_pairs);
  }
}

TEST(Distances, SamplesSayThatTheyAre) {
  auto m = grid("torus", {6, 5, 7});
  DistanceOptions options;
  options.closed_forms = false;
  options.affordable_visits = 1;
  options.sampled_sources = 70;
  options.threads = 1;
  Distances one = measure_distances(*m.graph, *m.faults, options);
  EXPECT_EQ(one.how(), "sampled from 70 of 210 routers");
  EXPECT_EQ(sum(one.pairs), 70u * 209);
  EXPECT_DOUBLE_EQ(one.mean(), measure_distances(*m.graph, *m.faults).mean())
      << "all routers of a torus see the same";
  options.threads = 3;
  Distances three = measure_distances(*m.graph, *m.faults, options);
  EXPECT_EQ(one.pairs, three.pairs);
  EXPECT_EQ(std::pair(one.from, one.to), std::pair(three.from, three.to));
}

TEST(Distances, DeadPartsLengthenOrBreakPaths) {
  auto ring = build("kind = \"torus\"\ndims = [6]", "[faults]\ndead_cables = [\"r0.p0\"]");
  Distances line = measure_distances(*ring.graph, *ring.faults);
  EXPECT_EQ(line.diameter(), 5u);
  EXPECT_EQ(line.unreachable, 0u);
  auto mesh = build("kind = \"mesh\"\ndims = [5]", "[faults]\ndead_routers = [2]");
  Distances halves = measure_distances(*mesh.graph, *mesh.faults);
  EXPECT_EQ(sum(halves.pairs), 4u) << "two halves of two";
  EXPECT_EQ(halves.unreachable, 8u);
  EXPECT_FALSE(zero_load(*mesh.graph, *mesh.faults, 0, 4, Time{1}));
}

TEST(Distances, AMillionRoutersAreNoWork) {
  auto m = grid("torus", {100, 100, 100});
  Distances d = measure_distances(*m.graph, *m.faults);
  EXPECT_EQ(d.diameter(), 150u);
  EXPECT_DOUBLE_EQ(d.mean(), 75.0 * 1e6 / (1e6 - 1));
}

TEST(Bisection, CutsOfTori) {
  for (bool regular : {true, false}) {
    BisectionOptions options;
    options.regular_cuts = regular;
    auto flat = grid("torus", {8, 8});
    auto cut = estimate_bisection(*flat.graph, *flat.faults, options);
    ASSERT_TRUE(cut);
    EXPECT_EQ(cut->cables, 16u);
    auto cube = grid("torus", {8, 8, 8});
    cut = estimate_bisection(*cube.graph, *cube.faults, options);
    ASSERT_TRUE(cut);
    EXPECT_EQ(cut->cables, 128u);
    EXPECT_EQ(cut->endpoints[0], 256u);
    EXPECT_DOUBLE_EQ(cut->ratio(), 0.5);
  }
}

TEST(Bisection, SmallAndOddMachines) {
  auto pair = grid("torus", {2});
  auto cut = estimate_bisection(*pair.graph, *pair.faults);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->cables, 1u);
  EXPECT_DOUBLE_EQ(cut->ratio(), 1.0);
  auto ring = grid("torus", {7}, "parallel_cables = 2");
  cut = estimate_bisection(*ring.graph, *ring.faults);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->cables, 4u);
  auto one = grid("torus", {1}, "endpoints_per_router = 4");
  EXPECT_FALSE(estimate_bisection(*one.graph, *one.faults));
}

TEST(Bisection, LargeGridsAreCutStraight) {
  auto m = grid("mesh", {9, 16});
  BisectionOptions options;
  options.partitioned_links = 0;
  auto cut = estimate_bisection(*m.graph, *m.faults, options);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->cables, 9u);
  EXPECT_EQ(cut->method, "straight cut across dimension 1");
}

TEST(Inventory, CountsPartsByTypeAndTier) {
  auto m = build(
      "kind = \"torus\"\ndims = [4, 2]\nspare_ports = 1\nattach = [3]\nattach_cable = \"fibre\"",
      "[cable.default]\nlength = \"2m\"\n[cable.fibre]\nlength = \"20m\"\nstrands = 2\ncoding = \"none\"\n"
      "lanes = 1\nlane_rate = \"10Gbps\"");
  Inventory parts = count_parts(*m.graph);
  ASSERT_EQ(parts.cables.size(), 2u);
  EXPECT_EQ(parts.cables[0].cables, 12u);
  EXPECT_EQ(parts.cables[0].total.value, 24'000);
  EXPECT_EQ(parts.cables[1].type->name, "fibre");
  EXPECT_EQ(parts.cables[1].strands, 2u);
  EXPECT_DOUBLE_EQ(parts.total_rate, 12 * 20e9 + 10e9);
  ASSERT_EQ(parts.tiers.size(), 2u);
  EXPECT_EQ(parts.tiers[0].routers, 8u);
  EXPECT_EQ(parts.tiers[0].ports, 8u * 5);
  EXPECT_EQ(parts.tiers[0].ports_used, 8u * 4 + 1);
  EXPECT_EQ(parts.tiers[1].name, "device");
  EXPECT_EQ(parts.tiers[1].endpoints, 1u);
}

TEST(ZeroLoad, AddsRoutersAndCables) {
  auto m = build("kind = \"mesh\"\ndims = [3, 3]", "[cable.default]\nlength = \"2m\"\ndelay = \"80ns\"");
  auto path = zero_load(*m.graph, *m.faults, 0, 8, Time{60'000});
  ASSERT_TRUE(path);
  EXPECT_EQ(path->routers(), 5u);
  EXPECT_EQ(path->in_routers.value, 5 * 60'000);
  EXPECT_EQ(path->in_cables.value, 4 * (80'000 + 2 * 5'000));
}

}  // namespace
}  // namespace weft::topology
