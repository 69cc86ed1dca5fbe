// End-to-end reliability, against errors that no link notices.
#include <gtest/gtest.h>

#include "nic/test_host.hpp"

namespace weft::nic {
namespace {

using test::Bench;
using test::torus;

TEST(Reliability, RepairsWhatLinksLetPass) {
  Bench b(torus("corruption = 0.05\ntimeout = \"20us\"\nretries = 50\npayload = \"128B\""), 2);
  auto& source = b.host.memory[0];
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::uint8_t>(i * 13);
  Descriptor d = b.to(1, Operation::Put, 50'000, kReliable | kNotifyDone);
  d.local_key = b.region(0, 0, 50'000);
  d.remote_key = b.region(1, 0, 50'000);
  b.post(0, d);
  for (int i = 0; i < 100; ++i) {
    Descriptor m = b.to(1, Operation::Message, 8, kReliable);
    m.tag = static_cast<std::uint32_t>(i);
    b.post(0, m);
  }
  ASSERT_TRUE(b.settle());
  EXPECT_TRUE(std::equal(source.begin(), source.begin() + 50'000, b.host.memory[1].begin()));
  EXPECT_GT(b.fabric->counters(1).corrupted, 10u);
  EXPECT_GT(b.fabric->counters(0).retries, 0u);
  ASSERT_EQ(b.events(0).size(), 1u);
  EXPECT_EQ(b.events(0)[0].kind, EventKind::Done);
  EXPECT_EQ(b.messages(1).size(), 100u);
}

TEST(Reliability, WithoutItErrorsReachMemoryAndAreFlagged) {
  Bench b(torus("corruption = 0.5"), 2);
  auto& source = b.host.memory[0];
  std::fill(source.begin(), source.end(), 0);
  Descriptor d = b.to(1, Operation::Put, 50'000, kNotifyRemote);
  d.local_key = b.region(0, 0, 50'000);
  d.remote_key = b.region(1, 0, 50'000);
  b.post(0, d);
  ASSERT_TRUE(b.settle());
  EXPECT_NE(std::count(b.host.memory[1].begin(), b.host.memory[1].end(), 0),
            static_cast<long>(b.host.memory[1].size()));
  EXPECT_EQ(b.events(1)[0].status, Status::Damaged);
}

TEST(Reliability, CostsLatency) {
  std::int64_t time[2];
  for (int reliable = 0; reliable < 2; ++reliable) {
    Bench b(torus(), 2);
    b.post(0, b.to(1, Operation::Message, 8, reliable ? kReliable : 0));
    ASSERT_TRUE(b.settle());
    time[reliable] = b.messages(1)[0].time;
  }
  EXPECT_GT(time[1], time[0]);
}

TEST(Reliability, SenderPausesWithoutContexts) {
  Bench b(torus("send_contexts = 1"), 2);
  PortNo second = 0;
  ASSERT_EQ(b.fabric->open(0, 0, false, second), Status::Ok);
  Descriptor d = b.to(1, Operation::Message, 8, kReliable);
  d.posted = 0;
  b.fabric->post(b.ports[0], d);
  b.fabric->post({0, second}, d);
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(b.messages(1).size(), 2u);
  EXPECT_GT(b.fabric->counters(0).context_pauses, 0u);
}

TEST(Reliability, ReceiverRefusesWithoutContextsAndIsAskedAgain) {
  Bench b(torus("receive_contexts = 1\ntimeout = \"10us\""), 4);
  for (int i = 0; i < 10; ++i)
    for (unsigned from = 1; from < 4; ++from)
      b.post(from, b.to(0, Operation::Message, 100, kReliable | kNotifyDone));
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(b.messages(0).size(), 30u);
  EXPECT_GT(b.fabric->counters(0).context_refusals, 0u);
  for (unsigned from = 1; from < 4; ++from) EXPECT_EQ(b.events(from).size(), 10u);
}

TEST(Reliability, FetchOverlapsTheConnection) {
  // Reading takes 10 us; with the connection made meanwhile, a reliable put is later by its set-up, not by
  // both.
  std::int64_t time[2];
  for (int reliable = 0; reliable < 2; ++reliable) {
    Bench b(torus("", "read_latency = \"10us\""), 2);
    Descriptor d =
        b.to(1, Operation::Put, 64, static_cast<std::uint16_t>(kNotifyRemote | (reliable ? kReliable : 0)));
    d.local_key = b.region(0, 0, 64);
    d.remote_key = b.region(1, 0, 64);
    b.post(0, d);
    ASSERT_TRUE(b.settle());
    time[reliable] = b.events(1)[0].time;
  }
  EXPECT_LT(time[1], time[0] + 1'000'000);
}

TEST(Reliability, GivesUpAfterItsRetries) {
  Bench b(torus("corruption = 0.5\nretries = 1\ntimeout = \"5us\"\npayload = \"16B\""), 2);
  Descriptor d = b.to(1, Operation::Put, 5000, kReliable);
  d.local_key = b.region(0, 0, 5000);
  d.remote_key = b.region(1, 0, 5000);
  b.post(0, d);
  b.post(0, b.to(1, Operation::Message, 8));
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.events(0).size(), 1u);
  EXPECT_EQ(b.events(0)[0].status, Status::TimedOut);
  EXPECT_EQ(b.messages(1).size(), 1u) << "work behind it goes on";
}

}  // namespace
}  // namespace weft::nic
