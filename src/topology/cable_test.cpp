// Rates and delays of cables, against the links of the papers.
#include "topology/cable.hpp"

#include <gtest/gtest.h>

#include "topology/kind.hpp"

namespace weft::topology {
namespace {

CableType cable(unsigned lanes, std::int64_t lane_mbps, Coding coding) {
  CableType type;
  type.lanes = lanes;
  type.lane_rate = {lane_mbps * 1'000'000};
  type.coding = coding;
  return type;
}

TEST(Cable, RawRateIsLanesTimesLaneRate) {
  EXPECT_EQ(to_text(cable(4, 8'500, Coding::Coding8b10b).raw_rate()), "34Gbps");      // APEnet+
  EXPECT_EQ(to_text(cable(8, 14'000, Coding::Coding64b66b).raw_rate()), "112Gbps");   // TH Express-2
  EXPECT_EQ(to_text(cable(12, 8'400, Coding::Coding8b10b).raw_rate()), "100.8Gbps");  // EXTOLL Tourmalet
}

TEST(Cable, CodingTakesItsShare) {
  EXPECT_EQ(cable(1, 10'000, Coding::None).rate().value, 10'000'000'000);
  EXPECT_EQ(cable(4, 4'000, Coding::Coding8b10b).rate().value, 12'800'000'000);  // EXTOLL on FPGAs
  EXPECT_EQ(cable(1, 6'600, Coding::Coding64b66b).rate().value, 6'400'000'000);
  EXPECT_EQ(cable(1, 13'000, Coding::Coding128b130b).rate().value, 12'800'000'000);
  // A part of a bit per second is dropped, never invented.
  EXPECT_EQ(cable(8, 14'000, Coding::Coding64b66b).rate().value, 108'606'060'606);
}

TEST(Cable, LaneRateIsAParameter) {
  // The slower two rates of a TH Express-2 lane: 9,697 and 4,848 MB/s.
  EXPECT_EQ(cable(8, 10'000, Coding::Coding64b66b).rate().value / 8'000'000, 9'696);
  EXPECT_EQ(cable(8, 5'000, Coding::Coding64b66b).rate().value / 8'000'000, 4'848);
}

TEST(Cable, FlightTimeIsTransceiversPlusLength) {
  CableType type;
  type.delay = {80'000};
  type.delay_per_metre = {5'000};
  EXPECT_EQ(type.flight_time({0}).value, 80'000);
  EXPECT_EQ(type.flight_time({20'000}).value, 180'000);
  EXPECT_EQ(type.flight_time({500}).value, 82'500);
}

TEST(Cable, CopperAndOpticalDifferInLengthDelayAndStrands) {
  CableType copper, optical;
  copper.name = "copper";
  copper.length = {500};
  copper.delay = {2'000};
  optical.name = "optical";
  optical.length = {20'000};
  optical.delay = {60'000};
  optical.strands = 2;
  GraphBuilder builder({copper, optical});
  TierId tier = builder.tier("router");
  RouterId a = builder.router(2, tier), b = builder.router(2, tier);
  CableId near = builder.connect(a, 0, b, 0, builder.cable_type({"copper"}));
  CableId far = builder.connect(a, 1, b, 1, builder.cable_type({"optical"}), {15'000});
  Graph graph = std::move(builder).finish();
  EXPECT_EQ(graph.cable_length(near).value, 500);
  EXPECT_EQ(graph.cable_length(far).value, 15'000) << "a topology may know better than the type";
  EXPECT_EQ(graph.cable_type(near).flight_time(graph.cable_length(near)).value, 2'000 + 2'500);
  EXPECT_EQ(graph.cable_type(far).flight_time(graph.cable_length(far)).value, 60'000 + 75'000);
  EXPECT_EQ(graph.cable_type(far).strands, 2u);
}

TEST(Cable, SkewHoldsBackAllLanes) {
  CableType type;
  Time before = type.flight_time({1000});
  type.lane_skew = {700};
  EXPECT_EQ(type.flight_time({1000}), before + Time{700});
}

}  // namespace
}  // namespace weft::topology
