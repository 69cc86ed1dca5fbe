// Programs on a network: closed forms, matching, collectives that reach everyone, and programs that cannot go
// on.
#include "workload/executor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "machine/machine.hpp"
#include "workload/placement.hpp"
#include "workload/replay.hpp"
#include "workload/skeleton.hpp"

namespace weft::workload {

namespace {

using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using Kind = Operation::Kind;

machine::Machine line_of(unsigned routers) {
  return machine::build(machine::describe_text(
      fmt::format(
          "[topology]\nkind = \"mesh\"\ndims = [{}]\n[routing]\nkind = "
          "\"dimension-order\"\n[router]\nlatency = "
          "\"60ns\"\nclock = \"500MHz\"\nflit = \"16B\"\n[cable.default]\ndelay = \"80ns\"\nlength = \"0m\"\n"
          "lane_rate = \"64Gbps\"\nlanes = 1\ncoding = \"none\"\n",
          routers),
      "test", {}));
}

ExecutionResult run(const Program& program, const ExecutorOptions& options = {}) {
  machine::Machine m = line_of(std::max<unsigned>(2, program.ranks()));
  Placement placement(*m.graph, *m.faults);
  auto network = make_engine("flow", m, {});
  event::EventQueue events;
  return execute(program, placement.place(program.ranks(), "linear", 1), *network, events, options);
}

std::string mistakes(const Program& program) {
  try {
    check(program);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

// 8 bytes a nanosecond; a way of one cable: two routers of 60 ns, 80 ns of cable, 2 ns from and to the
// endpoints.
constexpr std::int64_t kWay = 2 * 60'000 + 80'000 + 2 * 2'000;

TEST(Executor, PingPongTakesItsClosedForm) {
  ProgramBuilder b(2);
  constexpr int kRounds = 5;
  for (int i = 0; i < kRounds; ++i) {
    b.send(0, 1, 8000, 1);
    b.receive(0, 1, 8000, 2);
    b.wait(0);
    b.receive(1, 0, 8000, 1);
    b.wait(1);
    b.send(1, 0, 8000, 2);
    b.wait(1);
  }
  Program p = std::move(b).finish("ping-pong");
  EXPECT_EQ(mistakes(p), "");
  ExecutionResult r = run(p);
  ASSERT_TRUE(r.finished);
  EXPECT_EQ(r.completion.value, 2 * kRounds * (1'000'000 + kWay));
  EXPECT_EQ(r.messages, 2u * kRounds);
  // Costs of the processors at both ends come on top of each message.
  ExecutionResult costly = run(p, {{100'000}, {150'000}});
  EXPECT_EQ(costly.completion.value, 2 * kRounds * (1'000'000 + kWay + 250'000));
}

TEST(Executor, AFollowingSendWaitsForTheReceiveItDependsOn) {  // F77
  ProgramBuilder b(3);
  b.compute(0, {5'000'000});
  b.send(0, 1, 800, 0);
  b.receive(1, 0, 800, 0);
  b.wait(1);
  b.send(1, 2, 800, 0);
  b.receive(2, 1, 800, 0);
  b.wait(2);
  ExecutionResult r = run(std::move(b).finish("chain"));
  ASSERT_TRUE(r.finished);
  EXPECT_EQ(r.rank_end[1].value, 5'000'000 + 2 * 100'000 + kWay);
  EXPECT_EQ(r.rank_end[2].value, 5'000'000 + 2 * (100'000 + kWay));
}

TEST(Executor, ComputingGoesOnWhileMessagesAreUnderWay) {
  ProgramBuilder b(2);
  b.send(0, 1, 8000, 0);
  b.compute(0, {3'000'000});
  b.wait(0);
  b.receive(1, 0, 8000, 0);
  b.wait(1);
  ExecutionResult r = run(std::move(b).finish("overlap"));
  EXPECT_EQ(r.rank_end[0].value, 3'000'000);
  EXPECT_EQ(r.rank_end[1].value, 1'000'000 + kWay);
}

TEST(Executor, MessagesOfOneTagMatchInTheOrderTheyAreSent) {
  ProgramBuilder b(2);
  b.send(0, 1, 800, 7);
  b.send(0, 1, 80'000, 7);
  b.receive(1, 0, 800, 7);
  b.wait(1);
  b.compute(1, {1'000'000});
  b.receive(1, 0, 80'000, 7);
  b.wait(1);
  EXPECT_TRUE(run(std::move(b).finish("order")).finished);

  ProgramBuilder wrong(2);
  wrong.send(0, 1, 800, 7);
  wrong.receive(1, 0, 100, 7);
  try {
    run(std::move(wrong).finish("short"));
    FAIL() << "a message that is too long was taken";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("rank 1, step 0"));
  }
}

TEST(Executor, ACycleOfWaitsIsNamed) {
  ProgramBuilder b(3);
  for (Rank r = 0; r < 3; ++r) {  // everyone receives before it sends
    b.receive(r, (r + 2) % 3, 64, 0);
    b.wait(r);
    b.send(r, (r + 1) % 3, 64, 0);
  }
  Program p = std::move(b).finish("cycle");
  EXPECT_EQ(mistakes(p), "");
  ExecutionResult r = run(p);
  EXPECT_FALSE(r.finished);
  EXPECT_THAT(r.stall, Contains(HasSubstr("they wait in a cycle: rank 0 -> rank 2 -> rank 1 -> rank 0")));
  EXPECT_THAT(r.stall,
              Contains(HasSubstr(
                  "rank 1, step 0 (receive 64 bytes from rank 0, tag 0) waits: rank 0 has not sent it")));
}

TEST(ProgramCheck, AReceiveNobodySendsForAndAMessageNobodyReceives) {
  ProgramBuilder b(3);
  b.receive(1, 0, 64, 3);
  b.receive(1, 0, 64, 3);
  b.send(0, 1, 64, 3);
  b.send(2, 0, 8, 9);
  std::string text = mistakes(std::move(b).finish("bad"));
  EXPECT_THAT(text, HasSubstr("rank 1, step 1 (receive 64 bytes from rank 0, tag 3): nobody sends it"));
  EXPECT_THAT(text, HasSubstr("rank 2, step 0 (send 8 bytes to rank 0, tag 9): nobody receives it"));
}

TEST(ProgramCheck, ARankOutOfRangeAndStepsThatWaitForEachOther) {
  Program p;
  p.operations = {{Kind::Send, false, 9, 0, 8}, {Kind::Join, false, 0, 0, 0}, {Kind::Join, false, 0, 0, 0}};
  p.dependencies = {{2}, {1}};
  p.dependency_begin = {0, 0, 1, 2};
  p.begin = {0, 3};
  std::string text = mistakes(p);
  EXPECT_THAT(text, HasSubstr("there are ranks 0 to 0"));
  EXPECT_THAT(text, AnyOf(HasSubstr("1 -> 2 -> 1"), HasSubstr("2 -> 1 -> 2")));
  p.dependencies[0].on = 77;
  EXPECT_THAT(mistakes(p), HasSubstr("waits for step 77"));
}

/// Runs a program without a network: whatever can happen happens, and messages carry all their sender knows.
std::vector<std::set<Rank>> who_knows_whom(const Program& p) {
  std::vector<std::set<Rank>> knows(p.ranks());
  for (Rank r = 0; r < p.ranks(); ++r) knows[r] = {r};
  std::vector<bool> done(p.operations.size());
  std::map<std::tuple<Rank, Rank, std::uint32_t>, std::vector<std::set<Rank>>> sent;
  for (bool moved = true; moved;) {
    moved = false;
    for (Rank r = 0; r < p.ranks(); ++r)
      for (auto i = p.begin[r]; i < p.begin[r + 1]; ++i) {
        bool ready = !done[i];
        for (auto d = p.dependency_begin[i]; d < p.dependency_begin[i + 1]; ++d)
          ready = ready && done[p.begin[r] + p.dependencies[d].on];
        if (!ready) continue;
        const Operation& o = p.operations[i];
        if (o.kind == Kind::Send) sent[{r, o.peer, o.tag}].push_back(knows[r]);
        if (o.kind == Kind::Receive) {
          auto& queue = sent[{o.peer, r, o.tag}];
          if (queue.empty()) continue;
          knows[r].insert(queue.front().begin(), queue.front().end());
          queue.erase(queue.begin());
        }
        done[i] = moved = true;
      }
  }
  EXPECT_EQ(std::count(done.begin(), done.end(), false), 0);
  return knows;
}

TEST(Collectives, EveryoneHearsOfEveryone) {
  const std::pair<const char*, std::vector<std::string>> all[] = {
      {"barrier", {}},
      {"all-reduce", {"algorithm=ring"}},
      {"all-reduce", {"algorithm=doubling"}},
      {"all-reduce", {"algorithm=tree"}},
      {"all-gather", {}},
      {"reduce-scatter", {}},
      {"all-to-all", {}},
      {"all-to-all", {"algorithm=at-once"}},
  };
  for (const auto& [name, settings] : all)
    for (Rank ranks : {1u, 2u, 3u, 5u, 8u, 13u, 16u}) {
      auto knows = who_knows_whom(make_skeleton(name, settings, {ranks, 1}));
      for (Rank r = 0; r < ranks; ++r) EXPECT_EQ(knows[r].size(), ranks) << name << " " << ranks;
    }
  for (Rank ranks : {1u, 2u, 3u, 5u, 8u, 13u, 16u}) {
    auto told = who_knows_whom(make_skeleton("broadcast", {}, {ranks, 1}));
    for (Rank r = 0; r < ranks; ++r) EXPECT_TRUE(told[r].contains(0)) << ranks;
    EXPECT_EQ(who_knows_whom(make_skeleton("reduce", {}, {ranks, 1}))[0].size(), ranks);
  }
}

TEST(Collectives, ARingMovesTwoShareOfNMinusOneOfTheBytes) {
  Program p = make_skeleton("all-reduce", {"bytes=1MiB"}, {16, 1});
  EXPECT_EQ(p.bytes_sent(), 2u * 15 * (1 << 20));
  EXPECT_EQ(p.messages(), 16u * 30);
}

TEST(Skeletons, AllOfThemAreSoundAndRunToTheEndAtAnyNumberOfRanks) {
  machine::Machine m = machine::build(machine::describe("torus", {"topology.dims=[4,4,4]"}));
  for (const auto& [name, kind] : Skeletons::all())
    for (Rank ranks : {1u, 2u, 3u, 7u, 16u, 64u}) {
      if (name == "training" && ranks % 8 != 0) {
        EXPECT_THROW(make_skeleton(name, {}, {ranks, 1}), UserError);
        continue;
      }
      ReplayText text;
      text.jobs = {{name, {}, ranks, "linear"}};
      ReplayResult once = replay(m, text), again = replay(m, text);
      EXPECT_TRUE(once.run.finished) << name << " " << ranks;
      EXPECT_EQ(once.run.rank_end, again.run.rank_end) << name << " " << ranks;
      EXPECT_EQ(once.run.messages, once.jobs[0].messages) << name << " " << ranks;
    }
}

TEST(Skeletons, MistakesInParametersAreAllReported) {
  try {
    make_skeleton("lammps", {"stepz=3", "forces=lots"}, {8, 1});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'steps'?"));
    EXPECT_EQ(error.diagnostics().size(), 2u);
  }
  EXPECT_THROW(make_skeleton("stencil-2d", {"grid=[3,3]"}, {8, 1}), UserError);
  EXPECT_THROW(make_skeleton("lamps", {}, {8, 1}), UserError);
}

TEST(Placements, BlocksAreBoxesAndJobsDoNotOverlap) {
  machine::Machine m = machine::build(machine::describe("torus", {"topology.dims=[4,4,4]"}));
  Placement placement(*m.graph, *m.faults);
  auto a = placement.place(8, "block", 1), b = placement.place(8, "block", 1),
       c = placement.place(20, "random", 1);
  EXPECT_EQ(a, (std::vector<topology::EndpointId>{0, 1, 4, 5, 16, 17, 20, 21}));
  EXPECT_EQ(b.front(), 2u);
  std::set<topology::EndpointId> all(a.begin(), a.end());
  all.insert(b.begin(), b.end());
  all.insert(c.begin(), c.end());
  EXPECT_EQ(all.size(), 36u);
  EXPECT_EQ(placement.free(), 28u);
  EXPECT_THROW(placement.place(29, "linear", 1), UserError);
  EXPECT_THROW(placement.place(2, "linaer", 1), UserError);
}

TEST(Placements, TwoJobsShareTheMachineAndSlowEachOtherDown) {
  machine::Machine m = machine::build(machine::describe("torus", {"topology.dims=[16]"}));
  ReplayText alone, together;
  alone.jobs = {{"all-to-all", {"bytes=64KiB"}, 8, "random"}};
  together.jobs = {alone.jobs[0], {"all-to-all", {"bytes=64KiB"}, 8, "random"}};
  ReplayResult one = replay(m, alone), two = replay(m, together);
  ASSERT_TRUE(two.run.finished);
  EXPECT_EQ(two.jobs.size(), 2u);
  EXPECT_GT(two.jobs[0].completion, one.jobs[0].completion);
}

}  // namespace

}  // namespace weft::workload
