// A replay has the report and the trace of a run, and says why it took as long.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "json.hpp"
#include "run_program.hpp"

namespace weft::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// Eight ranks in a ring, ten steps; in each, one of them computes longer than the others.
std::string late_goal(unsigned late) {
  std::string out = "num_ranks 8\n\n";
  for (unsigned rank = 0; rank < 8; ++rank) {
    out += "rank " + std::to_string(rank) + " {\n";
    std::string before;
    for (unsigned i = 0; i < 10; ++i) {
      const std::string n = std::to_string(i);
      out += "c" + n + ": calc " + std::to_string(rank == late ? 200'000 : 20'000) + "\n";
      out += "s" + n + ": send 1024b to " + std::to_string((rank + 1) % 8) + " tag " + n + "\n";
      out += "r" + n + ": recv 1024b from " + std::to_string((rank + 7) % 8) + " tag " + n + "\n";
      out += "s" + n + " requires c" + n + "\nr" + n + " requires c" + n + "\n";
      if (i) out += "c" + n + " requires r" + std::to_string(i - 1) + "\n";
    }
    out += "}\n\n";
  }
  return out;
}

class ReplayReports : public testing::TestWithParam<const char*> {};

TEST_P(ReplayReports, NameTheLateRank) {
  ScratchFolder folder;
  std::ofstream(folder.file("late.goal")) << late_goal(5);
  const std::vector<std::string> words{
      "replay",   "torus", folder.file("late.goal"), "--set",   "topology.dims=[8]",      "--engine",
      GetParam(), "--out", folder.file("out"),       "--trace", folder.file("trace.json")};
  const ProgramResult r = run_program(words);
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("Rank 5 computes"));
  EXPECT_THAT(r.out, HasSubstr("ranks wait for it"));
  const json result = parse_json(read_file(folder.file("out/result.json")));
  ASSERT_GT(result["answer"]["causes"].size(), 0u);
  EXPECT_EQ(result["answer"]["causes"][0]["kind"], "late rank");
  EXPECT_EQ(result["answer"]["causes"][0]["rank"], 5);
  EXPECT_GT(result["answer"]["causes"][0]["share"].get<double>(), 0.8);
  EXPECT_EQ(result["messages"], 80);
  const std::string page = read_file(folder.file("out/report.html"));
  EXPECT_THAT(page, HasSubstr("late.goal on torus"));
  EXPECT_THAT(page, HasSubstr("Rank 5 computes"));
  EXPECT_THAT(read_file(folder.file("out/matrix.csv")), HasSubstr("\n0,1,10,10240\n"));

  const json trace = parse_json(read_file(folder.file("trace.json")));
  std::map<std::string, unsigned> kinds;
  for (const json& event : trace["traceEvents"]) ++kinds[event["ph"].get<std::string>()];
  EXPECT_EQ(kinds["s"], 80u) << "an arrow for each message";
  EXPECT_EQ(kinds["f"], 80u);
  EXPECT_GT(kinds["X"], 0u) << "waits";
  EXPECT_GT(kinds["C"], 0u) << "links";

  ASSERT_EQ(run_program(words).code, 0);
  EXPECT_EQ(parse_json(read_file(folder.file("out/result.json"))), result) << "the same again";
  EXPECT_EQ(read_file(folder.file("out/report.html")), page);
}

INSTANTIATE_TEST_SUITE_P(On, ReplayReports, testing::Values("flit", "flow", "ideal"),
                         [](const auto& one) { return one.param; });

TEST(ReplayReport, WithoutAFolderNothingIsWrittenAndTheTimesAreTheSame) {
  ScratchFolder folder;
  auto replay = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"replay", "torus", "lammps", "--set", "topology.dims=[4,4]", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const ProgramResult r = run_program(words);
    EXPECT_EQ(r.code, 0) << r.err;
    json out = parse_json(r.out);
    out.erase("wall_seconds");
    out.erase("answer");
    return out;
  };
  EXPECT_EQ(replay({}), replay({"--out", folder.file("out")}));
}

TEST(CompareReports, LeadToOneForEachPoint) {
  ScratchFolder folder;
  std::ofstream(folder.file("two.toml")) << R"([compare]
title = "two machines"
engines = ["flow"]

[[machine]]
name = "ring"
base = "torus"
set = ["topology.dims=[8]"]

[[machine]]
name = "square"
base = "torus"
set = ["topology.dims=[4,2]"]

[[workload]]
name = "all to all"
kind = "all-to-all"
)";
  const std::vector<std::string> words{"compare", folder.file("two.toml"), "--out", folder.file("out"),
                                       "--reports"};
  const ProgramResult r = run_program(words);
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  const json result = parse_json(read_file(folder.file("out/result.json")));
  const std::string page = read_file(folder.file("out/report.html"));
  ASSERT_EQ(result["points"].size(), 2u);
  for (const json& point : result["points"]) {
    const auto report = point["report"].get<std::string>();
    EXPECT_THAT(page, HasSubstr("<a href=\"" + report + "\">"));
    EXPECT_THAT(read_file(folder.file("out/" + report)), HasSubstr("all-to-all on"));
    const std::filesystem::path own = folder.file("out/" + report);
    EXPECT_TRUE(std::filesystem::exists(own.parent_path() / "trace.json"));
  }
  const ProgramResult wrong =
      run_program({"compare", folder.file("two.toml"), "--out", folder.file("out"), "--reports", "--slurm"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--reports"));
}

}  // namespace
}  // namespace weft::test
