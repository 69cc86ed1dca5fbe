#include "measure/traffic/steady_state.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace weft::measure {
namespace {

TEST(SteadyState, LatencyThatKeepsStillIsSteady) {
  WarmUpTest test;
  EXPECT_EQ(test.add({20, 1000, 800}), Warmth::Undecided);
  EXPECT_EQ(test.add({30, 1000, 990}), Warmth::Undecided);
  EXPECT_EQ(test.add({30.1, 1000, 1000}), Warmth::Undecided);
  EXPECT_EQ(test.add({30.0, 1000, 1005}), Warmth::Steady);
}

TEST(SteadyState, RisingLatencyIsNot) {
  WarmUpTest test;
  for (double latency = 30; latency < 300; latency *= 1.03)
    EXPECT_EQ(test.add({latency, 1000, 990}), Warmth::Undecided);
}

TEST(SteadyState, SourcesThatStayAheadAreSaturated) {
  WarmUpTest test;
  EXPECT_EQ(test.add({20, 1000, 500}), Warmth::Undecided) << "the first window fills the network";
  EXPECT_EQ(test.add({30, 1000, 900}), Warmth::Undecided);
  EXPECT_TRUE(test.behind());
  EXPECT_EQ(test.add({40, 1000, 850}), Warmth::Undecided) << "throughput still falls: counting starts again";
  EXPECT_EQ(test.add({50, 1000, 851}), Warmth::Undecided);
  EXPECT_EQ(test.add({60, 1000, 852}), Warmth::Undecided);
  EXPECT_EQ(test.add({70, 1000, 850}), Warmth::Saturated);
}

TEST(SteadyState, BuffersThatFillAreNotSaturatedYet) {
  WarmUpTest patient, hasty;
  const Window filling{50, 1000, 700, 950, 100}, full{50, 1000, 700, 710, 100};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(patient.add(filling), Warmth::Undecided);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(hasty.add(filling, true), Warmth::Undecided);
  EXPECT_EQ(hasty.add(filling, true), Warmth::Saturated);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(patient.add(full), Warmth::Undecided);
  EXPECT_EQ(patient.add(full), Warmth::Saturated);
}

TEST(SteadyState, WindowsOfAnyLengthCompare) {
  WarmUpTest test;
  for (unsigned cycles = 100; cycles < 500; cycles += 100)
    EXPECT_EQ(test.add({50, 10 * cycles, 7 * cycles, 7 * cycles, cycles}), Warmth::Undecided);
  EXPECT_EQ(test.add({50, 5000, 3500, 3500, 500}), Warmth::Saturated);
}

TEST(SteadyState, HalfWidthIsStudents) {
  // 8 values of standard deviation 2 * sqrt(8/7): t(7) = 2.3646.
  std::vector<double> values{8, 12, 8, 12, 8, 12, 8, 12};
  EXPECT_NEAR(half_width_95(values), 2.3646 * std::sqrt(4.0 * 8 / 7 / 8), 0.01);
  EXPECT_EQ(half_width_95({5}), 0);
}

TEST(SteadyState, DriftIsSeenAndChanceIsNot) {
  EXPECT_TRUE(drifts({30, 31, 32, 33, 34, 35, 36, 37}));
  EXPECT_FALSE(drifts({30, 31, 30, 31, 31, 30, 31, 30}));
  EXPECT_FALSE(drifts({30, 30, 30, 30, 30.1, 30.1, 30.1, 30.1})) << "below 1%";
}

}  // namespace
}  // namespace weft::measure
