// Collectives of MPI programs that the interfaces run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "json.hpp"
#include "mpi_programs.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

const Words kTianhe{"tianhe2"};
const Words kUnits = sets({"nic.triggers=320", "nic.operation_units=2"});

Words offload(Words more = {}) {
  more.insert(more.begin(), {"--collectives", "offload"});
  return more;
}

Words with(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Collectives, EveryResultIsTheLibrarys) {
  const Words command{kPrograms + "collectives_random", "11", "500"};
  ProgramResult library = run_ranks(kTorus, 13, command, {"--engine", "ideal"});
  ASSERT_EQ(library.code, 0) << library.err;
  ProgramResult ours = run_ranks(kTorus, 13, command, with(offload({"--engine", "ideal"}), kUnits));
  ASSERT_EQ(ours.code, 0) << ours.err;
  EXPECT_EQ(ours.out, library.out);
  EXPECT_THAT(ours.err, HasSubstr("collectives run by the interfaces"));
  EXPECT_THAT(ours.err, HasSubstr("left to the library"));
  // Other trees, the same numbers; and twice the same to the nanosecond.
  ProgramResult other =
      run_ranks(kTorus, 13, command,
                with(with(offload({"--engine", "ideal"}), kUnits),
                     sets({"mpi.tree=k-nomial", "mpi.tree_arity=2", "mpi.tree_order=topology"})));
  EXPECT_EQ(other.out, library.out) << other.err;
  ProgramResult again = run_ranks(kTorus, 13, command, with(offload({"--engine", "ideal"}), kUnits));
  EXPECT_EQ(again.err, ours.err);
}

TEST(Collectives, BitErrorsAndACutCableChangeNoResult) {
  const Words command{kPrograms + "collectives_random", "5", "120"};
  ProgramResult whole = run_ranks(kTorus, 8, command, with(offload(), kUnits));
  ASSERT_EQ(whole.code, 0) << whole.err;
  ProgramResult broken = run_ranks(kTorus, 8, command,
                                   with(with(offload({"--fault", "at 200us cut r0.p0"}), kUnits),
                                        sets({"cable.default.bit_error_rate=1e-7"})));
  EXPECT_EQ(broken.code, 0) << broken.err;
  EXPECT_EQ(broken.out, whole.out);
}

// Errors that no link notices: in MPI's own messages, which set the trees up, in control packets and in
// copies. With so many every run repeats something, and with two rounds of room nobody runs ahead of it.
TEST(Collectives, ErrorsThatNoLinkNoticesChangeNoResult) {
  const Words command{kPrograms + "collectives_random", "5", "60"};
  ProgramResult library = run_ranks(kTorus, 8, command, {"--engine", "ideal"});
  ASSERT_EQ(library.code, 0) << library.err;
  const Words errors = sets({"nic.corruption=0.03"});
  for (const Words& more : {errors, with(errors, sets({"nic.trigger_rounds=2"})),
                            with(errors, sets({"router.multicast=true", "mpi.collective_limit=0"}))}) {
    ProgramResult r =
        run_ranks(kTorus, 8, command, with(with(offload({"--engine", "ideal", "--json"}), kUnits), more));
    ASSERT_EQ(r.code, 0) << r.err;
    const nlohmann::json result = parse_json(r.out);
    std::uint64_t corrupted = 0, retries = 0;
    for (const auto& one : result["interfaces"]) {
      corrupted += one["corrupted"].get<std::uint64_t>();
      retries += one["retries"].get<std::uint64_t>();
    }
    EXPECT_GT(corrupted, 10u);
    EXPECT_GT(retries, 10u);
  }
  ProgramResult broken =
      run_ranks(kTorus, 8, command, with(with(offload({"--fault", "at 200us cut r0.p0"}), kUnits), errors));
  EXPECT_EQ(broken.code, 0) << broken.err;
  EXPECT_EQ(broken.out, library.out);
}

// Every message of MPI's is repaired: short, in blocks, by put and by get, one-sided.
TEST(Collectives, ErrorsThatNoLinkNoticesChangeNoMessageOfMpi) {
  for (const char* program : {"suite_point_to_point", "suite_one_sided"})
    for (const Words& machine :
         {Words{"torus", "--set", "topology.dims=[4,2,2]"}, Words{"exanest-trenz"}, kTianhe}) {
      ProgramResult r = run_ranks(machine, 4, {kPrograms + program},
                                  with({"--engine", "ideal"}, sets({"nic.corruption=0.003"})));
      EXPECT_EQ(r.code, 0) << program << " " << machine[0] << r.out << r.err;
    }
}

const Words kReducing = sets({"router.multicast=true", "router.reduction_groups=64"});

/// 2,000 cases, in 20 runs of 100: each without errors, with bit errors and a cable that is cut while trees
/// run, with errors that no link notices, with all of it where routers copy, and with bit errors and the cut
/// where routers combine; as many ranks as a run says.
TEST(Collectives, TwoThousandCasesGiveWhatTheLibraryGives) {
  if (!getenv("WEFT_LONG_TESTS")) GTEST_SKIP() << "takes minutes; set WEFT_LONG_TESTS=1 to run it";
  const Words cut{"--fault", "at 150us cut r0.p0\nat 900us restore r0.p0\nat 1200us cut r1.p2"};
  const Words noisy = sets({"cable.default.bit_error_rate=1e-7"}), silent = sets({"nic.corruption=0.003"}),
              copies = sets({"router.multicast=true", "mpi.collective_limit=64B"});
  unsigned cases = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const Words command{kPrograms + "collectives_random", std::to_string(seed * 7919), "100"};
    const unsigned ranks = 2 + seed * 5 % 15;
    ProgramResult library = run_ranks(kTorus, ranks, command, {"--engine", "ideal"});
    ASSERT_EQ(library.code, 0) << library.err;
    const Words ours = with(offload(), kUnits);
    for (const Words& options : {ours, with(with(ours, noisy), cut), with(ours, silent),
                                 with(with(with(with(ours, noisy), cut), silent), copies),
                                 with(with(with(ours, noisy), cut), kReducing)}) {
      ProgramResult r = run_ranks(kTorus, ranks, command, options);
      EXPECT_EQ(r.code, 0) << seed << r.err;
      EXPECT_EQ(r.out, library.out) << seed;
    }
    cases += 100;
  }
  EXPECT_EQ(cases, 2000u);
}

const Words kCopying = sets({"router.multicast=true", "mpi.collective_limit=0"});

// With a limit of 0 every broadcast of a byte or more is sent once, for all; all else is the library's.
TEST(Collectives, BroadcastsThatRoutersCopyGiveTheSame) {
  const Words command{kPrograms + "collectives_random", "23", "400"};
  ProgramResult library = run_ranks(kTorus, 13, command, {"--engine", "ideal"});
  ASSERT_EQ(library.code, 0) << library.err;
  for (const char* engine : {"ideal", "flow", "flit"}) {
    const Words options = with(with(offload({"--engine", engine}), kUnits), kCopying);
    ProgramResult ours = run_ranks(kTorus, 13, command, options);
    ASSERT_EQ(ours.code, 0) << ours.err;
    EXPECT_EQ(ours.out, library.out) << engine;
    EXPECT_THAT(ours.err, HasSubstr("broadcast"));
    EXPECT_THAT(ours.err, testing::Not(HasSubstr("broadcast (longer"))) << "none is too long";
  }
}

TEST(Collectives, ErrorsAndACutCableChangeNoBroadcastThatRoutersCopy) {
  const Words command{kPrograms + "collectives_random", "5", "60"};
  ProgramResult library = run_ranks(kTorus, 8, command, {"--engine", "ideal"});
  const Words options = with(with(offload(), kUnits), kCopying);
  for (const Words& more :
       {with(sets({"cable.default.bit_error_rate=1e-7"}), {"--fault", "at 200us cut r0.p0"}),
        sets({"nic.corruption=0.002"})}) {
    ProgramResult broken = run_ranks(kTorus, 8, command, with(options, more));
    EXPECT_EQ(broken.code, 0) << broken.err;
    EXPECT_EQ(broken.out, library.out);
  }
}

TEST(Collectives, WhatRoutersCombineGivesTheSame) {
  const Words command{kPrograms + "collectives_random", "11", "120"};
  const Words ours = with(offload(), kUnits);
  ProgramResult library = run_ranks(kTorus, 13, command, {"--engine", "ideal"});
  ASSERT_EQ(library.code, 0) << library.err;
  ProgramResult routers = run_ranks(kTorus, 13, command, with(ours, kReducing));
  ASSERT_EQ(routers.code, 0) << routers.err;
  EXPECT_EQ(routers.out, library.out);
  EXPECT_THAT(routers.err, HasSubstr("of these combined by the routers: "));
  EXPECT_EQ(run_ranks(kTorus, 13, command, with(ours, kReducing)).err, routers.err);
  // A cable that is cut, several ranks on a node, little room, errors that no link notices, another engine.
  const std::vector<std::pair<Words, const char*>> others{
      {with(sets({"cable.default.bit_error_rate=1e-7"}),
            {"--fault", "at 200us cut r0.p0\nat 500us restore r0.p0\nat 700us cut r1.p2"}),
       "of these combined by the routers: "},
      {{"--per-node", "4"}, "of these combined by the routers: "},
      {{"--per-node", "13"}, "(all members on one node)"},
      {sets({"router.reduction_groups=1"}), "(no room for another group in a router"},
      {sets({"nic.corruption=0.002"}), "(errors pass that no link notices"},
      {{"--engine", "ideal"}, "(this engine's routers do not; --engine flit has it)"}};
  for (const auto& [more, says] : others) {
    ProgramResult r = run_ranks(kTorus, 13, command, with(with(ours, kReducing), more));
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(r.out, library.out) << says;
    EXPECT_THAT(r.err, HasSubstr(says));
  }
}

TEST(Collectives, RoutersCombineFasterThanInterfacesDo) {
  const Words command{kPrograms + "collectives_overlap", "0"};
  auto barrier = [&](const Words& more) {
    ProgramResult r = run_ranks(kTianhe, 16, command, with(offload(), more));
    EXPECT_EQ(r.code, 0) << r.err;
    double alone = 0;
    std::istringstream(r.out) >> alone;
    EXPECT_GT(alone, 0);
    return alone;
  };
  EXPECT_LT(barrier(kReducing), 0.8 * barrier({}));
}

TEST(Collectives, WhatGoesWrongInRoutersIsExplainedToo) {
  const auto told = [&](const Words& how) {
    ProgramResult r =
        run_ranks(kTianhe, 6, with({kPrograms + "collectives_wrong"}, how), with(offload(), kReducing));
    EXPECT_EQ(r.code, 1) << r.err;
    return r.err;
  };
  EXPECT_THAT(told({"absent", "5"}),
              HasSubstr("MPI_Barrier in the tree of a communicator of 6, round 1, waits for rank 5; ranks "
                        "0, 1, 2, 3, 4 are there"));
  const std::string dies = told({"dies", "2"});
  EXPECT_THAT(dies, HasSubstr("MPI_Barrier in the tree of a communicator of 6, round 1, waits for rank 2"));
}

TEST(Collectives, AProcessorThatComputesAndIsInterruptedDelaysNobodysTree) {
  const Words command{kPrograms + "collectives_overlap", "300"}, noise{"--noise", "10us@100us"};
  auto overlap = [&](const Words& options) {
    ProgramResult r = run_ranks(kTianhe, 16, command, options);
    EXPECT_EQ(r.code, 0) << r.err;
    std::istringstream text(r.out);
    double alone = 0, left = 0;
    text >> alone >> left;
    EXPECT_GT(alone, 0);
    return 1 - left / alone;
  };
  EXPECT_GE(overlap(with(offload({"--engine", "ideal"}), noise)), 0.95);
  EXPECT_LT(overlap(with({"--engine", "ideal"}, noise)), 0.5);
}

/// What is said of a program of tests/mpi/collectives_wrong.c, on a tree with inner members.
std::string told_of(const Words& how, unsigned ranks = 6) {
  Words command{kPrograms + "collectives_wrong"};
  ProgramResult r = run_ranks(kTianhe, ranks, with(command, how),
                              with(offload({"--engine", "ideal"}), sets({"mpi.tree_arity=2"})));
  EXPECT_EQ(r.code, 1) << r.err;
  return r.err;
}

TEST(Collectives, DifferentRootsAreExplained) {
  for (const char* how : {"roots", "two roots"}) {
    const std::string told = told_of({how});
    EXPECT_THAT(told, HasSubstr("MPI_Bcast with root 1"));
    EXPECT_THAT(told, HasSubstr("MPI_Bcast with root 0"));
  }
  const std::string told = told_of({"reduce roots"});
  EXPECT_THAT(told, HasSubstr("MPI_Reduce with root 1"));
  EXPECT_THAT(told, HasSubstr("MPI_Reduce with root 0"));
}

// In a tree of two children each, rank 5 is below rank 2, which is below rank 0.
TEST(Collectives, WhoeverDoesNotComeIsNamedWithItsTree) {
  const std::string leaf = told_of({"absent", "5"});
  EXPECT_THAT(leaf, HasSubstr("deadlock: since "));
  EXPECT_THAT(leaf, HasSubstr("all ranks have waited in calls of MPI"));
  EXPECT_THAT(leaf,
              HasSubstr("MPI_Barrier in the tree of a communicator of 6, round 1, waits for rank 5; ranks "
                        "0, 1, 2, 3, 4 are there"));
  EXPECT_THAT(leaf, HasSubstr("it waits for rank 5, which is in MPI_Recv (rank 0, tag 0)"));
  const std::string inner = told_of({"absent", "2"});
  EXPECT_THAT(inner, HasSubstr("waits for rank 2; ranks 0, 1, 3, 4, 5 are there"));
  const std::string root = told_of({"silent root", "3"});
  EXPECT_THAT(
      root, HasSubstr("MPI_Bcast with root 3 in the tree of a communicator of 6, round 0, waits for rank 3; "
                      "ranks 0, 1, 2, 4, 5 are there"));
  const std::string other = told_of({"other", "4"});
  EXPECT_THAT(other, HasSubstr("MPI_Barrier in the tree of a communicator of 6, round 1, waits for rank 4"));
  EXPECT_THAT(other, HasSubstr("it waits for rank 4, which waits for the other ranks, since"));
  EXPECT_THAT(other, HasSubstr("after MPI_Reduce"));
  EXPECT_THAT(
      other, HasSubstr("MPI_Reduce in the tree of a communicator of 6, round 0, waits for ranks 1, 3; rank 4 "
                       "is there"));
}

TEST(Collectives, ADeadlockOfManyIsToldWithoutWaitingForAMinute) {
  Words command{kPrograms + "collectives_wrong", "absent", "33"};
  ProgramResult r = run_ranks(kTianhe, 64, command, offload({"--engine", "ideal"}));
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("waits for rank 33"));
  EXPECT_THAT(r.err, testing::ContainsRegex("nothing has happened, at 1[.][0-9]+ s"));
}

TEST(Collectives, WhoeverHasSetATimerIsGivenItsTime) {
  EXPECT_THAT(told_of({"alarm", "1"}), HasSubstr("rank 1 on node 1 ended with exit code 5 in MPI_Recv"));
}

TEST(Collectives, WhoDiesIsNamedWithTheTreeItHasLeft) {
  const std::string before = told_of({"dies", "2"});
  EXPECT_THAT(before, HasSubstr("rank 2 on node 2 ended with exit code 7 after MPI_Barrier"));
  EXPECT_THAT(before, HasSubstr("MPI_Barrier in the tree of a communicator of 6, round 1, waits for rank 2"));
  EXPECT_THAT(before, HasSubstr("it waits for rank 2, which ended with exit code 7"));
  const std::string root = told_of({"dies", "0"});
  EXPECT_THAT(root, HasSubstr("rank 0 on node 0 ended with exit code 7 after MPI_Barrier"));
  EXPECT_THAT(root, HasSubstr("waits for rank 0"));
  const std::string behind = told_of({"dies behind", "2"});
  EXPECT_THAT(behind, HasSubstr("rank 2 on node 2 was ended by signal 9"));
  EXPECT_THAT(behind, HasSubstr("with MPI_Allreduce in the tree of a communicator of 6, round 1, under way"));
}

TEST(Collectives, EveryConstructorOfCommunicatorsAndPersistentOnes) {
  ProgramResult r =
      run_ranks(kTianhe, 6, {kPrograms + "collectives_constructors"}, offload({"--engine", "ideal"}));
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_THAT(r.out, testing::Not(HasSubstr("wrong")));
  EXPECT_THAT(r.err, testing::Not(HasSubstr("persistent"))) << "interfaces run these too";
  EXPECT_THAT(r.err, HasSubstr("6 all-reduce (the communicator has two groups)"));
  EXPECT_THAT(r.err, HasSubstr("6 all-reduce (not waited for, and before the first call"));
}

TEST(Collectives, ControlPacketsAreTrafficAndTheReportSaysHowCollectivesRan) {
  const Words command{kPrograms + "collectives_overlap", "2"};
  auto result = [&](Words options) {
    options.insert(options.end(), {"--engine", "ideal", "--json"});
    ProgramResult r = run_ranks(kTianhe, 8, command, options);
    EXPECT_EQ(r.code, 0) << r.err;
    return parse_json(r.out);
  };
  const nlohmann::json ours = result(offload()), library = result({});
  std::uint64_t sent = 0, in_matrix = 0, operations = 0;
  for (const auto& one : ours["interfaces"]) sent += one["control_packets"].get<std::uint64_t>();
  for (const auto& one : ours["matrix"]) in_matrix += one[2].get<std::uint64_t>();
  for (const auto& one : ours["operations"]) operations += one["count"].get<std::uint64_t>();
  EXPECT_GT(sent, 0u);
  EXPECT_EQ(ours["operations"]["control packet"]["count"], sent);
  EXPECT_EQ(in_matrix, operations);
  auto how = [](const nlohmann::json& from) {
    for (const auto& one : from["mpi_collectives"])
      if (one["members"] == 8 && one["call"] == "MPI_Barrier") return one["how"].get<std::string>();
    return std::string("none");
  };
  EXPECT_EQ(how(ours), "in the interfaces");
  EXPECT_EQ(how(library), "recursive doubling");
}

// Four nodes of four ranks each: within a node nothing crosses the network, and each barrier takes as many
// packets as there are nodes but one, there and back.
TEST(Collectives, InTwoLevelsNodesMeetOnce) {
  const Words command{kPrograms + "collectives_random", "3", "150"}, nodes{"--per-node", "4"};
  auto run = [&](const Words& more) {
    return run_ranks(kTorus, 16, command, with(with(with({"--engine", "ideal"}, nodes), kUnits), more));
  };
  ProgramResult library = run({}), one = run(offload()), two = run(offload(sets({"mpi.tree_levels=node"}))),
                routers =
                    run(offload(sets({"mpi.tree_levels=router", "mpi.tree=k-nomial", "mpi.tree_arity=2"})));
  ASSERT_EQ(library.code, 0) << library.err;
  EXPECT_EQ(one.out, library.out) << one.err;
  EXPECT_EQ(two.out, library.out) << two.err;
  EXPECT_EQ(routers.out, library.out) << routers.err;
  auto packets = [&](const std::string& levels) {
    ProgramResult r = run_ranks(kTorus, 16, {kPrograms + "collectives_wrong", "none"},  // one barrier
                                with(with(offload({"--engine", "ideal", "--json"}), nodes),
                                     with(kUnits, sets({"mpi.tree_levels=" + levels}))));
    const nlohmann::json result = parse_json(r.out);
    std::uint64_t sent = 0;
    for (const auto& one_of : result["interfaces"]) sent += one_of["control_packets"].get<std::uint64_t>();
    return sent;
  };
  EXPECT_EQ(packets("node"), 2u * 3);
  EXPECT_GT(packets("one"), 2u * 3);
}

const Words kSecond =
    sets({"collective_network.topology.kind=torus", "collective_network.topology.dims=[4,4]",
          "collective_network.routing.kind=dimension-order", "collective_network.cable.default.lanes=1"});

TEST(Collectives, ASecondNetworkCarriesThemAndTheResultsAreTheSame) {
  const Words command{kPrograms + "collectives_random", "7", "120"};
  for (const char* engine : {"ideal", "flit"}) {
    ProgramResult library = run_ranks(kTorus, 8, command, {"--engine", engine});
    const Words options = with(offload({"--engine", engine}), kUnits);
    ProgramResult one = run_ranks(kTorus, 8, command, options);
    ProgramResult two = run_ranks(kTorus, 8, command, with(options, kSecond));
    ASSERT_EQ(two.code, 0) << two.err;
    EXPECT_EQ(two.out, library.out) << engine;
    EXPECT_NE(two.err, one.err) << "a network of another topology takes other times";
    EXPECT_EQ(run_ranks(kTorus, 8, command, with(options, kSecond)).err, two.err);
  }
}

TEST(Collectives, CablesOfASecondNetworkAreCutAndRestoredAndNothingIsLost) {
  const Words command{kPrograms + "collectives_random", "7", "120"};
  const Words options = with(with(offload(), kUnits), kSecond);
  const Words breaks{"--collective-fault", "at 100us cut r0.p0; at 300us restore r0.p0; at 400us cut r1.p0"};
  ProgramResult whole = run_ranks(kTorus, 8, command, options);
  ASSERT_EQ(whole.code, 0) << whole.err;
  const std::string out = testing::TempDir() + "/second_network_links";
  ProgramResult broken = run_ranks(kTorus, 8, command, with(with(options, breaks), {"--out", out}));
  ASSERT_EQ(broken.code, 0) << broken.err;
  EXPECT_EQ(broken.out, whole.out);
  EXPECT_THAT(broken.err, HasSubstr("network for collectives: "));
  EXPECT_NE(broken.err, whole.err) << "it takes longer";
  const std::string page = read_file(out + "/report.html");
  EXPECT_THAT(page, HasSubstr("What the links of the network for collectives carried"));
  // Script and machine must fit.
  ProgramResult none = run_ranks(kTorus, 2, {"/bin/true"}, with(offload(kUnits), breaks));
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("[collective_network]"));
  ProgramResult ideal =
      run_ranks(kTorus, 2, {"/bin/true"}, with(with(kSecond, breaks), {"--engine", "ideal"}));
  EXPECT_EQ(ideal.code, 2);
  EXPECT_THAT(ideal.err, HasSubstr("--collective-fault"));
}

// A rank's neighbours are busy with long messages; a barrier by the same cables waits for them, one by its
// own cables does not.
TEST(Collectives, TrafficDoesNotDelayThoseThatHaveANetworkOfTheirOwn) {
  const Words command{kPrograms + "collectives_busy"};
  auto barrier = [&](const Words& more) {
    ProgramResult r = run_ranks(kTorus, 16, command, with(with(offload(), kUnits), more));
    EXPECT_EQ(r.code, 0) << r.err;
    double quiet = 0, busy = 0;
    std::istringstream(r.out) >> quiet >> busy;
    EXPECT_GT(quiet, 0);
    return busy / quiet;
  };
  EXPECT_GT(barrier({}), 1.5);
  EXPECT_LT(barrier(kSecond), 1.2);
}

// The sums of a solver's steps wait for its halos on the same cables, and not on their own.
TEST(Collectives, SkeletonsUseASecondNetworkToo) {
  const auto replay = [&](const char* engine, const char* send_cost, const Words& more) {
    Words words{"replay", "torus", "lattice-qcd"};
    for (const Words& part : {sets({"topology.dims=[4,4]"}), kUnits, more,
                              Words{"--ranks", "16", "--collectives", "offload", "--engine", engine, "--json",
                                    "--send-cost", send_cost}})
      words.insert(words.end(), part.begin(), part.end());
    return run_program(words);
  };
  for (const char* engine : {"ideal", "flow", "flit"}) {
    ProgramResult one = replay(engine, "100ns", {}), two = replay(engine, "100ns", kSecond);
    ASSERT_EQ(two.code, 0) << two.err;
    const auto time = [](const ProgramResult& r) { return nlohmann::json::parse(r.out).at("completion_ps"); };
    EXPECT_NE(time(one), time(two)) << engine;
    EXPECT_EQ(time(two), time(replay(engine, "100ns", kSecond))) << engine;
  }
  ProgramResult refused = replay("ideal", "0", kSecond);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--send-cost must be more than 0"));
}

TEST(Collectives, AMistakeInASecondNetworkIsToldWithItsKey) {
  ProgramResult r = run_program({"check", "torus", "--set", "collective_network.topology.kind=toru", "--set",
                                 "collective_network.nic.window=3"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("collective_network.topology.kind"));
  EXPECT_THAT(r.err, HasSubstr("torus"));
  EXPECT_THAT(r.err, HasSubstr("collective_network.nic"));
  Words small{"check"};
  ProgramResult both = run_program(with(with(small, kTorus), kSecond));
  EXPECT_EQ(both.code, 0) << both.err;
  EXPECT_THAT(both.out, HasSubstr("network for collectives"));
  ProgramResult few =
      run_ranks(kTorus, 2, {"/bin/true"}, with(kSecond, sets({"collective_network.topology.dims=[4]"})));
  EXPECT_EQ(few.code, 2);
  EXPECT_THAT(few.err, HasSubstr("has 4 endpoints; every one of the machine's 16 nodes needs one"));
}

TEST(Collectives, AMachineWhoseInterfacesRunNoneSaysSo) {
  ProgramResult r = run_ranks({"extoll-tourmalet"}, 2, {kPrograms + "collectives_wrong", "none"}, offload());
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("nic.triggers"));
}

}  // namespace
}  // namespace weft::test
