// Links that fail, in random machines: nothing lost, nothing twice, nothing changed.
#include "measure/stress/stress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/parallel.hpp"
#include "run_program.hpp"

namespace weft::measure {
namespace {

constexpr std::uint64_t kSeed = 2026, kEach = 250;

/// 1,000 scenarios in four parts, so that they can run side by side.
class Stress : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(Stress, NothingLostNothingTwiceNothingChanged) {
  std::vector<StressResult> results(kEach);
  parallel_for(kEach, default_threads(), [&](unsigned, std::uint64_t i) {
    results[i] = run_scenario(make_scenario(kSeed, GetParam() * kEach + i), 1);
  });
  std::uint64_t undeliverable = 0, retries = 0, taken_back = 0;
  for (std::uint64_t i = 0; i < kEach; ++i) {
    EXPECT_EQ(results[i].problem, "")
        << "weft stress --seed " << kSeed << " --only " << GetParam() * kEach + i;
    EXPECT_EQ(results[i].packets, results[i].delivered + results[i].undeliverable);
    undeliverable += results[i].undeliverable;
    retries += results[i].retries;
    taken_back += results[i].taken_back;
  }
  // A part in which nothing went wrong would prove nothing.
  EXPECT_GT(undeliverable, 100u);
  EXPECT_GT(retries, 10'000u);
  EXPECT_GT(taken_back, 100u);
}

INSTANTIATE_TEST_SUITE_P(Parts, Stress, ::testing::Range<std::uint64_t>(0, 4));

TEST(StressScenarios, AreTheSameOnAnyNumberOfThreads) {
  for (std::uint64_t i = 1; i <= 25; ++i) {
    StressScenario scenario = make_scenario(3, i);
    StressResult one = run_scenario(scenario, 1), two = run_scenario(scenario, 2);
    EXPECT_EQ(one.digest, two.digest) << i;
    EXPECT_EQ(one.timeline, two.timeline) << i;
  }
}

TEST(StressScenarios, ACommandRunsThem) {
  auto result = test::run_program({"stress", "--count", "10", "--seed", "4"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out,
              ::testing::ContainsRegex("10 scenarios, [0-9,]+ packets: 0 lost, 0 duplicated, 0 corrupted, 0 "
                                       "out of order, [0-9,]+ undeliverable by cut-off\n$"));
}

}  // namespace
}  // namespace weft::measure
