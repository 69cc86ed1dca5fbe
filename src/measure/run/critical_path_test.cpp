#include "measure/run/critical_path.hpp"

#include <gtest/gtest.h>

namespace weft::measure {
namespace {

using Kind = PathPiece::Kind;

nic::Record message(Time begin, Time end, nic::Operation operation = nic::Operation::Message) {
  nic::Record r{};
  r.operation = operation;
  r.status = nic::Status::Ok;
  r.length = 64;
  r.begin = begin, r.end = end;
  return r;
}

RankCall call(abi::MpiCall which, std::int64_t begin, std::int64_t end) {
  return {begin, end, 0, static_cast<std::uint32_t>(which) & 0x3ffu, 0};
}

struct Expected {
  Kind kind;
  std::uint32_t rank;
  std::int64_t from, until;
};

void expect_path(const RunHistory& history, const std::vector<Expected>& expected) {
  const CriticalPath path = history.critical_path();
  ASSERT_EQ(path.size(), expected.size());
  std::size_t i = 0;
  for (const PathPiece piece : path) {
    EXPECT_EQ(piece.kind, expected[i].kind) << i;
    EXPECT_EQ(piece.rank, expected[i].rank) << i;
    EXPECT_EQ(piece.from, expected[i].from) << i;
    EXPECT_EQ(piece.until, expected[i].until) << i;
    ++i;
  }
}

/// Rank 0 waits in MPI_Recv for rank 1, which computes until 1000.
TEST(CriticalPath, LeadsFromTheOneThatWaitsToTheOneThatIsLate) {
  WaitRecorder recorder(2);
  recorder.wait(0, Time{100}, Time{1300});
  recorder.operation(message(Time{1050}, Time{1290}), 1, 0);
  const RunHistory history(recorder,
                           {{call(abi::MpiCall::Recv, 90, 1320)}, {call(abi::MpiCall::Send, 1000, 1060)}},
                           {Time{1400}, Time{1060}});
  expect_path(history, {{Kind::Computing, 0, 1320, 1400},
                        {Kind::InMpi, 0, 1300, 1320},
                        {Kind::Network, 0, 1050, 1300},
                        {Kind::InMpi, 1, 1000, 1050},
                        {Kind::Computing, 1, 0, 1000}});
}

TEST(CriticalPath, GoesThroughAChainOfRanks) {
  WaitRecorder recorder(3);
  recorder.operation(message(Time{100}, Time{110}), 0, 1);
  recorder.wait(1, Time{0}, Time{110});
  recorder.operation(message(Time{210}, Time{220}), 1, 2);
  recorder.wait(2, Time{0}, Time{220});
  const RunHistory history(recorder, {}, {Time{100}, Time{210}, Time{320}});
  expect_path(history, {{Kind::Computing, 2, 220, 320},
                        {Kind::Network, 2, 210, 220},
                        {Kind::Computing, 1, 110, 210},
                        {Kind::Network, 1, 100, 110},
                        {Kind::Computing, 0, 0, 100}});
}

TEST(CriticalPath, WhatARankAskedForItselfIsTheNetworks) {
  WaitRecorder recorder(2);
  recorder.wait(0, Time{50}, Time{200});
  recorder.operation(message(Time{40}, Time{200}, nic::Operation::Get), 0, 1);
  const RunHistory history(recorder, {}, {Time{210}, Time{5}});
  expect_path(history,
              {{Kind::Computing, 0, 200, 210}, {Kind::Network, 0, 40, 200}, {Kind::Computing, 0, 0, 40}});
}

TEST(CriticalPath, AWaitThatGoesOnIsOne) {
  WaitRecorder recorder(1);
  recorder.wait(0, Time{10}, Time{20});
  recorder.wait(0, Time{20}, Time{30});
  recorder.wait(0, Time{40}, Time{50});
  EXPECT_EQ(recorder.waits()[0].size(), 2u);
  EXPECT_EQ(recorder.waits()[0][0].until, 30);
}

/// A wait that no message ends leads to the rank that was there last.
TEST(CriticalPath, AMeetingLeadsToWhoCameLast) {
  WaitRecorder recorder(3);
  recorder.wait(0, Time{100}, Time{500});
  recorder.wait(1, Time{200}, Time{500});
  recorder.wait(2, Time{490}, Time{500});
  const RunHistory history(recorder, {}, {Time{501}, Time{500}, Time{500}});
  PathPiece last{};
  for (const PathPiece piece : history.critical_path()) last = piece;
  EXPECT_EQ(last.rank, 2u);
  EXPECT_EQ(last.from, 0);
  EXPECT_EQ(last.until, 490);
}

}  // namespace
}  // namespace weft::measure
