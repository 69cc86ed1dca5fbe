// What `weft run` offers around a program: recording, placement, slower and disturbed ranks, the demo.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "base/text.hpp"
#include "json.hpp"
#include "run_program.hpp"
#include "test_paths.hpp"

namespace weft::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string kHalo = WEFT_BUILD "/examples/halo", kMpi = WEFT_BUILD "/mpi-programs/";
const std::vector<std::string> kMachine{"torus", "--set", "topology.dims=[4,2]"};

ProgramResult run_ranks(unsigned ranks, const std::vector<std::string>& command,
                        const std::vector<std::string>& options = {}) {
  std::vector<std::string> all{"run"};
  all.insert(all.end(), kMachine.begin(), kMachine.end());
  all.insert(all.end(), {"-n", std::to_string(ranks)});
  all.insert(all.end(), options.begin(), options.end());
  all.push_back("--");
  all.insert(all.end(), command.begin(), command.end());
  return run_program(all, 60);
}

double end_ns(const ProgramResult& r) { return parse_json(r.out)["virtual_time_ns"]; }

class Recording : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(Recording, HasTheTrafficOfTheRunWhenReplayed) {
  ScratchFolder folder;
  std::string trace = folder.file("run.weftrace"), again = folder.file("again.weftrace");
  ProgramResult run = run_ranks(4, GetParam(), {"--json", "--record", trace});
  ASSERT_EQ(run.code, 0) << run.err;
  json ran = parse_json(run.out);
  std::uint64_t operations = 0, bytes = 0, answered = 0;
  for (const auto& [name, sums] : ran["operations"].items()) {
    operations += sums["count"].get<std::uint64_t>();
    bytes += sums["bytes"].get<std::uint64_t>();
    if (name == "get" || name == "fetch add" || name == "compare swap")
      answered += sums["count"].get<std::uint64_t>();
  }
  EXPECT_GT(operations, 0u);
  for (const char* engine : {"flit", "flow", "ideal"}) {
    ProgramResult replayed = run_program(
        {"replay", "torus", "--set", "topology.dims=[4,2]", "--engine", engine, "--json", trace}, 60);
    ASSERT_EQ(replayed.code, 0) << replayed.err;
    json result = parse_json(replayed.out);
    EXPECT_EQ(result["messages"], operations + answered) << engine;
    EXPECT_EQ(result["bytes"], bytes) << engine;
    // Hosts and interfaces take no part in a replay, so it is faster; the ranks' own time is still there.
    EXPECT_LT(result["completion_ps"].get<double>() / 1000, end_ns(run));
    EXPECT_GT(result["completion_ps"].get<double>(), 0);
  }
  run_ranks(4, GetParam(), {"--json", "--record", again});
  EXPECT_EQ(read_file(trace), read_file(again));
}

INSTANTIATE_TEST_SUITE_P(Programs, Recording,
                         testing::Values(std::vector<std::string>{kHalo, "16", "5"},
                                         std::vector<std::string>{WEFT_BUILD "/examples/message_rate",
                                                                  "--pairs", "2", "--count", "50"},
                                         std::vector<std::string>{kMpi + "halo", "32", "4"},
                                         std::vector<std::string>{kMpi + "collectives", "3"}));

TEST(RunTools, ARecordingNeedsANameThatReplayKnows) {
  ProgramResult r = run_ranks(2, {kHalo}, {"--record", "trace.bin"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr(".weftrace"));
}

TEST(RunTools, ASlowRankHoldsUpTheOthers) {
  ProgramResult plain = run_ranks(4, {kHalo, "32", "5"}, {"--json"});
  ProgramResult slow = run_ranks(4, {kHalo, "32", "5"}, {"--json", "--slow", "rank=3:1.5"});
  ASSERT_EQ(slow.code, 0) << slow.err;
  // A nanosecond for each of 32 x 32 cells in each of 5 steps. A rank and its neighbour wait for each other
  // by turns, so half of the slower one's delay shows.
  EXPECT_GE(end_ns(slow), end_ns(plain) + 0.8 * 5 * 32 * 32 * 0.25);
  EXPECT_LT(end_ns(slow), end_ns(plain) * 1.5);
}

TEST(RunTools, NoiseIsDrawnFromTheSeed) {
  std::vector<std::string> noise{"--json", "--noise", "2us@20us"}, other = noise;
  other.insert(other.end(), {"--seed", "7"});
  ProgramResult plain = run_ranks(4, {kHalo, "32", "20"}, {"--json"});
  ProgramResult first = run_ranks(4, {kHalo, "32", "20"}, noise),
                second = run_ranks(4, {kHalo, "32", "20"}, noise);
  ProgramResult third = run_ranks(4, {kHalo, "32", "20"}, other);
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_GT(end_ns(first), end_ns(plain));
  EXPECT_EQ(first.out, second.out);
  EXPECT_NE(end_ns(first), end_ns(third));
}

TEST(RunTools, MistakesAreAllReportedAtOnce) {
  ProgramResult r = run_ranks(4, {kHalo}, {"--slow", "rank=9:2", "--slow", "3", "--noise", "10us"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("--slow: rank=9:2: there are ranks 0 to 3"));
  EXPECT_THAT(r.err, HasSubstr("--slow: 3: expected rank=3:1.5"));
  EXPECT_THAT(r.err, HasSubstr("--noise: 10us: expected LENGTH@INTERVAL"));
}

TEST(RunTools, RanksRunWhereTheyArePlaced) {
  ProgramResult r = run_ranks(3, {kMpi + "allreduce", "8", "1"}, {"--json", "--place", "7,2-3"});
  ASSERT_EQ(r.code, 0) << r.err;
  json ranks = parse_json(r.out)["ranks"];
  EXPECT_EQ(ranks[0]["node"], 7);
  EXPECT_EQ(ranks[1]["node"], 2);
  EXPECT_EQ(ranks[2]["node"], 3);
  EXPECT_THAT(run_ranks(3, {kHalo}, {"--place", "0,1"}).err, HasSubstr("3 nodes expected"));
  EXPECT_THAT(run_ranks(3, {kHalo}, {"--place", "0,1,99"}).err, HasSubstr("torus has nodes 0 to 7"));
  EXPECT_THAT(run_ranks(3, {kHalo}, {"--place", "nowhere"}).err,
              HasSubstr("there is no placement 'nowhere'"));
}

/// Programs of people open it; here it is read as they read it.
TEST(RunTools, ATraceHasCallsArrowsAndLinks) {
  ScratchFolder folder;
  ProgramResult r = run_ranks(4, {kMpi + "allreduce", "64", "3"}, {"--trace", folder.file("t.json")});
  ASSERT_EQ(r.code, 0) << r.err;
  std::map<std::string, std::uint64_t> calls;
  std::map<std::uint64_t, unsigned> arrows;
  std::set<std::string> links, processes;
  const json trace = parse_json(read_file(folder.file("t.json")));
  for (const json& event : trace["traceEvents"]) {
    const std::string kind = event["ph"], about = event.value("cat", "");
    if (kind == "X" && about == "mpi") {
      ++calls[event["name"]];
      if (event["name"] == "MPI_Allreduce") {
        EXPECT_TRUE(event["args"].contains("bytes")) << event;
        EXPECT_EQ(event["args"]["members"], 4) << event;
      }
    }
    if (kind == "s") arrows[event["id"]] |= 1;
    if (kind == "f") arrows[event["id"]] |= 2;
    if (kind == "C") links.insert(event["name"]);
    if (kind == "M" && event["name"] == "process_name") processes.insert(event["args"]["name"]);
  }
  EXPECT_EQ(calls["MPI_Allreduce"], 4 * (3 * 3 + 1));
  EXPECT_FALSE(arrows.empty());
  for (const auto& [id, ends] : arrows) EXPECT_EQ(ends, 3u) << "an arrow has two ends: " << id;
  EXPECT_FALSE(links.empty());
  EXPECT_TRUE(processes.contains("rank 3 on node 3"));
}

TEST(RunTools, ATraceKeepsToItsSizeAndSaysWhatIsMissing) {
  ScratchFolder folder;
  ProgramResult r =
      run_ranks(4, {kMpi + "halo", "32", "400"}, {"--trace", folder.file("t.json"), "--trace-size", "1"});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr("are left out"));
  EXPECT_LT(std::filesystem::file_size(folder.file("t.json")), 1.05 * (1 << 20));
  parse_json(read_file(folder.file("t.json")));  // and is whole
}

TEST(RunTools, ReportShowsWhatRanksCalled) {
  ScratchFolder folder;
  ProgramResult r = run_ranks(4, {kMpi + "allreduce", "64", "3"}, {"--out", folder.file("out")});
  ASSERT_EQ(r.code, 0) << r.err;
  json result = parse_json(read_file(folder.file("out/result.json")));
  std::map<std::string, std::uint64_t> count;
  for (const json& call : result["mpi_calls"]) count[call["call"]] = call["count"];
  // 3 sizes, 3 times each, and one at the end, on 4 ranks; a barrier and a reduce for each size.
  EXPECT_EQ(count["MPI_Allreduce"], 4 * (3 * 3 + 1));
  EXPECT_EQ(count["MPI_Barrier"], 4 * 3);
  EXPECT_EQ(count["MPI_Reduce"], 4 * 3);
  for (const json& c : result["mpi_collectives"]) EXPECT_EQ(c["members"], 4);
  std::string page = read_file(folder.file("out/report.html"));
  for (const char* text :
       {"What the ranks did", "What they called", "The slowest collectives", "What the links carried"})
    EXPECT_THAT(page, HasSubstr(text));
}

TEST(RunTools, WaitingForNobodyIsNamedWithItsCall) {
  ProgramResult r = run_ranks(3, {kMpi + "misbehave", "wait-for-nobody"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("deadlock"));
  EXPECT_THAT(r.err, HasSubstr("rank 0: is in MPI_Recv (rank 1, tag 42)"));
  EXPECT_THAT(r.err, HasSubstr("rank 2: is in MPI_Recv (rank 0, tag 42)"));
  ProgramResult crash = run_ranks(3, {kMpi + "misbehave", "segfault", "2"});
  EXPECT_EQ(crash.code, 1);
  EXPECT_THAT(crash.err,
              HasSubstr("rank 2 on node 2 was ended by signal 11 (Segmentation fault) after MPI_Barrier"));
}

TEST(Demo, ShowsDistancesAndLeavesAReport) {
  ScratchFolder folder;
  std::string out = folder.file("demo");
  ProgramResult r = run_program({"demo", "torus", "--set", "topology.dims=[4,4]", "--out", out}, 100);
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_THAT(r.out, HasSubstr("16 MPI ranks on 16 of its 16 nodes. Routers from rank 0: 2 to ranks 1-4"));
  EXPECT_THAT(r.out, HasSubstr("all-reduce over 16 ranks"));
  EXPECT_THAT(r.out, HasSubstr("halo exchange, 4 x 4 blocks"));
  EXPECT_TRUE(std::filesystem::exists(out + "/report.html"));
}

}  // namespace
}  // namespace weft::test
