// Packets put back in order by sequence numbers, within a bounded window; interrupts and their causes.
#include <gtest/gtest.h>

#include "nic/test_host.hpp"

namespace weft::nic {
namespace {

using test::Bench;
using test::torus;

const char* kPlainNic = "send_latency = \"100ns\"\nreceive_latency = \"200ns\"\nheader = \"32B\"\n";
const Time kOneHop{60'000 + 90'000 + 60'000};
Time wire(std::int64_t bytes) { return {bytes * 8 * 50}; }

std::string window(unsigned packets) {
  return std::string(kPlainNic) +
         "queue_slots = 512\nmessage_slots = 512\norder_window = " + std::to_string(packets);
}

TEST(Order, AWindowOfOnePacketTakesARoundTripEach) {
  Bench b(torus(window(1)), 2);
  for (int i = 0; i < 6; ++i) b.post(0, b.to(1, Operation::Message, 40));
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.messages(1).size(), 6u);
  const Time there = kOneHop + wire(72), back = kOneHop + wire(32 + 8);
  const Time period = there + Time{100'000} + back + Time{200'000} + Time{100'000};
  for (int i = 1; i < 6; ++i) EXPECT_EQ(b.messages(1)[i].time - b.messages(1)[i - 1].time, period.value);
  EXPECT_EQ(b.fabric->counters(0).order_waits, 5u);
}

TEST(Order, TwiceTheWindowIsTwiceTheRateUntilTheCableIsFull) {
  auto last = [](unsigned packets) {
    Bench b(torus(window(packets)), 2);
    for (int i = 0; i < 240; ++i) b.post(0, b.to(1, Operation::Message, 40));
    EXPECT_TRUE(b.settle());
    return static_cast<double>(b.messages(1).back().time);
  };
  EXPECT_NEAR(last(1) / last(2), 2, 0.1);
  EXPECT_NEAR(last(2) / last(4), 2, 0.15);
  EXPECT_EQ(last(256), last(0)) << "so many are never under way";
}

/// Everybody sends to everybody over routes that depend on what is busy.
struct Crowd {
  std::uint64_t wrong = 0, reordered = 0, waits = 0;
};

Crowd crowd(const std::string& nic, const std::string& routing, const std::string& faults = "") {
  std::string text = torus(nic, "", "[4, 4]");
  text.replace(text.find("dimension-order"), std::string("dimension-order").size(), routing);
  // One virtual channel of each class: packets of one route cannot overtake each other.
  if (routing == "dimension-order") text.replace(text.find("channels = 4"), 12, "channels = 2");
  Bench b(text, 16, "flit", 1 << 16, 1, faults);
  for (std::uint32_t i = 0; i < 40; ++i)
    for (unsigned from = 0; from < 16; ++from)
      for (unsigned step : {5u, 15u}) {
        Descriptor d = b.to((from + step) % 16, Operation::Message, 40 + i % 3 * 32);
        d.tag = i;
        b.post(from, d);
      }
  EXPECT_TRUE(b.settle());
  Crowd out;
  for (unsigned node = 0; node < 16; ++node) {
    std::map<std::uint32_t, std::uint32_t> last;  // by sender
    EXPECT_TRUE(!faults.empty() || b.messages(node).size() == 80);
    for (const Message& m : b.messages(node)) {
      if (last.contains(m.node) && m.tag <= last[m.node]) ++out.wrong;
      last[m.node] = m.tag;
    }
    const Counters c = b.fabric->counters(node);
    out.reordered += c.reordered;
    out.waits += c.order_waits;
  }
  return out;
}

TEST(Order, IsRestoredWhereRoutesDiffer) {
  const std::string slots = "queue_slots = 512\nmessage_slots = 512\nmessage_limit = \"120B\"\n";
  const Crowd fixed = crowd(slots, "dimension-order");
  EXPECT_EQ(fixed.wrong, 0u);
  EXPECT_EQ(fixed.reordered, 0u) << "one route keeps the order by itself";
  const Crowd none = crowd(slots + "order = \"none\"", "minimal-adaptive");
  EXPECT_GT(none.wrong, 0u) << "several do not";
  EXPECT_EQ(none.reordered, 0u);
  for (unsigned packets : {0u, 1u, 2u, 8u}) {
    const Crowd kept = crowd(slots + "order_window = " + std::to_string(packets) + "\n", "minimal-adaptive");
    EXPECT_EQ(kept.wrong, 0u) << packets;
    EXPECT_EQ(kept.reordered > 0, packets != 1) << packets;
    EXPECT_EQ(kept.waits > 0, packets != 0) << packets;
  }
}

TEST(Order, ACutCableStopsNoFlow) {
  // What the cut takes away counts as taken, whichever way it went.
  const Crowd cut = crowd("queue_slots = 512\nmessage_slots = 512\norder_window = 4\ntimeout = \"50us\"\n",
                          "minimal-adaptive", "at 1us cut r0.p0; at 2us cut r5.p1");
  EXPECT_EQ(cut.wrong, 0u);
}

TEST(Interrupts, OneServesAllCausesItsHandlerFinds) {
  Bench b(torus("", "interrupt = \"5us\""), 2);
  b.fabric->enable_interrupts(b.ports[1], Interrupt::Queue | Interrupt::Error);
  for (int i = 0; i < 3; ++i) b.post(0, b.to(1, Operation::Message, 8, kInterrupt));
  Descriptor refused = b.to(1, Operation::ImmediatePut, 8);
  refused.remote_key = 77;
  b.post(0, refused);
  ASSERT_TRUE(b.settle(false));
  b.take(b.ports[1]);
  ASSERT_EQ(b.events(1).size(), 2u) << "nobody asked to hear of interrupts that descriptors ask for";
  EXPECT_EQ(b.events(1)[0].kind, EventKind::Interrupt);
  EXPECT_EQ(b.events(1)[0].spare[1], Interrupt::Error) << "known on the chip, before messages are in memory";
  EXPECT_EQ(b.events(1)[0].status, Status::BadKey);
  EXPECT_EQ(b.events(1)[1].spare[1], Interrupt::Queue) << "once: the ring was not empty again";
  EXPECT_EQ(b.events(1)[1].time, b.events(1)[0].time);
  EXPECT_LT(b.events(1)[1].time, b.messages(1)[0].time + 5'000'000) << "the interrupt was under way already";
  EXPECT_EQ(b.fabric->counters(1).interrupts, 1u);
}

TEST(Interrupts, AFullQueueLosesNoCause) {
  Bench b(torus("interrupt_slots = 2\n", "interrupt = \"50us\""), 2);
  for (int i = 0; i < 5; ++i) b.post(0, b.to(1, Operation::Message, 8, kInterrupt));
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.events(1).size(), 5u);
  EXPECT_EQ(b.fabric->counters(1).interrupts, 3u) << "two causes each, and the last alone";
  EXPECT_EQ(b.fabric->counters(1).interrupts_held, 3u);
  EXPECT_EQ(b.events(1)[2].time - b.events(1)[0].time, 50'000'000);
  EXPECT_EQ(b.events(1)[4].time - b.events(1)[2].time, 50'000'000);
}

}  // namespace
}  // namespace weft::nic
