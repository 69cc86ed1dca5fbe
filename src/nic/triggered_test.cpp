#include "nic/triggered.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "collective/sequences.hpp"
#include "nic/test_host.hpp"

namespace weft::nic {
namespace {

using collective::Part;
using collective::Shape;
using test::Bench;
using test::TestHost;
using test::torus;

const char* kNic =
    "triggers = 64\noperation_units = 1\ntrigger_rounds = 4\ntrigger_time = \"20ns\"\noperation_time = "
    "\"2ns\"\n"
    "send_latency = \"100ns\"\nreceive_latency = \"200ns\"\noccupancy = \"10ns\"\ntranslation = "
    "\"none\"\nheader = "
    "\"32B\"";
const char* kHost = "bus = \"axi-128\"\nwrite_latency = \"150ns\"\nread_latency = \"300ns\"";

Time bus(std::int64_t bytes) { return {bytes * 8 * 1'000'000'000'000 / 19'200'000'000}; }
Time wire(std::int64_t bytes) { return {bytes * 8 * 50}; }

/// A tree of all nodes of a bench, armed on all of them.
class Trees {
 public:
  static constexpr std::uint64_t kKey = 77, kArea = 1 << 16, kImage = 1024, kStride = 256;

  explicit Trees(Bench& bench, Shape shape = Shape::Kary, unsigned arity = 2)
      : b(bench), tree(shape, arity, static_cast<collective::Place>(bench.ports.size())) {
    for (std::uint32_t i = 0; i < b.ports.size(); ++i) members.push_back({i, b.ports[i].port, 0});
    for (std::uint32_t i = 0; i < b.ports.size(); ++i) {
      keys.push_back(b.region(i, 0, kArea));
      for (std::uint16_t part = 0; part < collective::kParts; ++part) arm(i, part);
    }
    EXPECT_TRUE(b.settle());
    for (std::uint32_t i = 0; i < b.ports.size(); ++i) {
      EXPECT_EQ(b.events(i).size(), collective::kParts);
      for (const Event& e : b.events(i)) EXPECT_EQ(e.kind, EventKind::Armed);
      b.events(i).clear();
    }
  }

  void arm(std::uint32_t i, std::uint16_t part) {
    collective::Sequence s = collective::sequence_for(tree, members, i, static_cast<Part>(part));
    s.image.key = kKey;
    s.image.context = 5;
    s.image.local_key = keys[i];
    s.image.local_offset = 0x4000 + part * 0x1000u;
    s.image.stride = kStride;
    std::uint8_t* at = b.host.memory[i].data() + part * kImage;
    std::memcpy(at, &s.image, sizeof s.image);
    std::memcpy(at + sizeof s.image, s.targets.data(), s.targets.size() * sizeof(TriggerTarget));
    Descriptor d;
    d.operation = Operation::Arm;
    d.tag = part;
    d.local_key = keys[i];
    d.local_offset = part * kImage;
    d.length = sizeof s.image + s.targets.size() * sizeof(TriggerTarget);
    b.post(i, d);
  }

  template <class T>
  Descriptor trigger(const TriggerTarget& to, std::uint64_t round, RoundKind kind,
                     const std::vector<T>& data) {
    Descriptor d;
    d.operation = Operation::Trigger;
    d.node = to.node;
    d.port = to.port;
    d.tag = trigger_tag(to.sequence, to.input);
    d.remote_key = kKey;
    d.operand = round;
    d.compare = kind.packed();
    d.length = data.size() * sizeof(T);
    if (!data.empty()) std::memcpy(d.data, data.data(), d.length);
    return d;
  }

  template <class T>
  std::vector<T> delivered(std::uint32_t i, Part part, std::uint64_t round, std::size_t count) const {
    std::vector<T> out(count);
    const std::uint8_t* at = b.host.memory[i].data() + 0x4000 + static_cast<unsigned>(part) * 0x1000u;
    std::memcpy(out.data(), at + round % 4 * kStride, count * sizeof(T));
    return out;
  }

  Bench& b;
  collective::Tree tree;
  std::vector<collective::Member> members;
  std::vector<std::uint64_t> keys;
};

const std::vector<std::uint8_t> kNothing;

TEST(Triggered, ABarrierTakesTheSumOfItsSteps) {
  Bench b(torus(kNic, kHost), 2);
  Trees t(b);
  const Time start = b.fabric->now();
  for (unsigned i = 0; i < 2; ++i) b.post(i, t.trigger(t.members[i].input(Part::Up), 0, {}, kNothing));
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.events(0).size(), 1u);
  ASSERT_EQ(b.events(1).size(), 1u);
  // Post, up: trigger and send; one hop; receive, trigger, event at the root. The same again down.
  const Time hop = Time{60'000 + 90'000 + 60'000} + wire(32);
  const Time step = Time{100'000} + hop + Time{200'000} + Time{20'000};
  const Time posted = start + bus(48) + Time{150'000} + Time{20'000};
  const Time told = bus(16) + Time{150'000};
  EXPECT_EQ(b.events(0)[0].time, (posted + step + told).value);
  EXPECT_EQ(b.events(1)[0].time, (posted + step + step + told).value);
  EXPECT_EQ(b.events(1)[0].kind, EventKind::Triggered);
  EXPECT_EQ(b.events(1)[0].context, 5u);
}

TEST(Triggered, ChildrenAreServedOneAfterTheOther) {
  Bench b(torus(kNic, kHost, "[1]\nendpoints_per_router = 9"), 9);
  Trees t(b, Shape::Kary, 8);
  b.post(0, t.trigger(t.members[0].input(Part::Spread), 0, {}, kNothing));
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(b.fabric->counters(0).control_packets, 8u);
  for (unsigned i = 0; i < 9; ++i) ASSERT_EQ(b.events(i).size(), 1u) << i;
  // All are as far away: what a packet takes on the wire is what holds the next one up.
  for (unsigned i = 2; i < 9; ++i)
    EXPECT_EQ(b.events(i)[0].time - b.events(1)[0].time,
              (i - 1) * std::max<std::int64_t>(10'000, wire(32).value))
        << i;
}

TEST(Triggered, SumsAreThoseOfTheTreeWhateverComesFirst) {
  // Numbers whose sum depends on the order.
  std::vector<double> own;
  for (unsigned i = 0; i < 13; ++i) own.push_back(i % 3 ? 1e16 / (i + 1) : -3.3 * i);
  std::vector<double> first;
  for (unsigned seed = 0; seed < 20; ++seed) {
    Bench b(torus(kNic, kHost, "[4, 4]"), 13);
    Trees t(b, Shape::Kary, 3);
    std::vector<unsigned> order(13);
    for (unsigned i = 0; i < 13; ++i) order[i] = i;
    for (unsigned i = 12; i > 0; --i) std::swap(order[i], order[random_bits(seed, i, 0) % (i + 1)]);
    for (unsigned i : order) {
      b.post(i, t.trigger(t.members[i].input(Part::Up), 0, {0, Combine::Sum, Element::F64, 0},
                          std::vector<double>{own[i], own[i] * 0.1}));
      b.fabric->advance(b.fabric->now() +
                        Time{static_cast<std::int64_t>(random_bits(seed, i, 1) % 2'000'000)});
    }
    ASSERT_TRUE(b.settle());
    for (unsigned i = 0; i < 13; ++i) {
      Part part = i ? Part::Down : Part::Up;
      std::vector<double> got = t.delivered<double>(i, part, 0, 2);
      if (first.empty()) first = got;
      EXPECT_EQ(std::memcmp(got.data(), first.data(), 16), 0) << seed << " " << i;
    }
  }
}

TEST(Triggered, AReduceGoesToTheRootThePacketsName) {
  Bench b(torus(kNic, kHost, "[4, 4]"), 7);
  Trees t(b, Shape::Knomial, 2);
  for (std::uint64_t round = 0; round < 3; ++round) {
    const auto root = static_cast<std::uint32_t>(round * 2 + 1);
    const TriggerTarget result = t.members[root].input(Part::Result);
    for (unsigned i = 0; i < 7; ++i) {
      Descriptor d =
          t.trigger(t.members[i].input(Part::Gather), round, {0, Combine::Maximum, Element::I32, root},
                    std::vector<std::int32_t>{static_cast<std::int32_t>(i * 10), -static_cast<int>(i)});
      d.spare[0] = std::uint64_t{result.node} << 32 | result.port;
      d.spare[1] = std::uint64_t{result.input} << 16 | result.sequence;
      b.post(i, d);
    }
    ASSERT_TRUE(b.settle());
    for (unsigned i = 0; i < 7; ++i) EXPECT_EQ(b.events(i).size(), i == root ? 1u : 0u) << i;
    EXPECT_EQ(t.delivered<std::int32_t>(root, Part::Result, round, 2), (std::vector<std::int32_t>{60, 0}));
    for (unsigned i = 0; i < 7; ++i) b.events(i).clear();
  }
}

TEST(Triggered, AGatherPutsBlocksTogetherInTheTreesOrder) {
  Bench b(torus(kNic, kHost, "[4, 4]"), 7);
  Trees t(b);
  for (unsigned i = 0; i < 7; ++i) {
    Descriptor d = t.trigger(t.members[i].input(Part::Gather), 0, {0, Combine::Concatenate, Element::None, 0},
                             std::vector<std::uint8_t>{static_cast<std::uint8_t>(i)});
    const TriggerTarget result = t.members[0].input(Part::Result);
    d.spare[0] = std::uint64_t{result.node} << 32 | result.port;
    d.spare[1] = result.sequence;
    b.post(i, d);
  }
  ASSERT_TRUE(b.settle());
  std::vector<std::uint8_t> got = t.delivered<std::uint8_t>(0, Part::Result, 0, 7);
  std::vector<collective::Place> order = t.tree.subtree(0);
  for (unsigned i = 0; i < 7; ++i) EXPECT_EQ(got[i], order[i]);
}

TEST(Triggered, SeveralRoundsAreUnderWayAndNoMoreThanThereIsRoom) {
  Bench b(torus(kNic, kHost), 2);
  Trees t(b);
  // The leaf runs ahead by as many rounds as the root's interface holds; one more is refused and it is told.
  for (std::uint64_t round = 0; round < 5; ++round)
    b.post(1, t.trigger(t.members[1].input(Part::Up), round, {}, kNothing));
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.events(1).size(), 1u);
  EXPECT_EQ(b.events(1)[0].kind, EventKind::Failed);
  EXPECT_EQ(b.events(1)[0].status, Status::NoRoom);
  EXPECT_EQ(b.events(1)[0].data, 4u);
  b.events(1).clear();
  for (std::uint64_t round = 0; round < 4; ++round)
    b.post(0, t.trigger(t.members[0].input(Part::Up), round, {}, kNothing));
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(b.events(0).size(), 4u);
  EXPECT_EQ(b.events(1).size(), 4u);
}

/// Errors that no link notices hit packets and their acknowledgements: every round is done, once, with the
/// same numbers; rounds overtake each other, and sequences are disarmed before the last repetitions have
/// come.
TEST(Triggered, ErrorsThatNoLinkNoticesChangeNothingButTime) {
  const auto run = [](const std::string& errors, std::uint64_t seed) {
    Bench b(torus(kNic + errors, kHost, "[4, 4]"), 13, "ideal", 1 << 20, seed);
    Trees t(b, Shape::Kary, 3);
    std::vector<std::int64_t> sums;
    for (std::uint64_t round = 0; round < 60; ++round) {
      for (unsigned i = 0; i < 13; ++i)
        b.post(i, t.trigger(t.members[i].input(Part::Up), round, {0, Combine::Sum, Element::I64, 0},
                            std::vector<std::int64_t>{static_cast<std::int64_t>(i * round + seed)}));
      if (round % 4 < 3) continue;  // as many at once as there is room for
      EXPECT_TRUE(b.settle());
      for (unsigned i = 0; i < 13; ++i) {
        EXPECT_EQ(b.events(i).size(), 4u) << i;
        for (const Event& e : b.events(i)) EXPECT_EQ(e.status, Status::Ok);
        b.events(i).clear();
        for (std::uint64_t r = round - 3; r <= round; ++r)
          sums.push_back(t.delivered<std::int64_t>(i, i ? Part::Down : Part::Up, r, 1)[0]);
      }
    }
    return std::tuple(sums, b.fabric->counters(0), b.fabric->now());
  };
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto [whole, none, quick] = run("", seed);
    const auto [repaired, some, slow] = run("\ncorruption = 0.1\ntimeout = \"10us\"\n", seed);
    EXPECT_EQ(whole, repaired);
    EXPECT_EQ(none.retries, 0u);
    EXPECT_GT(some.retries, 0u);
    EXPECT_GT(some.corrupted, 0u);
    EXPECT_GT(slow, quick);
  }
}

TEST(Triggered, WhoeverIsNotThereIsGivenUp) {
  unsigned given_up = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Bench b(torus(std::string(kNic) + "\ncorruption = 0.5\nretries = 2\ntimeout = \"5us\"\n", kHost), 2,
            "ideal", 1 << 20, seed);
    Trees t(b);
    for (std::uint64_t round = 0; round < 4; ++round)
      b.post(1, t.trigger(t.members[1].input(Part::Up), round, {}, kNothing));
    ASSERT_TRUE(b.settle());
    for (const Event& e : b.events(1)) EXPECT_EQ(e.status, Status::TimedOut);
    given_up += static_cast<unsigned>(b.events(1).size());
  }
  EXPECT_GT(given_up, 0u);
  EXPECT_LT(given_up, 40u);
}

TEST(Triggered, NobodyTriggersWhatHeWasNotGivenTheKeyOf) {
  Bench b(torus(kNic, kHost), 3);
  Trees t(b);
  // Another process of node 2, without the key.
  PortNo port = 0;
  ASSERT_EQ(b.fabric->open(2, 2, false, port), Status::Ok);
  Descriptor d = t.trigger(t.members[0].input(Part::Spread), 0, {}, kNothing);
  d.remote_key = 78;
  d.posted = b.fabric->now().value;
  b.fabric->post({2, port}, d);
  ASSERT_TRUE(b.settle(false));
  ASSERT_EQ(b.host.at({2, port}).events.size(), 1u);
  EXPECT_EQ(b.host.at({2, port}).events[0].status, Status::NoRight);
  EXPECT_TRUE(b.events(0).empty());
  EXPECT_EQ(b.fabric->counters(0).refused, 1u);
}

TEST(Triggered, DifferentCollectivesInOneRoundAreFoundOut) {
  Bench b(torus(kNic, kHost), 2);
  Trees t(b);
  b.post(0,
         t.trigger(t.members[0].input(Part::Up), 0, {1, Combine::Sum, Element::I32, 0}, std::vector<int>{1}));
  b.post(1, t.trigger(t.members[1].input(Part::Up), 0, {1, Combine::Maximum, Element::I32, 0},
                      std::vector<int>{1}));
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.events(0).size(), 1u);
  EXPECT_EQ(b.events(0)[0].status, Status::Mismatch);
  EXPECT_EQ(b.events(0)[0].node, 1u);
  EXPECT_EQ(RoundKind::of(b.events(0)[0].spare[1]).combine, Combine::Maximum);
}

TEST(Triggered, AWaitingRoundSaysForWhom) {
  Bench b(torus(kNic, kHost), 3);
  Trees t(b);
  b.post(0, t.trigger(t.members[0].input(Part::Up), 0, {}, kNothing));
  b.post(1, t.trigger(t.members[1].input(Part::Up), 0, {}, kNothing));
  ASSERT_TRUE(b.settle());
  std::vector<std::string> pending = b.fabric->pending(0);
  ASSERT_EQ(pending.size(), 1u);
  EXPECT_NE(pending[0].find("waits for node 2"), std::string::npos) << pending[0];
}

TEST(Triggered, BadImagesAndDescriptorsAreRefused) {
  Bench b(torus(kNic, kHost), 2);
  Trees t(b);
  auto refused = [&](Descriptor d, Status status) {
    b.post(0, d);
    EXPECT_TRUE(b.settle());
    ASSERT_EQ(b.events(0).size(), 1u);
    EXPECT_EQ(b.events(0)[0].kind, EventKind::Failed);
    EXPECT_EQ(b.events(0)[0].status, status);
    b.events(0).clear();
  };
  Descriptor d = t.trigger(t.members[1].input(Part::Up), 0, {}, kNothing);
  Descriptor bad = d;
  bad.node = 99;
  refused(bad, Status::BadNode);
  bad = d;
  bad.length = 5000;
  refused(bad, Status::BadLength);
  bad = d;
  bad.compare = RoundKind{0, Combine::And, Element::F32, 0}.packed();
  refused(bad, Status::BadOperation);
  bad = d;
  bad.tag = trigger_tag(60, 0);
  refused(bad, Status::BadKey);
  bad = d;
  bad.tag = trigger_tag(0, 9);
  refused(bad, Status::BadRange);
  // Images: whatever bytes they have, they are refused or wait.
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::uint8_t* at = b.host.memory[0].data() + 0x3000;
    for (unsigned i = 0; i < 256; ++i)
      at[i] = random_bits(seed, i, 7) % 3 ? 0 : static_cast<std::uint8_t>(random_bits(seed, i, 8));
    Descriptor arm;
    arm.operation = Operation::Arm;
    arm.tag = 20 + seed % 40;
    arm.local_key = t.keys[0];
    arm.local_offset = 0x3000;
    arm.length = 96 + 12 * (random_bits(seed, 1, 9) % 5);
    b.post(0, arm);
    ASSERT_TRUE(b.settle());
    Descriptor hit =
        t.trigger({0, b.ports[0].port, static_cast<std::uint16_t>(arm.tag), 0}, seed, {}, kNothing);
    std::memcpy(&hit.remote_key, at, 8);
    b.post(0, hit);
    ASSERT_TRUE(b.settle());
    Descriptor disarm;
    disarm.operation = Operation::Disarm;
    disarm.tag = arm.tag;
    b.post(0, disarm);
    ASSERT_TRUE(b.settle());
    b.events(0).clear();
  }
}

TEST(Triggered, AnInterfaceWithoutUnitsCombinesNothing) {
  std::string nic = kNic;
  nic.replace(nic.find("operation_units = 1"), 19, "operation_units = 0");
  Bench b(torus(nic, kHost), 2);
  Trees t(b);
  b.post(0,
         t.trigger(t.members[0].input(Part::Up), 0, {0, Combine::Sum, Element::I32, 0}, std::vector<int>{1}));
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.events(0).size(), 1u);
  EXPECT_EQ(b.events(0)[0].status, Status::BadOperation);
}

}  // namespace
}  // namespace weft::nic
