// Runs the fuzz targets of tests/fuzz for a short while, each from its corpus on. The same seed and number of
// runs every time: what passes here passes again.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "run_program.hpp"
#include "test_paths.hpp"

namespace weft::test {
namespace {

struct Target {
  const char* name;
  unsigned runs;     // about twenty seconds of one processor
  unsigned longest;  // input, bytes
};

class Fuzz : public testing::TestWithParam<Target> {};

TEST_P(Fuzz, FindsNothing) {
  const Target& target = GetParam();
  std::string program = std::string(WEFT_BUILD "/fuzz/fuzz_") + target.name;
  if (!*WEFT_FUZZ_COMPILER)
    GTEST_SKIP() << "no fuzz targets here: a build with sanitizers, or clang++ with libFuzzer was not found "
                    "(packages-test.txt)";
  ASSERT_TRUE(std::filesystem::exists(program)) << program << " was not built";
  ScratchFolder scratch;
  std::string corpus = std::string(WEFT_ROOT "/tests/corpus/") + target.name,
              found = WEFT_BUILD "/fuzz/found-";
  std::filesystem::create_directory(scratch.file("new"));
  // New inputs go to a folder that is thrown away; those worth keeping are chosen by hand (CONTRIBUTING.md).
  std::string command =
      program + " -seed=1 -runs=" + std::to_string(target.runs) +
      " -max_len=" + std::to_string(target.longest) +
      " -max_total_time=25 -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix=" + found +
      target.name + "- " + scratch.file("new") + " " + corpus + " > " + scratch.file("log") + " 2>&1";
  int code = std::system(command.c_str());
  std::string log = read_file(scratch.file("log"));
  EXPECT_EQ(code, 0) << "to see it again: " << program << " " << found << target.name << "-...\n"
                     << log.substr(log.size() > 6000 ? log.size() - 6000 : 0);
  EXPECT_NE(log.find("stat::number_of_executed_units"), std::string::npos) << log;
}

INSTANTIATE_TEST_SUITE_P(Targets, Fuzz,
                         testing::Values(Target{"port", 20'000, 1024}, Target{"descriptions", 20'000, 2048},
                                         Target{"texts", 100'000, 512}, Target{"rings", 10'000, 512},
                                         Target{"power_script", 5'000, 256}, Target{"tlp", 20'000, 512},
                                         Target{"registers", 2'000, 512}, Target{"files", 20'000, 1024},
                                         Target{"units", 3'000, 512}),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(FuzzCorpus, IsThereForEveryTarget) {
  for (const char* name :
       {"port", "descriptions", "texts", "rings", "power_script", "tlp", "registers", "files", "units"}) {
    std::filesystem::directory_iterator files(std::string(WEFT_ROOT "/tests/corpus/") + name);
    EXPECT_GT(std::distance(begin(files), end(files)), 10) << name;
  }
}

}  // namespace
}  // namespace weft::test
