// Unmodified MPI programs under `weft run`: times against closed forms, nothing around the network, the same
// bytes every time, and everything that can go wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "base/text.hpp"
#include "json.hpp"
#include "mpi_programs.hpp"
#include "test_paths.hpp"

namespace weft::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const std::string kCore = WEFT_BUILD "/mpi-programs/core";

ProgramResult run_mpi(const std::string& machine, unsigned ranks, const std::vector<std::string>& options,
                      const std::vector<std::string>& arguments, const std::string& program = kCore) {
  std::vector<std::string> all{"run", machine, "-n", std::to_string(ranks)};
  all.insert(all.end(), options.begin(), options.end());
  all.insert(all.end(), {"--", program});
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run_program(all);
}

// Picoseconds of that machine's parts.
constexpr std::int64_t kLatency = 1'500'000, kBusLatency = 1'000, kHead = 16, kDescriptor = 16;
std::int64_t bus(std::int64_t bytes) { return bytes * 8 * 1'000'000'000'000 / 19'200'000'000; }
std::int64_t wire(std::int64_t bytes, std::int64_t gigabits = 80) { return bytes * 8 * 1000 / gigabits; }

/// One small message, from the call to send to the end of the receive.
std::int64_t one_way(std::int64_t bytes) {
  std::int64_t message = kHead + bytes;
  return bus(kDescriptor + message) + kBusLatency + kLatency + wire(message) + bus(kDescriptor + message) +
         kBusLatency;
}

TEST(MpiRun, PingPongIsTheClosedForm) {
  for (int bytes : {0, 1, 8, 64, 104}) {
    ProgramResult r = run_mpi("torus", 2, plain(), {"pingpong", std::to_string(bytes), "100"});
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(std::stoll(r.out), 200 * one_way(bytes) / 1000) << bytes << " bytes";
  }
}

TEST(MpiRun, HostCostsAddUp) {
  // Each message: a send, a post, a look, a take, a receive, one comparison and a copy.
  ProgramResult r = run_mpi(
      "torus", 2,
      plain({"mpi.send_cost=11ns", "host.post_cost=13ns", "host.memory_read=17ns", "host.receive_cost=19ns",
             "mpi.receive_cost=23ns", "mpi.match_cost=29ns", "mpi.copy_rate=8Gbps", "host.poll_cost=999ns"}),
      {"pingpong", "8", "100"});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(std::stoll(r.out),
            200 * (one_way(8) / 1000 + 11 + 13 + 17 + 19 + 23 + 29 + 8) + 200 * (one_way(8) % 1000) / 1000);
}

TEST(MpiRun, MatchingInTheInterfaceCostsTheProcessorNothing) {
  std::vector<std::string> costs{"mpi.match_cost=29ns", "mpi.copy_rate=8Gbps", "mpi.matching=nic"};
  ProgramResult r = run_mpi("torus", 2, plain(costs), {"pingpong", "8", "100"});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(std::stoll(r.out), 200 * one_way(8) / 1000);
}

TEST(MpiRun, AWindowOfMessagesFillsTheSlowestPart) {
  // The wire, at 1 Gbit/s, is slower than the buses: messages follow each other on it.
  constexpr int kBytes = 100, kCount = 64;
  ProgramResult r =
      run_mpi("torus", 2, plain({"cable.default.lane_rate=1Gbps"}), {"window", std::to_string(kBytes), "64"});
  ASSERT_EQ(r.code, 0) << r.err;
  std::int64_t message = kHead + kBytes, answer = kHead + 4;
  std::int64_t there = bus(kDescriptor + message) + kBusLatency + kCount * wire(message, 1) + kLatency +
                       bus(kDescriptor + message) + kBusLatency;
  std::int64_t back = bus(kDescriptor + answer) + kBusLatency + kLatency + wire(answer, 1) +
                      bus(kDescriptor + answer) + kBusLatency;
  EXPECT_EQ(std::stoll(r.out), (there + back) / 1000);
}

TEST(MpiRun, AnAllReduceOfEightIsThreeRounds) {
  ProgramResult r = run_mpi("torus", 8, plain(), {"allreduce"});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(std::stoll(r.out), 3 * one_way(8) / 1000);
}

json parsed(const ProgramResult& r) { return parse_json(r.out); }

double at(const json& result, const char* key) {
  // "98.6ns" and the like, rates in Gbps, as the effective configuration writes them.
  std::string text = result["configuration"][key];
  std::erase(text, '"');
  std::size_t used = 0;
  double value = std::stod(text, &used);
  std::string unit = text.substr(used);
  return value * (unit == "us" ? 1000 : unit == "ps" ? 0.001 : 1);
}

TEST(MpiRun, OnTheFlitEngineItIsTheSumOfTheParts) {
  ProgramResult r = run_mpi("tianhe2", 2, {"--json"}, {"pingpong", "8", "50"});
  ASSERT_EQ(r.code, 0) << r.err;
  json result = parsed(r);
  double parts = 0;
  for (const auto& [name, time] : result["operations"]["message"]["mean_parts_ns"].items())
    parts += time.get<double>();
  // Of the parts, what the interfaces and the bus take is the profile's.
  const json& mean = result["operations"]["message"]["mean_parts_ns"];
  EXPECT_NEAR(mean["nic"].get<double>(), at(result, "nic.send_latency"), 1e-6);
  EXPECT_NEAR(mean["remote nic"].get<double>(), at(result, "nic.receive_latency"), 1e-6);
  EXPECT_GT(mean["wire"].get<double>(), at(result, "router.latency"));
  // What a processor does besides, of which the time of the copy is that of 64 bits.
  double host = at(result, "mpi.send_cost") + at(result, "host.post_cost") + at(result, "host.memory_read") +
                at(result, "host.receive_cost") + at(result, "mpi.receive_cost") +
                at(result, "mpi.match_cost") + 64 / at(result, "mpi.copy_rate");
  // The barrier-free program sends nothing but its 100 messages.
  EXPECT_EQ(result["operations"]["message"]["count"], 100);
  EXPECT_NEAR(std::stod(r.err), 100 * (parts + host), 1.0);
}

TEST(MpiRun, EveryByteGoesThroughTheFabric) {
  // Also between ranks of a node, and of a rank to itself.
  ProgramResult r =
      run_mpi("torus", 4, {"--per-node", "2", "--json", "--set", "topology.dims=[2,2,2]"}, {"everywhere"});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr("0 bytes differ"));
  json result = parsed(r);
  const std::uint64_t sent = 0 + 1 + 7 + 48 + 100 + 104 + 105 + 1000 + 2048 + 2049 + 10'000 + 100'000;
  std::map<std::pair<int, int>, std::uint64_t> bytes;
  for (const json& row : result["matrix"]) bytes[{row[0], row[1]}] = row[3];
  for (int from = 0; from < 4; ++from)
    for (int to = 0; to < 4; ++to) {
      // What is fetched is counted with the one who fetches it, so both directions together are twice as
      // much.
      std::uint64_t both = bytes[{from, to}] + bytes[{to, from}];
      EXPECT_GE(both, 2 * sent) << from << " and " << to;
    }
  std::uint64_t carried = 0;
  for (const auto& [name, sums] : result["mpi"]["protocols"].items())
    carried += sums["bytes"].get<std::uint64_t>();
  EXPECT_GE(carried, 16 * sent);         // all of it,
  EXPECT_LE(carried, 16 * sent + 1000);  // and the reduction at the end
}

struct Way {
  const char* name;
  std::vector<std::string> settings;
  const char* protocol;  // that must have carried something
};

class Protocols : public testing::TestWithParam<Way> {};

TEST_P(Protocols, CarryEverythingAndTwiceTheSame) {
  std::vector<std::string> options{"--json"};
  for (const std::string& s : sets(GetParam().settings)) options.push_back(s);
  ProgramResult first = run_mpi("torus", 4, options, {"everywhere"}),
                second = run_mpi("torus", 4, options, {"everywhere"});
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("0 bytes differ"));
  EXPECT_EQ(first.err, second.err);
  EXPECT_EQ(first.out, second.out);
  json sums = parsed(first)["mpi"]["protocols"];
  ASSERT_TRUE(sums.contains(GetParam().protocol)) << sums;
  EXPECT_GT(sums[GetParam().protocol]["processor_ns"].get<double>(), 0);
  if (std::string(GetParam().name) == "reordered") {
    EXPECT_GT(parsed(first)["mpi"]["reordered"].get<int>(), 0);
  }
  if (std::string(GetParam().name) == "few_credits") {
    EXPECT_GT(parsed(first)["mpi"]["credits_grown"].get<int>(), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Protocols,
    testing::Values(
        Way{"get", {"mpi.rendezvous=get"}, "rendezvous_get"},
        Way{"put", {"mpi.rendezvous=put"}, "rendezvous_put"},
        Way{"get_notified", {"mpi.ack=notification"}, "rendezvous_get"},
        Way{"put_notified", {"mpi.rendezvous=put", "mpi.ack=notification"}, "rendezvous_put"},
        Way{"messages", {"mpi.eager_limit=128KiB"}, "fragments"},
        Way{"few_credits", {"mpi.eager_limit=16KiB", "mpi.credits=1", "mpi.credits_most=4"}, "fragments"},
        Way{"shared", {"mpi.eager=shared", "mpi.eager_limit=16KiB"}, "shared"},
        Way{"shared_few", {"mpi.eager=shared", "mpi.blocks=2", "mpi.block=256B"}, "fragments"},
        Way{"exclusive", {"mpi.eager=exclusive", "mpi.eager_limit=128KiB"}, "exclusive"},
        Way{"only_rendezvous", {"mpi.eager_limit=0B"}, "rendezvous_get"},
        Way{"reordered",
            {"nic.order=none", "routing.kind=minimal-adaptive", "router.channels=3"},
            "rendezvous_get"},
        Way{"exanest", {"nic.kind=exanest"}, "fragments"},
        Way{"extoll", {"nic.kind=extoll", "nic.rdma_limit=8KiB"}, "rendezvous_get"},
        Way{"errors", {"cable.default.bit_error_rate=1e-6", "topology.dims=[2,2]"}, "rendezvous_get"}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(MpiRun, NodesAreTheSimulatedOnes) {
  ProgramResult r = run_mpi("torus", 4, {"--per-node", "2", "--quiet"}, {"where"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out,
            "rank 0 on node0, 0 of 2 there\nrank 1 on node0, 1 of 2 there\n"
            "rank 2 on node1, 0 of 2 there\nrank 3 on node1, 1 of 2 there\n");
}

TEST(MpiRun, RanksMayBePlaced) {
  ScratchFolder scratch;
  std::ofstream(scratch.file("nodes")) << "5\n3\n";
  ProgramResult r = run_mpi(
      "torus", 3, {"--per-node", "2", "--quiet", "--place", "file:" + scratch.file("nodes")}, {"where"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out,
            "rank 0 on node5, 0 of 2 there\nrank 1 on node5, 1 of 2 there\nrank 2 on node3, 0 of 1 there\n");
  EXPECT_EQ(run_mpi("torus", 3, {"--place", "nowhere"}, {"where"}).code, 2);
}

TEST(MpiRun, ThreadsRunTwiceTheSame) {
  ProgramResult first = run_mpi("torus", 2, {}, {"threads"});
  EXPECT_EQ(first.code, 0) << first.err;
  for (int i = 0; i < 3; ++i) {
    ProgramResult again = run_mpi("torus", 2, {"--cores", i % 2 ? "all" : "one"}, {"threads"});
    EXPECT_EQ(first.out, again.out);
    EXPECT_EQ(first.err, again.err);
  }
}

TEST(MpiRun, FortranProgramsRunTwiceTheSame) {
  std::string program = WEFT_BUILD "/mpi-programs/hello";
  if (access(program.c_str(), X_OK) != 0) GTEST_SKIP() << "no Fortran compiler";
  ProgramResult first = run_mpi("torus", 8, {}, {}, program), second = run_mpi("torus", 8, {}, {}, program);
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("sum 28 after ns"));
  EXPECT_EQ(first.out, second.out);
  EXPECT_EQ(first.err, second.err);
}

TEST(MpiRun, AScriptMayStartTheProgram) {
  ProgramResult r = run_mpi("torus", 2, {"--quiet"}, {"-c", kCore + " pingpong 8 10"}, "/bin/sh");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_GT(std::stoll(r.out), 0);
}

TEST(MpiRun, MpichFindsALauncherToo) {
  // Its protocol is lines of text over a file the process has open.
  ProgramResult r =
      run_mpi("torus", 4, {"--per-node", "2", "--quiet", "--label"},
              {"-c",
               "ask() { echo \"$1\" >&$PMI_FD; read -r -u $PMI_FD answer; }\n"
               "ask 'cmd=init pmi_version=1 pmi_subversion=1'\n"
               "ask \"cmd=put kvsname=weft key=of-$PMI_RANK value=a b=$PMI_RANK\"\n"
               "ask 'cmd=barrier_in'; echo \"$answer\"\n"
               "ask \"cmd=get kvsname=weft key=of-$((PMI_SIZE - 1 - PMI_RANK))\"; echo \"$answer\"\n"
               "ask 'cmd=get kvsname=weft key=PMI_process_mapping'; echo \"$answer\"\n"
               "ask 'cmd=get kvsname=weft key=nothing'; echo \"$answer\"\n"
               "ask 'cmd=finalize'"},
              "/bin/bash");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("[1] cmd=barrier_out rc=0\n[1] cmd=get_result rc=0 msg=success value=a b=2\n"
                               "[1] cmd=get_result rc=0 msg=success value=(vector,(0,1,2),(1,1,2))\n"
                               "[1] cmd=get_result rc=-1 msg=not_found value=unknown\n"));
}

struct Failure {
  const char* how;
  const char* message;
};

class Failures : public testing::TestWithParam<Failure> {};

TEST_P(Failures, EndTheRunAndAreNamed) {
  auto [how, message] = GetParam();
  bool before = std::string(how) == "leave-before";
  ProgramResult r =
      run_mpi("torus", 4, {}, before ? std::vector<std::string>{how} : std::vector<std::string>{"fail", how});
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_THAT(r.err, HasSubstr(message));
}

INSTANTIATE_TEST_SUITE_P(All, Failures,
                         testing::Values(Failure{"abort", "rank 1 on node 1 called MPI_Abort with code 7"},
                                         Failure{"exit", "rank 1 on node 1 ended without MPI_Finalize"},
                                         Failure{"exit-3", "rank 1 on node 1 ended with exit code 3"},
                                         Failure{"crash", "rank 1 on node 1 was ended by signal 6"},
                                         Failure{"wait", "rank 1: is in MPI_Recv (rank 0, tag 99)"},
                                         Failure{"leave-before", "rank 1 on node 1 ended without MPI_Init"}),
                         [](const auto& one) {
                           std::string name = one.param.how;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

/// Processes of this program that are left.
int left_over(const std::string& mark) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::string command = read_file(entry.path().string() + "/cmdline");
    std::replace(command.begin(), command.end(), '\0', ' ');
    count += command.find(mark) != std::string::npos && command.find("weft run") == std::string::npos;
  }
  return count;
}

TEST(MpiRun, InterruptingLeavesNothingBehind) {
  std::string mark = std::to_string(getpid() * 1000 + 7);
  pid_t child = fork();
  if (child == 0) {
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(126);
    execl(WEFT_PROGRAM, WEFT_PROGRAM, "run", "torus", "-n", "4", "--", kCore.c_str(), "fail", "compute",
          mark.c_str(), nullptr);
    _exit(127);
  }
  EXPECT_TRUE(comes_true([&] { return left_over("fail compute " + mark) == 4; }));
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1);
  EXPECT_EQ(left_over("fail compute " + mark), 0);
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
    EXPECT_EQ(entry.path().string().find("weft"), std::string::npos) << entry.path();
}

TEST(MpiRun, AMessageOfAPingPongIsOneTurn) {
  const auto turns = [](const char* rounds) {
    ProgramResult r =
        run_mpi("torus", 2, {"--json"}, {"latency", rounds, "8"}, WEFT_BUILD "/validation/pairs");
    EXPECT_EQ(r.code, 0) << r.err;
    return parse_json(r.out.substr(r.out.find("{\n")))["turns"].get<double>();
  };
  EXPECT_NEAR((turns("200") - turns("100")) / 400, 1, 0.05) << "four messages in a round";
}

TEST(MpiRun, ManyRanksOfATree) {
  ProgramResult r = run_mpi("tianhe2", 32, {"--quiet"}, {"allreduce"});
  EXPECT_EQ(r.code, 0) << r.err;
  ProgramResult again = run_mpi("tianhe2", 32, {"--quiet"}, {"allreduce"});
  EXPECT_EQ(r.out, again.out);
}

class Provider : public testing::TestWithParam<Way> {};

TEST_P(Provider, DoesAllThatItOffers) {
  std::vector<std::string> options{"--quiet"};
  for (const std::string& s : sets(GetParam().settings)) options.push_back(s);
  ProgramResult r = run_mpi("torus", 2, options, {}, WEFT_BUILD "/test-programs/fi_all");
  EXPECT_EQ(r.code, 0) << r.err;
  for (const char* check :
       {"tagged messages of all lengths", "unexpected messages, taken backwards", "scattered buffers",
        "truncated messages", "one buffer for several messages", "a receive is cancelled", "peek and claim",
        "waiting in fi_cq_sread takes the time it should", "reads and writes of remote memory",
        "atomics, by the interface and by the processor", "completion on delivery", "messages to oneself",
        "refusals"})
    EXPECT_THAT(r.out, HasSubstr(std::string("ok ") + check + "\n"));
}

TEST_P(Provider, HasItsObjectsInEveryForm) {
  std::vector<std::string> options{"--quiet"};
  for (const std::string& s : sets(GetParam().settings)) options.push_back(s);
  setenv("FI_LOG_LEVEL", "warn", 1);
  ProgramResult r = run_mpi("torus", 2, options, {}, WEFT_BUILD "/test-programs/fi_forms");
  unsetenv("FI_LOG_LEVEL");
  EXPECT_EQ(r.code, 0) << r.err;
  for (const char* check :
       {"a map of addresses", "a table of addresses", "entries of every form", "selective completion",
        "waiting on a file", "time-outs of counters", "a thread is called from its wait",
        "a fenced write comes last", "several messages in a buffer, the last cut", "limits and refusals"})
    EXPECT_THAT(r.out, HasSubstr(std::string("ok ") + check + "\n"));
  // What is refused is refused by name.
  for (const char* reason : {"wait sets are not supported", "poll sets are not supported",
                             "endpoints that listen are not supported", "wait objects other than FI_WAIT_FD",
                             "counters have no wait objects", "bytes to inject, and "})
    EXPECT_THAT(r.err, HasSubstr(reason));
}

TEST_P(Provider, LivesAsProgramsDo) {
  std::vector<std::string> options{"--quiet"};
  for (const std::string& s : sets(GetParam().settings)) options.push_back(s);
  ProgramResult r = run_mpi("torus", 2, options, {}, WEFT_BUILD "/test-programs/fi_life");
  EXPECT_EQ(r.code, 0) << r.err;
  for (const char* check :
       {"an address of the interface", "no operation is missing", "an endpoint is opened again",
        "several endpoints, memory registered before them", "remote counters",
        "entries for remote operations", "a look that discards has one completion",
        "an event queue honours its time-out", "beside a socket", "a wait for a socket beside a message"})
    EXPECT_THAT(r.out, HasSubstr(std::string("ok ") + check + "\n"));
}

INSTANTIATE_TEST_SUITE_P(
    All, Provider,
    testing::Values(Way{"as_it_is", {}, ""}, Way{"put", {"mpi.rendezvous=put", "mpi.ack=notification"}, ""},
                    Way{"credits", {"mpi.credits=1"}, ""},
                    Way{"shortest_messages", {"nic.message_limit=32B"}, ""},
                    Way{"shared", {"mpi.eager=shared", "mpi.eager_limit=16KiB", "mpi.block=1KiB"}, ""},
                    Way{"one_block", {"mpi.eager=shared", "mpi.eager_limit=64KiB", "mpi.blocks=1"}, ""},
                    Way{"exclusive", {"mpi.eager=exclusive", "mpi.block=256B", "mpi.ring_blocks=2"}, ""},
                    Way{"short_queue", {"nic.queue_slots=1"}, ""}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace weft::test
