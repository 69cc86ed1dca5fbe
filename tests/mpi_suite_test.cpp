// Programs of many small tests in the manner of the public suites: each runs twice and prints the same, the
// virtual time of every single test included. With Open MPI, and with an MPICH where there is one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <future>
#include <sstream>

#include "mpi_programs.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

struct Suite {
  const char* name;
  unsigned tests;  // in it
  unsigned ranks;
  Words options;
};

const Suite kSuites[] = {{"collectives", 13, 6, {}},
                         {"reductions", 10, 6, {"--per-node", "2"}},
                         {"nonblocking", 11, 6, {}},
                         {"point_to_point", 14, 5, {}},
                         {"one_sided", 14, 6, {"--per-node", "2"}},
                         {"atomics", 10, 5, {}},
                         {"dynamic", 5, 5, {}},
                         {"topology", 13, 8, {"--per-node", "2"}},
                         {"io", 10, 4, {"--per-node", "2"}},
                         {"threads", 11, 4, {}},
                         {"signals", 14, 4, {}},
                         {"misc", 14, 6, {"--per-node", "2"}}};

void PrintTo(const Suite& suite, std::ostream* out) { *out << suite.name << ", " << suite.tests << " tests"; }

unsigned lines_that_begin_with(const std::string& word, const std::string& text) {
  std::istringstream in(text);
  unsigned count = 0;
  for (std::string line; std::getline(in, line);) count += line.starts_with(word);
  return count;
}

/// Both runs at the same time, so that neither finds the machine as the other does.
void expect_twice_the_same(const Suite& suite, const Words& command) {
  Words other = suite.options;
  other.insert(other.end(), {"--cores", "all"});
  std::future<ProgramResult> second =
      std::async(std::launch::async, [&] { return run_ranks(kTorus, suite.ranks, command, other); });
  ProgramResult first = run_ranks(kTorus, suite.ranks, command, suite.options), again = second.get();
  EXPECT_EQ(first.code, 0) << first.out << first.err;
  EXPECT_EQ(lines_that_begin_with("ok ", first.out), suite.tests) << first.out << first.err;
  EXPECT_THAT(first.out, HasSubstr(" 0 failed"));
  EXPECT_EQ(first.out, again.out);  // not what Weft says of real time where the machine is slow
}

class MpiSuite : public testing::TestWithParam<Suite> {};

TEST_P(MpiSuite, IsRightAndTwiceTheSame) {
  expect_twice_the_same(GetParam(), {kPrograms + "suite_" + GetParam().name});
}

TEST_P(MpiSuite, IsRightAndTwiceTheSameWithMpich) {
  const char* named = std::getenv("WEFT_MPICH");
  std::string mpich = named ? named : WEFT_BUILD "/mpich", compiler = mpich + "/bin/mpicc";
  if (access(compiler.c_str(), X_OK) != 0)
    GTEST_SKIP() << "no MPICH for libfabric in WEFT_MPICH or build/mpich; tools/build-mpich makes one";
  if (GetParam().name == std::string("io") && access((mpich + "/include/mpio.h").c_str(), R_OK) != 0)
    GTEST_SKIP() << "this MPICH was built without MPI's files (ROMIO)";
  ScratchFolder folder;
  std::string program = folder.file("suite"), source = WEFT_ROOT "/tests/mpi/suite_";
  std::string command =
      compiler + " -O1 -w -o " + program + " " + source + GetParam().name + ".c -lm -lpthread";
  ASSERT_EQ(std::system((command + " 2>&1").c_str()), 0) << command;
  expect_twice_the_same(GetParam(), {program});
}

INSTANTIATE_TEST_SUITE_P(All, MpiSuite, testing::ValuesIn(kSuites),
                         [](const auto& one) { return std::string(one.param.name); });

// Open MPI's lists of attached memory are guarded by a lock that it takes twice.
TEST(MpiSuites, DynamicWindowsAreRightWithPutsOfTheInterface) {
  std::string program = kPrograms + "suite_dynamic";
  expect_twice_the_same({"dynamic", 5, 5, {"--windows", "rdma"}}, {program});
  expect_twice_the_same({"dynamic", 5, 6, {"--per-node", "2"}}, {program, "multiple"});
}

// The same on another network, by another engine and with the interface's own puts, gets and atomics.
TEST(MpiSuites, AreRightOnATreeAndWithPutsOfTheInterface) {
  for (const char* name : {"suite_collectives", "suite_one_sided", "suite_atomics", "suite_dynamic"}) {
    Words rdma{"--engine", "flow", "--windows", "rdma", "--quiet"};
    ProgramResult r = run_ranks(kTree, 6, {kPrograms + name}, rdma);
    EXPECT_EQ(r.code, 0) << r.out << r.err;
    EXPECT_THAT(r.out, HasSubstr(" 0 failed"));
  }
}

TEST(MpiSuites, HaveMoreThanAHundredTests) {
  unsigned tests = 0;
  for (const Suite& suite : kSuites) tests += suite.tests;
  EXPECT_GE(tests, 100u);
}

// A test that fails is said to, and an unknown one is not passed over.
TEST(MpiSuites, RunTheTestsThatAreNamed) {
  std::string program = kPrograms + "suite_reductions";
  ProgramResult r = run_ranks(kTorus, 3, {program, "scan_exscan", "every_type"}, {"--quiet"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(lines_that_begin_with("ok ", r.out), 2u) << r.out;
  r = run_ranks(kTorus, 3, {program, "no_such_test"}, {"--quiet"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.out, HasSubstr(" 3 failed"));
}

}  // namespace
}  // namespace weft::test
