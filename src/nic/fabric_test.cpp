#include "nic/fabric.hpp"

#include <gtest/gtest.h>

#include "nic/test_host.hpp"

namespace weft::nic {
namespace {

using test::Bench;
using test::torus;

// Values that make every part of a message's time a round number.
const char* kPlainNic =
    "send_latency = \"100ns\"\nreceive_latency = \"200ns\"\ntranslation_hit = \"7ns\"\nheader = \"32B\"";
const char* kPlainHost = "bus = \"axi-128\"\nwrite_latency = \"150ns\"\nread_latency = \"300ns\"";

/// Bytes over the bus of 19.2 Gb/s without framing.
Time bus(std::int64_t bytes) { return {bytes * 8 * 1'000'000'000'000 / 19'200'000'000}; }
/// Bytes over a cable of 20 Gb/s.
Time wire(std::int64_t bytes) { return {bytes * 8 * 50}; }
const Time kOneHop{60'000 + 90'000 + 60'000};

TEST(Fabric, MessageTakesTheSumOfItsParts) {
  Bench b(torus(kPlainNic, kPlainHost), 2);
  Descriptor d = b.to(1, Operation::Message, 40);
  for (int i = 0; i < 40; ++i) d.data[i] = static_cast<std::uint8_t>(i);
  b.post(0, d);
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.messages(1).size(), 1u);
  const Message& m = b.messages(1)[0];
  Time expected = bus(40 + 16) + Time{150'000} + Time{100'000} + kOneHop + wire(72) + Time{200'000} +
                  bus(56) + Time{150'000};
  EXPECT_EQ(m.time, expected.value);
  EXPECT_EQ(m.length, 40);
  EXPECT_EQ(m.node, 0u);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(m.data[i], i);
}

TEST(Fabric, DoorbellAndFetchCostARead) {
  Bench pio(torus(kPlainNic, kPlainHost), 2),
      dma(torus(std::string(kPlainNic) + "\nmemory_queues = 64", kPlainHost), 2);
  for (Bench* b : {&pio, &dma}) {
    b->post(0, b->to(1, Operation::Message, 40));
    ASSERT_TRUE(b->settle());
  }
  std::int64_t more = dma.messages(1)[0].time - pio.messages(1)[0].time;
  EXPECT_EQ(more, (bus(8) + Time{300'000} + bus(128) - bus(56)).value);
}

TEST(Fabric, PutsAndGetsPassTheAdapterMessagesDoNot) {
  auto times = [](const char* adapter) {
    Bench b(torus(std::string(kPlainNic) + adapter, kPlainHost), 2);
    std::uint64_t from = b.region(0, 0, 4096), to = b.region(1, 0, 4096);
    std::vector<std::int64_t> when;
    b.post(0, b.to(1, Operation::Message, 40));
    EXPECT_TRUE(b.settle());
    when.push_back(b.messages(1)[0].time);
    for (Operation operation : {Operation::Put, Operation::Get}) {
      Descriptor d = b.to(1, operation, 200, operation == Operation::Put ? kNotifyRemote : kNotifyDone);
      d.local_key = from;
      d.remote_key = to;
      const Time begin = b.fabric->now();
      b.post(0, d);
      EXPECT_TRUE(b.settle());
      auto& events = b.events(operation == Operation::Put ? 1 : 0);
      when.push_back(events.back().time - begin.value);
    }
    return when;
  };
  auto without = times(""), with = times("\nadapter_latency = \"13ns\"");
  EXPECT_EQ(with[0], without[0]);
  EXPECT_EQ(with[1], without[1] + 2 * 13'000);
  EXPECT_EQ(with[2], without[2] + 4 * 13'000);  // the request out and in, the data out and in
}

TEST(Fabric, PartsAddUpForEveryOperation) {
  Bench b(torus(kPlainNic, kPlainHost), 3);
  unsigned records = 0;
  b.fabric->on_record = [&](const Record& r) {
    Time sum{0};
    for (Time part : r.parts.part) {
      EXPECT_GE(part.value, 0);
      sum = sum + part;
    }
    EXPECT_EQ(sum, r.end - r.begin);
    ++records;
  };
  std::uint64_t key = b.region(0, 0, 100'000), other = b.region(1, 0, 100'000);
  for (int i = 0; i < 5; ++i) {
    b.post(0, b.to(1, Operation::Message, 8));
    b.post(2, b.to(1, Operation::Message, 8));
    for (Operation operation :
         {Operation::Put, Operation::Get, Operation::ImmediatePut, Operation::FetchAdd}) {
      Descriptor d = b.to(1, operation, operation == Operation::ImmediatePut ? 90 : 5000);
      d.local_key = key;
      d.remote_key = other;
      b.post(0, d);
    }
  }
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(records, 30u);
}

TEST(Fabric, PutAndGetAtEveryAlignment) {
  Bench b(torus("payload = \"256B\""), 2);
  std::uint64_t from = b.region(0, 0, 1 << 20), to = b.region(1, 0, 1 << 20);
  auto& source = b.host.memory[0];
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::uint8_t>(random_bits(1, 2, i));
  for (std::uint64_t length : {1ull, 2ull, 7ull, 255ull, 256ull, 257ull, 4096ull, 70'001ull})
    for (std::uint64_t shift = 0; shift < 9; ++shift) {
      auto before = b.host.memory[1];
      Descriptor d = b.to(1, Operation::Put, length, kNotifyRemote | kNotifyLocal | kNotifyDone);
      d.local_key = from;
      d.local_offset = shift * 3;
      d.remote_key = to;
      d.remote_offset = 100 + shift;
      d.operand = 77;
      b.post(0, d);
      ASSERT_TRUE(b.settle());
      std::copy_n(source.begin() + static_cast<long>(shift * 3), length,
                  before.begin() + static_cast<long>(100 + shift));
      EXPECT_EQ(b.host.memory[1], before) << length << " bytes, " << shift;
      ASSERT_EQ(b.events(1).size(), 1u);
      EXPECT_EQ(b.events(1)[0].kind, EventKind::Arrived);
      EXPECT_EQ(b.events(1)[0].data, 77u);
      ASSERT_EQ(b.events(0).size(), 2u);
      EXPECT_EQ(b.events(0)[0].kind, EventKind::Local);
      EXPECT_EQ(b.events(0)[1].kind, EventKind::Done);
      EXPECT_GT(b.events(0)[1].time, b.events(1)[0].time);
      b.events(0).clear();
      b.events(1).clear();

      Descriptor g = b.to(1, Operation::Get, length, kNotifyDone | kNotifyRemote);
      g.local_key = from;
      g.local_offset = 500'000 + shift;
      g.remote_key = to;
      g.remote_offset = 100 + shift;
      b.post(0, g);
      ASSERT_TRUE(b.settle());
      EXPECT_TRUE(std::equal(before.begin() + static_cast<long>(100 + shift),
                             before.begin() + static_cast<long>(100 + shift + length),
                             source.begin() + static_cast<long>(500'000 + shift)));
      ASSERT_EQ(b.events(0).size(), 1u);
      ASSERT_EQ(b.events(1).size(), 1u);
      EXPECT_EQ(b.events(1)[0].kind, EventKind::Responded);
      b.events(0).clear();
      b.events(1).clear();
    }
}

TEST(Fabric, LargestPutArrivesWhole) {
  constexpr std::size_t kBytes = 128u << 20;
  Bench b(torus("payload = \"64KiB\""), 2, "ideal", kBytes + 8);
  for (std::size_t i = 0; i < kBytes; i += 4096) b.host.memory[0][i] = static_cast<std::uint8_t>(i >> 12);
  Descriptor d = b.to(1, Operation::Put, kBytes, kNotifyRemote);
  d.local_key = b.region(0, 0, kBytes);
  d.remote_key = b.region(1, 8, kBytes);
  b.post(0, d);
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.events(1).size(), 1u);
  EXPECT_TRUE(
      std::equal(b.host.memory[0].begin(), b.host.memory[0].begin() + kBytes, b.host.memory[1].begin() + 8));
  d.length = kBytes + 1;
  b.post(0, d);
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.events(0).size(), 1u);
  EXPECT_EQ(b.events(0)[0].status, Status::BadLength);
}

struct Error {
  const char* name;
  Status status;
  void (*make)(Descriptor&, Bench&);
};

class FabricErrors : public testing::TestWithParam<Error> {};

TEST_P(FabricErrors, IsAnEventAndTouchesNothing) {
  for (Operation operation : {Operation::Put, Operation::Get, Operation::ImmediatePut, Operation::FetchAdd}) {
    Bench b(torus(), 3);
    for (auto& memory : b.host.memory) std::fill(memory.begin(), memory.end(), 0x5a);
    auto before = b.host.memory;
    Descriptor d = b.to(1, operation, 64, kNotifyRemote);
    d.local_key = b.region(0, 0, 1000);
    d.remote_key = b.region(1, 0, 1000);
    d.context = 99;
    bool local = std::string(GetParam().name).starts_with("Local");
    if (local && operation != Operation::Put && operation != Operation::Get) continue;
    if (operation == Operation::FetchAdd && std::string(GetParam().name).find("Length") != std::string::npos)
      continue;
    GetParam().make(d, b);
    b.post(0, d);
    ASSERT_TRUE(b.settle());
    EXPECT_EQ(b.host.memory, before);
    ASSERT_EQ(b.events(0).size(), 1u) << static_cast<int>(operation);
    EXPECT_EQ(b.events(0)[0].kind, EventKind::Failed);
    EXPECT_EQ(b.events(0)[0].status, GetParam().status) << static_cast<int>(operation);
    EXPECT_EQ(b.events(0)[0].context, 99u);
    bool read = operation == Operation::Get && std::string(GetParam().name) == "LocalUnmapped";
    EXPECT_EQ(b.events(1).size(), read ? 1u : 0u) << "only then was anything done at the target";
    EXPECT_TRUE(b.events(2).empty());
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, FabricErrors,
    testing::Values(
        Error{"Node", Status::BadNode, [](Descriptor& d, Bench&) { d.node = 3; }},
        Error{"NodeFarOff", Status::BadNode, [](Descriptor& d, Bench&) { d.node = ~0u; }},
        Error{"Port", Status::NoPort, [](Descriptor& d, Bench&) { d.port = 55; }},
        Error{"PortFarOff", Status::NoPort, [](Descriptor& d, Bench&) { d.port = ~0u; }},
        Error{"PortOfAnother", Status::BadKey, [](Descriptor& d, Bench&) { d.node = 2; }},
        Error{"Key", Status::BadKey, [](Descriptor& d, Bench&) { d.remote_key ^= 1ull << 33; }},
        Error{"KeyZero", Status::BadKey, [](Descriptor& d, Bench&) { d.remote_key = 0; }},
        Error{"KeyFreed", Status::BadKey,
              [](Descriptor& d, Bench& b) { b.fabric->unregister_memory(b.ports[1], d.remote_key); }},
        Error{"Right", Status::NoRight,
              [](Descriptor& d, Bench& b) { d.remote_key = b.region(1, 0, 1000, 0); }},
        Error{"Range", Status::BadRange,
              [](Descriptor& d, Bench&) {
                d.remote_offset = 1000 - 32;
                d.length = 64;
                d.remote_offset &= ~7ull;
                d.remote_offset += 32;
              }},
        Error{"RangeWraps", Status::BadRange, [](Descriptor& d, Bench&) { d.remote_offset = ~0ull - 7; }},
        Error{"Unmapped", Status::BadMemory,
              [](Descriptor& d, Bench& b) { d.remote_key = b.region(1, 1ull << 30, 1000); }},
        Error{"LocalKey", Status::BadKey, [](Descriptor& d, Bench&) { d.local_key += 1 << 20; }},
        Error{"LocalKeyOfAnother", Status::BadKey, [](Descriptor& d, Bench&) { d.local_key = d.remote_key; }},
        Error{"LocalRange", Status::BadRange, [](Descriptor& d, Bench&) { d.local_offset = 1000 - 63; }},
        Error{"LocalUnmapped", Status::BadMemory,
              [](Descriptor& d, Bench& b) { d.local_key = b.region(0, 1ull << 30, 1000); }},
        Error{"Length", Status::BadLength, [](Descriptor& d, Bench&) { d.length = ~0ull; }},
        Error{"LengthZero", Status::BadLength,
              [](Descriptor& d, Bench&) { d.length = d.flags = 0; }},  // who notifies may send nothing else
        Error{"Flags", Status::BadOperation, [](Descriptor& d, Bench&) { d.flags = 0xffff; }},
        Error{"Operation", Status::BadOperation, [](Descriptor& d, Bench&) { d.operation = Operation{77}; }}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(Fabric, FullRingHoldsMessagesAndLosesNone) {
  Bench b(torus("message_slots = 2\nwatchdog = \"2us\""), 2);
  for (std::uint32_t i = 0; i < 20; ++i) {
    Descriptor d = b.to(1, Operation::Message, 4);
    d.tag = i;
    b.post(0, d);
  }
  ASSERT_TRUE(b.settle(false));
  EXPECT_EQ(b.host.at(b.ports[1]).messages.size(), 2u);
  ASSERT_EQ(b.host.at(b.ports[1]).events.size(), 1u) << "the watchdog tells";
  EXPECT_EQ(b.host.at(b.ports[1]).events[0].kind, EventKind::Stalled);
  EXPECT_EQ(b.fabric->counters(1).messages_held, 18u);
  while (b.messages(1).size() < 20) {
    std::size_t before = b.messages(1).size();
    b.take(b.ports[1]);
    ASSERT_TRUE(b.settle(false));
    ASSERT_GT(b.messages(1).size(), before);
  }
  for (std::uint32_t i = 0; i < 20; ++i) EXPECT_EQ(b.messages(1)[i].tag, i);
}

TEST(Fabric, FullEventQueueIsReportedAndLosesNone) {
  Bench b(torus("event_slots = 3"), 2);
  for (std::uint32_t i = 0; i < 10; ++i) {
    Descriptor d = b.to(1, Operation::Message, 4, kNotifyLocal);
    d.context = i;
    b.post(0, d);
  }
  ASSERT_TRUE(b.settle(false));
  EXPECT_EQ(b.host.at(b.ports[0]).events.size(), 3u);
  for (int i = 0; i < 10; ++i) {
    b.take(b.ports[0]);
    ASSERT_TRUE(b.settle(false));
  }
  std::vector<std::uint64_t> contexts;
  unsigned overflows = 0;
  for (const Event& e : b.events(0)) {
    overflows += e.kind == EventKind::Overflow;
    if (e.kind == EventKind::Local) contexts.push_back(e.context);
  }
  EXPECT_EQ(overflows, 1u);
  EXPECT_EQ(contexts, (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(Fabric, PortsTakeTurns) {
  // A long put on one port; a message posted later on another does not wait for its end.
  Bench b(torus("units = 1\npayload = \"256B\""), 2);
  PortNo second = 0;
  ASSERT_EQ(b.fabric->open(0, 0, false, second), Status::Ok);
  Descriptor put = b.to(1, Operation::Put, 500'000, kNotifyRemote);
  put.local_key = b.region(0, 0, 500'000);
  put.remote_key = b.region(1, 0, 500'000);
  b.post(0, put);
  Descriptor message = b.to(1, Operation::Message, 8);
  message.posted = 2'000'000;
  b.fabric->post({0, second}, message);
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.messages(1).size(), 1u);
  EXPECT_LT(b.messages(1)[0].time, 20'000'000);
  EXPECT_GT(b.events(1)[0].time, 200'000'000);
}

// F146: more operations are under way than the bus has tags; they share what the tags let through.
TEST(Fabric, MoreIsUnderWayThanTheBusHasTags) {
  constexpr unsigned kGets = 64;
  constexpr std::uint64_t kBytes = 4096;
  auto end = [&](unsigned tags) {
    std::string host = std::string(kPlainHost) + "\nread_request = \"64B\"\ntags = " + std::to_string(tags);
    Bench b(torus(std::string(kPlainNic) + "\nqueue_slots = 128\nevent_slots = 256", host), 2, "ideal");
    std::uint64_t key = b.region(0, 0, kGets * kBytes), other = b.region(1, 0, kGets * kBytes);
    for (unsigned i = 0; i < kGets; ++i) {
      Descriptor d = b.to(1, Operation::Get, kBytes, kNotifyDone);
      d.local_key = key;
      d.remote_key = other;
      d.local_offset = d.remote_offset = i * kBytes;
      b.post(0, d);
    }
    EXPECT_TRUE(b.settle());
    EXPECT_EQ(b.events(0).size(), kGets);
    return b.fabric->now();
  };
  // Four requests of 64 bytes in 300 ns are 6.8 Gb/s; with 64 the cable or the bus is the limit.
  Time few = end(4), many = end(64);
  Time bound{static_cast<std::int64_t>(kGets * kBytes * 300'000 / (4 * 64))};
  EXPECT_GE(few, bound);
  EXPECT_LT(few.value, bound.value * 11 / 10);
  EXPECT_LT(many.value, few.value / 2);
}

// F123: a burst of the bus is a packet, and a packet a burst.
TEST(Fabric, ABurstIsAPacket) {
  Bench b(torus(std::string(kPlainNic) + "\npayload = \"256B\"",
                std::string(kPlainHost) + "\nbus_payload = \"256B\""),
          2);
  std::uint64_t key = b.region(0, 0, 8192), other = b.region(1, 0, 8192);
  Descriptor d = b.to(1, Operation::Put, 4096);
  d.local_key = key;
  d.remote_key = other;
  b.post(0, d);
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(b.fabric->counters(0).packets_sent, 16u);
  EXPECT_EQ(b.fabric->counters(1).packets_received, 16u);
}

TEST(Fabric, FenceWaitsForWhatCameBefore) {
  for (bool fence : {false, true}) {
    Bench b(torus("order = \"none\""), 3);
    Descriptor get = b.to(1, Operation::Get, 200'000, kNotifyDone);
    get.local_key = b.region(0, 0, 200'000);
    get.remote_key = b.region(1, 0, 200'000);
    b.post(0, get);
    b.post(0, b.to(2, Operation::Message, 8, fence ? kFence : 0));
    ASSERT_TRUE(b.settle());
    EXPECT_EQ(b.messages(2)[0].time > b.events(0)[0].time, fence);
  }
}

TEST(Fabric, AtomicsCountEveryAdd) {
  Bench b(torus(), 4);
  std::uint64_t key = b.region(0, 0, 64);
  for (int i = 0; i < 50; ++i)
    for (unsigned from = 1; from < 4; ++from) {
      Descriptor d = b.to(0, Operation::FetchAdd, 8);
      d.remote_key = key;
      d.remote_offset = 8;
      d.operand = from;
      b.post(from, d);
    }
  ASSERT_TRUE(b.settle());
  std::uint64_t value;
  std::memcpy(&value, b.host.memory[0].data() + 8, 8);
  EXPECT_EQ(value, 50u * 6);
  std::vector<std::uint64_t> olds;
  for (unsigned from = 1; from < 4; ++from) {
    EXPECT_EQ(b.events(from).size(), 50u);
    for (const Event& e : b.events(from)) olds.push_back(e.data);
  }
  std::sort(olds.begin(), olds.end());
  EXPECT_EQ(std::unique(olds.begin(), olds.end()), olds.end()) << "two adds saw the same value";

  Descriptor lock = b.to(0, Operation::BoundedAdd, 8);
  lock.remote_key = key;
  lock.compare = 0;  // taken while it is at most 0
  lock.operand = 1;
  b.events(1).clear();
  for (int i = 0; i < 3; ++i) {
    b.post(1, lock);
    ASSERT_TRUE(b.settle());
  }
  EXPECT_EQ(b.events(1)[0].data, 0u);
  EXPECT_EQ(b.events(1)[1].data, 1u);
  EXPECT_EQ(b.events(1)[2].data, 1u) << "the second and third found it taken";
}

TEST(Fabric, InterruptsFollowTheirCause) {
  Bench b(torus("", "interrupt = \"5us\""), 2);
  b.post(0, b.to(1, Operation::Message, 8, kInterrupt));
  while (b.fabric->interrupts(1).empty()) b.fabric->advance(b.fabric->now() + Time{1000});
  ASSERT_EQ(b.fabric->interrupts(1).size(), 1u);
  const Interrupt entry = b.fabric->interrupts(1)[0];
  EXPECT_EQ(entry.node, 0u);
  EXPECT_EQ(entry.port, b.ports[1].port);
  EXPECT_EQ(entry.cause, Interrupt::Asked);
  ASSERT_TRUE(b.settle());
  EXPECT_TRUE(b.fabric->interrupts(1).empty()) << "the handler has taken it";
  ASSERT_EQ(b.events(1).size(), 1u);
  EXPECT_EQ(b.events(1)[0].kind, EventKind::Interrupt);
  EXPECT_EQ(b.events(1)[0].time, entry.written.value + 5'000'000) << "the queue was written before";
  EXPECT_EQ(b.messages(1)[0].time, entry.written.value) << "and a poll would have seen it then";
}

TEST(Fabric, RefusedPacketsAreKeptOnDemand) {
  for (unsigned slots : {0u, 2u}) {
    Bench b(torus("error_slots = " + std::to_string(slots)), 2);
    for (std::uint64_t i = 1; i <= 3; ++i) {
      Descriptor d = b.to(1, Operation::ImmediatePut, 8);
      d.remote_key = i;
      b.post(0, d);
    }
    ASSERT_TRUE(b.settle());
    EXPECT_EQ(b.fabric->counters(1).refused, 3u);
    ASSERT_EQ(b.fabric->error_packets(1).size(), slots);
    if (slots == 0) continue;
    EXPECT_EQ(b.fabric->error_packets(1)[1].key, 3u);
    EXPECT_EQ(b.fabric->error_packets(1)[1].status, Status::BadKey);
  }
}

TEST(Fabric, WhatCannotArriveIsTold) {
  // A broken ring and a routing that does not go round it: the far side of the break is out of reach.
  Bench b(torus("", "", "[4]") + "[faults]\ndead_cables = [\"r0.p0\"]\n", 4);
  for (unsigned target = 1; target < 4; ++target) {
    Descriptor d = b.to(target, Operation::Message, 8);
    d.context = target;
    b.post(0, d);
  }
  ASSERT_TRUE(b.settle());
  std::size_t arrived = b.messages(1).size() + b.messages(2).size() + b.messages(3).size();
  ASSERT_FALSE(b.events(0).empty()) << "at least the neighbour behind the dead cable";
  EXPECT_EQ(arrived + b.events(0).size(), 3u) << "each arrives or fails";
  for (const Event& e : b.events(0)) {
    EXPECT_EQ(e.kind, EventKind::Failed);
    EXPECT_EQ(e.status, Status::Unreachable);
    EXPECT_TRUE(b.messages(static_cast<unsigned>(e.context)).empty());
  }
}

TEST(Fabric, PortsRunOut) {
  Bench b(torus("ports = 3\nmemory_queues = 1"), 1);
  PortNo port = 0;
  EXPECT_EQ(b.fabric->open(0, 0, true, port), Status::Ok);
  EXPECT_EQ(port, 2u);
  EXPECT_EQ(b.fabric->open(0, 0, true, port), Status::Ok) << "the other kind serves as well";
  EXPECT_EQ(port, 1u);
  EXPECT_EQ(b.fabric->open(0, 0, false, port), Status::NoRoom);
  b.fabric->close({0, 1});
  EXPECT_EQ(b.fabric->open(0, 0, false, port), Status::Ok);
}

}  // namespace
}  // namespace weft::nic
