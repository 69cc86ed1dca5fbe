// Every description in tests/broken is a user's error: the command must say what is wrong and exit with
// code 2. What it must say stands in the file itself, as `# expect: words`.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "run_program.hpp"
#include "test_paths.hpp"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> broken_descriptions() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(WEFT_ROOT "/tests/broken"))
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> expectations(const fs::path& file) {
  std::vector<std::string> out;
  std::ifstream in(file);
  constexpr std::string_view mark = "# expect: ";
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(mark)) out.push_back(line.substr(mark.size()));
  return out;
}

class Broken : public testing::TestWithParam<fs::path> {};

TEST_P(Broken, IsExplained) {
  auto expected = expectations(GetParam());
  ASSERT_FALSE(expected.empty()) << "say in the file what the message must contain";
  ProgramResult result = run_program({"show", GetParam().string()});
  EXPECT_EQ(result.code, 2) << result.err;
  EXPECT_EQ(result.out, "");
  for (const std::string& words : expected)
    EXPECT_NE(result.err.find(words), std::string::npos) << words << "\n--- said:\n" << result.err;
}

INSTANTIATE_TEST_SUITE_P(Descriptions, Broken, testing::ValuesIn(broken_descriptions()),
                         [](const auto& each) {
                           std::string name = each.param.stem().string();
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(BrokenDescriptions, ThereAreAtLeastThirty) { EXPECT_GE(broken_descriptions().size(), 30u); }

}  // namespace
}  // namespace weft::test
