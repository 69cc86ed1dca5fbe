// Machines of several networks, as a user meets them: MPI across a cluster and a booster, and over two
// networks between the same nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json.hpp"
#include "mpi_programs.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

const Words kDeep{"deep"};
const Words kAcross{"--place", "cluster:3,booster:3"};

Words with(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(NetworksRun, MpiAcrossClusterAndBoosterGivesWhatItGivesOnOneNetwork) {
  const Words command{kPrograms + "collectives_random", "7", "60"};
  const ProgramResult one = run_ranks(kTorus, 6, command, {"--engine", "ideal"});
  ASSERT_EQ(one.code, 0) << one.err;
  for (const char* engine : {"flit", "flow", "ideal"}) {
    const ProgramResult across = run_ranks(kDeep, 6, command, with(kAcross, {"--engine", engine}));
    EXPECT_EQ(across.code, 0) << across.err;
    EXPECT_EQ(across.out, one.out) << engine;
  }
  // The interfaces' own collectives go through gateways, too.
  const ProgramResult offload = run_ranks(
      kDeep, 6, command,
      with(with(kAcross, {"--collectives", "offload"}), sets({"nic.triggers=320", "nic.operation_units=2"})));
  EXPECT_EQ(offload.code, 0) << offload.err;
  EXPECT_EQ(offload.out, one.out);
  EXPECT_THAT(offload.err, HasSubstr("collectives run by the interfaces"));
}

// Eager and rendezvous, one-sided by messages and by the interfaces, threads of the engine, twice.
TEST(NetworksRun, EveryKindOfMessageCrossesAndTwoRunsAreTheSame) {
  for (const Words& command : {Words{kPrograms + "point_to_point"}, Words{kPrograms + "one_sided"}}) {
    const Words place{"--place", "cluster:2,booster:2"};
    const ProgramResult once = run_ranks(kDeep, 4, command, place);
    EXPECT_EQ(once.code, 0) << once.err;
    EXPECT_THAT(once.out, HasSubstr("0 failed"));
    const ProgramResult threads = run_ranks(kDeep, 4, command, with(place, {"--threads", "2"}));
    EXPECT_EQ(threads.out, once.out);
    EXPECT_EQ(threads.err, once.err) << "the same to the picosecond";
  }
  const ProgramResult rdma =
      run_ranks(kDeep, 4, {kPrograms + "one_sided"}, {"--place", "cluster:2,booster:2", "--windows", "rdma"});
  EXPECT_EQ(rdma.code, 0) << rdma.err;
  EXPECT_THAT(rdma.out, HasSubstr("0 failed"));
}

TEST(NetworksRun, BitErrorsAndCutCablesChangeNoResult) {
  const Words command{kPrograms + "collectives_random", "5", "40"};
  const ProgramResult whole = run_ranks(kDeep, 6, command, kAcross);
  ASSERT_EQ(whole.code, 0) << whole.err;
  const ProgramResult broken =
      run_ranks(kDeep, 6, command,
                with(with(kAcross, {"--fault", "at 30us cut r5.p0; at 100us cut r9.p1"}),
                     sets({"network.booster.cable.default.bit_error_rate=1e-6", "gateway.window=2"})));
  EXPECT_EQ(broken.code, 0) << broken.err;
  EXPECT_EQ(broken.out, whole.out);
  EXPECT_THAT(broken.err, HasSubstr("booster: cut r5.p0"));
  EXPECT_THAT(broken.err, HasSubstr("booster: r5.p0 declares its link dead"));
}

// What stays in one network takes the time it takes on a machine of that network alone.
TEST(NetworksRun, WithinANetworkNothingIsSlowerThanWithoutTheOther) {
  const Words command{kPrograms + "latency"};
  for (const char* name : {"cluster", "booster"}) {
    const std::string nodes = name == std::string("cluster") ? "0,1" : "20,21",
                      own = nodes == "0,1" ? "0,1" : "1,2";
    const ProgramResult alone =
        run_ranks({"deep:" + std::string(name)}, 2, command, {"--place", own, "--quiet"});
    const ProgramResult both = run_ranks(kDeep, 2, command, {"--place", nodes, "--quiet"});
    ASSERT_EQ(alone.code, 0) << alone.err;
    EXPECT_EQ(both.out, alone.out) << name;
  }
}

TEST(NetworksRun, SmallMessagesTakeTheFastNetworkAndLongOnesTheWideOne) {
  auto last_figure = [](const ProgramResult& r, const std::string& row) {
    const std::size_t at = r.out.find("\n" + row + " ");
    EXPECT_NE(at, std::string::npos) << row << r.out << r.err;
    return std::stod(r.out.substr(at + row.size() + 1));
  };
  auto of = [&](const char* machine, const char* program, const std::string& row) {
    return last_figure(run_ranks({machine}, 2, {kPrograms + program}, {"--quiet"}), row);
  };
  const std::string small = "         8", large = "    262144";
  EXPECT_EQ(of("exanest-qfdb", "latency", small), of("exanest-qfdb:low", "latency", small));
  EXPECT_LT(of("exanest-qfdb", "latency", small), of("exanest-qfdb:high", "latency", small) - 0.2);
  EXPECT_NEAR(of("exanest-qfdb", "bandwidth", large) / of("exanest-qfdb:high", "bandwidth", large), 1, 0.01);
  EXPECT_GT(of("exanest-qfdb", "bandwidth", large), 1.4 * of("exanest-qfdb:low", "bandwidth", large));
}

TEST(NetworksRun, ResultsHaveGatewaysAndLinksOfBoth) {
  const std::string out = testing::TempDir() + "/networks_results";
  const ProgramResult r =
      run_ranks(kDeep, 4, {kPrograms + "point_to_point"}, {"--place", "cluster:2,booster:2", "--out", out});
  ASSERT_EQ(r.code, 0) << r.err;
  const auto result = parse_json(read_file(out + "/result.json"));
  ASSERT_EQ(result["gateways"].size(), 4u);
  std::uint64_t packets = 0;
  for (const auto& gateway : result["gateways"]) {
    packets += gateway["packets"].get<std::uint64_t>();
    EXPECT_EQ(gateway["lost"], 0);
  }
  EXPECT_GT(packets, 50u);
  const std::string page = read_file(out + "/report.html");
  EXPECT_THAT(page, HasSubstr("What gateways passed on"));
  EXPECT_THAT(page, HasSubstr("What the links carried"));
  EXPECT_THAT(page, HasSubstr("booster"));
}

TEST(NetworksRun, ShowAndCheckTellOfEachAndOfTheGateways) {
  const ProgramResult show = run_program({"show", "deep"});
  EXPECT_EQ(show.code, 0) << show.err;
  for (const char* part : {"cluster: 0-19", "booster: 16-51", "gateways   nodes 16-19", "deep:cluster\n",
                           "deep:booster\n", "topology     torus, dims = [4, 3, 3]"})
    EXPECT_THAT(show.out, HasSubstr(part));
  const auto json = parse_json(run_program({"show", "deep", "--json"}).out);
  EXPECT_EQ(json["networks"].size(), 2u);
  EXPECT_EQ(json["gateways"]["nodes"].size(), 4u);
  const ProgramResult check = run_program({"check", "deep"});
  EXPECT_EQ(check.code, 0) << check.err;
  EXPECT_THAT(check.out, HasSubstr("deep:booster is connected and deadlock-free"));
  EXPECT_THAT(check.out, HasSubstr("So no network ever waits"));
  const ProgramResult jams = run_program({"check", "deep", "--set", "network.booster.router.channels=1"});
  EXPECT_EQ(jams.code, 1) << "one network that can deadlock is enough";
  EXPECT_THAT(jams.out, HasSubstr("deep FAILS the check"));
}

TEST(NetworksRun, WhatLooksAtOneNetworkSaysSo) {
  for (const Words& words :
       {Words{"traffic", "deep"}, Words{"manage", "deep"}, Words{"tune", "deep"},
        Words{"replay", "deep", "stencil-3d", "--ranks", "4"}, Words{"check", "deep", "--faults", "1"},
        Words{"run", "deep", "-n", "2", "--what-if", "--", "/bin/true"}}) {
    const ProgramResult r = run_program(words);
    EXPECT_EQ(r.code, 2) << words[0];
    EXPECT_THAT(r.err, HasSubstr("deep:cluster or deep:booster")) << words[0];
  }
  const ProgramResult traffic = run_program({"check", "deep:booster"});
  EXPECT_EQ(traffic.code, 0) << traffic.err;
  const ProgramResult place =
      run_program({"run", "deep", "-n", "2", "--place", "boster:2", "--", "/bin/true"});
  EXPECT_EQ(place.code, 2);
  EXPECT_THAT(place.err, HasSubstr("did you mean 'booster'?"));
}

}  // namespace
}  // namespace weft::test
