#include "live/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::live {
namespace {

using testing::HasSubstr;

TEST(Metrics, AreWhatTheBoardSays) {
  const std::string text = metrics(
      R"({"phase":"running","seconds":2.5,"share":0.25,"left_seconds":null,"parts":[{"time_ps":1500000,)"
      R"("ranks":"cwwe","links":{"use":"","kinds":[{"name":"x \"1\"","links":4,"mean":0.25,"busiest":0.5}],)"
      R"("busiest":[{"from":"r0.p1","to":"r1.p0","share":0.5}]}},null]})");
  EXPECT_THAT(text, HasSubstr("# TYPE weft_run_seconds gauge\n# UNIT weft_run_seconds seconds\n"));
  EXPECT_THAT(text, HasSubstr("\nweft_run_seconds 2.5\n"));
  EXPECT_THAT(text, HasSubstr("\nweft_virtual_time_seconds 1.5e-06\n"));
  EXPECT_THAT(text, HasSubstr("\nweft_links_use_ratio{kind=\"x \\\"1\\\"\",of=\"busiest\"} 0.5\n"));
  EXPECT_THAT(text, HasSubstr("\nweft_link_use_ratio{from=\"r0.p1\",to=\"r1.p0\"} 0.5\n"));
  EXPECT_THAT(text, HasSubstr("\nweft_ranks{state=\"waits\"} 2\n"));
  EXPECT_EQ(text.substr(text.size() - 6), "# EOF\n");
  EXPECT_THAT(text, testing::Not(HasSubstr("weft_accepted_load"))) << "of sweeps alone";
}

TEST(Metrics, OfASweepAreByLoad) {
  const std::string text = metrics(
      R"({"seconds":1,"share":0,"parts":[{"load":0.1,"time_ps":0,"accepted":0.1},{"load":0.2,"time_ps":0,)"
      R"("accepted":0.2}]})");
  EXPECT_THAT(text,
              HasSubstr("\nweft_accepted_load{load=\"0.1\"} 0.1\nweft_accepted_load{load=\"0.2\"} 0.2\n"));
}

TEST(Metrics, NonsenseIsNoMetrics) { EXPECT_EQ(metrics("{"), "# EOF\n"); }

}  // namespace
}  // namespace weft::live
