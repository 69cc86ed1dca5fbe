// `weft run` as people use it: examples, clocks, output, and everything that can go wrong with processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <sstream>
#include <thread>

#include "base/text.hpp"
#include "json.hpp"
#include "run_program.hpp"
#include "test_paths.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

const std::string kExamples = WEFT_BUILD "/examples/", kPrograms = WEFT_BUILD "/test-programs/";
const std::string kMisbehave = kPrograms + "misbehave";

ProgramResult run_ranks(unsigned ranks, const std::vector<std::string>& command,
                        const std::vector<std::string>& options = {}) {
  std::vector<std::string> all{"run", "torus", "--set", "topology.dims=[2,2,2]", "-n", std::to_string(ranks)};
  all.insert(all.end(), options.begin(), options.end());
  all.push_back("--");
  all.insert(all.end(), command.begin(), command.end());
  return run_program(all, 60);
}

class Example : public testing::TestWithParam<std::pair<unsigned, std::vector<std::string>>> {};

TEST_P(Example, RunsTwiceTheSame) {
  auto [ranks, command] = GetParam();
  command[0] = kExamples + command[0];
  ProgramResult first = run_ranks(ranks, command), second = run_ranks(ranks, command);
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_FALSE(first.out.empty());
  EXPECT_EQ(first.out, second.out);
  EXPECT_EQ(first.err, second.err);
  // The cores used are the system's business and change nothing.
  ProgramResult spread = run_ranks(ranks, command, {"--cores", "all"});
  EXPECT_EQ(first.out, spread.out);
  EXPECT_EQ(first.err, spread.err);
}

INSTANTIATE_TEST_SUITE_P(All, Example,
                         testing::Values(std::pair{2u, std::vector<std::string>{"pingpong", "20", "8192"}},
                                         std::pair{8u, std::vector<std::string>{"message_rate", "--pairs",
                                                                                "4", "--count", "200"}},
                                         std::pair{8u, std::vector<std::string>{"halo"}},
                                         std::pair{8u, std::vector<std::string>{"shift", "20000", "3"}},
                                         std::pair{2u, std::vector<std::string>{"put_get"}}));

TEST(Run, ThreadsOfTheNetworkChangeNothing) {
  auto with = [](const char* threads) {
    return run_ranks(8, {kExamples + "shift", "60000", "5"}, {"--engine", "flit", "--threads", threads});
  };
  ProgramResult one = with("1"), two = with("2"), three = with("3");
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(one.out, two.out);
  EXPECT_EQ(one.err, two.err);
  EXPECT_EQ(one.out, three.out);
  EXPECT_EQ(one.err, three.err);
}

// Who is alone with its own work knows how long nothing else can come: a look in vain is no visit to the
// simulator, and a message takes one turn of a rank.
TEST(Run, AMessageOfAPingPongIsOneTurn) {
  const auto turns = [](const std::string& round_trips) {
    ProgramResult r = run_ranks(2, {kExamples + "pingpong", round_trips, "0"}, {"--json"});
    EXPECT_EQ(r.code, 0) << r.err;
    return parse_json(r.out.substr(r.out.find("{\n")))["turns"].get<double>();
  };
  EXPECT_NEAR((turns("300") - turns("100")) / 400, 1, 0.05);
}

TEST(Run, HaloComputesWhatOneProcessComputes) {
  // Four ranks with the values 1 to 4; the rims take means with their neighbours, the inside stays.
  ProgramResult r = run_ranks(4, {kExamples + "halo", "8", "1"});
  ASSERT_EQ(r.code, 0) << r.err;
  // Rank 0: corners and horizontal rims meet rank 2 (value 3), vertical ones rank 1 (value 2).
  double sum = 8 * 8 * 1.0 + 16 * 1.0 + 12 * 0.5;
  EXPECT_THAT(r.out, HasSubstr("rank 0 of 2 x 2: sum " + std::to_string(static_cast<int>(sum)) + ","));
}

double half_round_ns(const std::vector<std::string>& options) {
  std::vector<std::string> all{"--engine", "ideal", "--set", "host.bus=axi-128"};
  all.insert(all.end(), options.begin(), options.end());
  ProgramResult r = run_ranks(2, {kExamples + "pingpong", "10", "0"}, all);
  EXPECT_EQ(r.code, 0) << r.err;
  std::istringstream lines(r.out);
  std::string heading;
  std::getline(lines, heading);
  double bytes = -1, ns = 0;
  lines >> bytes >> ns;
  EXPECT_EQ(bytes, 0);
  return ns;
}

TEST(Run, LatencyIsTheSumOfTheProfilesParts) {
  // Post 40, bus 150 and 16 bytes at 19.2 Gb/s, interface 50, two routers of 60 and a cable of 90, 32 bytes
  // at 20 Gb/s, interface 50, bus as before, a look at memory 60, receiving 30.
  double bus = 150 + 16 * 8 / 19.2, plain = 40 + bus + 50 + 210 + 32 * 8 / 20.0 + 50 + bus + 60 + 30;
  EXPECT_NEAR(half_round_ns({}), plain, 0.01);
  EXPECT_NEAR(half_round_ns({"--set", "host.cache_injection=true"}), plain - 60 + 15, 0.01);
  EXPECT_NEAR(half_round_ns({"--set", "host.post_cost=140ns"}), plain + 100, 0.01);
  EXPECT_NEAR(half_round_ns({"--set", "host.compute=fixed", "--set", "host.compute_fixed=10ns"}),
              plain + 10 * 3, 15);
}

TEST(Run, ClocksAndSleepsAreVirtual) {
  EXPECT_TRUE(takes_less_than(std::chrono::seconds(4), [] {
    ProgramResult r = run_ranks(1, {kMisbehave, "clocks"});
    EXPECT_EQ(r.code, 0) << r.err;
    // 1.5 ms, 2 s, 1 s, 250 ms, 250 ms and 1 s, exactly; the run begins at the turn of the year 2000.
    EXPECT_THAT(r.out, HasSubstr("slept 4.501500 s; the calendar says 946684804, time() 946684804"));
    EXPECT_THAT(r.out, HasSubstr("a loop on the clock ended"));
  })) << "nobody really slept";
}

TEST(Run, AProgramThatOpensNothingIsFine) {
  ProgramResult r = run_ranks(3, {kMisbehave, "no-port"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "rank 0 of 3 opens nothing\nrank 1 of 3 opens nothing\nrank 2 of 3 opens nothing\n");
  EXPECT_EQ(run_ranks(2, {"/bin/true"}).code, 0) << "nor need it know of Weft";
}

TEST(Run, AScriptMayStartTheProgram) {
  ProgramResult r = run_ranks(2, {"/bin/sh", "-c", kExamples + "put_get; echo after"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("the counter is 15"));
  EXPECT_THAT(r.out, HasSubstr("after"));
}

TEST(Run, AnExitCodeEndsTheRun) {
  ProgramResult r = run_ranks(3, {kMisbehave, "exit"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("rank 1 on node 1 ended with exit code 7"));
  EXPECT_THAT(r.err, HasSubstr("rank 0: waits for a message or an event from rank 1"));
}

TEST(Run, ASignalEndsTheRun) {
  ProgramResult r = run_ranks(2, {kMisbehave, "crash"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("rank 1 on node 1 was ended by signal 11"));
}

TEST(Run, ADeadlockIsShownAsACircle) {
  ProgramResult r = run_ranks(3, {kMisbehave, "deadlock"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("deadlock: every rank waits and nothing is under way"));
  EXPECT_THAT(r.err, HasSubstr("rank 2: waits for a message or an event from rank 0"));
  EXPECT_THAT(r.err, HasSubstr("a cycle: rank 0 waits for rank 1, that for rank 2, that for the first"));
}

TEST(Run, ADeadlockOfPollersIsFoundToo) {
  ProgramResult r = run_ranks(2, {kMisbehave, "spin"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("ranks have polled and nothing has happened"));
}

TEST(Run, ARankThatHasEndedCannotBeFound) {
  ProgramResult r = run_ranks(2, {kMisbehave, "early"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.out, HasSubstr("lookup of 1: Connection refused"));
  r = run_ranks(2, {kMisbehave, "absent"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "lookup: Connection refused\n");
}

TEST(Run, PortsRunOut) {
  ProgramResult r = run_ranks(2, {kMisbehave, "ports"}, {"--set", "nic.ports=5", "--per-node", "2"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("ports, then: No space left on device"));
}

TEST(Run, AProfileWithoutQueuesIsRefused) {
  ProgramResult r =
      run_ranks(2, {kMisbehave, "exit"}, {"--set", "nic.queue_slots=0", "--set", "nic.event_slots=0"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("nic.queue_slots: is 0: no program can open a port"));
  EXPECT_THAT(r.err, HasSubstr("nic.event_slots: is 0"));
}

TEST(Run, MistakesOfTheCommandLine) {
  EXPECT_EQ(run_ranks(9, {"/bin/true"}).code, 2);
  EXPECT_THAT(run_ranks(9, {"/bin/true"}).err, HasSubstr("9 ranks at 1 per node need 9 nodes; torus has 8"));
  EXPECT_EQ(run_ranks(2, {"/no/such/program"}).code, 2);
  EXPECT_THAT(run_ranks(2, {"no-such-program"}).err, HasSubstr("there is no program 'no-such-program'"));
  EXPECT_THAT(run_ranks(2, {"/bin/true"}, {"--engine", "flint"}).err,
              HasSubstr("there is no engine 'flint'"));
}

TEST(Run, AForkedChildHasNoPort) {
  ProgramResult r = run_ranks(2, {kMisbehave, "fork"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("child: open No such device"));
  EXPECT_THAT(r.out, HasSubstr("parent 0 goes on: child 0"));
  EXPECT_THAT(r.out, HasSubstr("parent 1 goes on: child 0"));
}

TEST(Run, ACableCutUnderwayCostsTimeAndNothingElse) {
  const std::vector<std::string> command{kExamples + "halo"};
  ProgramResult whole = run_ranks(8, command), cut = run_ranks(8, command, {"--fault", "at 2us cut r0.p0"});
  EXPECT_EQ(cut.code, 0) << cut.err;
  EXPECT_THAT(cut.err, HasSubstr("us cut r0.p0\n"));
  EXPECT_THAT(cut.err, HasSubstr("new routes in every table"));
  EXPECT_NE(cut.err.substr(cut.err.rfind("engine)")), whole.err.substr(whole.err.rfind("engine)")));
  EXPECT_EQ(cut.out, run_ranks(8, command, {"--fault", "at 2us cut r0.p0"}).out);
}

TEST(Run, AManagerNeedsTheTimeOfItsReadsAndWrites) {
  const std::vector<std::string> command{kExamples + "halo"};
  const auto parts = [&](const std::vector<std::string>& more) {
    std::vector<std::string> options{"--fault", "at 2us cut r0.p0", "--set", "rerouting.by=manager"};
    options.insert(options.end(), more.begin(), more.end());
    const ProgramResult r = run_ranks(8, command, options);
    EXPECT_EQ(r.code, 0) << r.err;
    const std::size_t at = r.err.find("(found out in");
    EXPECT_NE(at, std::string::npos) << r.err;
    return r.err.substr(at, r.err.find(')', at) - at);
  };
  const std::string first = parts({});
  EXPECT_EQ(first, parts({}));
  EXPECT_NE(first, parts({"--set", "cable.default.delay=500ns"})) << "longer cables, longer writes";
  EXPECT_EQ(run_ranks(8, command,
                      {"--fault", "at 2us cut r0.p0", "--set", "rerouting.by=manager", "--set",
                       "rerouting.manager=99999"})
                .code,
            2);
}

TEST(Run, FaultsNeedAnEngineWithLinks) {
  ProgramResult r =
      run_ranks(2, {kExamples + "pingpong"}, {"--engine", "flow", "--fault", "at 2us cut r0.p0"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("--fault: nothing breaks in the flow engine; take --engine flit"));
  r = run_ranks(2, {kExamples + "pingpong"}, {"--fault", "at 2us cut r99.p0"});
  EXPECT_EQ(r.code, 2);
}

TEST(Run, ThreadsWaitOnTheirOwn) {
  ProgramResult r = run_ranks(2, {kMisbehave, "threads"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("rank 0 joined its thread"));
  EXPECT_THAT(r.out, HasSubstr("rank 1 joined its thread"));
  r = run_ranks(2, {kMisbehave, "condition"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("rank 0 was told"));
}

TEST(Run, LastWordsArrive) {
  ProgramResult r = run_ranks(2, {kMisbehave, "last-words"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "heard\n");
}

TEST(Run, LongMessagesGoInFragments) {
  ProgramResult r =
      run_ranks(2, {kMisbehave, "fragments"}, {"--set", "nic.kind=extoll", "--set", "nic.queue_slots=3"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "1000 bytes in 16 pieces, whole\n");
}

TEST(Run, InterruptsTakeLongerThanPolling) {
  ProgramResult r = run_ranks(2, {kMisbehave, "interrupt"}, {"--set", "host.interrupt=5us"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "an interrupt takes 5.000 us longer\n");
}

TEST(Run, ResultsAndTracesAddUp) {
  ScratchFolder folder;
  ProgramResult r =
      run_ranks(4, {kExamples + "halo", "16", "5"},
                {"--out", folder.file("o"), "--trace", folder.file("trace.json"), "--engine", "ideal"});
  ASSERT_EQ(r.code, 0) << r.err;
  auto result = parse_json(read_file(folder.file("o/result.json")));
  EXPECT_EQ(result["operations"]["put"]["count"], 4 * 4 * 5);
  EXPECT_EQ(result["operations"]["put"]["bytes"], 4 * 4 * 5 * 16 * 8);
  double sum = 0;
  for (double part : result["operations"]["put"]["mean_parts_ns"]) sum += part;
  EXPECT_NEAR(sum, result["operations"]["put"]["mean_ns"].get<double>(), 1e-6);
  std::uint64_t bytes = 0;
  for (const auto& cell : result["matrix"]) bytes += cell[3].get<std::uint64_t>();
  EXPECT_EQ(bytes, 4u * 4 * 5 * 16 * 8 + 4 * 4 * 16) << "the edges, and the keys they began with";
  EXPECT_THAT(read_file(folder.file("o/report.html")), HasSubstr("Who sends to whom"));
  EXPECT_THAT(read_file(folder.file("o/breakdown.csv")), HasSubstr("put,80,10240,"));

  auto trace = parse_json(read_file(folder.file("trace.json")));
  std::map<std::uint64_t, int> open;
  unsigned waits = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "b") ++open[event["id"]];
    if (event["ph"] == "e") --open[event["id"]];
    waits += event["ph"] == "X";
  }
  EXPECT_EQ(open.size(), 4u * 4 * 5 + 16) << "one for each operation";
  for (auto [id, depth] : open) EXPECT_EQ(depth, 0) << "what begins ends: " << id;
  EXPECT_GT(waits, 20u);

  r = run_ranks(2, {kExamples + "put_get"}, {"--json"});
  ASSERT_EQ(r.code, 0);
  auto printed = parse_json(r.out);
  EXPECT_EQ(printed["operations"]["get"]["count"], 1);
  EXPECT_EQ(printed["operations"]["put"]["failed"], 1);
  EXPECT_THAT(r.err, HasSubstr("the counter is 15"));
}

TEST(Run, NeighboursOnTianhe2AreThreeQuartersOfAMicrosecondApart) {
  // 0.76 us between neighbours (TH Express-2, section 6.1); an 8-byte message stands for the immediate put.
  ProgramResult r = run_program(
      {"run", "tianhe2", "-n", "2", "--engine", "ideal", "--", kExamples + "pingpong", "10", "8"});
  ASSERT_EQ(r.code, 0) << r.err;
  std::istringstream last(r.out.substr(r.out.rfind('\n', r.out.size() - 2)));
  double bytes = 0, ns = 0;
  last >> bytes >> ns;
  EXPECT_EQ(bytes, 8);
  EXPECT_NEAR(ns, 760, 15);
}

TEST(Run, OutputIsOrderedAndMayBeLabelled) {
  ProgramResult r = run_ranks(2, {kMisbehave, "output"}, {"--label", "--quiet"});
  EXPECT_EQ(r.code, 0) << r.err;
  for (int rank : {0, 1}) {
    std::string label = "[" + std::to_string(rank) + "] ";
    EXPECT_THAT(r.out, HasSubstr(label + "line 2 of rank " + std::to_string(rank) + "\n"));
    EXPECT_THAT(r.out, HasSubstr(label + "no end of line\n"));
    EXPECT_THAT(r.err, HasSubstr(label + "complaint 1 of rank " + std::to_string(rank) + "\n"));
  }
  ProgramResult again = run_ranks(2, {kMisbehave, "output"}, {"--label", "--quiet"});
  EXPECT_EQ(r.out, again.out);
  EXPECT_EQ(r.err, again.err);

  ScratchFolder folder;
  r = run_ranks(2, {kMisbehave, "much-output"}, {"--output", folder.file("o"), "--quiet"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "");
  std::string text = read_file(folder.file("o/rank-1.out"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 20'000);
}

TEST(Run, GarbageOfOneRankDisturbsNobody) {
  ProgramResult quiet = run_ranks(3, {kPrograms + "garbage", "1", "quiet"}, {"--quiet"});
  EXPECT_EQ(quiet.code, 0) << quiet.err;
  for (int seed = 1; seed <= 5; ++seed) {
    ProgramResult r = run_ranks(3, {kPrograms + "garbage", std::to_string(seed)}, {"--quiet"});
    EXPECT_EQ(r.code, 0) << "seed " << seed << ": " << r.err;
    EXPECT_EQ(r.out, quiet.out) << "seed " << seed;
  }
}

/// Starts a run that never ends by itself; the caller ends it.
class Background {
 public:
  explicit Background(const std::string& how, unsigned ranks = 3) : err_(folder_.file("err")) {
    pid_ = fork();
    if (pid_ == 0) {
      alarm(300);
      setpgid(0, 0);
      if (!freopen("/dev/null", "w", stdout) || !freopen(err_.c_str(), "w", stderr)) _exit(126);
      std::string count = std::to_string(ranks);
      execl(WEFT_PROGRAM, WEFT_PROGRAM, "run", "torus", "-n", count.c_str(), "--", kMisbehave.c_str(),
            how.c_str(), nullptr);
      _exit(127);
    }
    comes_true([&] { return children().size() >= ranks; });
  }
  std::vector<pid_t> children() const {
    std::vector<pid_t> out;
    std::string p = std::to_string(pid_);
    std::string text = read_file("/proc/" + p + "/task/" + p + "/children");
    for (const std::string& word : split(text, ' '))
      if (!word.empty()) out.push_back(std::stoi(word));
    return out;
  }
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::string err() const { return read_file(err_); }
  pid_t pid() const { return pid_; }

 private:
  ScratchFolder folder_;
  std::string err_;
  pid_t pid_;
};

bool all_gone(const std::vector<pid_t>& processes) {
  return comes_true([&] {
    return std::none_of(processes.begin(), processes.end(), [](pid_t p) { return kill(p, 0) == 0; });
  });
}

TEST(Run, KillingARankEndsTheRun) {
  Background run("hang");
  auto ranks = run.children();
  ASSERT_EQ(ranks.size(), 3u);
  kill(ranks[2], SIGKILL);
  EXPECT_EQ(run.wait(), 1);
  EXPECT_THAT(run.err(), HasSubstr("rank 2 on node 2 was ended by signal 9"));
  EXPECT_TRUE(all_gone(ranks));
}

TEST(Run, KillingTheSimulatorLeavesNothingBehind) {
  Background run("hang");
  auto ranks = run.children();
  ASSERT_EQ(ranks.size(), 3u);
  kill(run.pid(), SIGKILL);
  EXPECT_EQ(run.wait(), 128 + SIGKILL);
  EXPECT_TRUE(all_gone(ranks));
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
    EXPECT_EQ(entry.path().string().find("weft"), std::string::npos) << entry.path();
}

TEST(Run, InterruptingLeavesNothingBehind) {
  Background run("hang");
  auto ranks = run.children();
  ASSERT_EQ(ranks.size(), 3u);
  kill(run.pid(), SIGINT);
  EXPECT_EQ(run.wait(), 1);
  EXPECT_THAT(run.err(), HasSubstr("interrupted"));
  EXPECT_TRUE(all_gone(ranks));
}

TEST(Run, WithoutSharedMemoryItSaysSo) {
  // A limit on file sizes stands for memory that cannot be had.
  ScratchFolder folder;
  std::string err = folder.file("err");
  pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{8192, 8192};
    setrlimit(RLIMIT_FSIZE, &limit);
    if (!freopen(err.c_str(), "w", stderr)) _exit(126);
    execl(WEFT_PROGRAM, WEFT_PROGRAM, "run", "torus", "-n", "2", "--", "/bin/true", nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_THAT(read_file(err), HasSubstr("bytes of shared memory for weft-rank-0 cannot be had"));
}

}  // namespace
}  // namespace weft::test
