#include "routing/multicast.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/random.hpp"
#include "machines.hpp"

namespace weft::routing {
namespace {

GrowTree grow_of(const MulticastTrees& trees) {
  return [&](RouterId source, std::vector<TreeStep>& steps) { trees.grow(source, steps); };
}

GrowTree descend_of(const MulticastTrees& trees) {
  return [&](RouterId root, std::vector<TreeStep>& steps) { trees.descend(root, steps); };
}

TEST(Multicast, ReductionsOfEveryTopologyCannotDeadlockEither) {
  for (const auto& [name, kind] : topology::Topologies::all())
    for (const auto& size : kind.examples) {
      const auto m = test::make_machine(name, size, "up-down", {}, 4);
      const MulticastTrees trees(*m.graph, *m.faults);
      const MulticastVerdict verdict =
          verify_multicast(*m.graph, *m.faults, grow_of(trees), descend_of(trees));
      EXPECT_TRUE(verdict.holds()) << name;
      EXPECT_EQ(verdict.meeting_points, m.graph->routers()) << name;
      // Everybody can climb to where all meet, and is below it.
      std::vector<RouterId> all;
      for (RouterId r = 0; r < m.graph->routers(); ++r) all.push_back(r);
      const RouterId root = trees.meeting_point(all);
      ASSERT_NE(root, kNone) << name;
      std::vector<TreeStep> steps;
      trees.descend(root, steps);
      EXPECT_EQ(steps.size(), m.graph->routers()) << name;
      EXPECT_EQ(trees.meeting_point(std::vector<RouterId>{3 % m.graph->routers()}), 3 % m.graph->routers());
    }
}

TEST(Multicast, TheProofFindsTheCircleOfReductionsWithoutARule) {
  // By trees of shortest paths from any router, contributions and results of different groups would wait for
  // each other round the ring.
  const auto m = test::make_machine("torus", {"dims=[5]"}, "up-down", {}, 2);
  const MulticastTrees trees(*m.graph, *m.faults);
  const MulticastVerdict verdict =
      verify_multicast(*m.graph, *m.faults, grow_of(trees),
                       [&](RouterId root, std::vector<TreeStep>& steps) { trees.grow(root, steps); });
  EXPECT_FALSE(verdict.cycle.empty()) << "at a root that is not above its members, results climb";
}

TEST(Multicast, TreesOfEveryTopologyReachAllOnceAndCannotDeadlock) {
  for (const auto& [name, kind] : topology::Topologies::all())
    for (const auto& size : kind.examples) {
      const auto m = test::make_machine(name, size, "up-down", {}, 4);
      const MulticastTrees trees(*m.graph, *m.faults);
      const MulticastVerdict verdict = verify_multicast(*m.graph, *m.faults, grow_of(trees));
      EXPECT_TRUE(verdict.holds()) << name;
      std::vector<TreeStep> steps;
      trees.grow(m.graph->endpoint_router(0), steps);
      std::set<RouterId> reached;
      for (const TreeStep& step : steps) reached.insert(step.router);
      EXPECT_EQ(reached.size(), m.graph->routers()) << name;
    }
}

TEST(Multicast, TreesOfWhatIsLeftOfAMachineReachAllOfIt) {
  const auto m = test::make_machine("torus", {"dims=[5,4]"}, "up-down", {}, 2);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    topology::Faults faults(*m.graph);
    for (unsigned i = 0; i < 6; ++i)
      faults.kill_cable(static_cast<topology::CableId>(random_bits(seed, i, 0) % m.graph->cables()));
    const MulticastTrees trees(*m.graph, faults);
    const MulticastVerdict verdict = verify_multicast(*m.graph, faults, grow_of(trees));
    EXPECT_TRUE(verdict.cycle.empty() && verdict.crossed_twice == 0) << seed;
    std::vector<std::uint16_t> distance;
    std::vector<RouterId> queue;
    std::uint64_t apart = 0;
    for (RouterId r = 0; r < m.graph->routers(); ++r) {
      distances_to(*m.graph, faults, r, distance, queue);
      apart += m.graph->routers() - queue.size();
    }
    EXPECT_EQ(verdict.unreached, apart) << seed;
  }
}

/// Shortest paths without a rule: every router at its distance, by the first cable that leads to it.
void grow_without_rule(const Graph& graph, RouterId source, std::vector<TreeStep>& steps) {
  std::vector<bool> seen(graph.routers());
  steps.assign(1, {source});
  seen[source] = true;
  for (std::uint32_t i = 0; i < steps.size(); ++i)
    for (PortId p = graph.port_begin(steps[i].router); p < graph.port_begin(steps[i].router + 1); ++p)
      if (const PortId in = graph.peer(p); in != kNone && !seen[graph.port_router(in)]) {
        seen[graph.port_router(in)] = true;
        steps.push_back({graph.port_router(in), in, i, steps[i].depth + 1});
      }
}

TEST(Multicast, TheProofFindsTheCircleOfTreesWithoutARule) {
  const auto m = test::make_machine("torus", {"dims=[5]"}, "up-down", {}, 2);
  const MulticastVerdict verdict = verify_multicast(
      *m.graph, *m.faults,
      [&](RouterId source, std::vector<TreeStep>& steps) { grow_without_rule(*m.graph, source, steps); });
  EXPECT_EQ(verdict.unreached, 0u);
  EXPECT_EQ(verdict.cycle.size(), 5u) << "round the ring";
  EXPECT_FALSE(verdict.holds());
}

TEST(Multicast, TheProofFindsWhoIsNotReachedAndWhatIsCrossedTwice) {
  const auto m = test::make_machine("torus", {"dims=[5]"}, "up-down", {}, 2);
  const MulticastTrees trees(*m.graph, *m.faults);
  const auto without_last = [&](RouterId source, std::vector<TreeStep>& steps) {
    trees.grow(source, steps);
    steps.pop_back();
  };
  EXPECT_EQ(verify_multicast(*m.graph, *m.faults, without_last).unreached, 5u);
  const auto last_twice = [&](RouterId source, std::vector<TreeStep>& steps) {
    trees.grow(source, steps);
    steps.push_back(steps.back());
  };
  EXPECT_EQ(verify_multicast(*m.graph, *m.faults, last_twice).crossed_twice, 5u);
}

}  // namespace
}  // namespace weft::routing
