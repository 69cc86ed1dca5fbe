// What a hostile or unlucky user meets: full disks, closed pipes, files that never end, numbers that would
// wrap, machines that fit in no memory. Each is told in a line, with exit code 2 or 1, and soon.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "json.hpp"
#include "run_program.hpp"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

const std::string kCore = WEFT_BUILD "/mpi-programs/core", kPrograms = WEFT_BUILD "/test-programs/";
const std::vector<std::string> kSmall{"--set", "topology.dims=[4,4]"};

/// Runs the command in a process whose descriptors and limits `prepare` has changed.
ProgramResult run_prepared(const std::vector<std::string>& arguments, const std::function<void()>& prepare,
                           unsigned seconds = 180) {
  return run_program(arguments, seconds, prepare);
}

void redirect(int descriptor, const char* path) {
  int file = open(path, O_WRONLY);
  dup2(file, descriptor);
  close(file);
}

void limit(int what, rlim_t most) {
  rlimit both{most, most};
  setrlimit(static_cast<__rlimit_resource>(what), &both);
}

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string write(const ScratchFolder& folder, const std::string& name, const std::string& text) {
  std::ofstream(folder.file(name), std::ios::binary) << text;
  return folder.file(name);
}

// Output

class FullOutput : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(FullOutput, IsAnErrorWithItsReason) {
  ProgramResult r = run_prepared(GetParam(), [] { redirect(1, "/dev/full"); });
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("error: standard output: "));
  EXPECT_THAT(r.err, HasSubstr("No space left on device"));
}

INSTANTIATE_TEST_SUITE_P(Verbs, FullOutput,
                         testing::Values(std::vector<std::string>{"help"},
                                         std::vector<std::string>{"help", "--reference"},
                                         std::vector<std::string>{"--version"},
                                         std::vector<std::string>{"list"}, with({"show", "torus"}, kSmall),
                                         with({"show", "torus", "--json"}, kSmall),
                                         with({"check", "torus", "--json"}, kSmall),
                                         with({"replay", "torus", "stencil-2d"}, kSmall),
                                         with({"run", "torus", "--json"}, {"--", "/bin/true"}),
                                         with({"run", "torus"}, {"--", "/bin/echo", "lost"})));

TEST(Output, AClosedPipeIsAnErrorToo) {
  ProgramResult r = run_prepared(with({"show", "torus"}, kSmall), [] {
    int ends[2];
    if (pipe(ends) != 0) _exit(126);
    dup2(ends[1], 1), close(ends[0]), close(ends[1]);
  });
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("standard output: cannot be written: Broken pipe"));
}

TEST(Output, FilesThatCannotBeWrittenAreNamed) {
  struct Case {
    std::vector<std::string> words;
    std::string path;
  };
  ScratchFolder folder;
  // A link to the full device stands for a file on a full disk.
  for (const char* name : {"p.svg", "t.json", "x.weftrace", "rank-0.out", "result.json", "points.csv"})
    ASSERT_EQ(symlink("/dev/full", folder.file(name).c_str()), 0);
  std::string all = folder.file("");
  all.pop_back();
  for (const Case& c :
       {Case{with({"show", "torus", "--picture", folder.file("p.svg")}, kSmall), "p.svg"},
        Case{{"run", "torus", "--trace", folder.file("t.json"), "--", "/bin/true"}, "t.json"},
        Case{with({"replay", "torus", "stencil-2d", "--save-trace", folder.file("x.weftrace")}, kSmall),
             "x.weftrace"},
        Case{{"run", "torus", "--output", all, "--", "/bin/echo", "hello"}, "rank-0.out"},
        Case{{"run", "torus", "--out", all, "--", "/bin/true"}, "result.json"},
        Case{{"traffic", "torus", "--set", "topology.dims=[4,4]", "--load", "0.1", "--out", all},
             "result.json"}}) {
    ProgramResult r = run_program(c.words, 60);
    EXPECT_EQ(r.code, 2) << c.path;
    EXPECT_THAT(r.err, AllOf(HasSubstr(folder.file(c.path) + ": "), HasSubstr("No space left on device")));
  }
  ProgramResult r = run_program(with({"show", "torus", "--picture", folder.file("no/such/p.svg")}, kSmall));
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("No such file or directory"));
}

TEST(Output, RemarksThatCannotBeWrittenStopNothing) {
  ProgramResult r =
      run_prepared({"run", "torus", "--", "/bin/echo", "here"}, [] { redirect(2, "/dev/full"); });
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out, "here\n");
}

TEST(Output, ClosedDescriptorsAreNoSurprise) {
  ProgramResult r = run_prepared(with({"show", "torus"}, kSmall), [] { close(1); });
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("standard output: cannot be written: Bad file descriptor"));
  r = run_prepared(with({"check", "torus"}, kSmall), [] { close(0), close(2); });
  EXPECT_EQ(r.code, 0);
  EXPECT_THAT(r.out, HasSubstr("deadlock-free"));
  EXPECT_EQ(run_prepared({"chekc"}, [] { close(0), close(1), close(2); }).code, 2);
  ScratchFolder folder;
  r = run_prepared(
      {"run", "torus", "-n", "2", "--output", folder.file("o"), "--", kCore, "pingpong", "8", "2"},
      [] { close(0), close(1), close(2); });
  EXPECT_EQ(r.code, 0);
  EXPECT_NE(read_file(folder.file("o/rank-0.out")), "");
}

// Texts and files

TEST(HostileInput, DeepKeysAreRefused) {
  ScratchFolder folder;
  auto deep = [](std::size_t parts) {
    std::string key = "a";
    for (std::size_t i = 1; i < parts; ++i) key += ".a";
    return key;
  };
  for (const std::string& text :
       {deep(100'000) + " = 1\n", "[" + deep(100'000) + "]\n", "x = {" + deep(100'000) + " = 1}\n",
        "# \"\nx = \"\"\"\n\"\"\"\"\n" + deep(100'000) + " = 1\n", "x = '\\'\n" + deep(100'000) + " = 1\n"}) {
    ProgramResult r = run_program({"show", write(folder, "deep.toml", text)}, 60);
    EXPECT_EQ(r.code, 2) << text.substr(0, 20);
    EXPECT_THAT(r.err, HasSubstr("a key of more than 16 parts")) << text.substr(0, 20);
    EXPECT_LT(r.err.size(), 2000u);
  }
  ProgramResult r = run_program({"show", "torus", "--set", deep(60'000) + "=1"}, 60);
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("a key of more than 16 parts"));
  r = run_program({"show", "torus", "--set", "topology.dims={" + deep(50'000) + "=1}"}, 60);
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("a key of more than 16 parts"));
  // Dots that are no keys: a path, a text, a comment.
  EXPECT_THAT(run_program({"show", "torus", "--set", "topology.kind=file", "--set",
                           "topology.file=../../../../../../../../../../../../x.edges"})
                  .err,
              HasSubstr("there is no file"));
}

TEST(HostileInput, ALineBreakInASettingSetsNothingElse) {
  for (const char* setting : {"router.channels=3\n[topology]\nkind = \"jellyfish\"",
                              "topology.dims=[4,4]\nrouter.channels = 7", "machine.name=a\rb"}) {
    ProgramResult r = run_program({"show", "torus", "--set", setting}, 60);
    EXPECT_EQ(r.code, 2);
    EXPECT_THAT(r.err, HasSubstr("has a line break, which would begin another setting"));
  }
}

TEST(HostileInput, ControlCharactersDoNotReachTheTerminal) {
  ScratchFolder folder;
  const std::string tail =
      "\n[topology]\nkind = \"torus\"\ndims = [4]\n[routing]\nkind = \"dimension-order\"\n";
  for (const std::string& head :
       {std::string("[machine]\nname = \"a\\u001b]0;evil\\u0007\""),
        std::string("[machine]\nname = \"\\u009b31m\""), std::string("[machine]\nabout = \"\\u001b[2J\""),
        std::string("[machine]\n\"\\u001b[2J\" = 1")}) {
    ProgramResult r = run_program({"show", write(folder, "evil.toml", head + tail)}, 60);
    EXPECT_EQ(r.code, 2) << head;
    EXPECT_THAT(r.err, HasSubstr("control character 0x"));
    EXPECT_THAT(r.out + r.err, Not(HasSubstr("\x1b")));
    EXPECT_THAT(r.out + r.err, Not(HasSubstr("\xc2\x9b")));
  }
  ProgramResult r = run_program({"show", "\x1b[2J", "--set", "machine.name=\x1b[31m"}, 60);
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, AllOf(Not(HasSubstr("\x1b")), HasSubstr("\\x1b[2J")));
}

TEST(HostileInput, FilesThatNeverEndAreRefused) {
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"traffic", "torus", "--fault", "/dev/zero"},
           {"run", "torus", "--fault", "/dev/zero", "--", "/bin/true"},
           {"show", "/dev/zero"},
           {"replay", "torus", "stencil-2d", "--ranks", "4", "--placement", "file:/dev/zero"},
           {"compare", "/dev/zero"}}) {
    ProgramResult r = run_prepared(
        words, [] { limit(RLIMIT_AS, 3ull << 30); }, 30);
    EXPECT_EQ(r.code, 2) << words[0];
    EXPECT_THAT(r.err, ContainsRegex("/dev/zero: has more than .* bytes")) << words[0];
  }
  ScratchFolder folder;
  ASSERT_EQ(symlink("/dev/zero", folder.file("z.goal").c_str()), 0);
  EXPECT_EQ(run_program({"replay", "torus", folder.file("z.goal")}, 90).code, 2);
  std::string sparse = write(folder, "sparse.goal", "");
  ASSERT_EQ(truncate(sparse.c_str(), off_t{1} << 40), 0);
  ProgramResult r = run_program({"replay", "torus", sparse}, 90);
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("1,099,511,627,776 bytes"));
  EXPECT_EQ(run_program({"traffic", "torus", "--fault", "/tmp"}).code, 2);
}

TEST(HostileInput, MillionsOfUnknownKeysAreToldSoon) {
  ScratchFolder folder;
  std::string text = "base = \"torus\"\n[router]\n";
  for (int i = 0; i < 300'000; ++i) text += "k" + std::to_string(i) + " = 1\n";
  ProgramResult r = run_program({"show", write(folder, "many.toml", text)}, 60);
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("router: and 299,950 more unknown keys"));
  text = "";
  for (int i = 0; i < 100'000; ++i) text += "k" + std::to_string(i) + " = 1\n";
  r = run_program({"show", write(folder, "top.toml", text)}, 60);
  EXPECT_EQ(r.code, 2);
  EXPECT_LT(r.err.size(), 20'000u);
}

// Time

TEST(EndOfTime, ReplayEndsWithItOnEveryEngine) {
  ScratchFolder folder;
  std::string text = "num_ranks 2\nrank 0 {\n";
  for (int i = 0; i < 6; ++i) {  // 6 x 3,600,000 s: 250 days
    text += "a" + std::to_string(i) + ": calc 3600000000000000\n";
    if (i) text += "a" + std::to_string(i) + " requires a" + std::to_string(i - 1) + "\n";
  }
  text += "s: send 8b to 1\ns requires a5\n}\nrank 1 {\nrecv 8b from 0\n}\n";
  std::string path = write(folder, "long.goal", text);
  for (const char* engine : {"ideal", "flow", "flit"}) {
    ProgramResult r = run_program(with({"replay", "torus", path, "--engine", engine}, kSmall), 60);
    EXPECT_EQ(r.code, 2) << engine;
    EXPECT_THAT(r.err,
                AllOf(HasSubstr("long.goal: rank 0, step 2"), HasSubstr("virtual time passed 100 days")));
  }
}

TEST(EndOfTime, SumsBeyondItAreRight) {
  // A thousand messages of 1 TiB, one after the other from one source: their times add up to years, and their
  // mean is half of the whole.
  ScratchFolder folder;
  std::string text = "num_ranks 2\nrank 0 {\n";
  for (int i = 0; i < 1000; ++i) text += "send 1099511627776b to 1\n";
  text += "}\nrank 1 {\n";
  for (int i = 0; i < 1000; ++i) text += "recv 1099511627776b from 0\n";
  std::string path = write(folder, "slow.goal", text + "}\n");
  for (const char* engine : {"ideal", "flow"}) {
    ProgramResult r = run_program(with({"replay", "torus", path, "--engine", engine}, kSmall));
    ASSERT_EQ(r.code, 0) << r.err;
    auto seconds_after = [&](const char* words) {
      std::string digits;
      for (char c : r.out.substr(r.out.find(words) + std::string(words).size())) {
        if (c == 's') break;
        if (c != ',') digits += c;
      }
      return std::stod(digits);
    };
    double mean = seconds_after("messages   took "), whole = seconds_after("completed  after ");
    EXPECT_GT(whole, 100'000) << r.out;
    EXPECT_NEAR(mean, whole / 2, whole / 100) << r.out;
  }
  text = "num_ranks 1\nrank 0 {\n";
  for (int i = 0; i < 2; ++i) text += "calc 3600000000000000\n";
  ProgramResult r =
      run_program(with({"replay", "torus", write(folder, "two.goal", text + "}\n"), "--json"}, kSmall));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(parse_json(r.out)["completion_ps"], 7'200'000'000'000'000'000);
}

TEST(EndOfTime, ATransferThatTakesLongerEndsThere) {
  ScratchFolder folder;
  std::string path = write(folder, "big.goal",
                           "num_ranks 2\nrank 0 {\nsend 1125899906842624b to 1\n}\n"
                           "rank 1 {\nrecv 1125899906842624b from 0\n}\n");
  for (const char* engine : {"ideal", "flow"}) {
    ProgramResult r = run_program({"replay", "torus", path, "--engine", engine, "--set", "topology.dims=[2]",
                                   "--set", "cable.default.lane_rate=1Mbps", "--set", "cable.default.lanes=1",
                                   "--set", "cable.default.coding=none"});
    EXPECT_EQ(r.code, 2) << engine << r.out;
    EXPECT_THAT(r.err, HasSubstr("virtual time passed 100 days")) << engine;
  }
}

TEST(EndOfTime, ProgramsThatSleepIntoItEndThere) {
  ProgramResult r = run_program({"run", "torus", "--", "/bin/sleep", "8639999"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr("8.64e+06 s of virtual time"));
  r = run_program({"run", "torus", "--", "/bin/sleep", "21600000"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("virtual time passed 100 days"));
}

TEST(EndOfTime, ProgramsThatComputeIntoItEndThere) {
  for (const char* ranks : {"1", "2"})
    for (const std::vector<std::string>& how : {std::vector<std::string>{"compute-for-ever"},
                                                std::vector<std::string>{"compute-for-ever", "steps"}}) {
      ProgramResult r =
          run_program(with({"run", "torus", "-n", ranks, "--", kPrograms + "misbehave"}, how), 90);
      EXPECT_EQ(r.code, 1);
      EXPECT_THAT(r.err, HasSubstr("virtual time passed 100 days"));
    }
}

TEST(EndOfTime, TheLastSleepCounts) {
  ProgramResult r = run_program({"run", "torus", "--json", "--", "/bin/sleep", "3"});
  ASSERT_EQ(r.code, 0) << r.err;
  auto json = parse_json(r.out);
  EXPECT_EQ(json["virtual_time_ns"], 3e9);
  EXPECT_EQ(json["ranks"][0]["end_ns"], 3e9);
}

// Sizes

TEST(Sizes, WhatFitsInNoMemoryIsRefusedWithItsSize) {
  ScratchFolder folder;
  auto little = [] { limit(RLIMIT_AS, 2ull << 30); };
  std::string two = "[2";
  for (int i = 1; i < 24; ++i) two += ",2";
  ProgramResult r = run_prepared({"show", "torus", "--set", "topology.dims=" + two + "]"}, little);
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err,
              ContainsRegex("1.678e\\+07 routers with 4.194e\\+08 ports: about [0-9.]+ GiB of memory, and "
                            "[0-9.]+ [MG]iB are left"));
  r = run_prepared({"check", "torus", "--sample", "1", "--set", "topology.dims=[160,160,160]"}, little);
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, ContainsRegex("4,096,000 routers with .* takes about [0-9.]+ [MG]iB of memory, and"));
  std::string path = write(folder, "big.goal",
                           "num_ranks 2\nrank 0 {\nsend 1099511627776b to 1\n}\n"
                           "rank 1 {\nrecv 1099511627776b from 0\n}\n");
  r = run_prepared(with({"replay", "torus", path, "--engine", "flit"}, kSmall), little);
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, ContainsRegex("rank 0, step 0.*: keeping its [0-9,]+ packets of at most [0-9]+ bytes "
                                   "until they arrive takes about "
                                   "[0-9.]+ GiB of memory"));
  r = run_prepared(with({"replay", "torus", "stencil-2d", "--workload-set", "iterations=1000000"}, kSmall),
                   little);
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("a workload of more than"));
}

// Ranks

TEST(HostileRank, AnEndlessLineToTheLauncherEndsTheRun) {
  ProgramResult r =
      run_prepared({"run", "torus", "-n", "2", "--mpi", "yes", "--", "/bin/bash", "-c",
                    "if [ $WEFT_RANK = 0 ]; then exec cat /dev/zero >&$PMI_FD; else sleep 1; fi"},
                   [] {});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err,
              HasSubstr("rank 0 said more than 65,536 bytes to its launcher (PMI) without an end of line"));
}

TEST(HostileRank, HundredsOfRanksFitTheDefaultLimitOfFiles) {
  ProgramResult r = run_prepared(
      {"run", "torus", "--set", "topology.dims=[8,8,8]", "--per-node", "2", "-n", "600", "--mpi", "yes",
       "--quiet", "--", "/bin/true"},
      [] {
        rlimit both{};
        getrlimit(RLIMIT_NOFILE, &both);
        both.rlim_cur = 1024;
        setrlimit(RLIMIT_NOFILE, &both);
      },
      120);
  EXPECT_EQ(r.code, 0) << r.err;
  r = run_prepared({"run", "torus", "-n", "300", "--", "/bin/true"}, [] { limit(RLIMIT_NOFILE, 256); });
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("300 ranks take about 1,564 open files, and 256 are allowed"));
}

TEST(HostileRank, MemoryThatTheSystemDeniesIsToldAsSuch) {
  constexpr int kNotThere = 99;
  ProgramResult r =
      run_prepared({"run", "torus", "-n", "2", "--", WEFT_BUILD "/mpi-programs/misbehave", "hide"}, [] {
        // Root may look into anything.
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(kNotThere);
        if (access(WEFT_PROGRAM, X_OK) != 0) _exit(kNotThere);
        if (chdir("/tmp") != 0) _exit(kNotThere);
      });
  if (r.code == kNotThere) GTEST_SKIP() << "the program cannot be run as an ordinary user here";
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("the system does not let the simulator reach the memory of rank 1"));
}

TEST(HostileRank, AProgramWithRightsOfItsOwnRunsWithoutThem) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make such a program";
  ScratchFolder folder;
  std::string copy = folder.file("sleeper");
  std::filesystem::copy_file("/bin/sleep", copy);
  ASSERT_EQ(chown(copy.c_str(), 65534, 65534), 0);
  ASSERT_EQ(chmod(copy.c_str(), 06755), 0);
  ProgramResult r = run_program({"run", "torus", "-n", "2", "--", copy, "100"}, 90);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr("has rights of its owner (setuid or alike); ranks run without them"));
  EXPECT_THAT(r.err, HasSubstr("100 s of virtual time")) << "the library was loaded";
}

}  // namespace
}  // namespace weft::test
