#include "measure/run/recorded_collectives.hpp"

#include <gtest/gtest.h>

#include "measure/run/trace_recorder.hpp"
#include "workload/trace.hpp"

namespace weft::measure {
namespace {

using abi::CallRecord;
using abi::MpiCall;
using Kind = workload::Collective::Kind;

CallRecord called(MpiCall call, std::int64_t begin, std::int64_t end, int place, int root = abi::kNoPeer,
                  std::uint32_t members = 2, std::uint64_t communicator = 7) {
  CallRecord r{};
  r.call = static_cast<std::uint16_t>(call);
  r.begin = begin;
  r.end = end;
  r.bytes = call == MpiCall::Barrier ? 0 : 8;
  r.communicator = communicator;
  r.members = members;
  r.peer = root;
  r.tag = place;
  return r;
}

TEST(RecordedCollectives, AreNamedByTheCallsOfAllTheirMembers) {
  RecordedCollectives all(3);
  // A communicator of ranks 2 and 0, in this order; and rank 1, alone in one of its own.
  all.add(0, {called(MpiCall::Barrier, 10, 100, 1), called(MpiCall::Bcast, 110, 120, 1, 0),
              called(MpiCall::Allgather, 130, 140, 1), called(MpiCall::Allreduce, 150, 190, 1)});
  all.add(1, {called(MpiCall::Barrier, 10, 10, 0, abi::kNoPeer, 1, 8)});
  all.add(2, {called(MpiCall::Barrier, 50, 90, 0), called(MpiCall::Bcast, 95, 130, 0, 0),
              called(MpiCall::Allgather, 131, 141, 0), called(MpiCall::Allreduce, 145, 195, 0)});
  all.settle();
  ASSERT_EQ(all.all().size(), 3u);
  ASSERT_EQ(all.groups(), (std::vector<std::vector<workload::Rank>>{{2, 0}}));
  EXPECT_EQ(all.all()[0].kind, Kind::Barrier);
  EXPECT_EQ(all.all()[1].kind, Kind::Broadcast);
  EXPECT_EQ(all.all()[1].root, 1u) << "rank 0 of the world is the second member";
  EXPECT_EQ(all.all()[1].bytes, 8u);
  EXPECT_EQ(all.all()[2].kind, Kind::AllReduce);
  EXPECT_FALSE(all.all()[2].combines);
  EXPECT_TRUE(all.all()[2].whole);
  EXPECT_EQ(all.calls(0).size(), 3u) << "an all-gather is not among them";
  EXPECT_EQ(all.call_of(2, 2)->end, Time{195});
  EXPECT_EQ(all.call_of(2, 1), nullptr);
}

TEST(RecordedCollectives, CallsThatDoNotFitTogetherAreNone) {
  auto named = [](const CallRecord& a, const CallRecord& b) {
    RecordedCollectives all(2);
    all.add(0, {a});
    all.add(1, {b});
    all.settle();
    return all.all().size();
  };
  EXPECT_EQ(named(called(MpiCall::Barrier, 0, 9, 0), called(MpiCall::Barrier, 5, 12, 1)), 1u);
  EXPECT_EQ(named(called(MpiCall::Barrier, 0, 5, 0), called(MpiCall::Barrier, 5, 12, 1)), 0u)
      << "one had left when the other came";
  EXPECT_EQ(named(called(MpiCall::Barrier, 0, 9, 0), called(MpiCall::Barrier, 5, 12, 0)), 0u)
      << "the same place";
  EXPECT_EQ(named(called(MpiCall::Barrier, 0, 9, -1), called(MpiCall::Barrier, 5, 12, -1)), 0u)
      << "two sides";
  EXPECT_EQ(named(called(MpiCall::Bcast, 0, 1, 0, 0), called(MpiCall::Bcast, 5, 12, 1, 0)), 1u)
      << "a root waits for nobody";
  EXPECT_EQ(named(called(MpiCall::Bcast, 0, 1, 0, 1), called(MpiCall::Bcast, 5, 12, 1, 1)), 0u);
  EXPECT_EQ(named(called(MpiCall::Reduce, 0, 1, 0, 1), called(MpiCall::Reduce, 5, 12, 1, 1)), 1u);
  EXPECT_EQ(named(called(MpiCall::Reduce, 0, 9, 0, 0), called(MpiCall::Reduce, 5, 12, 1, 1)), 0u)
      << "two roots";
  EXPECT_EQ(named(called(MpiCall::Barrier, 0, 9, 0), called(MpiCall::Allreduce, 5, 12, 1)), 0u);
  CallRecord thread = called(MpiCall::Barrier, 5, 12, 1);
  thread.thread = 1;
  EXPECT_EQ(named(called(MpiCall::Barrier, 0, 9, 0), thread), 0u) << "waits of other threads are not known";
}

TEST(RecordedCollectives, BesideThoseThatDoNotWaitTheyAreNotWhole) {
  RecordedCollectives all(2);
  CallRecord beside = called(MpiCall::Barrier, 30, 39, 1);
  beside.flags = abi::kBeside;
  all.add(0, {called(MpiCall::Barrier, 0, 9, 0), called(MpiCall::Ibarrier, 20, 21, 0),
              called(MpiCall::Barrier, 30, 39, 0)});
  all.add(1, {called(MpiCall::Barrier, 0, 9, 1), called(MpiCall::Ibarrier, 20, 21, 1), beside});
  all.settle();
  ASSERT_EQ(all.all().size(), 2u);
  EXPECT_TRUE(all.all()[0].whole);
  EXPECT_FALSE(all.all()[1].whole) << "one member is enough";
}

nic::Record message(std::int64_t begin, std::int64_t end, std::uint64_t bytes, std::uint64_t mark) {
  nic::Record r{};
  r.operation = nic::Operation::Message;
  r.status = nic::Status::Ok;
  r.length = bytes;
  r.begin = Time{begin};
  r.end = Time{end};
  r.mark = mark;
  return r;
}

/// Two ranks compute, meet in a barrier of two messages, and compute; a third message is rank 0's own.
workload::Program two_ranks(std::uint64_t mark, std::int64_t arrives) {
  TraceRecorder recorder(2);
  RecordedCollectives collectives(2);
  collectives.add(0, {called(MpiCall::Barrier, 100, 900, 0)});
  collectives.add(1, {called(MpiCall::Barrier, 300, 800, 1)});
  collectives.settle();
  recorder.operation(message(110, 250, 4, mark), 0, 1);  // before rank 1 has come
  recorder.operation(message(120, 500, 64, 0), 0, 1);    // which the library sent meanwhile
  recorder.operation(message(310, arrives, 4, 1), 1, 0);
  recorder.wait(1, 0, Time{320}, Time{700}, abi::Call::Wait);
  recorder.wait(0, 0, Time{130}, Time{850}, abi::Call::Wait);
  return recorder.finish("test", {Time{1000}, Time{1000}}, collectives);
}

TEST(RecordedCollectives, StepsOfACallAndMessagesOfItAreTheCollectives) {
  const workload::Program p = two_ranks(1, 840);
  ASSERT_NO_THROW(workload::check(p));
  ASSERT_EQ(p.collectives.size(), 1u);
  EXPECT_TRUE(p.collectives[0].whole);
  using Step = workload::Operation::Kind;
  for (workload::Rank r = 0; r < 2; ++r) {
    std::uint64_t own = 0, others = 0;
    for (std::uint64_t i = p.begin[r]; i < p.begin[r + 1]; ++i) {
      const workload::Operation& o = p.operations[i];
      if (o.kind == Step::Compute) (p.collective_of[i] ? own : others) += o.amount;
      if (o.kind == Step::Send || o.kind == Step::Receive)
        EXPECT_EQ(p.collective_of[i], o.amount == 4 ? 1 : 0);
    }
    // Computing within the call is the call's: rank 0 computes from 100 to 130 and from 850 to 900.
    EXPECT_EQ(own, r == 0 ? 80u : 120u);
    EXPECT_EQ(others, r == 0 ? 200u : 500u);
  }
  const workload::Program again = workload::parse_trace(workload::write_trace(p), "again");
  EXPECT_EQ(again.collective_of, p.collective_of);
}

TEST(RecordedCollectives, MessagesThatDoNotFitTheirCallMakeItNotWhole) {
  EXPECT_FALSE(two_ranks(1 | abi::kOthersFollow, 840).collectives[0].whole) << "a long one follows";
  EXPECT_FALSE(two_ranks(1, 950).collectives[0].whole) << "it arrives after the call";
  EXPECT_TRUE(two_ranks(9, 840).collectives[0].whole) << "of a call that nobody knows: a message like others";
}

}  // namespace
}  // namespace weft::measure
