#include "nic/groups.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "nic/test_host.hpp"

namespace weft::nic {
namespace {

using test::Bench;
using test::TestHost;

const char* kNic =
    "triggers = 16\ntrigger_rounds = 4\nsend_latency = \"100ns\"\nreceive_latency = \"200ns\"\noccupancy = "
    "\"10ns\"\ntranslation = \"none\"\nheader = \"32B\"\npayload = \"992B\"\n";
const char* kHost = "bus = \"axi-128\"\nwrite_latency = \"150ns\"\nread_latency = \"300ns\"";
constexpr std::uint64_t kKey = 9, kBlock = 64 * 1024, kBlockAt = 0x10000;

std::string copying(const std::string& nic = "", const std::string& cable = "",
                    const std::string& dims = "[3, 3]") {
  std::string text = test::torus(kNic + nic, kHost, dims);
  const auto put = [&](const std::string& before, const std::string& what) {
    text.insert(text.find(before), what + "\n");
  };
  put("latency = \"60ns\"", "multicast = true");
  put("lanes = 4", cable);
  return text;
}

/// All nodes of a bench in one group.
class Group {
 public:
  explicit Group(Bench& bench) : b(bench), count(static_cast<unsigned>(bench.ports.size())) {
    for (unsigned i = 0; i < count; ++i) {
      keys.push_back(b.region(i, 0, b.host.memory[i].size()));
      std::vector<std::uint32_t> nodes(count);
      for (unsigned n = 0; n < count; ++n) nodes[n] = n;
      std::memcpy(b.host.memory[i].data(), nodes.data(), nodes.size() * 4);
      b.post(i, about(i, Operation::Join, nodes.size() * 4));
    }
    EXPECT_TRUE(b.settle());
    for (unsigned i = 0; i < count; ++i) {
      EXPECT_EQ(b.events(i).size(), 1u);
      if (!b.events(i).empty()) EXPECT_EQ(b.events(i)[0].kind, EventKind::Armed);
      b.events(i).clear();
    }
  }

  Descriptor about(unsigned i, Operation operation, std::uint64_t length, std::uint64_t round = 0) const {
    Descriptor d;
    d.operation = operation;
    d.tag = 3;
    d.node = i;
    d.local_key = keys[i];
    d.length = length;
    d.operand = round;
    d.remote_key = kKey;
    d.context = 100 + i;
    return d;
  }

  /// One round of a block from `root`; returns the time from the root's post to the last member's event.
  Time broadcast(unsigned root, std::uint64_t length, std::uint64_t round) {
    for (unsigned i = 0; i < count; ++i) {
      std::uint8_t* block = b.host.memory[i].data() + kBlockAt;
      for (std::uint64_t k = 0; k < length; ++k)
        block[k] = i == root ? static_cast<std::uint8_t>(k * 7 + k / 256 + round) : 0;
      if (i == root) continue;
      Descriptor d = about(i, Operation::Expect, length, round);
      d.local_offset = kBlockAt;
      b.post(i, d);
    }
    EXPECT_TRUE(b.settle());
    const Time start = b.fabric->now();
    Descriptor put = about(root, Operation::Put, length, round);
    put.flags = kToGroup;
    put.local_offset = kBlockAt;
    put.compare = 55;
    b.post(root, put);
    EXPECT_TRUE(b.settle());
    Time last = start;
    for (unsigned i = 0; i < count; ++i) {
      if (i == root) continue;
      EXPECT_EQ(b.events(i).size(), 1u) << i;
      if (b.events(i).empty()) continue;
      const Event& e = b.events(i)[0];
      EXPECT_EQ(e.kind, EventKind::Arrived);
      EXPECT_EQ(e.data, round);
      EXPECT_EQ(e.context, 100u + i);
      EXPECT_EQ(e.spare[0], 55u);
      last = std::max(last, Time{e.time});
      damaged += e.status == Status::Damaged;
      const bool same =
          std::equal(b.host.memory[i].data() + kBlockAt, b.host.memory[i].data() + kBlockAt + length,
                     b.host.memory[root].data() + kBlockAt);
      EXPECT_EQ(same, e.status == Status::Ok) << i;
      b.events(i).clear();
    }
    EXPECT_TRUE(b.events(root).empty());
    return last - start;
  }

  Bench& b;
  unsigned count, damaged = 0;
  std::vector<std::uint64_t> keys;
};

/// 64 KiB take one serialisation, headers included, and what one packet takes on the deepest way.
TEST(Groups, ABlockTakesTheWiresTimeAndTheDeepestWay) {
  for (const char* engine : {"ideal", "flow", "flit"}) {
    Bench b(copying(), 9, engine);
    Group group(b);
    const Time one = group.broadcast(0, 992, 0), all = group.broadcast(0, kBlock, 1);
    const std::uint64_t packets = (kBlock + 991) / 992;
    const double wire = static_cast<double>(kBlock + packets * 32) * 8 / 20e9 * 1e12;  // 20 Gb/s
    EXPECT_GE(static_cast<double>(all.value), wire) << engine;
    EXPECT_LE(static_cast<double>(all.value), 1.1 * (wire + static_cast<double>(one.value))) << engine;
    ::testing::Test::RecordProperty(engine, std::to_string(all.value));
  }
}

TEST(Groups, EveryMemberMayBeTheRootAndRoundsFollowEachOther) {
  Bench b(copying(), 9, "flit");
  Group group(b);
  for (unsigned round = 0; round < 18; ++round) group.broadcast(round % 9, 1 + (round * 977) % 9000, round);
  EXPECT_EQ(group.damaged, 0u);
}

TEST(Groups, BitErrorsAndACutCableChangeNothingButTime) {
  Bench whole(copying(), 9, "flit"),
      broken(copying("", "bit_error_rate = 1e-6"), 9, "flit", 1 << 20, 1, "at 20us cut r0.p0\n");
  Group first(whole), second(broken);
  Time quick{0}, slow{0};
  for (unsigned round = 0; round < 6; ++round) {
    quick = quick + first.broadcast(round, kBlock, round);
    slow = slow + second.broadcast(round, kBlock, round);
  }
  EXPECT_GT(slow, quick);
  EXPECT_EQ(second.damaged, 0u);
}

TEST(Groups, ErrorsThatNoLinkNoticesAreTold) {
  Bench b(copying("corruption = 0.02\n"), 9);
  Group group(b);
  for (unsigned round = 0; round < 4; ++round) group.broadcast(0, kBlock, round);
  EXPECT_GT(group.damaged, 0u);
  EXPECT_LT(group.damaged, 32u);
}

TEST(Groups, WhatIsNotExpectedIsRefused) {
  Bench b(copying(), 9);
  Group group(b);
  Descriptor d = group.about(1, Operation::Expect, 100);
  d.local_offset = kBlockAt;
  b.post(1, d);
  b.post(1, d);  // twice
  d = group.about(2, Operation::Expect, 100);
  d.remote_key = kKey + 1;  // another key
  b.post(2, d);
  d = group.about(3, Operation::Expect, 200);  // another length
  b.post(3, d);
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.events(1).size(), 1u);
  EXPECT_EQ(b.events(1)[0].status, Status::NoRoom);
  Descriptor put = group.about(0, Operation::Put, 100);
  put.flags = kToGroup;
  b.post(0, put);
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(b.events(1).size(), 2u);
  EXPECT_TRUE(b.events(2).empty() && b.events(3).empty());
  EXPECT_EQ(b.fabric->counters(2).refused, 1u);
  EXPECT_EQ(b.fabric->counters(3).refused, 1u);
  for (std::uint16_t flags : {kReliable, kNotifyDone, kGlobal, kFence}) {
    put.flags = static_cast<std::uint16_t>(kToGroup | flags);
    b.post(4, put);
  }
  put.flags = kToGroup;
  put.tag = 4;  // not joined
  b.post(4, put);
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.events(4).size(), 5u);
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(b.events(4)[i].status, Status::BadOperation) << i;
  EXPECT_EQ(b.events(4)[4].status, Status::BadKey);
}

TEST(Groups, ThereAreNoneWhereRoutersDoNotCopy) {
  Bench b(test::torus(kNic, kHost), 2);
  const std::uint64_t key = b.region(0, 0, 4096);
  Descriptor d;
  d.operation = Operation::Join;
  d.local_key = key;
  d.length = 8;
  b.post(0, d);
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.events(0).size(), 1u);
  EXPECT_EQ(b.events(0)[0].status, Status::BadOperation);
}

}  // namespace
}  // namespace weft::nic
