// Rings of messages: mailboxes of chosen sizes, and what happens upstream of a full one.
#include <gtest/gtest.h>

#include "nic/test_host.hpp"

namespace weft::nic {
namespace {

using test::Bench;
using test::torus;

TEST(Mailboxes, AThousandEachOfItsOwnSize) {
  // ExaNeSt: 1024 mailboxes, each of a size software chooses, up to 1 MiB (section 2.1).
  Bench b(torus("kind = \"exanest\""), 2);
  constexpr unsigned kMost = (1u << 20) / 32;
  std::vector<PortRef> boxes;
  PortNo port = 0;
  for (unsigned i = 1; i < 1024; ++i) {
    ASSERT_EQ(b.fabric->open(1, 1, false, port, i % 7 + 1), Status::Ok);
    boxes.push_back({1, port});
    ASSERT_EQ(b.fabric->ring_slots(boxes.back()), i % 7 + 1);
  }
  EXPECT_EQ(b.fabric->open(1, 1, false, port, 1), Status::NoRoom)
      << "there are 1024, one is the test bench's";
  EXPECT_EQ(b.fabric->ring_slots(b.ports[1]), kMost) << "who asks for no size gets 1 MiB";
  b.fabric->close(boxes.back());
  EXPECT_EQ(b.fabric->open(1, 1, false, port, kMost + 1), Status::BadLength);
  EXPECT_EQ(b.fabric->open(1, 1, false, port, kMost), Status::Ok);
  // Ten messages to each of twenty of them, and nobody reads: as many are there as fit.
  for (unsigned i = 0; i < 20; ++i)
    for (std::uint32_t k = 0; k < 10; ++k) {
      Descriptor d = b.to(1, Operation::Message, 32);
      d.port = boxes[i * 50].port;
      d.tag = k;
      b.post(0, d);
    }
  ASSERT_TRUE(b.settle(false));
  for (unsigned i = 0; i < 20; ++i) {
    PortRef box = boxes[i * 50];
    ASSERT_EQ(b.host.at(box).messages.size(), b.fabric->ring_slots(box));
    for (int again = 0; again < 10; ++again) {
      b.take(box);
      ASSERT_TRUE(b.settle(false));
    }
    b.take(box);
    const auto& all = b.taken[{box.nic, box.port}].messages;
    ASSERT_EQ(all.size(), 10u) << "none is lost";
    for (std::uint32_t k = 0; k < 10; ++k) EXPECT_EQ(all[k].tag, k);
  }
}

TEST(BackPressure, SendersStandBeforeAnInterfaceThatTakesNothing) {
  Bench b(torus("message_slots = 2\nhold_slots = 3\nunits = 1\nwindow = 1\nwatchdog = \"10ms\""), 3);
  PortNo second = 0;
  ASSERT_EQ(b.fabric->open(0, 0, false, second), Status::Ok);
  auto send = [&](PortRef from, unsigned to, std::uint32_t tag) {
    Descriptor d = b.to(to, Operation::Message, 4);
    d.tag = tag;
    d.posted = b.fabric->now().value;
    b.fabric->post(from, d);
  };
  for (std::uint32_t i = 0; i < 30; ++i) send(b.ports[0], 1, i);
  for (std::uint32_t i = 0; i < 5; ++i) send({0, second}, 2, i);  // to somebody who reads
  ASSERT_TRUE(b.settle(false));
  b.take(b.ports[2]);
  ASSERT_TRUE(b.settle(false));
  b.take(b.ports[2]);
  ASSERT_TRUE(b.settle(false));
  b.take(b.ports[2]);
  EXPECT_EQ(b.messages(2).size(), 5u) << "other ports' work goes on";
  EXPECT_EQ(b.host.at(b.ports[1]).messages.size(), 2u);
  std::uint64_t held = b.fabric->counters(1).messages_held;
  EXPECT_GE(held, 3u);
  EXPECT_LE(held, 3u + 8u) << "what was sent until the pause had come back is held too, and no more comes";
  EXPECT_EQ(b.host.at(b.ports[0]).slots, 2 + held) << "the rest stays in the sender's queue";
  EXPECT_GT(b.fabric->counters(0).held_back, 0u);
  EXPECT_EQ(b.fabric->counters(1).packets_sent, 1u) << "the pause";
  ASSERT_FALSE(b.fabric->pending(0).empty());
  EXPECT_NE(b.fabric->pending(0)[0].find("the first for node 1, whose rings are full"), std::string::npos);
  for (int i = 0; i < 40; ++i) {
    b.take(b.ports[1]);
    ASSERT_TRUE(b.settle(false));
  }
  ASSERT_EQ(b.messages(1).size(), 30u);
  for (std::uint32_t i = 0; i < 30; ++i) EXPECT_EQ(b.messages(1)[i].tag, i);
}

TEST(Rings, AMessageOnItsWayIsNotForTheNextUserOfAPort) {
  Bench b(torus(), 2);
  b.post(0, b.to(1, Operation::Message, 8, kNotifyDone));
  // Until it is on the bus to the ring, which it reaches a write later.
  Time slow = b.machine.description.host.write_latency;
  Bench probe(torus(), 2);
  probe.post(0, probe.to(1, Operation::Message, 8));
  ASSERT_TRUE(probe.settle());
  Time arrival{probe.messages(1).front().time};
  b.fabric->advance(arrival - Time{slow.value / 2});
  while (b.fabric->now() < arrival - Time{slow.value / 2}) b.fabric->advance(arrival - Time{slow.value / 2});
  b.fabric->close(b.ports[1]);
  PortNo again = 0;
  ASSERT_EQ(b.fabric->open(1, 1, false, again), Status::Ok);
  ASSERT_EQ(again, b.ports[1].port);
  ASSERT_TRUE(b.settle());
  EXPECT_TRUE(b.messages(1).empty());
  ASSERT_EQ(b.events(0).size(), 1u);
  EXPECT_EQ(b.events(0)[0].status, Status::NoPort);
  b.post(0, b.to(1, Operation::Message, 8));
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(b.messages(1).size(), 1u) << "its own messages arrive";
}

}  // namespace
}  // namespace weft::nic
