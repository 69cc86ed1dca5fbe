// docs/features.md against the code: every number once, every file and test it names is there.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/text.hpp"
#include "run_program.hpp"
#include "test_paths.hpp"

namespace weft::test {
namespace {

constexpr unsigned kFeatures = 239;

struct Row {
  std::string number, state;
  std::vector<std::string> files, tests;
};

/// The names in a cell: `a`, `b`.
std::vector<std::string> names(std::string cell) {
  std::erase(cell, '`');
  std::vector<std::string> out = split(cell, ',');
  std::erase(out, "");
  return out;
}

const std::vector<Row>& rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> out;
    for (const std::string& line : split(read_file(WEFT_ROOT "/docs/features.md"), '\n')) {
      if (!line.starts_with("| F") || line.starts_with("| F-number")) continue;
      auto cells = split(line, '|');  // empty, number, capability, state, files, tests, empty
      if (cells.size() != 7) {
        ADD_FAILURE() << "not five cells: " << line;
        continue;
      }
      EXPECT_FALSE(cells[2].empty()) << line;
      out.push_back({cells[1], cells[3], names(cells[4]), names(cells[5])});
    }
    return out;
  }();
  return all;
}

std::set<std::string> compiled_tests() {
  std::set<std::string> out;
  const auto& program = *testing::UnitTest::GetInstance();
  for (int s = 0; s < program.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *program.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t)
      out.insert(std::string(suite.name()) + "." + suite.GetTestInfo(t)->name());
  }
  return out;
}

/// Is it a test, or one with parameters, written as Suite.Name without them?
bool exists(const std::set<std::string>& tests, const std::string& name) {
  return std::any_of(tests.begin(), tests.end(), [&](const std::string& test) {
    std::size_t instance = test.find('/');
    bool in_suite = instance != std::string::npos && instance < test.find('.');
    std::string plain = in_suite ? test.substr(instance + 1) : test;
    return plain == name || plain.starts_with(name + "/");
  });
}

TEST(Features, EveryNumberHasOneRow) {
  std::map<std::string, unsigned> seen;
  for (const Row& row : rows()) ++seen[row.number];
  for (unsigned n = 1; n <= kFeatures; ++n) EXPECT_EQ(seen["F" + std::to_string(n)], 1u) << "F" << n;
  EXPECT_EQ(seen.size(), kFeatures) << "a row with a number that is none";
}

TEST(Features, StatesNameWhatProvesThem) {
  std::set<std::string> tests = compiled_tests();
  for (const Row& row : rows()) {
    bool there = row.state == "works" || row.state == "partial";
    EXPECT_TRUE(there || row.state == "not yet") << row.number << ": " << row.state;
    EXPECT_EQ(!row.files.empty(), there)
        << row.number << " names files where it should not, or the other way";
    EXPECT_EQ(!row.tests.empty(), there)
        << row.number << " names tests where it should not, or the other way";
    for (const std::string& file : row.files)
      EXPECT_TRUE(std::filesystem::is_regular_file(WEFT_ROOT "/" + file)) << row.number << ": " << file;
    for (const std::string& test : row.tests)
      EXPECT_TRUE(exists(tests, test)) << row.number << ": there is no test " << test;
  }
}

TEST(Features, NamesOfTestsAreFoundWithAndWithoutParameters) {
  std::set<std::string> tests{"Plain.Test", "Machines/Checked.Holds/torus"};
  EXPECT_TRUE(exists(tests, "Plain.Test"));
  EXPECT_TRUE(exists(tests, "Checked.Holds"));
  EXPECT_TRUE(exists(tests, "Checked.Holds/torus"));
  EXPECT_FALSE(exists(tests, "Plain.Tes"));
  EXPECT_FALSE(exists(tests, "Checked.Hold"));
}

}  // namespace
}  // namespace weft::test
