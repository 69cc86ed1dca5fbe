#include "config/schema.hpp"

#include <gtest/gtest.h>

namespace weft::config {
namespace {

struct Sample {
  unsigned count = 3;
  Time delay{1000};
  std::vector<unsigned> dims{2};
};

Section sample_section() {
  return Schema<Sample>()
      .field(&Sample::count, "count", "How many", Range<unsigned>{1, 8})
      .field(&Sample::delay, "delay", "How long")
      .field(&Sample::dims, "dims", "How wide", Range<unsigned>{1, 4})
      .section();
}

std::vector<std::string> errors(std::string_view text, Sample& out) {
  Diagnostics problems;
  std::vector<Setting> settings;
  Reader reader{problems, settings};
  Node tree = parse_toml(text, "t.toml", problems);
  sample_section().read(&out, tree.table()->find("s"), "s", reader);
  std::vector<std::string> lines;
  for (const Diagnostic& d : problems.all()) lines.push_back(d.text());
  return lines;
}

TEST(Schema, ReadsValuesWithUnits) {
  Sample sample;
  EXPECT_TRUE(errors("[s]\ncount = 5\ndelay = \"98.6ns\"\ndims = [1, 2]\n", sample).empty());
  EXPECT_EQ(sample.count, 5u);
  EXPECT_EQ(sample.delay.value, 98'600);
  EXPECT_EQ(sample.dims.size(), 2u);
}

TEST(Schema, ReportsEveryMistakeWithItsPlace) {
  Sample sample;
  auto lines = errors("[s]\ncuont = 5\ncount = 9\ndelay = 5\n  dims = [0]\n", sample);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "t.toml:2:1: s.cuont: unknown key (did you mean 'count'?)");
  EXPECT_EQ(lines[1], "t.toml:3:1: s.count: 9 is outside 1 to 8");
  EXPECT_EQ(
      lines[2],
      "t.toml:4:1: s.delay: expected a time with its unit (ps, ns, us, ms, s), such as \"98.6ns\", got 5");
  EXPECT_EQ(lines[3], "t.toml:5:3: s.dims: 0 is outside 1 to 4");
}

}  // namespace
}  // namespace weft::config
