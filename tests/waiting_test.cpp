// Programs that wait for something else than the network: sockets, timers, memory, children; and what is said
// of them.
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
#include <regex>
#include <sstream>
#include <thread>

#include "base/text.hpp"
#include "mpi_programs.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kWaiting = WEFT_BUILD "/test-programs/waiting";
const Words kSmall{"torus", "--set", "topology.dims=[2,2,2]"};

/// A number for a socket that no other test uses at the same time.
std::string socket_number(int which) { return std::to_string(21'000 + getpid() % 9'000 * 4 + which); }

ProgramResult waiting(unsigned ranks, const Words& how, const Words& options = {}) {
  Words command{kWaiting};
  command.insert(command.end(), how.begin(), how.end());
  return run_ranks(kSmall, ranks, command, options);
}

/// The same words, twice.
ProgramResult twice(unsigned ranks, const Words& command, const Words& options = {}) {
  ProgramResult first = run_ranks(kSmall, ranks, command, options),
                second = run_ranks(kSmall, ranks, command, options);
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.out, second.out);
  EXPECT_EQ(first.err, second.err);
  return first;
}

TEST(Waiting, TimersRunInVirtualTime) {
  EXPECT_TRUE(takes_less_than(std::chrono::seconds(5), [] {
    ProgramResult r = twice(1, {kWaiting, "timers"});
    for (const char* line :
         {"alarm: 1 after 1.000000, 2 left\n", "setitimer: 10 in 0.010500, next in 500 us\n",
          "pause: 1 after 2.000000; alarm(0) says 0\n", "a loop: 1 after 1.000\n",
          "timer_create: 3 with 42 after 0.009000\n", "a thread is told 42\n",
          "sigwait: SIGALRM after 1.000000\n",
          "timerfd: 1 at 0.010000, poll 1, 3 at 0.045000, epoll 1 at 0.050000\n"})
      EXPECT_THAT(r.out, HasSubstr(line));
  })) << "nobody really waited";
}

TEST(Waiting, RanksTalkOverSocketsBesideTheNetwork) {
  ProgramResult r = twice(2, {kWaiting, "sockets", socket_number(0)});
  // One calls each millisecond until the other listens, after 5; it sends after a second, and hears 2 s
  // later.
  EXPECT_THAT(r.out, HasSubstr("rank 0 heard 'hello..' at 2.006000\n"));
  EXPECT_THAT(r.out, HasSubstr("rank 1 has it all, right, at 4.006000\n"));
  EXPECT_THAT(r.out, HasSubstr("rank 0 is done at 4.007000\n"));  // a millisecond after that
  r = twice(2, {kWaiting, "selecting", socket_number(1)});
  for (const char* line : {"poll 1 at 1.010000\n", "select 1 at 1.020000\n", "epoll 1 at 1.030000\n",
                           "asked again and again until 1.040000\n",
                           "nothing for half a second: -1, Resource temporarily unavailable, 0.500000\n"})
    EXPECT_THAT(r.out, HasSubstr(line));
}

TEST(Waiting, ALoopOverMemorySeesAPutWhenItArrives) {
  ProgramResult r = twice(2, {kWaiting, "memory"});
  EXPECT_THAT(r.out, HasSubstr("rank 0 sees 77 at 2.00000"));
}

TEST(Waiting, RanksOfANodePassMemoryToAndFro) {
  setenv("WEFT_TEST_NAME", socket_number(2).c_str(), 1);
  ProgramResult r = twice(2, {kWaiting, "shared"}, {"--per-node", "2", "--quiet"});
  // 20 turns of 100 us and of 200 us.
  EXPECT_EQ(r.out, "rank 0: its last turn ended at 1.005800\nrank 1: its last turn ended at 1.006000\n");
  r = run_ranks(kSmall, 2, {kWaiting, "shared"}, {"--per-node", "2", "--quiet", "--cores", "all"});
  EXPECT_EQ(r.out, "rank 0: its last turn ended at 1.005800\nrank 1: its last turn ended at 1.006000\n");
}

TEST(Waiting, ThreadsThatSpinWaitForEachOther) {
  ProgramResult r = twice(2, {kPrograms + "spin", "barrier"});
  EXPECT_THAT(r.out, HasSubstr("rank 0: 5 rounds of 4 threads, 20 in the lock, "));
  EXPECT_THAT(r.out, HasSubstr("rank 1: 5 rounds of 4 threads, 20 in the lock, "));
  ProgramResult paused = twice(2, {kPrograms + "spin", "pause"});
  EXPECT_THAT(paused.out, HasSubstr("rank 0 was told, "));
  // A loop that counts its rounds waits for the same, and as long.
  ProgramResult counted = run_ranks(kSmall, 2, {kPrograms + "spin", "count"});
  EXPECT_EQ(counted.out, paused.out);
  // One that is found out between its look and its decision waits no longer either.
  ProgramResult late = run_ranks(kSmall, 2, {kPrograms + "spin", "late"});
  EXPECT_EQ(late.out, paused.out);
}

TEST(Waiting, LongWorkOfAThreadIsNoWaiting) {
  ProgramResult r = run_ranks(kSmall, 2, {kPrograms + "spin", "work"}),
                all = run_ranks(kSmall, 2, {kPrograms + "spin", "work"}, {"--cores", "all"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, all.out);
  EXPECT_EQ(r.err, all.err);
  ProgramResult rounds = twice(2, {kPrograms + "spin", "rounds"});
  for (const char* line : {"rank 0 counted to 3200000000, ", "rank 1 counted to 3200000000, "})
    EXPECT_THAT(rounds.out, HasSubstr(line));
}

TEST(Waiting, ChildrenSleepInTheRanksTime) {
  EXPECT_TRUE(takes_less_than(std::chrono::seconds(9), [] {
    ProgramResult r = waiting(1, {"children"});
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(r.out, "system: 3.000\nfork: 0.250, 7\npopen: 1.000, done\n");
    r = run_ranks(kSmall, 2,
                  {"/bin/sh", "-c", "sleep 20; " + kWaiting + " none; sleep 10 & sleep 5; wait; echo over"});
    EXPECT_EQ(r.out, "over\nover\n");
  })) << "nobody really slept";
}

TEST(Waiting, ChildrenDoNotOutliveTheRun) {
  const Words mark{"leave-children", socket_number(3)};
  ProgramResult r = waiting(2, mark);
  EXPECT_EQ(r.code, 0) << r.err;
  const auto left = [&] {
    std::string out;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::string command = read_file(entry.path().string() + "/cmdline");
      std::replace(command.begin(), command.end(), '\0', ' ');
      if (command.find("waiting " + join(mark, " ")) != std::string::npos)
        out += entry.path().string() + "\n";
    }
    return out;
  };
  // They have been killed when the run ends, or else stay for ever; a busy system takes a while to remove
  // them.
  for (int i = 0; i < 200 && !left().empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(left(), "");
}

TEST(Waiting, LinesWithoutAnEndKeepToThemselves) {
  ProgramResult r = run_ranks(kSmall, 3, {"/bin/sh", "-c", "printf 'rank %s' $WEFT_RANK"}, {"--quiet"});
  EXPECT_EQ(r.out, "rank 0\nrank 1\nrank 2");
  r = run_ranks(kSmall, 1, {"/bin/sh", "-c", "printf 'just this'"}, {"--quiet"});
  EXPECT_EQ(r.out, "just this") << "one rank's output is as it was written";
}

TEST(Waiting, OverlapIsTheMachines) {
  auto overlap = [](const std::string& progress) {
    ProgramResult r =
        twice(4, {kPrograms + "overlap", "alltoall", "65536"}, {"--set", "mpi.progress=" + progress});
    std::smatch found;
    EXPECT_TRUE(std::regex_search(
        r.out, found, std::regex("alone ([0-9.]+) us, computed ([0-9.]+) us, .*overlap ([0-9.]+)%, 0 wrong")))
        << r.out;
    double alone = std::stod(found[1]), computed = std::stod(found[2]);
    EXPECT_NEAR(computed, alone, 0.02 * alone + 2) << "as long as it was to compute";
    return std::stod(found[3]);
  };
  EXPECT_GT(overlap("interface"), 80);
  EXPECT_LT(overlap("calls"), 20);
}

/// A run that does not end by itself: what it says meanwhile.
class Meanwhile {
 public:
  Meanwhile(unsigned ranks, const Words& how) : err_(folder_.file("err")) {
    Words command{kWaiting};
    command.insert(command.end(), how.begin(), how.end());
    Words words = run_words(kSmall, ranks, command);
    pid_ = fork();
    if (pid_ == 0) {
      alarm(400);
      if (!freopen("/dev/null", "w", stdout) || !freopen(err_.c_str(), "w", stderr)) _exit(126);
      std::vector<char*> argv{const_cast<char*>(WEFT_PROGRAM)};
      for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
      argv.push_back(nullptr);
      execv(WEFT_PROGRAM, argv.data());
      _exit(127);
    }
  }
  ~Meanwhile() {
    kill(pid_, SIGINT);
    waitpid(pid_, nullptr, 0);
  }
  Meanwhile(const Meanwhile&) = delete;
  Meanwhile& operator=(const Meanwhile&) = delete;

  bool says(const std::string& words) const {
    return comes_true([&] { return read_file(err_).find(words) != std::string::npos; });
  }
  std::vector<pid_t> ranks() const {
    std::vector<pid_t> out;
    std::string p = std::to_string(pid_);
    comes_true([&] {
      std::istringstream children(read_file("/proc/" + p + "/task/" + p + "/children"));
      out.clear();
      for (pid_t child; children >> child;) out.push_back(child);
      return out.size() >= 2;
    });
    return out;
  }
  std::string err() const { return read_file(err_); }

 private:
  ScratchFolder folder_;
  std::string err_;
  pid_t pid_ = -1;
};

TEST(Waiting, ARankThatIsStoppedIsSaidToBe) {
  Meanwhile run(2, {"for-seconds"});
  auto ranks = run.ranks();
  ASSERT_EQ(ranks.size(), 2u);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  kill(ranks[1], SIGSTOP);
  EXPECT_TRUE(run.says("rank 1 (process " + std::to_string(ranks[1]) + ") is stopped by a signal"))
      << run.err();
  kill(ranks[1], SIGCONT);
}

TEST(Waiting, WhatIsWaitedForIsNamedAndLongRunsTellHowFarTheyAre) {
  Meanwhile accepts(2, {"accept", socket_number(3)}), computes(1, {"for-seconds"});
  EXPECT_TRUE(accepts.says("rank 0: waits in accept")) << accepts.err();
  EXPECT_TRUE(computes.says("of virtual time so far; a second of it takes about")) << computes.err();
  EXPECT_TRUE(computes.says("--compute measured")) << computes.err();
}

}  // namespace
}  // namespace weft::test
