#include "measure/run/trace_recorder.hpp"

#include <gtest/gtest.h>

#include "workload/trace.hpp"

namespace weft::measure {
namespace {

using workload::Operation;
using Kind = Operation::Kind;

nic::Record record(nic::Operation operation, std::int64_t begin, std::int64_t end, std::uint64_t bytes) {
  nic::Record r{};
  r.operation = operation;
  r.status = nic::Status::Ok;
  r.length = bytes;
  r.begin = Time{begin};
  r.end = Time{end};
  return r;
}

std::uint64_t computed(const workload::Program& p, workload::Rank rank) {
  std::uint64_t sum = 0;
  for (auto i = p.begin[rank]; i < p.begin[rank + 1]; ++i)
    if (p.operations[i].kind == Kind::Compute) sum += p.operations[i].amount;
  return sum;
}

TEST(TraceRecorder, APingPongKeepsItsOrderAndItsComputing) {
  TraceRecorder recorder(2);
  RecordedCollectives none(2);
  // Rank 0 computes 100, sends, waits for the answer; rank 1 waits, computes 30, answers.
  recorder.wait(1, 0, Time{0}, Time{600}, abi::Call::Wait);
  recorder.operation(record(nic::Operation::Message, 100, 600, 64), 0, 1);
  recorder.operation(record(nic::Operation::Message, 630, 1130, 32), 1, 0);
  recorder.wait(0, 0, Time{120}, Time{1130}, abi::Call::Spin);
  workload::Program p = recorder.finish("test", {Time{1150}, Time{640}}, none);
  ASSERT_NO_THROW(workload::check(p));
  EXPECT_EQ(p.messages(), 2u);
  EXPECT_EQ(p.bytes_sent(), 96u);
  EXPECT_EQ(computed(p, 0), 140u);  // what it did not wait
  EXPECT_EQ(computed(p, 1), 40u);

  // Rank 1 sends only after its receive: follow the steps its send depends on.
  std::vector<workload::Step> behind;
  for (workload::Step s = 0; s < p.steps(1); ++s)
    if (p.operations[p.begin[1] + s].kind == Kind::Send) behind.push_back(s);
  ASSERT_EQ(behind.size(), 1u);
  bool received = false;
  for (std::size_t i = 0; i < behind.size(); ++i) {
    std::uint64_t at = p.begin[1] + behind[i];
    received |= p.operations[at].kind == Kind::Receive;
    for (auto d = p.dependency_begin[at]; d < p.dependency_begin[at + 1]; ++d)
      behind.push_back(p.dependencies[d].on);
  }
  EXPECT_TRUE(received);
}

TEST(TraceRecorder, AReadIsARequestAndAnAnswer) {
  TraceRecorder recorder(3);
  RecordedCollectives none(3);
  recorder.operation(record(nic::Operation::Get, 10, 900, 4096), 2, 0);
  recorder.operation(record(nic::Operation::FetchAdd, 20, 950, 8), 1, 2);
  workload::Program p = recorder.finish("test", {Time{0}, Time{1000}, Time{1000}}, none);
  ASSERT_NO_THROW(workload::check(p));
  EXPECT_EQ(p.messages(), 4u);
  EXPECT_EQ(p.bytes_sent(), 4096u + 8u);
  const Operation& answer = p.operations[p.begin[0] + 1];
  EXPECT_EQ(answer.kind, Kind::Send);
  EXPECT_EQ(answer.peer, 2u);
  EXPECT_EQ(answer.amount, 4096u);
}

TEST(TraceRecorder, SleepsAreTheRanksOwnTimeAndFailuresAreNoTraffic) {
  TraceRecorder recorder(2);
  RecordedCollectives none(2);
  nic::Record failed = record(nic::Operation::Put, 0, 10, 100);
  failed.status = nic::Status::BadKey;
  recorder.operation(failed, 0, 1);
  recorder.operation(record(nic::Operation::Put, 0, 10, 100), 0, abi::kNoRank);
  recorder.wait(0, 0, Time{50}, Time{250}, abi::Call::Sleep);
  workload::Program p = recorder.finish("test", {Time{300}, Time{0}}, none);
  EXPECT_EQ(p.messages(), 0u);
  EXPECT_EQ(computed(p, 0), 300u);
  EXPECT_EQ(workload::parse_trace(workload::write_trace(p), "again").operations.size(), p.operations.size());
}

}  // namespace
}  // namespace weft::measure
