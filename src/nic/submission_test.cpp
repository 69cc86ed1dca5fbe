// How descriptors reach the chip: shared buffers of queues in memory, and stores that come in pieces.
#include <gtest/gtest.h>

#include "nic/test_host.hpp"

namespace weft::nic {
namespace {

using test::Bench;
using test::torus;

const char* const kSlowUnit = "occupancy = \"1us\"\nunits = 1\n";

/// Opens `count` queues in memory on the first node.
std::vector<PortRef> memory_queues(Bench& b, unsigned count) {
  std::vector<PortRef> out;
  for (PortNo port = 0; out.size() < count; out.push_back({0, port}))
    if (b.fabric->open(0, 0, true, port) != Status::Ok) break;
  return out;
}

TEST(SharedBuffers, ThirtyTwoQueuesShareEight) {
  Bench b(torus("kind = \"th-express\""), 2);
  EXPECT_EQ(b.fabric->parameters().memory_queues, 32u);
  EXPECT_EQ(b.fabric->parameters().queue_buffers, 8u);
}

TEST(SharedBuffers, HoldWhatTheirQueuesBringAndNoMore) {
  // One queue may fill what is shared: of 16 slots 4 are kept for 4 queues, so it has 13 on the chip.
  Bench b(torus(std::string(kSlowUnit) +
                "ports = 8\nmemory_queues = 8\nqueue_buffers = 2\nbuffer_slots = 16\norder = \"sequence\""),
          2);
  for (unsigned i = 0; i < 40; ++i) {
    Descriptor d = b.to(1, Operation::Message, 8);
    d.tag = i;
    b.post(0, d);
  }
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.messages(1).size(), 40u);
  for (unsigned i = 0; i < 40; ++i) EXPECT_EQ(b.messages(1)[i].tag, i) << "in the order of posting";
  Counters c = b.fabric->counters(0);
  EXPECT_LE(c.deepest_queue, 13u);
  EXPECT_GE(c.deepest_queue, 12u);
  EXPECT_GT(c.buffer_waits, 20u);
}

TEST(SharedBuffers, AFullOneDelaysNoOtherQueuesFirst) {
  // Port 0 fills its buffer; ports 2 (the same buffer) and 1 (the other one) still get in at once.
  std::map<unsigned, std::int64_t> alone, beside;
  for (int full = 0; full < 2; ++full) {
    Bench b(torus(std::string(kSlowUnit) +
                  "ports = 4\nmemory_queues = 4\nqueue_buffers = 2\nbuffer_slots = 4\nqueue_slots = 64"),
            2);
    auto more = memory_queues(b, 3);
    ASSERT_EQ(more.size(), 3u);
    for (unsigned i = 0; full && i < 60; ++i) b.post(0, b.to(1, Operation::Message, 8));
    for (unsigned i = 0; i < 2; ++i) {
      Descriptor d = b.to(1, Operation::Message, 8);
      d.tag = 100 + i;
      b.fabric->post(more[i], d);
    }
    ASSERT_TRUE(b.settle());
    EXPECT_EQ(b.messages(1).size(), full ? 62u : 2u);
    for (const Message& m : b.messages(1))
      if (m.tag) (full ? beside : alone)[m.tag] = m.time;
  }
  for (unsigned tag : {100u, 101u})
    EXPECT_LT(beside[tag] - alone[tag], 5'000'000) << tag << ": a few turns of the unit, not sixty";
}

TEST(SharedBuffers, RandomPostsAllArriveInOrder) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Bench b(torus("ports = 9\nmemory_queues = 9\nqueue_buffers = 2\nbuffer_slots = 5"), 2);
    std::vector<PortRef> queues = memory_queues(b, 8);
    ASSERT_EQ(queues.size(), 8u);
    queues.push_back(b.ports[0]);
    std::vector<std::uint32_t> posted(queues.size());
    for (unsigned i = 0; i < 300; ++i) {
      std::uint32_t q = random_below(seed, 1, i, 9);
      bool fence = random_below(seed, 2, i, 4) == 0, wrong = random_below(seed, 3, i, 10) == 0;
      Descriptor d = b.to(1, Operation::Message, wrong ? 1000 : 8, fence ? kFence : 0);
      d.posted = i * 20'000;
      if (!wrong) d.tag = q << 16 | posted[q]++;
      b.fabric->post(queues[q], d);
    }
    ASSERT_TRUE(b.settle());
    std::vector<std::uint32_t> seen(queues.size());
    for (const Message& m : b.messages(1)) EXPECT_EQ(m.tag & 0xffff, seen[m.tag >> 16]++);
    EXPECT_EQ(seen, posted);
  }
}

TEST(SharedBuffers, NeedASlotForEachQueue) {
  EXPECT_THROW(Bench(torus("memory_queues = 32\nqueue_buffers = 8\nbuffer_slots = 3"), 2), UserError);
}

TEST(SplitStores, AreRepairedAtACostAndStayInOrder) {
  std::int64_t time[2];
  for (int split = 0; split < 2; ++split) {
    Bench b(torus(std::string("split_repair = \"300ns\"\nsplit_stores = ") + (split ? "1.0" : "0.0"),
                  "bus = \"axi-128\""),  // no framing, so that two halves take as long as the whole
            2);
    Descriptor d = b.to(1, Operation::Message, 64);
    for (unsigned k = 0; k < 64; ++k) d.data[k] = static_cast<std::uint8_t>(k);
    b.post(0, d);
    ASSERT_TRUE(b.settle());
    ASSERT_EQ(b.messages(1).size(), 1u);
    EXPECT_TRUE(std::equal(d.data, d.data + 64, b.messages(1)[0].data));
    EXPECT_EQ(b.fabric->counters(0).split_stores, static_cast<unsigned>(split));
    time[split] = b.messages(1)[0].time;
  }
  EXPECT_NEAR(static_cast<double>(time[1] - time[0]), 300'000, 1);

  Bench b(torus("split_stores = 0.25"), 2);
  for (unsigned i = 0; i < 400; ++i) {
    Descriptor d = b.to(1, Operation::Message, 64);
    d.tag = i;
    b.post(0, d);
  }
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.messages(1).size(), 400u);
  for (unsigned i = 0; i < 400; ++i) EXPECT_EQ(b.messages(1)[i].tag, i);
  EXPECT_NEAR(static_cast<double>(b.fabric->counters(0).split_stores), 100, 30);
}

}  // namespace
}  // namespace weft::nic
