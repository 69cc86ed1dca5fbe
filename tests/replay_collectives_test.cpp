// Recordings of MPI programs name their collectives, and `weft replay --collectives offload` gives them to
// the interfaces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "json.hpp"
#include "mpi_programs.hpp"

namespace weft::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const Words kTianhe{"tianhe2"}, kUnits = sets({"nic.triggers=320", "nic.operation_units=2"});

/// What collectives_named prints: how many it called, how many of them interfaces can run, and their sum.
struct Called {
  std::uint64_t all = 0, fit = 0;
  double sum = 0;
};

class ReplayCollectives : public testing::Test {
 protected:
  Called record(const Words& machine, unsigned ranks, const Words& command, const Words& options = {}) {
    Words all{"--record", trace_};
    all.insert(all.end(), options.begin(), options.end());
    const ProgramResult r = run_ranks(machine, ranks, command, all);
    EXPECT_EQ(r.code, 0) << r.err;
    Called out;
    std::istringstream(r.out) >> out.all >> out.fit >> out.sum;
    return out;
  }

  ProgramResult replay(const Words& machine, const std::string& collectives, Words more = {}) {
    Words all{"replay"};
    all.insert(all.end(), machine.begin(), machine.end());
    all.insert(all.end(), {trace_, "--collectives", collectives});
    all.insert(all.end(), more.begin(), more.end());
    return run_program(all, 120);
  }

  json replayed(const Words& machine, const std::string& collectives, Words more = {}) {
    more.push_back("--json");
    const ProgramResult r = replay(machine, collectives, more);
    EXPECT_EQ(r.code, 0) << r.err << r.out;
    return r.code == 0 ? parse_json(r.out) : json();
  }

  ScratchFolder folder_;
  const std::string trace_ = folder_.file("run.weftrace");
};

std::uint64_t number(const json& of, const char* key) { return of[key].get<std::uint64_t>(); }

const std::string kNamed = kPrograms + "collectives_named";

TEST_F(ReplayCollectives, ABarrierOfARecordingTakesAsLongAsOneOfASkeleton) {
  const Words ideal{"--engine", "ideal"};
  auto skeleton = [&](unsigned count) {
    const ProgramResult r =
        run_program({"replay", "tianhe2", "barrier", "--ranks", "16", "--collectives", "offload", "--engine",
                     "ideal", "--workload-set", "repeats=" + std::to_string(count), "--json"},
                    60);
    EXPECT_EQ(r.code, 0) << r.err;
    return number(parse_json(r.out), "completion_ps");
  };
  std::uint64_t first = 0;
  for (unsigned count : {1u, 20u, 40u}) {
    EXPECT_EQ(record(kTianhe, 16, {kNamed, "barriers", std::to_string(count)}).all, count);
    const json by_messages = replayed(kTianhe, "software", ideal),
               by_interfaces = replayed(kTianhe, "offload", ideal);
    EXPECT_FALSE(by_messages["jobs"][0].contains("collectives"));
    EXPECT_EQ(number(by_interfaces["jobs"][0]["collectives"], "named"), count);
    EXPECT_EQ(number(by_interfaces["jobs"][0]["collectives"], "replaced"), count);
    EXPECT_EQ(number(by_interfaces, "messages"), count * 30) << "up and down each edge of a tree of 16";
    const std::uint64_t took = number(by_interfaces, "completion_ps");
    EXPECT_LT(took, number(by_messages, "completion_ps"));
    // What comes before the first and after the last is the same, however many there are.
    if (count == 1)
      first = took - skeleton(1);
    else
      EXPECT_EQ(took - first, skeleton(count)) << count;
  }
}

TEST_F(ReplayCollectives, WhatIsNotReplacedStaysAndAllAddsUp) {
  const Words machine = {"tianhe2", "--set", "nic.operation_units=2"};
  const Called called = record(machine, 16, {kNamed, "mixed", "3"});
  ASSERT_EQ(called.all, 27u);
  ASSERT_EQ(called.fit, 21u);
  for (const char* engine : {"ideal", "flow", "flit"}) {
    const json software = replayed(machine, "software", {"--engine", engine}),
               offload = replayed(machine, "offload", {"--engine", engine});
    const json& counts = offload["jobs"][0]["collectives"];
    EXPECT_EQ(number(counts, "named"), called.all);
    EXPECT_EQ(number(counts, "replaced"), called.fit);
    EXPECT_EQ(number(counts["left"], "too_long"), 3u);
    EXPECT_EQ(number(counts["left"], "not_combined"), 3u);
    EXPECT_LT(number(offload, "completion_ps"), number(software, "completion_ps")) << engine;
    // The long messages between neighbours are all there: 16 ranks, 3 rounds.
    EXPECT_GT(number(offload, "bytes"), 16u * 3 * 60'000);
  }
  const ProgramResult text = replay(machine, "offload");
  EXPECT_THAT(text.out,
              HasSubstr("21 collectives by the interfaces, 6 by messages as recorded: 3 longer than "
                        "mpi.collective_limit or a packet (nic.payload); 3 reductions of types or "));
  // Interfaces without units leave all reductions; a lower limit leaves more.
  const json plain = replayed(kTianhe, "offload", sets({"nic.operation_units=0"}));
  EXPECT_EQ(number(plain["jobs"][0]["collectives"], "replaced"), 12u);
  const json small = replayed(machine, "offload", sets({"mpi.collective_limit=64B"}));
  EXPECT_EQ(number(small["jobs"][0]["collectives"]["left"], "too_long"), 12u);
  // The same twice; and in two levels.
  EXPECT_EQ(replay(machine, "offload", {"--engine", "flit", "--out", folder_.file("a")}).code, 0);
  EXPECT_EQ(replay(machine, "offload", {"--engine", "flit", "--out", folder_.file("b")}).code, 0);
  EXPECT_EQ(read_file(folder_.file("a/result.json")), read_file(folder_.file("b/result.json")));
  const json levels = replayed(machine, "offload", sets({"mpi.tree_levels=router"}));
  EXPECT_EQ(number(levels["jobs"][0]["collectives"], "replaced"), called.fit);
}

TEST_F(ReplayCollectives, RandomCommunicators) {
  for (const char* seed : {"1", "2", "3"}) {
    const Called called = record(kTorus, 13, {kNamed, "splits", seed}, kUnits);
    ASSERT_GT(called.all, 40u);
    const Words machine = [] {
      Words all = kTorus;
      all.insert(all.end(), kUnits.begin(), kUnits.end());
      return all;
    }();
    for (const char* engine : {"ideal", "flit"}) {
      const json offload = replayed(machine, "offload", {"--engine", engine});
      const json& counts = offload["jobs"][0]["collectives"];
      EXPECT_EQ(number(counts, "named"), called.all) << seed;
      EXPECT_EQ(number(counts, "replaced"), called.fit) << seed;
      EXPECT_TRUE(offload["finished"].get<bool>());
    }
  }
}

TEST_F(ReplayCollectives, BesideOneThatDoesNotWaitTheyStay) {
  record(kTorus, 8, {kNamed, "open", "5"}, kUnits);
  Words machine = kTorus;
  machine.insert(machine.end(), kUnits.begin(), kUnits.end());
  const json counts = replayed(machine, "offload")["jobs"][0]["collectives"];
  EXPECT_EQ(number(counts, "replaced"), 6u);
  EXPECT_EQ(number(counts["left"], "not_whole"), 5u);
}

/// Programs of the suite, with all that they do between and during collectives.
TEST_F(ReplayCollectives, ProgramsComeToTheirEnd) {
  Words machine = kTorus;
  machine.insert(machine.end(), kUnits.begin(), kUnits.end());
  for (const Words& command : {Words{kPrograms + "collectives_random", "7", "80"}, Words{kPrograms + "halo"},
                               Words{kPrograms + "suite_collectives"}, Words{kPrograms + "core"}}) {
    record(machine, 8, command);
    for (const char* engine : {"ideal", "flit"}) {
      const json offload = replayed(machine, "offload", {"--engine", engine});
      EXPECT_TRUE(offload["finished"].get<bool>()) << command[0];
      EXPECT_EQ(replayed(machine, "software", {"--engine", engine})["finished"], true);
    }
  }
}

TEST_F(ReplayCollectives, WhoNamesNoneIsTold) {
  const std::string goal = folder_.file("two.goal");
  std::ofstream(goal) << "num_ranks 2\nrank 0 {\na: send 8b to 1\n}\nrank 1 {\na: recv 8b from 0\n}\n";
  const ProgramResult r = run_program({"replay", "tianhe2", goal, "--collectives", "offload"}, 60);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("names no collectives, so all of it stays messages"));
  const ProgramResult software = run_program({"replay", "tianhe2", goal}, 60);
  EXPECT_EQ(software.out.find("names no"), std::string::npos);
}

}  // namespace
}  // namespace weft::test
