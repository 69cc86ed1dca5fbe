#include "network/link/lanes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.hpp"

namespace weft::network::link {
namespace {

topology::CableType th_express_cable() {
  topology::CableType type;
  type.lanes = 8;
  type.lane_rate = {14'000'000'000};
  type.coding = topology::Coding::Coding64b66b;
  type.fallback_rates = {{10'000'000'000}, {5'000'000'000}};
  type.min_lanes = 4;
  return type;
}

std::int64_t megabytes(const topology::CableType& type, LaneSet set) {
  return std::llround(static_cast<double>(payload_rate(type, set).value) / 8e6);
}

TEST(Lanes, DegradedRatesAreArithmetic) {
  topology::CableType type = th_express_cable();
  const std::int64_t expected[] = {13'576, 11'879, 10'182, 8'485, 6'788};
  for (unsigned lost = 0; lost <= 4; ++lost)
    EXPECT_EQ(megabytes(type, {all_lanes(8 - lost), 0}), expected[lost]) << lost << " lanes lost";
  EXPECT_EQ(megabytes(type, {all_lanes(8), 1}), 9'697);
  EXPECT_EQ(megabytes(type, {all_lanes(8), 2}), 4'848);
}

TEST(Lanes, UpToFourOfEightLostKeepTheRateMoreLowerIt) {
  // Every set of lanes that fail at 14 Gb/s but pass at 10.
  for (LaneMask bad = 0; bad < 256; ++bad) {
    auto lost = static_cast<unsigned>(std::popcount(bad));
    auto set = select_lanes({all_lanes(8) & ~bad, all_lanes(8), all_lanes(8)}, 4);
    ASSERT_TRUE(set);
    if (lost <= 4)
      EXPECT_EQ(*set, (LaneSet{all_lanes(8) & ~bad, 0}));
    else
      EXPECT_EQ(*set, (LaneSet{all_lanes(8), 1}));
  }
  EXPECT_EQ(select_lanes({0x7, 0x7, 0xff}, 4), (LaneSet{0xff, 2}));
  EXPECT_FALSE(select_lanes({0x7, 0x7, 0x7}, 4)) << "three lanes are too few at any rate";
}

TEST(Lanes, BothEndsAgree) {
  Passing here{0xfe, 0xff, 0xff}, there{0x7f, 0xff, 0xff};
  EXPECT_EQ(agree(here, there, 4), (LaneSet{0x7e, 0})) << "what fails in one direction is used in neither";
  EXPECT_EQ(agree(here, there, 4), agree(there, here, 4));
  EXPECT_EQ(agree({0x0f, 0xff}, {0xf8, 0xff}, 4), (LaneSet{0xff, 1})) << "one common lane is too few";
  EXPECT_FALSE(agree({0x0f}, {0xf0}, 1));
}

TEST(Lanes, TestFindsTheLanesThatPassAtEachRate) {
  Wiring wiring = Wiring::straight(8);
  wiring.passes_from[2] = 1;    // passes at the second rate and slower
  wiring.passes_from[5] = 100;  // never
  EXPECT_EQ(test_lanes(wiring, 3, 4), (Passing{0xff & ~0x24u, 0xff & ~0x20u, 0xff & ~0x20u}));
}

// Crossed wires, lanes late by different times, lanes that are broken: the bytes come out as they went in.
TEST(Lanes, BytesSurviveCrossedLateAndBrokenWires) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    auto draw = [&](std::uint64_t step, std::uint32_t below) { return random_below(seed, 1, step, below); };
    unsigned lanes = 1 + draw(0, 16);
    Wiring wiring = Wiring::straight(lanes);
    for (unsigned i = lanes - 1; i > 0; --i)
      std::swap(wiring.wire_of_lane[i], wiring.wire_of_lane[draw(10 + i, i + 1)]);
    for (unsigned i = 0; i < lanes; ++i) {
      wiring.skew[i] = draw(40 + i, 9);
      wiring.passes_from[i] = draw(80 + i, 4) == 0 ? 100 : 0;
    }
    Alignment alignment = align(send_training(wiring, 0), 8);
    for (unsigned lane = 0; lane < lanes; ++lane)
      EXPECT_EQ(alignment.good >> lane & 1, wiring.passes_from[wiring.wire_of_lane[lane]] == 0) << lane;
    if (!alignment.good) continue;
    std::vector<std::uint8_t> bytes(1 + draw(1, 300));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::uint8_t>(random_bits(seed, 2, i));
    Wires arrived = send_striped(bytes, alignment.good, wiring, 0);
    EXPECT_EQ(receive_striped(arrived, alignment, alignment.good, bytes.size()), bytes);
  }
}

TEST(Lanes, StripingSharesBytesEvenly) {
  for (LaneMask up : {LaneMask{0xff}, LaneMask{0x7f}, LaneMask{0xb5}, LaneMask{1}}) {
    std::vector<unsigned> count(8);
    unsigned lanes = static_cast<unsigned>(std::popcount(up));
    for (std::size_t i = 0; i < 100 * lanes; ++i) ++count[lane_of_byte(up, i)];
    for (unsigned lane = 0; lane < 8; ++lane) EXPECT_EQ(count[lane], (up >> lane & 1) ? 100u : 0u);
  }
}

TEST(Lanes, ALaneLaterThanTheBufferIsNotUsed) {
  Wiring wiring = Wiring::straight(4);
  wiring.skew = {0, 3, 8, 9};
  EXPECT_EQ(align(send_training(wiring, 0), 8).good, 0x7u);
}

TEST(Lanes, ElasticBufferTakesTheDriftItIsMadeFor) {
  ElasticBuffer buffer(16, 4998);
  EXPECT_DOUBLE_EQ(buffer.tolerance_ppm(), 200);
  for (double ppm : {-199.0, -100.0, 0.0, 50.0, 199.0}) EXPECT_TRUE(buffer.runs(ppm, 10'000'000)) << ppm;
  for (double ppm : {-250.0, 250.0}) EXPECT_FALSE(buffer.runs(ppm, 10'000'000)) << ppm;
}

// A skip word after every N others: N / (N + 1) of the sender's words are payload, whichever clock is faster,
// and that is what a cable's rate says.
TEST(Lanes, SkipWordsTakeTheirShareOfTheRateAndNoMore) {
  for (double clock_ppm : {100.0, 200.0, 600.0, 5000.0}) {
    topology::CableType type = th_express_cable();
    const auto full = static_cast<double>(type.rate().value);
    type.clock_ppm = clock_ppm;
    const unsigned between = type.words_between_skips();
    const double share = static_cast<double>(type.rate().value) / full;
    EXPECT_NEAR(share, between / (between + 1.0), 1e-10) << clock_ppm;
    ElasticBuffer buffer(16, between);
    EXPECT_GE(buffer.tolerance_ppm(), clock_ppm);
    constexpr std::uint64_t kBeats = 2'000'000;
    for (double ppm : {-clock_ppm, -clock_ppm / 3, 0.0, clock_ppm / 2, clock_ppm}) {
      ElasticBuffer::Run run = buffer.run(ppm, kBeats);
      EXPECT_TRUE(run.whole) << ppm << " of " << clock_ppm;
      const double sent = kBeats * (1 + ppm * 1e-6);
      EXPECT_NEAR(static_cast<double>(run.payload), sent * share, 20) << ppm << " of " << clock_ppm;
      // One word of drift is made good by one skip.
      const double drift = kBeats * ppm * 1e-6;
      EXPECT_NEAR(static_cast<double>(run.dropped) - static_cast<double>(run.repeated), drift, 2) << ppm;
    }
    for (double ppm : {-1.1 * clock_ppm, 1.1 * clock_ppm}) EXPECT_FALSE(buffer.runs(ppm, kBeats)) << ppm;
  }
}

}  // namespace
}  // namespace weft::network::link
