// One-sided operations of MPI programs: whatever windows they have, the right bytes; and what cannot be,
// said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mpi_programs.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Runs one that checks itself, twice the same.
void expect_fine(const std::string& program, unsigned ranks, const Words& options) {
  ProgramResult first = run_ranks(kTorus, ranks, {kPrograms + program}, options);
  EXPECT_EQ(first.code, 0) << first.out << first.err;
  EXPECT_THAT(first.out, HasSubstr(" 0 failed"));
  ProgramResult again = run_ranks(kTorus, ranks, {kPrograms + program}, options);
  EXPECT_EQ(first.out, again.out);
  EXPECT_EQ(first.err, again.err);
}

class MpiWindows : public testing::TestWithParam<Words> {};

TEST_P(MpiWindows, AreReachedUnderEveryKindOfEpoch) { expect_fine("one_sided", 4, GetParam()); }

// MPI_BOTTOM with absolute addresses, contiguous and strided.
TEST_P(MpiWindows, TakeDataThatIsNamedByItsAddressAlone) { expect_fine("put_bottom", 3, GetParam()); }

TEST_P(MpiWindows, TakeDataThatBeginsElsewhere) { expect_fine("displaced", 3, GetParam()); }

TEST_P(MpiWindows, AreSharedByRanksOfANode) { expect_fine("shared_windows", 4, GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, MpiWindows,
                         testing::Values(Words{"--windows", "messages"}, Words{"--windows", "rdma"},
                                         Words{"--windows", "messages", "--per-node", "2"},
                                         Words{"--windows", "rdma", "--per-node", "2"}),
                         [](const auto& one) {
                           return one.param[1] + (one.param.size() > 2 ? "SeveralOnANode" : "");
                         });

TEST(MpiWindow, SharedAcrossNodesIsRefusedInWords) {
  ProgramResult r = run_ranks(kTorus, 4, {kPrograms + "shared_windows"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.err,
              HasSubstr("weft: rank 0: MPI_Win_allocate_shared: members 0 and 1 of its communicator are on "
                        "nodes 0 and 1, which share no memory"));
  ProgramResult one_node = run_ranks(kTorus, 4, {kPrograms + "shared_windows"}, {"--per-node", "4"});
  EXPECT_EQ(one_node.code, 0) << one_node.err;
  EXPECT_THAT(one_node.out, HasSubstr("4 of 4 ranks on a node"));
  EXPECT_THAT(one_node.err, Not(HasSubstr("share no memory")));
}

// Programs that ask for MPI_THREAD_MULTIPLE, as mpi4py does, need not be told how.
TEST(MpiWindow, ServesSeveralThreadsAtOnce) {
  expect_fine("window_threads", 4, {});
  expect_fine("window_threads", 4, {"--per-node", "2"});
}

// The library only writes a line into a log that nobody reads, and would go on with wrong data.
TEST(MpiWindow, AFailureThatTheLibraryHidesEndsTheRun) {
  ProgramResult r =
      run_ranks(kTorus, 3, {kPrograms + "misbehave", "put-from-nowhere"}, {"--windows", "messages"});
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_THAT(r.err,
              HasSubstr("weft: rank 2: MPI_Win_fence: the interface could not carry out a receive of 65536 "
                        "bytes with rank 1: memory at 0x"));
  EXPECT_THAT(r.err, HasSubstr("rank 2 on node 2 ended with exit code 1 in MPI_Win_fence"));
}

TEST(MpiGraph, TopologiesAreMadeInEveryWay) {
  expect_fine("graphs", 8, {});
  expect_fine("graphs", 8, {"--per-node", "2"});
}

TEST(MpiSpawn, IsRefusedInWords) {
  ProgramResult r = run_ranks(kTorus, 3, {kPrograms + "spawn"});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_THAT(r.out, HasSubstr(" 0 failed"));
  EXPECT_THAT(r.err, HasSubstr("weft: rank 1: MPI_Comm_spawn: ranks cannot be added to a run; it has 3, as "
                               "MPI_UNIVERSE_SIZE says. Start as many as are needed with -n"));
  EXPECT_THAT(r.err, HasSubstr("weft: rank 0: MPI_Comm_spawn_multiple: ranks cannot be added"));
  ProgramResult fatal = run_ranks(kTorus, 3, {kPrograms + "spawn", "fatal"});
  EXPECT_EQ(fatal.code, 1);
  EXPECT_THAT(fatal.err, HasSubstr("MPI_ERR_SPAWN"));
}

}  // namespace
}  // namespace weft::test
