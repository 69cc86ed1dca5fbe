#include "base/statements.hpp"

#include <gmock/gmock.h>

namespace weft {
namespace {

TEST(Statements, EndWithTheirLineOrASemicolonAndKnowTheirPlaces) {
  auto all = split_statements("at 3us cut r1 # ; not this\n\n  load 1;;stop\tpump\r\n");
  ASSERT_EQ(all.size(), 3u);
  ASSERT_EQ(all[0].size(), 4u);
  EXPECT_EQ(all[0][3].text, "r1");
  EXPECT_EQ(all[0][3].line, 1u);
  EXPECT_EQ(all[0][3].column, 12u);
  EXPECT_EQ(all[1][0].text, "load");
  EXPECT_EQ(all[1][0].line, 3u);
  EXPECT_EQ(all[1][0].column, 3u);
  EXPECT_EQ(all[2][1].text, "pump");
  EXPECT_TRUE(split_statements(" # nothing\n;").empty());
}

}  // namespace
}  // namespace weft
