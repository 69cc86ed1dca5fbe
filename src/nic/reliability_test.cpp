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

/// The list of what has arrived does not fit into a packet: it is told part by part.
TEST(Reliability, RepairsOperationsOfMorePacketsThanCanBeListed) {
  for (Operation operation : {Operation::Put, Operation::Get}) {
    Bench b(torus("corruption = 0.03\ntimeout = \"50us\"\npayload = \"64B\""), 2);
    const unsigned from = operation == Operation::Put ? 0 : 1;
    constexpr std::uint64_t kBytes = 400'000;  // 6,250 packets; 832 bits fit
    auto& source = b.host.memory[from];
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::uint8_t>(i * 13 + i / 256);
    Descriptor d = b.to(1, operation, kBytes, kReliable | kNotifyDone);
    d.local_key = b.region(0, 0, kBytes);
    d.remote_key = b.region(1, 0, kBytes);
    b.post(0, d);
    ASSERT_TRUE(b.settle());
    ASSERT_EQ(b.events(0).size(), 1u);
    EXPECT_EQ(b.events(0)[0].kind, EventKind::Done);
    EXPECT_EQ(b.events(0)[0].status, Status::Ok);
    EXPECT_TRUE(std::equal(source.begin(), source.begin() + kBytes, b.host.memory[1 - from].begin()));
  }
}

TEST(Reliability, ALongGetIsNotGivenUpWhileItsDataComes) {
  Bench b(torus("timeout = \"10us\"\nretries = 1"), 2);
  Descriptor d = b.to(1, Operation::Get, 1'000'000, kReliable | kNotifyDone);
  d.local_key = b.region(0, 0, 1'000'000);
  d.remote_key = b.region(1, 0, 1'000'000);
  b.post(0, d);
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.events(0).size(), 1u);
  EXPECT_EQ(b.events(0)[0].status, Status::Ok);
  EXPECT_GT(b.events(0)[0].time, 100'000'000) << "many times what is waited for an answer";
}

TEST(Reliability, AMessageThatWaitsForRoomIsNotGivenUp) {
  Bench b(torus("timeout = \"5us\"\nretries = 2\nmessage_slots = 1"), 2);
  for (int i = 0; i < 2; ++i) b.post(0, b.to(1, Operation::Message, 8, kReliable | kNotifyDone));
  b.fabric->advance(Time{10'000'000'000});
  while (!b.fabric->idle() && b.fabric->now() < Time{10'000'000'000}) b.fabric->advance(Time{10'000'000'000});
  EXPECT_EQ(b.host.at(b.ports[0]).events.size(), 1u) << "the second has no room yet";
  for (PortRef port : b.ports) b.take(port);
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.events(0).size(), 2u);
  for (const Event& e : b.events(0)) EXPECT_EQ(e.kind, EventKind::Done);
}

/// Where an answer is lost, the target may have let its memory and its port go before it is asked again.
TEST(Reliability, WhatHasArrivedStaysDoneWhenItsTargetIsGone) {
  unsigned asked_again = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Bench b(torus("corruption = 0.3\ntimeout = \"5us\"\nretries = 60"), 2, "ideal", 1 << 20, seed);
    Descriptor put = b.to(1, Operation::Put, 64, kReliable | kNotifyDone | kNotifyRemote);
    put.local_key = b.region(0, 0, 64);
    put.remote_key = b.region(1, 0, 64);
    b.post(0, put);
    b.post(0, b.to(1, Operation::Message, 8, kReliable | kNotifyDone));
    while (!b.fabric->idle()) {
      b.fabric->advance(network::kForever);
      for (PortRef port : b.ports) b.take(port);
      if (!b.events(1).empty()) b.fabric->unregister_memory(b.ports[1], put.remote_key);
      if (!b.events(1).empty() && !b.messages(1).empty()) b.fabric->close(b.ports[1]);
    }
    asked_again += b.fabric->counters(0).retries > 0;
    ASSERT_EQ(b.events(0).size(), 2u) << seed;
    for (const Event& e : b.events(0)) EXPECT_EQ(e.status, Status::Ok) << seed;
  }
  EXPECT_GT(asked_again, 10u);
}

/// Memory that may have to be read again is not free when it has been read once.
TEST(Reliability, AReliablePutsMemoryIsFreeWhenItIsDone) {
  Bench b(torus("corruption = 0.2\ntimeout = \"5us\"\nretries = 50"), 2);
  Descriptor d = b.to(1, Operation::Put, 200'000, kReliable | kNotifyLocal);
  d.local_key = b.region(0, 0, 200'000);
  d.remote_key = b.region(1, 0, 200'000);
  std::fill(b.host.memory[0].begin(), b.host.memory[0].end(), std::uint8_t{7});
  b.post(0, d);
  while (!b.fabric->idle()) {
    b.fabric->advance(network::kForever);
    b.take(b.ports[0]);
    if (!b.events(0).empty()) std::fill(b.host.memory[0].begin(), b.host.memory[0].end(), std::uint8_t{9});
  }
  ASSERT_EQ(b.events(0).size(), 1u);
  EXPECT_EQ(b.events(0)[0].kind, EventKind::Local);
  EXPECT_EQ(std::count(b.host.memory[1].begin(), b.host.memory[1].end(), 7), 200'000);
}

}  // namespace
}  // namespace weft::nic
