#include "nic/counted.hpp"

#include <gtest/gtest.h>

#include "nic/reduction.hpp"
#include "nic/test_host.hpp"

namespace weft::nic {
namespace {

using test::Bench;
using test::TestHost;
using test::torus;

const char* kNic =
    "triggers = 4\noperation_units = 1\ntrigger_inputs = 4\ntrigger_rounds = 2\ntrigger_time = \"20ns\"\n"
    "operation_time = \"2ns\"\nsend_latency = \"100ns\"\nreceive_latency = \"200ns\"\noccupancy = \"10ns\"\n"
    "translation = \"none\"\nheader = \"32B\"";
const char* kHost = "bus = \"axi-128\"\nwrite_latency = \"150ns\"\nread_latency = \"300ns\"";
constexpr std::uint32_t kAlone = kSequenceStart | kSequenceTail;

Descriptor message(const Bench& b, unsigned to, std::uint32_t flags, std::uint32_t packets = 0,
                   const std::string& data = "") {
  Descriptor d = b.to(to, Operation::Message, data.size(), kCounted);
  std::memcpy(d.data, data.data(), data.size());
  d.spare[1] = counted_word(flags, packets);
  return d;
}

std::string text(const Message& m) { return {reinterpret_cast<const char*>(m.data), m.length}; }

std::vector<std::string> texts(Bench& b, unsigned owner) {
  std::vector<std::string> out;
  for (const Message& m : b.messages(owner)) out.push_back(text(m));
  return out;
}

Descriptor reduction(const Bench& b, unsigned to, std::uint32_t flags, std::uint32_t packets,
                     std::initializer_list<std::int64_t> values) {
  ReduceData data;
  data.mark = kReduceMark;
  data.operation = Reduction::SumSigned;
  data.wide = 1;
  for (std::int64_t v : values) data.unit[data.count++].value = static_cast<std::uint64_t>(v);
  return message(b, to, flags, packets, {reinterpret_cast<const char*>(&data), data.bytes()});
}

TEST(Counted, WaitsForItsPacketsAndGoesInOrder) {
  Bench b(torus(kNic, kHost), 3);
  b.post(1, message(b, 2, kAlone | kToRing, 2, "two"));
  b.post(1, message(b, 2, kSequenceStart | kToRing, 0, "a"));
  b.post(1, message(b, 2, kToRing, 0, "b"));
  ASSERT_TRUE(b.settle());
  b.post(0, message(b, 1, kCounts));
  ASSERT_TRUE(b.settle());
  EXPECT_TRUE(b.messages(2).empty());
  ASSERT_EQ(b.fabric->pending(1).size(), 1u);
  EXPECT_EQ(b.fabric->pending(1)[0],
            "2 sequences of port 0 wait, the first for 2 control packets, of which 1 are there");
  b.post(2, message(b, 1, kCounts));
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(texts(b, 2), std::vector<std::string>{"two"}) << "the other has no tail yet";
  b.post(1, message(b, 0, kSequenceTail | kToRing, 0, "c"));
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(texts(b, 2), (std::vector<std::string>{"two", "a", "b"}));
  EXPECT_EQ(texts(b, 0), std::vector<std::string>{"c"});
  EXPECT_TRUE(b.messages(1).empty()) << "control packets are no messages";
}

// From the last packet at the receiving unit: its latency, the trigger, the packet out; as for a packet that
// a processor sends, but for the bus on the way.
TEST(Counted, TakesTheTimeOfTheUnits) {
  Bench b(torus(kNic, kHost), 2);
  b.post(1, message(b, 0, kAlone | kToRing, 1, "x"));
  ASSERT_TRUE(b.settle());
  const Time start = b.fabric->now();
  b.post(0, message(b, 1, kCounts));
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.messages(0).size(), 1u);
  auto bus = [](std::int64_t bytes) { return Time{bytes * 8 * 1'000'000'000'000 / 19'200'000'000}; };
  auto hop = [](std::int64_t bytes) { return Time{60'000 + 90'000 + 60'000 + bytes * 8 * 50}; };
  const Time posted = start + bus(16) + Time{150'000};
  const Time there = posted + Time{100'000} + hop(32) + Time{200'000};
  const Time back = there + Time{20'000} + Time{100'000} + hop(33) + Time{200'000};
  EXPECT_EQ(b.messages(0)[0].time, (back + bus(17) + Time{150'000}).value);
}

TEST(Counted, CombinesInOneOrderAndSendsTheResultOn) {
  Bench b(torus(kNic, kHost), 4);
  b.post(0, reduction(b, 1, kSequenceStart | kReduce | kToRing, 3, {1, 10}));
  b.post(0, message(b, 2, kResult | kToRing));
  b.post(0, message(b, 3, kSequenceTail | kResult | kToRing));
  for (unsigned i = 1; i < 4; ++i)
    b.post(i, reduction(b, 0, kCounts | kCarriesData | kReduce, 0, {std::int64_t{i} * 100, -1}));
  ASSERT_TRUE(b.settle());
  for (unsigned i = 1; i < 4; ++i) {
    ASSERT_EQ(b.messages(i).size(), 1u);
    ReduceData sum;
    ASSERT_TRUE(read_reduction(b.messages(i)[0].data, b.messages(i)[0].length, sum));
    EXPECT_EQ(sum.unit[0].value, 601u);
    EXPECT_EQ(sum.unit[1].value, 7u);
  }
}

TEST(Counted, PutsCountWhenTheirDataIsThere) {
  Bench b(torus(kNic, kHost), 2);
  const std::uint64_t from = b.region(0, 0, 4096), to = b.region(1, 0, 4096);
  for (unsigned i = 0; i < 3000; ++i) b.host.memory[0][i] = static_cast<std::uint8_t>(i);
  for (std::uint16_t reliable : {std::uint16_t{0}, kReliable}) {
    std::fill(b.host.memory[1].begin(), b.host.memory[1].end(), std::uint8_t{0});
    b.messages(0).clear();
    b.post(1, message(b, 0, kAlone | kToRing, 1, "done"));
    Descriptor put = b.to(1, Operation::Put, 3000, kCounted | reliable);
    put.local_key = from;
    put.remote_key = to;
    put.spare[1] = counted_word(kCounts, 0);
    b.post(0, put);
    while (b.messages(0).empty() && !b.fabric->idle()) {
      b.fabric->advance(network::kForever);
      b.take(b.ports[0]);
    }
    ASSERT_EQ(b.messages(0).size(), 1u);
    EXPECT_EQ(std::memcmp(b.host.memory[0].data(), b.host.memory[1].data(), 3000), 0);
    ASSERT_TRUE(b.settle());
  }
}

Status failure(Bench& b, unsigned owner) {
  EXPECT_TRUE(b.settle());
  EXPECT_EQ(b.events(owner).size(), 1u);
  const Status status = b.events(owner).empty() ? Status::Ok : b.events(owner)[0].status;
  b.events(owner).clear();
  return status;
}

TEST(Counted, RefusesWhatCannotBe) {
  Bench b(torus(kNic, kHost), 2);
  auto refused = [&](const Descriptor& d) {
    b.post(0, d);
    return failure(b, 0);
  };
  EXPECT_EQ(refused(message(b, 1, kAllCounted + 1)), Status::BadOperation);
  EXPECT_EQ(refused(message(b, 1, kSequenceTail)), Status::BadOperation);
  EXPECT_EQ(refused(message(b, 1, kSwap)), Status::BadOperation);
  EXPECT_EQ(refused(message(b, 1, kAlone, 9)), Status::NoRoom) << "it would wait for ever";
  EXPECT_EQ(refused(message(b, 1, kAlone | kReduce, 0, "none")), Status::Mismatch);
  EXPECT_EQ(refused(message(b, 1, kCarriesAddress, 0, "none")), Status::BadLength);
  EXPECT_EQ(refused(message(b, 1, kAlone | kSet, 0, std::string(15 * 8, ' '))), Status::BadLength);
  Descriptor add = b.to(1, Operation::FetchAdd, 8, kCounted);
  EXPECT_EQ(refused(add), Status::BadOperation);
  Descriptor get = b.to(1, Operation::Get, 8, kCounted);
  get.local_key = get.remote_key = b.region(0, 0, 64);
  get.spare[1] = counted_word(kCounts, 0);
  EXPECT_EQ(refused(get), Status::BadOperation);
  b.post(0, message(b, 1, kSequenceStart));
  EXPECT_EQ(refused(message(b, 1, kAlone)), Status::BadOperation) << "one begins where another has not ended";
}

TEST(Counted, KeepsSoManyPacketsAndNoMore) {
  Bench b(torus(kNic, kHost), 2);
  for (int i = 0; i < 8; ++i) b.post(0, message(b, 1, kCounts));
  ASSERT_TRUE(b.settle());
  EXPECT_TRUE(b.events(0).empty());
  b.post(0, message(b, 1, kCounts));
  EXPECT_EQ(failure(b, 0), Status::NoRoom);
  Descriptor put = b.to(1, Operation::ImmediatePut, 8, kCounted);
  put.remote_key = b.region(1, 0, 64);
  put.spare[1] = counted_word(kCounts, 0);
  b.post(0, put);
  EXPECT_EQ(failure(b, 0), Status::NoRoom);
  b.post(1, message(b, 0, kAlone | kToRing, 8, "all"));
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(texts(b, 0), std::vector<std::string>{"all"});
  EXPECT_FALSE(b.fabric->busy(b.ports[0]));
  EXPECT_FALSE(b.fabric->busy(b.ports[1]));
}

TEST(Counted, AnInterfaceWithoutTriggersHasNone) {
  Bench b(torus(), 2);
  b.post(0, message(b, 1, kCounts));
  EXPECT_EQ(failure(b, 0), Status::BadOperation);
}

// What waits keeps its place in the queue; a port that is closed takes it along, and its next user finds
// nothing of it.
TEST(Counted, WhatWaitsGoesWithItsPort) {
  Bench b(torus(kNic, kHost), 2);
  b.post(1, message(b, 0, kAlone | kToRing, 1, "mine"));
  b.post(0, message(b, 1, kCounts));
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(b.host.at(b.ports[1]).slots, 1u);
  b.post(1, message(b, 0, kAlone | kToRing, 2, "never"));
  b.post(0, message(b, 1, kCounts));
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(b.host.at(b.ports[1]).slots, 1u);
  b.fabric->close(b.ports[1]);
  EXPECT_EQ(b.host.at(b.ports[1]).slots, 2u);
  PortNo port = 0;
  ASSERT_EQ(b.fabric->open(1, 1, false, port), Status::Ok);
  ASSERT_EQ(port, b.ports[1].port);
  b.post(0, message(b, 1, kCounts));
  b.post(1, message(b, 0, kAlone | kToRing, 2, "next"));
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(texts(b, 0), std::vector<std::string>{"mine"}) << "one packet of two";
  b.post(0, message(b, 1, kCounts));
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(texts(b, 0), (std::vector<std::string>{"mine", "next"}));
}

}  // namespace
}  // namespace weft::nic
