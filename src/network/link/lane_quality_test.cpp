// Lanes as a description has them: crossed, or failing their test at some rates.
#include <gtest/gtest.h>

#include <cmath>

#include "network/link/link_bench.hpp"

namespace weft::network::link {
namespace {

LinkSettings training_first() {
  LinkSettings s = small_link();
  s.train_first = true;
  return s;
}

TEST(LaneQuality, ALinkTrainsOverCrossedWiresAndUsesAllOfThem) {
  WireSettings wire;
  wire.lane_order = {3, 2, 1, 0, 7, 5, 6, 4};
  Bench bench(training_first(), 0, 1, 1, 1'000'000, wire);
  bench.a.packets_wanted = bench.b.packets_wanted = 400;
  bench.run(200);
  EXPECT_EQ(bench.b.flits_here, 0u) << "nothing passes while lanes are tested";
  EXPECT_TRUE(bench.run_until_done(20'000));
  EXPECT_EQ(bench.problem(), "");
  EXPECT_EQ(bench.a.end.lanes(), (LaneSet{all_lanes(8), 0}));
  EXPECT_EQ(bench.a.end.counters().trainings, 1u);
  Alignment learned = align(send_training(bench.a_to_b->wiring(), 0), 0);
  EXPECT_EQ(learned.wire_of_lane, wire.lane_order);
}

TEST(LaneQuality, AStuckLaneOfCrossedWiresIsTheLaneNamed) {
  WireSettings wire;
  wire.lane_order = {3, 2, 1, 0, 7, 5, 6, 4};
  Bench bench(training_first(), 0, 1, 1, 1'000'000, wire);
  bench.a_to_b->limit_lane(0, Wire::kBroken);
  bench.run(1000);
  EXPECT_EQ(bench.a.end.lanes(), (LaneSet{all_lanes(8) & ~LaneMask{1}, 0}));
}

Wire drawn(std::uint64_t seed, std::uint64_t who, std::vector<double> shares) {
  WireSettings wire;
  wire.lanes = 8;
  wire.rates = 3;
  wire.seed = seed;
  wire.who = who;
  wire.lane_fail_rate = std::move(shares);
  return Wire(wire);
}

TEST(LaneQuality, TheShareOfLanesThatFailAtEachRateIsTheOneAskedFor) {
  constexpr unsigned kWires = 800;
  unsigned failed[3] = {};
  for (unsigned who = 0; who < kWires; ++who) {
    Passing passing = test_lanes(drawn(7, who, {0.2, 0.05}).wiring(), 3, 64);
    EXPECT_EQ(passing[0] & ~passing[1], 0u) << "what passes passes when slower";
    for (unsigned rate = 0; rate < 3; ++rate)
      failed[rate] += 8 - static_cast<unsigned>(std::popcount(passing[rate]));
  }
  const double lanes = 8.0 * kWires;
  for (auto [rate, share] : {std::pair{0, 0.2}, {1, 0.05}})
    EXPECT_NEAR(failed[rate] / lanes, share, 5 * std::sqrt(share * (1 - share) / lanes)) << rate;
  EXPECT_EQ(failed[2], 0u);
}

TEST(LaneQuality, LanesAreThoseOfTheSeedAndTheCable) {
  auto lanes = [](std::uint64_t seed, std::uint64_t who) {
    return drawn(seed, who, {0.5}).wiring().passes_from;
  };
  EXPECT_EQ(lanes(1, 5), lanes(1, 5));
  EXPECT_NE(lanes(1, 5), lanes(2, 5));
  EXPECT_NE(lanes(1, 5), lanes(1, 6));
}

TEST(LaneQuality, TrainingChoosesTheLanesThatPassAtBothEnds) {
  unsigned fewer = 0, slower = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    WireSettings wire;
    wire.lane_fail_rate = {0.3, 0.02};
    Bench bench(training_first(), 0, 1, seed, 1'000'000, wire);
    auto expected =
        agree(test_lanes(bench.a_to_b->wiring(), 3, 64), test_lanes(bench.b_to_a->wiring(), 3, 64), 4);
    bench.a.packets_wanted = bench.b.packets_wanted = 50;
    EXPECT_TRUE(bench.run_until_done(20'000));
    EXPECT_EQ(bench.problem(), "");
    ASSERT_TRUE(expected);
    EXPECT_EQ(bench.a.end.lanes(), *expected);
    EXPECT_EQ(bench.b.end.lanes(), *expected);
    fewer += expected->count() < 8;
    slower += expected->rate > 0;
  }
  EXPECT_GT(fewer, 0u);
  EXPECT_GT(slower, 0u);
}

TEST(LaneQuality, ACableWithoutALaneThatPassesNeverComesUp) {
  WireSettings wire;
  wire.lane_fail_rate = {1, 1, 1};
  Bench bench(training_first(), 0, 1, 1, 1'000'000, wire);
  for (int cycle = 0; cycle < 5000; ++cycle) {  // it goes on knocking
    bench.step();
    ASSERT_NE(bench.a.end.state(), LinkState::Up);
    ASSERT_NE(bench.b.end.state(), LinkState::Up);
  }
  EXPECT_GT(bench.a.end.counters().deaths, 0u);
  EXPECT_GT(bench.b.end.counters().deaths, 0u);
}

}  // namespace
}  // namespace weft::network::link
