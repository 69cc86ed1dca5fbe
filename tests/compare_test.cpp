// `weft compare` and `weft replay` as a user meets them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "json.hpp"
#include "run_program.hpp"
#include "test_paths.hpp"

namespace weft::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using Arguments = std::vector<std::string>;

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

constexpr const char* kSpec = R"([compare]
title = "Small"
figure = "throughput"
engines = ["static"]
set = ["router.ports=0", "cable.default.lanes=4", "cable.default.lane_rate=25Gbps", "cable.default.coding=64b66b"]
expected = [["fat tree"], ["ring"]]

[[machine]]
name = "ring"
base = "torus"
variants = [["topology.dims=[16]"], ["topology.dims=[64]"]]

[[machine]]
name = "fat tree"
base = "fat-tree"
set = ["routing.candidates=0"]
variants = [["topology.children=[4,4]", "topology.parents=[1,4]"], ["topology.children=[8,8]", "topology.parents=[1,8]"]]

[[workload]]
name = "permutation"
kind = "permutation"
)";

TEST(Compare, RunsEveryPointOnceAndKeepsIt) {  // F59, F61
  ScratchFolder folder;
  std::string spec = folder.file("spec.toml"), out = folder.file("out");
  write(spec, kSpec);
  ProgramResult first = run_program({"compare", spec, "--out", out, "--jobs", "2"});
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("the order is as expected"));
  EXPECT_THAT(first.err, HasSubstr("point 4 of 4"));
  std::string result = read_file(out + "/result.json"), page = read_file(out + "/report.html");
  EXPECT_EQ(parse_json(result)["points"].size(), 4u);
  EXPECT_THAT(page, HasSubstr("fat tree"));
  EXPECT_THAT(page, Not(HasSubstr("http")));  // it opens offline; nothing is fetched

  ProgramResult again = run_program({"compare", spec, "--out", out});
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.err, HasSubstr("4 of 4 points are there already"));
  EXPECT_EQ(read_file(out + "/result.json"), result);
  EXPECT_EQ(read_file(out + "/report.html"), page);

  // In another folder, one after the other: the same bytes.
  ProgramResult alone = run_program({"compare", spec, "--out", folder.file("alone"), "--jobs", "1"});
  EXPECT_EQ(alone.code, 0);
  EXPECT_EQ(read_file(folder.file("alone") + "/result.json"), result);
}

TEST(Compare, OnlyChangedPointsRunAgain) {
  ScratchFolder folder;
  std::string spec = folder.file("spec.toml"), out = folder.file("out"), text = kSpec;
  write(spec, text);
  ASSERT_EQ(run_program({"compare", spec, "--out", out}).code, 0);
  text.replace(text.find("[64]"), 4, "[72]");
  write(spec, text);
  ProgramResult changed = run_program({"compare", spec, "--out", out});
  EXPECT_THAT(changed.err, HasSubstr("3 of 4 points are there already"));
  EXPECT_THAT(changed.err, HasSubstr("point 1 of 1"));
}

TEST(Compare, AnOrderThatIsNotAsExpectedIsANo) {
  ScratchFolder folder;
  std::string spec = folder.file("spec.toml"), text = kSpec;
  text.replace(text.find("[[\"fat tree\"], [\"ring\"]]"), 24, "[[\"ring\"], [\"fat tree\"]]");
  write(spec, text);
  ProgramResult result = run_program({"compare", spec, "--out", folder.file("out")});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, HasSubstr("ring was expected before fat tree"));
}

TEST(Compare, MistakesInASpecAreAllReportedBeforeAnythingRuns) {
  ScratchFolder folder;
  std::string spec = folder.file("spec.toml");
  write(spec,
        "[compare]\nengine = \"flow\"\nfigure = \"speed\"\n[[machine]]\nname = \"a\"\nbase = \"toruss\"\n"
        "[[workload]]\nkind = \"lammps\"\n");
  ProgramResult result = run_program({"compare", spec, "--out", folder.file("out")});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("did you mean 'engines'?"));
  EXPECT_THAT(result.err, HasSubstr("expected one of time, throughput"));
  EXPECT_THAT(result.err, HasSubstr("name: is missing"));
  write(
      spec,
      "[compare]\nengines = [\"flwo\"]\nexpected = [[\"b\"]]\n[[machine]]\nname = \"a\"\nbase = \"toruss\"\n"
      "[[workload]]\nname = \"w\"\nkind = \"lamps\"\n");
  result = run_program({"compare", spec, "--out", folder.file("out")});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("did you mean 'torus'?"));
  EXPECT_THAT(result.err, HasSubstr("did you mean 'flow'?"));
  EXPECT_THAT(result.err, HasSubstr("did you mean 'lammps'?"));
  EXPECT_THAT(result.err, HasSubstr("there is no machine 'b' here"));
}

TEST(Compare, APointThatFailsSaysWhyAndTheOthersGoOn) {
  ScratchFolder folder;
  std::string spec = folder.file("spec.toml");
  write(spec,
        "[compare]\nengines = [\"flow\"]\n[[machine]]\nname = \"small\"\nbase = \"torus\"\nset = "
        "[\"topology.dims=[4]\"]\n[[machine]]\nname = \"large\"\nbase = \"torus\"\n"
        "[[workload]]\nname = \"w\"\nkind = \"barrier\"\nranks = 64\n");
  ProgramResult result = run_program({"compare", spec, "--out", folder.file("out")});
  EXPECT_EQ(result.code, 1);
  json points = parse_json(read_file(folder.file("out") + "/result.json"))["points"];
  EXPECT_THAT(points[0]["error"].get<std::string>(), HasSubstr("64 ranks do not fit"));
  EXPECT_GT(points[1]["completion_ps"].get<double>(), 0);
}

TEST(Compare, PointsRunAsASlurmJobArray) {
  ScratchFolder folder;
  std::string spec = folder.file("spec.toml"), out = folder.file("out"), here = folder.file("here");
  write(spec, kSpec);
  std::string port = std::to_string(20'000 + getpid() % 10'000);
  std::string command = std::string(WEFT_ROOT) + "/tests/local_slurm.sh " + folder.file("slurm") + " " +
                        port + " " + WEFT_PROGRAM + " compare " + spec + " --out " + out + " --slurm >" +
                        folder.file("log") + " 2>&1";
  int code = WEXITSTATUS(std::system(command.c_str()));
  if (code == 77) GTEST_SKIP() << "no Slurm here";
  ASSERT_EQ(code, 0) << read_file(folder.file("log"));
  EXPECT_THAT(read_file(folder.file("log")), HasSubstr("Submitted batch job"));
  ASSERT_EQ(run_program({"compare", spec, "--out", here}).code, 0);
  EXPECT_EQ(read_file(out + "/result.json"), read_file(here + "/result.json"));
}

TEST(Replay, TracesAndSkeletonsGiveTheSameTimes) {  // F77
  ScratchFolder folder;
  std::string trace = folder.file("ring.weftrace");
  Arguments base{"replay", "torus", "all-reduce", "--ranks", "27", "--json"};
  Arguments saving = base;
  saving.insert(saving.end(), {"--save-trace", trace});
  ProgramResult direct = run_program(saving), replayed = run_program({"replay", "torus", trace, "--json"});
  ASSERT_EQ(direct.code, 0) << direct.err;
  ASSERT_EQ(replayed.code, 0) << replayed.err;
  EXPECT_EQ(parse_json(direct.out)["completion_ps"], parse_json(replayed.out)["completion_ps"]);
  EXPECT_GT(parse_json(direct.out)["completion_ps"].get<double>(), 0);
}

TEST(Replay, SaysWhoWaitsForWhomAndExitsWithOne) {
  ScratchFolder folder;
  std::string goal = folder.file("circle.goal");
  write(goal,
        "num_ranks 2\nrank 0 {\na: recv 8b from 1\nb: send 8b to 1\nb requires a\n}\n"
        "rank 1 {\na: recv 8b from 0\nb: send 8b to 0\nb requires a\n}\n");
  ProgramResult result = run_program({"replay", "torus", goal});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, HasSubstr("they wait in a cycle: rank 0 -> rank 1 -> rank 0"));
  EXPECT_THAT(result.out, HasSubstr("rank 1, step 0, line 8 (receive 8 bytes from rank 0, tag 0) waits"));
}

TEST(Replay, MistakesAreTheUsers) {
  ScratchFolder folder;
  auto error = [&](const Arguments& more) {
    Arguments all{"replay", "torus"};
    all.insert(all.end(), more.begin(), more.end());
    ProgramResult result = run_program(all);
    EXPECT_EQ(result.code, 2) << result.out << result.err;
    return result.err;
  };
  EXPECT_THAT(error({"lamps"}), HasSubstr("did you mean 'lammps'?"));
  EXPECT_THAT(error({"barrier", "--engine", "flwo"}), HasSubstr("did you mean 'flow'?"));
  EXPECT_THAT(error({"barrier", "--ranks", "1000"}), HasSubstr("1,000 ranks do not fit"));
  EXPECT_THAT(error({"barrier", "--ranks", "8", "--placement", "blok"}), HasSubstr("did you mean 'block'?"));
  std::string goal = folder.file("bad.goal");
  write(goal, "num_ranks 2\nrank 0 {\na: recv 8b from 1\n}\nrank 1 {\na: calc 5\n}\n");
  EXPECT_THAT(error({goal}),
              HasSubstr("bad.goal:3:1: rank 0, step 0, line 3 (receive 8 bytes from rank 1, tag 0): "
                        "nobody sends it"));
  std::string cut = folder.file("cut.weftrace");
  write(cut, "WEFTRACE\1\2");
  EXPECT_THAT(error({cut}), HasSubstr("cut off"));
}

TEST(Replay, JobsSideBySide) {
  ProgramResult result =
      run_program({"replay", "torus", "all-to-all", "--workload-set", "bytes=16KiB", "--ranks", "64",
                   "--placement", "block", "--beside", "stencil-3d:64:block", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  json jobs = parse_json(result.out)["jobs"];
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_GT(jobs[0]["completion_ps"].get<double>(), 0);
  EXPECT_GT(jobs[1]["completion_ps"].get<double>(), 0);
}

}  // namespace
}  // namespace weft::test
