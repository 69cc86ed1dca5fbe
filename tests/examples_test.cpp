// The comparisons in examples/ give the paper's picture: which topology is best depends on the workload
// (F61).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/compare/compare.hpp"
#include "test_paths.hpp"

namespace weft::test {
namespace {

using measure::CompareSpec;

CompareSpec example(const std::string& name) {
  return measure::read_compare(std::string(WEFT_ROOT) + "/examples/" + name);
}

std::vector<Json> run(const CompareSpec& spec) {
  std::vector<Json> out;
  for (const auto& point : measure::compare_points(spec)) out.push_back(measure::run_point(spec, point, 2));
  return out;
}

TEST(Examples, NeighboursOfMolecularDynamicsSuitTheTorus) {  // V-EXN-13
  CompareSpec spec = example("lammps-topologies.toml");
  EXPECT_THAT(spec.engines, testing::Contains("flit"));
  EXPECT_THAT(measure::check_expected(spec, run(spec)), testing::IsEmpty());
}

// The whole example, to a million endpoints, takes minutes; a tenth of it has the same ends of the order.
TEST(Examples, ARandomPermutationSuitsTheFatTreeAndNotTheTorus) {  // V-EXN-16
  CompareSpec spec = example("topology-scaling.toml");
  EXPECT_EQ(spec.expected.front(), (std::vector<std::string>{"fat tree", "dragonfly"}));
  EXPECT_EQ(spec.expected.back(), (std::vector<std::string>{"3D torus"}));
  for (auto& machine : spec.machines) {
    ASSERT_EQ(machine.variants.size(), 4u);
    machine.variants = {machine.variants[2]};  // 100,000 endpoints
  }
  spec.expected = {{"fat tree"}, {"dragonfly"}, {"5D torus", "jellyfish"}, {"3D torus"}};
  std::vector<Json> results = run(spec);
  EXPECT_THAT(measure::check_expected(spec, results), testing::IsEmpty());
  for (const Json& r : results) EXPECT_NEAR(r["endpoints"].get<double>(), 100'000, 15'000);
}

}  // namespace
}  // namespace weft::test
