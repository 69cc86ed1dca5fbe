// The MPI programs of tests/mpi, which check their own results, on simulated machines.
#include "mpi_programs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "base/text.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

struct Case {
  Words command;
  unsigned ranks;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << join(c.command, " ") << ", " << c.ranks;
}

class MpiPrograms : public testing::TestWithParam<Case> {};

TEST_P(MpiPrograms, CheckTheirResultsOnATorusAndOnATree) {
  Words command = GetParam().command;
  command[0] = kPrograms + command[0];
  ProgramResult torus = run_ranks(kTorus, GetParam().ranks, command);
  EXPECT_EQ(torus.code, 0) << torus.out << torus.err;
  EXPECT_THAT(torus.out, HasSubstr(" 0 failed"));
  ProgramResult tree = run_ranks(kTree, GetParam().ranks, command);
  EXPECT_EQ(tree.code, 0) << tree.out << tree.err;
  EXPECT_THAT(tree.out, HasSubstr(" 0 failed"));
  // The same bytes again, whichever cores there are.
  ProgramResult again = run_ranks(kTorus, GetParam().ranks, command, {"--cores", "all"});
  EXPECT_EQ(torus.out, again.out);
  EXPECT_EQ(torus.err, again.err);
}

INSTANTIATE_TEST_SUITE_P(All, MpiPrograms,
                         testing::Values(Case{{"point_to_point"}, 5}, Case{{"probe_cancel"}, 4},
                                         Case{{"datatypes"}, 3}, Case{{"communicators"}, 6},
                                         Case{{"one_sided"}, 4}, Case{{"collectives", "4"}, 7},
                                         Case{{"scramble", "60", "3000"}, 8}, Case{{"fortran"}, 4},
                                         Case{{"latency", "4096", "5"}, 2},
                                         Case{{"bandwidth", "16384", "8", "2"}, 2}, Case{{"message_rate"}, 8},
                                         Case{{"allreduce", "512", "4"}, 6}, Case{{"halo"}, 9},
                                         Case{{"threads"}, 4}, Case{{"openmp"}, 4}, Case{{"timed_waits"}, 4}),
                         [](const auto& one) { return one.param.command[0]; });

class MpiThreads : public testing::TestWithParam<const char*> {};

// Threads of a rank send and receive at once in every mode, eagerly and by rendezvous; nothing in what they
// see of each other and of time depends on the system.
TEST_P(MpiThreads, SendAndReceiveAtEveryLengthAndTwiceTheSame) {
  for (const char* longest : {"32", "10000", "100000"})
    for (unsigned ranks : {4, 8}) {
      Words command{kPrograms + "threads", longest};
      ProgramResult first = run_ranks(kTorus, ranks, command, {"--engine", GetParam(), "--cores", "one"});
      EXPECT_EQ(first.code, 0) << first.out << first.err;
      EXPECT_THAT(first.out, HasSubstr(" 0 failed"));
      ProgramResult again = run_ranks(kTorus, ranks, command, {"--engine", GetParam(), "--cores", "all"});
      EXPECT_EQ(first.out, again.out);
      EXPECT_EQ(first.err, again.err);
    }
}

INSTANTIATE_TEST_SUITE_P(Engines, MpiThreads, testing::Values("ideal", "flow", "flit"),
                         [](const auto& one) { return std::string(one.param); });

/// When the last thread of any rank was done, in seconds.
double threads_done(const Words& options) {
  ProgramResult r = run_ranks(kTorus, 8, {kPrograms + "threads", "100000"}, options);
  EXPECT_EQ(r.code, 0) << r.err;
  static const std::regex times("([0-9.]+) s\n");
  double last = 0;
  for (std::sregex_iterator i(r.out.begin(), r.out.end(), times), end; i != end; ++i)
    last = std::max(last, std::stod((*i)[1].str()));
  return last;
}

// A wait that nobody ended would last until it is given up, a millisecond or more: no engine may need that.
TEST(MpiThread, WaitForWhatHappensAndNotForTheEndOfAPause) {
  double ideal = threads_done({"--engine", "ideal"});
  EXPECT_GT(ideal, 3 * 8 * 100e3 / 3.125e9);  // of each of 3 threads 8 times 100 kB, at the rate of a link
  for (const char* engine : {"flow", "flit"})
    EXPECT_NEAR(threads_done({"--engine", engine}), ideal, 0.1 * ideal) << engine;
}

// Which thread takes the next part of a loop is a race of the program's own, so only its results are the
// same.
TEST(MpiThread, MayShareOutTheirWorkAsTheyLike) {
  for (const char* cores : {"one", "all"}) {
    ProgramResult r = run_ranks(kTorus, 4, {kPrograms + "openmp", "dynamic"}, {"--cores", cores});
    EXPECT_EQ(r.code, 0) << r.out << r.err;
    EXPECT_THAT(r.out, HasSubstr(" 0 failed"));
  }
}

// Nobody can wake threads that sleep at a barrier while the one they miss waits for a message for ever.
TEST(MpiThread, ADeadlockBehindABarrierIsTold) {
  ProgramResult r = run_ranks(kTorus, 2, {kPrograms + "openmp", "deadlock"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("deadlock"));
  EXPECT_THAT(r.err, HasSubstr("waits for another of its threads"));
}

TEST(MpiProgram, AreNotDisturbedByBitErrors) {
  Words errors{"--set", "cable.default.bit_error_rate=1e-7"};
  for (const Words& command :
       {Words{kPrograms + "scramble", "40", "3000"}, {kPrograms + "collectives", "3"}}) {
    ProgramResult r = run_ranks(kTorus, 8, command, errors);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_THAT(r.out, HasSubstr(" 0 failed"));
  }
}

TEST(MpiProgram, SeveralRanksOfANodeShareItsInterface) {
  ProgramResult r = run_ranks(kTorus, 8, {kPrograms + "collectives", "3"}, {"--per-node", "4"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr(" 0 failed"));
}

}  // namespace
}  // namespace weft::test
