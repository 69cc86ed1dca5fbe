// `weft traffic` over cables whose lanes are crossed or fail: from the description to the report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json.hpp"
#include "run_program.hpp"

namespace weft::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

std::vector<std::string> torus_with(const std::vector<std::string>& settings, const std::string& out) {
  std::vector<std::string> args{"traffic", "torus", "--load", "0.1", "--packet", "4", "--out", out};
  for (const std::string& s : settings) args.insert(args.end(), {"--set", s});
  return args;
}

TEST(LaneTraffic, LanesThatFailAreInTheCableTable) {
  ScratchFolder folder;
  ProgramResult result =
      run_program(torus_with({"topology.dims=[4,4]", "cable.default.lanes=8",
                              "cable.default.lane_fail_rate=[0.1]", "cable.default.min_lanes=2"},
                             folder.file("run")));
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, ContainsRegex("is up with [2-7] of 8 lanes"));
  EXPECT_THAT(result.out, ContainsRegex("[2-7] lanes up"));
  auto json = parse_json(read_file(folder.file("run/result.json")));
  const auto& cables = json["points"][0]["faults"]["cables"];
  ASSERT_EQ(cables.size(), 32u);
  double lost = 0;
  for (const auto& cable : cables) {
    double up = cable["lanes_up"];
    lost += 8 - up;
    EXPECT_LE(up, 8);
  }
  // A lane is lost when it fails in either direction: 0.19 of 256, within 4 deviations.
  EXPECT_NEAR(lost, 48.6, 25.1);
}

TEST(LaneTraffic, ABadOrderOfLanesIsTheUsersMistake) {
  ScratchFolder folder;
  ProgramResult result = run_program(torus_with({"cable.default.lane_order=[0,0,1,2]"}, folder.file("run")));
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("lane_order"));
  EXPECT_THAT(result.err, HasSubstr("wire 0 has two lanes"));
}

}  // namespace
}  // namespace weft::test
