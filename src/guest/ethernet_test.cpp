#include "guest/ethernet.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "guest/test_nodes.hpp"
#include "nic/test_host.hpp"

namespace weft::guest {
namespace {

using test::TestGuest;

// Values that make every part of a frame's time a round number.
const char* kPlainNic =
    "send_latency = \"100ns\"\nreceive_latency = \"200ns\"\ntranslation = \"none\"\nheader = "
    "\"32B\"\npayload = "
    "\"2048B\"\ndescriptor = \"64B\"";
const char* kPlainHost =
    "bus = \"axi-128\"\nwrite_latency = \"150ns\"\nread_latency = \"300ns\"\ninterrupt = \"2us\"";

/// Bytes over the bus of 19.2 Gb/s without framing.
Time bus(std::int64_t bytes) { return {bytes * 8 * 1'000'000'000'000 / 19'200'000'000}; }
/// Bytes over a cable of 20 Gb/s.
Time wire(std::int64_t bytes) { return {bytes * 8 * 50}; }
const Time kOneHop{60'000 + 90'000 + 60'000};

/// What nodes send each other, and when they are interrupted.
class Wire : public test::TestNodes {
 public:
  struct Seen {
    unsigned queue;
    Time at;
  };
  Wire(unsigned nodes, const std::string& ethernet, const std::string& engine = "ideal",
       const std::string& nic = kPlainNic)
      : TestNodes(
            std::make_shared<machine::Machine>(machine::build(machine::describe_text(
                nic::test::torus(nic, kPlainHost) + "[node.device.eth0]\nkind = \"ethernet\"\n" + ethernet,
                "test", {}))),
            nodes, engine),
        interrupts(nodes) {
    for (unsigned i = 0; i < nodes; ++i)
      devices[i]->interrupt_guest = [this, i](unsigned q) { interrupts[i].push_back({q, queue.now()}); };
  }
  void settle() { EXPECT_TRUE(TestNodes::settle()); }

  std::vector<std::vector<Seen>> interrupts;
};

TEST(Ethernet, FrameTakesTheSumOfItsParts) {
  Wire w(2,
         "send_cost = \"400ns\"\nreceive_cost = \"700ns\"\nsend_rate = \"8Gbps\"\nreceive_rate = "
         "\"4Gbps\"\ninterrupt_cost = \"3us\"");
  w.guests[1]->offer_buffers(0, 8);
  w.guests[0]->send(1, 0xab, 1000);
  w.guests[0]->kick();
  w.settle();
  ASSERT_EQ(w.interrupts[1].size(), 1u);
  EXPECT_EQ(w.interrupts[1][0].queue, Ethernet::kReceiveQueue);
  // Kernel with a nanosecond for each byte, descriptor to the chip, data from memory, chip, network, chip,
  // data to memory, event, interrupt, kernel with its two nanoseconds for each byte.
  const Time expected = Time{400'000 + 1'000'000} + bus(64) + Time{150'000} + bus(1000) + Time{300'000} +
                        Time{100'000} + kOneHop + wire(1032) + Time{200'000} + bus(1000) + bus(16) +
                        Time{150'000} + Time{2'000'000} + Time{3'000'000 + 700'000 + 2'000'000};
  EXPECT_EQ(w.interrupts[1][0].at, expected);
  auto used = w.guests[1]->receiving.take_used();
  ASSERT_EQ(used.size(), 1u);
  EXPECT_EQ(used[0].written, 1012u);
  const std::uint8_t* frame =
      &w.guests[1]->memory[w.guests[1]->buffer(0, static_cast<std::uint16_t>(used[0].head))];
  EXPECT_EQ(frame[10], 1);  // buffers it is in
  EXPECT_EQ(frame[12 + 20], 0xab);
  EXPECT_EQ(w.guests[0]->sending.take_used().size(), 1u);
  // The sender is interrupted once, to hear that its buffers are free.
  EXPECT_EQ(w.devices[0]->counters().processor, TimeSum{1'400'000 + 3'000'000});
  EXPECT_EQ(w.devices[1]->counters().processor, TimeSum{5'700'000});
}

TEST(Ethernet, TheProcessorTakesOneFrameAfterTheOther) {
  Wire w(2, "send_cost = \"5us\"\nsend_rate = \"0bps\"\nreceive_cost = \"0ns\"\ninterrupt_cost = \"0ns\"");
  w.guests[1]->offer_buffers(0, 8);
  for (int i = 0; i < 3; ++i) w.guests[0]->send(1, 1, 100);
  w.guests[0]->kick();
  w.settle();
  // Each is alone on the network, 5 us behind the one before.
  ASSERT_EQ(w.interrupts[1].size(), 3u);
  for (int i : {1, 2}) EXPECT_EQ(w.interrupts[1][i].at - w.interrupts[1][i - 1].at, Time{5'000'000});
}

TEST(Ethernet, AnInterruptIsDelayedByTheWorkBeforeIt) {
  // While the processor is busy with what it sends, what comes waits.
  auto heard = [](unsigned frames_to_send) {
    Wire w(2, "send_cost = \"20us\"\nsend_rate = \"0bps\"\nreceive_rate = \"0bps\"");
    w.guests[1]->offer_buffers(0, 8);
    for (unsigned i = 0; i < frames_to_send; ++i) w.guests[1]->send(0, 1, 100);
    w.guests[0]->send(1, 1, 100);
    w.guests[0]->kick();
    if (frames_to_send) w.guests[1]->kick();
    w.settle();
    for (const Wire::Seen& seen : w.interrupts[1])
      if (seen.queue == Ethernet::kReceiveQueue) return seen.at;
    return Time{0};
  };
  EXPECT_GT(heard(0), Time{20'000'000});
  EXPECT_LT(heard(0), Time{30'000'000});
  EXPECT_EQ(heard(4), Time{4 * 20'000'000 + 1'000'000 + 300'000});
}

TEST(Ethernet, CostsFollowTheProcessorsClock) {
  auto heard = [](std::int64_t clock) {
    Wire w(2,
           "send_cost = \"1us\"\nreceive_cost = \"2us\"\nsend_rate = \"8Gbps\"\nreceive_rate = "
           "\"8Gbps\"\ninterrupt_cost = \"3us\"\nnominal_clock = \"2GHz\"");
    for (Ethernet* device : w.devices) device->run_at({clock});
    w.guests[1]->offer_buffers(0, 8);
    w.guests[0]->send(1, 1, 1000);
    w.guests[0]->kick();
    w.settle();
    return w.interrupts[1].at(0).at;
  };
  EXPECT_EQ(heard(2'000'000'000), heard(0));
  // 6 us for a frame and its interrupt, 2 us for its bytes: all of it twice as long.
  EXPECT_EQ(heard(1'000'000'000) - heard(0), Time{8'000'000});
}

TEST(Ethernet, LargeFramesFillSeveralBuffers) {
  Wire w(2, "mtu = 9000");
  w.guests[1]->offer_buffers(0, 8);
  // A frame in two buffers of the sender: six of the receiver's would be needed for more.
  TestGuest& g = *w.guests[0];
  g.send(1, 0x11, 2000);
  g.sending.describe(0, TestGuest::kBase + g.buffer(1, 0), 2012, 1, 1);
  g.sending.describe(1, TestGuest::kBase + g.buffer(1, 1), 2048, 0);
  g.kick();
  w.settle();
  auto used = w.guests[1]->receiving.take_used();
  ASSERT_EQ(used.size(), 2u);
  EXPECT_EQ(used[0].written, 2048u);
  EXPECT_EQ(used[0].written + used[1].written, 12u + 2000 + 2048);
  EXPECT_EQ(w.guests[1]->memory[w.guests[1]->buffer(0, static_cast<std::uint16_t>(used[0].head)) + 10], 2);
}

TEST(Ethernet, BroadcastReachesAllOthers) {
  Wire w(4, "");
  for (auto& guest : w.guests) guest->offer_buffers(0, 8);
  TestGuest& g = *w.guests[2];
  g.send(0, 0x22, 60);
  std::memset(&g.memory[g.buffer(1, 0) + 12], 0xff, 6);
  g.kick();
  w.settle();
  for (unsigned i = 0; i < 4; ++i)
    EXPECT_EQ(w.guests[i]->receiving.take_used().size(), i == 2 ? 0u : 1u) << i;
  EXPECT_EQ(w.devices[2]->counters().frames_sent, 1u);
  EXPECT_EQ(w.guests[2]->sending.take_used().size(), 1u);
}

TEST(Ethernet, FramesBehindAnInterruptComeWithIt) {
  for (const char* coalesce : {"", "coalesce_time = \"50us\"\ncoalesce_frames = 8"}) {
    Wire w(2, coalesce);
    w.guests[1]->offer_buffers(0, 32);
    for (int i = 0; i < 16; ++i) w.guests[0]->send(1, static_cast<std::uint8_t>(i), 200);
    w.guests[0]->kick();
    w.settle();
    EXPECT_EQ(w.guests[1]->receiving.take_used().size(), 16u);
    EXPECT_LT(w.devices[1]->counters().interrupts, 4u) << coalesce;
    EXPECT_EQ(w.devices[1]->counters().frames_received, 16u);
  }
}

TEST(Ethernet, CoalescingWaitsForCompanyAndNoLonger) {
  Wire w(2, "coalesce_time = \"50us\"\ncoalesce_frames = 2"), plain(2, "");
  for (Wire* x : {&w, &plain}) {
    x->guests[1]->offer_buffers(0, 8);
    x->guests[0]->send(1, 1, 100);
    x->guests[0]->kick();
    x->settle();
  }
  EXPECT_EQ(w.interrupts[1][0].at - plain.interrupts[1][0].at, Time{50'000'000});
}

TEST(Ethernet, WhatFindsNoRoomIsLostAndCounted) {
  Wire w(2, "receive_ring = 4\ncoalesce_time = \"100us\"\ncoalesce_frames = 64");
  w.guests[1]->offer_buffers(0, 32);
  for (int i = 0; i < 10; ++i) w.guests[0]->send(1, 7, 100);
  w.guests[0]->kick();
  w.settle();
  EXPECT_EQ(w.guests[1]->receiving.take_used().size(), 4u);
  EXPECT_EQ(w.devices[1]->counters().no_room, 6u);

  Wire few(2, "");
  few.guests[1]->offer_buffers(0, 3);
  for (int i = 0; i < 10; ++i) few.guests[0]->send(1, 7, 100);
  few.guests[0]->kick();
  few.settle();
  EXPECT_EQ(few.guests[1]->receiving.take_used().size(), 3u);
  EXPECT_EQ(few.devices[1]->counters().no_room, 7u);
}

TEST(Ethernet, AQueueOfTheInterfaceThatIsFullHoldsFramesBack) {
  Wire w(2, "send_ring = 4", "ideal", std::string(kPlainNic) + "\nqueue_slots = 2");
  w.guests[1]->offer_buffers(0, 60);
  for (int i = 0; i < 50; ++i) w.guests[0]->send(1, static_cast<std::uint8_t>(i), 300);
  w.guests[0]->kick();
  w.settle();
  auto used = w.guests[1]->receiving.take_used();
  ASSERT_EQ(used.size(), 50u);
  for (std::size_t i = 0; i < used.size(); ++i)  // in the order they were sent
    EXPECT_EQ(w.guests[1]->memory[w.guests[1]->buffer(0, static_cast<std::uint16_t>(used[i].head)) + 12 + 20],
              i);
}

TEST(Ethernet, WhatIsNoFrameIsRefused) {
  Wire w(2, "mtu = 1500");
  w.guests[1]->offer_buffers(0, 8);
  w.guests[0]->send(1, 1, 10);         // shorter than a header
  w.guests[0]->send(1, 1, 1500 + 19);  // longer than a frame
  w.guests[0]->send(1, 1, 1500 + 14);
  w.guests[0]->kick();
  w.settle();
  EXPECT_EQ(w.devices[0]->counters().refused, 2u);
  EXPECT_EQ(w.guests[1]->receiving.take_used().size(), 1u);
  EXPECT_EQ(w.guests[0]->sending.take_used().size(), 3u);
}

TEST(Ethernet, AGuestThatIsGoneLosesWhatComes) {
  Wire w(2, "");
  w.guests[1]->offer_buffers(0, 8);
  w.guests[0]->send(1, 1, 100);
  w.guests[0]->kick();
  w.devices[1]->stop();
  w.settle();
  EXPECT_EQ(w.devices[1]->counters().no_room, 1u);
  EXPECT_TRUE(w.interrupts[1].empty());
}

TEST(Ethernet, WhatAGuestHasKickedForLeavesThoughItIsGone) {
  Wire w(2, "");
  w.guests[1]->offer_buffers(0, 8);
  w.devices[0]->guest_time = [] { return Time{7'000'000}; };  // it is ahead of the simulation
  for (int i = 0; i < 3; ++i) w.guests[0]->send(1, 7, 100);
  w.guests[0]->kick();
  w.guests[0]->send(1, 8, 100);  // without a kick
  w.devices[0]->stop();
  std::vector<Time> left;
  w.devices[0]->on_frame = [&](bool, Time at, std::span<const std::uint8_t>) { left.push_back(at); };
  w.settle();
  EXPECT_EQ(left, std::vector<Time>(3, Time{7'000'000}));
  EXPECT_EQ(w.guests[1]->receiving.take_used().size(), 3u);
}

TEST(Ethernet, NothingReachesAGuestBeforeItsDeviceSaysSo) {
  Wire w(2, "coalesce_time = \"0ns\"");
  w.devices[1]->set_interrupt_latency(Time{2'000'000});
  w.guests[1]->offer_buffers(0, 8);
  for (int i = 0; i < 4; ++i) w.guests[0]->send(1, 7, 100);
  w.guests[0]->kick();
  // Step by step: whenever the guest hears of something, it had been promised quiet up to then at most.
  Time promised{0};
  std::size_t heard = 0;
  for (int i = 0; i < 100'000 && !w.fabric->idle(); ++i) {
    promised = std::max(promised, w.devices[1]->undisturbed_until(w.queue.now()));
    w.fabric->advance(w.queue.now() + Time{100'000});
    for (; heard < w.interrupts[1].size(); ++heard) EXPECT_GE(w.interrupts[1][heard].at, promised);
  }
  EXPECT_GE(heard, 1u);
}

/// Whatever lies in a guest's rings, the simulator goes on, and other guests' memory stays as it was.
TEST(Ethernet, NonsenseInRingsHarmsNobodyElse) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Wire w(3, "");
    for (auto& guest : w.guests) guest->offer_buffers(0, 16);
    TestGuest& bad = *w.guests[0];
    const std::uint32_t rings = 2 * test::TestRing::size(TestGuest::kEntries);
    bad.send(1, 1, 100);
    for (std::uint64_t i = 0; i < 40; ++i) {
      const std::uint64_t draw = random_bits(seed, 7, i);
      bad.memory[draw % rings] = static_cast<std::uint8_t>(draw >> 32);
    }
    w.guests[1]->send(2, 0x5a, 100);
    bad.kick();
    w.guests[1]->kick();
    w.settle();
    ASSERT_GE(w.guests[2]->receiving.take_used().size(), 1u) << seed;
    ASSERT_TRUE(w.devices[1]->vhost().queue(Ethernet::kSendQueue).broken().empty()) << seed;
  }
}

}  // namespace
}  // namespace weft::guest
