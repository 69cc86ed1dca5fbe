#include "measure/run/mpi_profile.hpp"

#include <gtest/gtest.h>

#include "measure/run/rank_times.hpp"

namespace weft::measure {
namespace {

using abi::CallRecord;
using abi::MpiCall;

CallRecord call(MpiCall what, std::int64_t begin, std::int64_t end, std::uint64_t communicator,
                std::uint32_t members, std::uint64_t bytes = 0) {
  CallRecord r{};
  r.call = static_cast<std::uint16_t>(what);
  r.begin = begin;
  r.end = end;
  r.communicator = communicator;
  r.members = members;
  r.bytes = bytes;
  return r;
}

MpiProfile profile_of(const std::vector<std::vector<CallRecord>>& calls_of_rank) {
  MpiProfiler profiler;
  for (std::uint32_t rank = 0; rank < calls_of_rank.size(); ++rank) profiler.add(rank, calls_of_rank[rank]);
  return profiler.profile();
}

TEST(MpiProfile, CollectivesArePutTogetherFromTheirMembers) {
  // Two collectives of all, and between them one of the first two ranks alone.
  MpiProfile p =
      profile_of({{call(MpiCall::Barrier, 0, 50, 9, 3), call(MpiCall::Allreduce, 60, 70, 7, 2, 8),
                   call(MpiCall::Allreduce, 100, 300, 9, 3, 64)},
                  {call(MpiCall::Barrier, 10, 45, 9, 3), call(MpiCall::Allreduce, 65, 72, 7, 2, 8),
                   call(MpiCall::Allreduce, 180, 290, 9, 3, 64)},
                  {call(MpiCall::Barrier, 40, 48, 9, 3), call(MpiCall::Allreduce, 90, 310, 9, 3, 64)}});
  ASSERT_EQ(p.collectives.size(), 3u);
  const Collective& slowest = p.collectives[0].slowest;
  EXPECT_EQ(slowest.call, static_cast<std::uint16_t>(MpiCall::Allreduce));
  EXPECT_EQ(slowest.members, 3u);
  EXPECT_EQ(slowest.bytes, 64u);
  EXPECT_EQ(slowest.first_came, Time{90});
  EXPECT_EQ(slowest.last_came, Time{180});
  EXPECT_EQ(slowest.last_rank, 1u);
  EXPECT_EQ(slowest.took(), Time{130});
  EXPECT_EQ(p.collectives[1].slowest.took(), Time{10});  // the barrier
  EXPECT_EQ(p.collectives[2].slowest.took(), Time{7});   // the pair's
  ASSERT_EQ(p.calls.size(), 2u);
  EXPECT_EQ(p.calls[0].count, 5u);
  EXPECT_EQ(p.calls[0].bytes, 3 * 64u + 2 * 8u);
}

TEST(MpiProfile, ACollectiveThatSomeDidNotFinishIsNotOne) {
  MpiProfile p = profile_of({{call(MpiCall::Barrier, 0, 50, 9, 2)}, {}});
  EXPECT_TRUE(p.collectives.empty());
  EXPECT_EQ(p.calls.size(), 1u);
}

TEST(RankTimes, NothingIsLostWhenSlicesAreMerged) {
  RankTimes times(2);
  Time sum{0};
  for (std::int64_t at = 0; at < 50'000'000; at += 777'777) {
    times.add(RankTimes::Waiting, 1, Time{at}, Time{at + 333'333});
    sum = sum + Time{333'333};
  }
  EXPECT_EQ(times.total(RankTimes::Waiting, 1), sum);
  EXPECT_EQ(times.total(RankTimes::InMpi, 1), Time{0});
  EXPECT_EQ(times.total(RankTimes::Waiting, 0), Time{0});
  EXPECT_GE(times.slice().value * RankTimes::kSlices, 50'000'000);
  for (unsigned i = 0; i < RankTimes::kSlices; ++i)
    EXPECT_LE(times.in(RankTimes::Waiting, 1, i), times.slice());
  times.add(RankTimes::Waiting, 5, Time{0}, Time{10});  // nobody
}

}  // namespace
}  // namespace weft::measure
