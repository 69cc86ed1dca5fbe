// What a description says of a cable's lanes, scrambler and clocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machines.hpp"

namespace weft::machine {
namespace {

using ::testing::HasSubstr;

topology::CableType cable(std::vector<std::string> settings) {
  for (std::string& s : settings) s = "cable.default." + s;
  return test::make_machine("torus", {"dims=[4]"}, "dimension-order", {}, 2, settings)
      .description.cables.front();
}

std::string complaint(std::vector<std::string> settings) {
  try {
    cable(std::move(settings));
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(CableSettings, LanesCrossAsTheDescriptionSays) {
  EXPECT_EQ(cable({"lane_order=[3,2,1,0]"}).lane_order, (std::vector<unsigned>{3, 2, 1, 0}));
  EXPECT_TRUE(cable({"lane_order=[3,2,1,0]"}).trains_first());
  EXPECT_FALSE(cable({}).trains_first());
}

TEST(CableSettings, OrdersThatAreNoneAreRefused) {
  EXPECT_THAT(complaint({"lane_order=[1,0]"}), HasSubstr("cable.default.lane_order"));
  EXPECT_THAT(complaint({"lane_order=[1,0]"}), HasSubstr("has 2 of the cable's 4 lanes"));
  EXPECT_THAT(complaint({"lane_order=[0,1,2,2]"}), HasSubstr("wire 2 has two lanes"));
  EXPECT_THAT(complaint({"lane_order=[1,2,3,4]"}), HasSubstr("there is no wire 4; expected each of 0 to 3"));
  EXPECT_THAT(complaint({"lane_order=[0,1,2,-3]"}), HasSubstr("lane_order"));
}

TEST(CableSettings, SharesOfFailingLanesFallWithTheRate) {
  EXPECT_EQ(complaint({"fallback_rates=[\"3Gbps\"]", "lane_fail_rate=[0.1,0.05]"}), "");
  EXPECT_THAT(complaint({"lane_fail_rate=[0.1,0.05]"}), HasSubstr("has 2 shares for 1 rate"));
  EXPECT_THAT(complaint({"lane_fail_rate=[1.5]"}), HasSubstr("1.5 is not between 0 and 1"));
  EXPECT_THAT(complaint({"fallback_rates=[\"3Gbps\"]", "lane_fail_rate=[0.1,0.2]"}),
              HasSubstr("0.2 is not between 0 and 0.1"));
}

TEST(CableSettings, AScramblerTakesItsTime) {
  Time without = cable({}).flight_time({2000});
  EXPECT_EQ(cable({"scrambler_delay=\"7ns\""}).flight_time({2000}), without);
  EXPECT_EQ(cable({"scrambler=true", "scrambler_delay=\"7ns\""}).flight_time({2000}), without + Time{7'000});
}

TEST(CableSettings, SkipWordsMustTakeTheClocksThereAre) {
  EXPECT_EQ(cable({"clock_ppm=200"}).words_between_skips(), 4998u);
  EXPECT_EQ(cable({"clock_ppm=200", "skip_interval=999"}).words_between_skips(), 999u);
  EXPECT_EQ(cable({"skip_interval=999"}).rate().value, 20'000'000'000 / 1000 * 999);
  EXPECT_THAT(
      complaint({"clock_ppm=200", "skip_interval=9998"}),
      HasSubstr("takes clocks that differ by 100 ppm, and these differ by 200; expected 4998 or less"));
}

}  // namespace
}  // namespace weft::machine
