#include "nic/reductions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "collective/sequences.hpp"
#include "nic/operation_units.hpp"
#include "nic/test_host.hpp"

namespace weft::nic {
namespace {

using collective::Part;
using test::Bench;

const char* kNic =
    "triggers = 64\noperation_units = 1\ntrigger_rounds = 4\ntrigger_time = \"20ns\"\noperation_time = "
    "\"2ns\"\nsend_latency = \"100ns\"\nreceive_latency = \"200ns\"\noccupancy = \"10ns\"\ntranslation = "
    "\"none\"\nheader = \"32B\"\n";
const char* kHost = "bus = \"axi-128\"\nwrite_latency = \"150ns\"\nread_latency = \"300ns\"";
constexpr std::uint32_t kTag = 2;
constexpr std::uint64_t kKey = 77, kImage = 1024, kNodesAt = 0x8000, kStride = 256;

std::string reducing(const std::string& nic = "", unsigned groups = 4) {
  std::string text = test::torus(kNic + nic, kHost, "[4, 4]");
  text.insert(text.find("latency = \"60ns\""),
              "multicast = true\nreduction_groups = " + std::to_string(groups) + "\n");
  return text;
}

/// All nodes of a bench, joined by routers: each has an Up that goes there and a Down that comes back.
class Joined {
 public:
  explicit Joined(Bench& bench) : b(bench), tree(collective::Shape::Kary, 2, 1) {
    for (std::uint32_t i = 0; i < b.ports.size(); ++i) {
      keys.push_back(b.region(i, 0, 1 << 16));
      join(i);
    }
    EXPECT_TRUE(b.settle());
    for (std::uint32_t i = 0; i < b.ports.size(); ++i) {
      EXPECT_EQ(b.events(i).size(), 1u);
      if (!b.events(i).empty()) room += b.events(i)[0].status == Status::Ok;
      b.events(i).clear();
      for (Part part : {Part::Up, Part::Down}) arm(i, part);
    }
    EXPECT_TRUE(b.settle());
    for (std::uint32_t i = 0; i < b.ports.size(); ++i) b.events(i).clear();
  }

  void join(std::uint32_t i, std::uint64_t key = kKey, std::uint32_t tag = kTag) {
    std::vector<std::uint32_t> nodes(b.ports.size());
    for (std::uint32_t n = 0; n < nodes.size(); ++n) nodes[n] = n;
    std::memcpy(b.host.memory[i].data() + kNodesAt, nodes.data(), nodes.size() * 4);
    Descriptor d;
    d.operation = Operation::Join;
    d.tag = tag;
    d.operand = 4;
    d.remote_key = key;
    d.local_key = keys[i];
    d.local_offset = kNodesAt;
    d.length = nodes.size() * 4;
    b.post(i, d);
  }

  void arm(std::uint32_t i, Part part) {
    collective::Sequence s = collective::sequence_for(tree, {{i, b.ports[i].port, 0}}, 0, part, kTag);
    s.image.key = kKey;
    s.image.local_key = keys[i];
    s.image.local_offset = 0x4000;
    s.image.stride = kStride;
    const auto number = static_cast<unsigned>(part);
    std::uint8_t* at = b.host.memory[i].data() + number * kImage;
    std::memcpy(at, &s.image, sizeof s.image);
    if (!s.targets.empty())
      std::memcpy(at + sizeof s.image, s.targets.data(), s.targets.size() * sizeof(TriggerTarget));
    Descriptor d;
    d.operation = Operation::Arm;
    d.tag = number;
    d.local_key = keys[i];
    d.local_offset = number * kImage;
    d.length = sizeof s.image + s.targets.size() * sizeof(TriggerTarget);
    b.post(i, d);
  }

  void disarm(std::uint32_t i, Part part) {
    Descriptor d;
    d.operation = Operation::Disarm;
    d.tag = static_cast<unsigned>(part);
    b.post(i, d);
  }

  template <class T>
  void give(std::uint32_t i, std::uint64_t round, RoundKind kind, const std::vector<T>& data) {
    Descriptor d;
    d.operation = Operation::Trigger;
    d.node = i;
    d.port = b.ports[i].port;
    d.tag = trigger_tag(static_cast<std::uint16_t>(Part::Up), 0);
    d.remote_key = kKey;
    d.operand = round;
    d.compare = kind.packed();
    d.length = data.size() * sizeof(T);
    if (!data.empty()) std::memcpy(d.data, data.data(), d.length);
    b.post(i, d);
  }

  template <class T>
  std::vector<T> got(std::uint32_t i, std::uint64_t round, std::size_t count) const {
    std::vector<T> out(count);
    std::memcpy(out.data(), b.host.memory[i].data() + 0x4000 + round % 4 * kStride, count * sizeof(T));
    return out;
  }

  Bench& b;
  collective::Tree tree;
  std::vector<std::uint64_t> keys;
  unsigned room = 0;
};

const std::vector<std::uint8_t> kNothing;

/// What the interfaces add to the network's own time, which reduction_test.cpp holds against its closed form.
TEST(Reductions, ABarrierTakesTheNetworksTimeAndThatOfTwoSequences) {
  Bench b(reducing(), 9, "flit");
  Joined joined(b);
  ASSERT_EQ(joined.room, 9u);
  const Time start = b.fabric->now();
  const auto bus = [](std::int64_t bytes) { return Time{bytes * 8 * 1'000'000'000'000 / 19'200'000'000}; };
  const Time sent = start + bus(48) + Time{150'000 + 20'000 + 100'000};
  for (unsigned i = 0; i < 9; ++i) joined.give(i, 0, {}, kNothing);
  ASSERT_TRUE(b.settle());
  auto alone = config::Registry<network::EngineKind>::find("flit")->make(b.machine, {});
  std::vector<network::EndpointId> nodes{0, 1, 2, 3, 4, 5, 6, 7, 8};
  const network::ReductionNumber number = alone->reserve_reduction(nodes, 4);
  for (network::EndpointId e : nodes)
    alone->send({.source = e, .bytes = 32, .tag = e, .reduction = number}, sent);
  std::vector<network::Notice> notices;
  while (!alone->idle()) alone->advance(network::kForever, notices);
  unsigned told = 0;
  for (const network::Notice& n : notices) {
    if (n.kind != network::Notice::Kind::Delivered) continue;
    ++told;
    ASSERT_EQ(b.events(static_cast<unsigned>(n.tag)).size(), 1u);
    EXPECT_EQ(b.events(static_cast<unsigned>(n.tag))[0].time,
              (n.at + Time{200'000 + 20'000} + bus(16) + Time{150'000}).value)
        << n.tag;
  }
  EXPECT_EQ(told, 9u);
}

template <class T>
void all_operations(Element type, bool real) {
  Bench b(reducing(), 9, "flit");
  Joined joined(b);
  std::uint64_t round = 0;
  for (Combine operation :
       {Combine::Sum, Combine::Product, Combine::Minimum, Combine::Maximum, Combine::And, Combine::Or,
        Combine::Xor, Combine::LogicalAnd, Combine::LogicalOr, Combine::LogicalXor}) {
    if (!can_combine(operation, type)) continue;
    EXPECT_TRUE(!real || operation <= Combine::Maximum);
    std::vector<T> expected;
    for (unsigned i = 0; i < 9; ++i) {
      // Small whole numbers: every order gives the same, so that any order may be expected here.
      std::vector<T> own;
      for (unsigned k = 0; k < 5; ++k) own.push_back(static_cast<T>(random_bits(3, i, k) % 3));
      joined.give(i, round, {0, operation, type, 0}, own);
      if (i == 0)
        expected = own;
      else
        combine(operation, type, reinterpret_cast<std::uint8_t*>(expected.data()),
                reinterpret_cast<const std::uint8_t*>(own.data()), 5 * sizeof(T));
    }
    ASSERT_TRUE(b.settle());
    for (unsigned i = 0; i < 9; ++i)
      EXPECT_EQ(joined.got<T>(i, round, 5), expected) << static_cast<int>(operation) << " at " << i;
    ++round;
  }
  EXPECT_EQ(round, real ? 4u : 10u);
}

TEST(Reductions, EveryOperationOfEveryType) {
  all_operations<std::int8_t>(Element::I8, false);
  all_operations<std::int32_t>(Element::I32, false);
  all_operations<std::uint64_t>(Element::U64, false);
  all_operations<float>(Element::F32, true);
  all_operations<double>(Element::F64, true);
}

TEST(Reductions, SumsAreThoseOfTheTreeWhateverComesFirst) {
  std::vector<double> own;
  for (unsigned i = 0; i < 13; ++i) own.push_back(i % 3 ? 1e16 / (i + 1) : -3.3 * i);
  std::vector<double> first;
  for (unsigned seed = 0; seed < 20; ++seed) {
    Bench b(reducing(), 13, "flit");
    Joined joined(b);
    std::vector<unsigned> order(13);
    for (unsigned i = 0; i < 13; ++i) order[i] = i;
    for (unsigned i = 12; i > 0; --i) std::swap(order[i], order[random_bits(seed, i, 0) % (i + 1)]);
    for (unsigned i : order) {
      joined.give(i, 0, {0, Combine::Sum, Element::F64, 0}, std::vector<double>{own[i], own[i] * 0.1});
      b.fabric->advance(b.fabric->now() +
                        Time{static_cast<std::int64_t>(random_bits(seed, i, 1) % 2'000'000)});
    }
    ASSERT_TRUE(b.settle());
    for (unsigned i = 0; i < 13; ++i) {
      const std::vector<double> got = joined.got<double>(i, 0, 2);
      if (first.empty()) first = got;
      EXPECT_EQ(std::memcmp(got.data(), first.data(), 16), 0) << seed << " " << i;
    }
  }
  // Added up from left to right it would be another number: these do show the order.
  double plain = own[0];
  for (unsigned i = 1; i < 13; ++i) plain += own[i];
  EXPECT_NE(plain, first[0]);
}

TEST(Reductions, RoomIsTakenByTheFirstAndGivenBackByTheLast) {
  Bench b(reducing("", 1), 9, "flit");
  Joined joined(b);
  ASSERT_EQ(joined.room, 9u);
  // Another communicator of the same nodes, for which there is no room until the first is gone.
  for (unsigned i = 0; i < 9; ++i) joined.join(i, kKey + 1, 3);
  ASSERT_TRUE(b.settle());
  for (unsigned i = 0; i < 9; ++i) {
    ASSERT_EQ(b.events(i).size(), 1u);
    EXPECT_EQ(b.events(i)[0].kind, EventKind::Armed);
    EXPECT_EQ(b.events(i)[0].status, Status::NoRoom);
    b.events(i).clear();
    Descriptor d;
    d.operation = Operation::Leave;
    d.tag = kTag;
    d.operand = 4;
    b.post(i, d);
  }
  ASSERT_TRUE(b.settle());
  for (unsigned i = 0; i < 9; ++i) joined.join(i, kKey + 1, 3);
  ASSERT_TRUE(b.settle());
  for (unsigned i = 0; i < 9; ++i) EXPECT_EQ(b.events(i).at(0).status, Status::Ok) << i;
}

TEST(Reductions, WhoseCollectivesDifferIsToldAndWhoIsMissingIsNamed) {
  Bench b(reducing(), 4, "flit");
  Joined joined(b);
  for (unsigned i = 0; i < 4; ++i)
    joined.give(i, 0, {0, Combine::Sum, Element::I32, 0},
                std::vector<std::int32_t>(i == 2 ? 3 : 2, 1));  // another length
  ASSERT_TRUE(b.settle());
  for (unsigned i = 0; i < 4; ++i) {
    ASSERT_EQ(b.events(i).size(), 1u);
    EXPECT_EQ(b.events(i)[0].status, Status::Mismatch);
    EXPECT_EQ(b.events(i)[0].node, i == 2 ? 0u : 2u);
    EXPECT_EQ(b.events(i)[0].length, i == 2 ? 8u : 12u);
    b.events(i).clear();
  }
  for (unsigned i : {0u, 1u, 3u}) joined.give(i, 1, {}, kNothing);
  for (const Time end = b.fabric->now() + Time{100'000'000}; b.fabric->now() < end;) b.fabric->advance(end);
  EXPECT_TRUE(b.network->idle()) << "what lies in routers waits for others alone";
  const std::vector<WaitingRound> waiting = b.fabric->waiting_rounds(0);
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(waiting[0].round, 1u);
  ASSERT_EQ(waiting[0].missing.size(), 1u);
  EXPECT_EQ(waiting[0].missing[0].node, 2u);
  EXPECT_EQ(waiting[0].here.size(), 2u);
  joined.give(2, 1, {}, kNothing);
  ASSERT_TRUE(b.settle());
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(b.events(i).size(), 1u) << i;
}

/// What programs write is not believed: one may contribute twice to a round, by a second sequence, or under
/// any number.
TEST(Reductions, WhoContributesTwiceIsRefusedAndTheRoundGoesOn) {
  Bench b(reducing(), 4, "flit");
  Joined joined(b);
  const auto go_on = [&] {
    for (const Time end = b.fabric->now() + Time{100'000'000}; b.fabric->now() < end;) b.fabric->advance(end);
    b.take(b.ports[0]);
  };
  joined.give(0, 0, {}, kNothing);
  go_on();
  joined.disarm(0, Part::Up);
  go_on();
  joined.arm(0, Part::Up);  // it begins anew, with round 0
  go_on();
  b.events(0).clear();
  joined.give(0, 0, {}, kNothing);
  go_on();
  ASSERT_EQ(b.events(0).size(), 1u);
  EXPECT_EQ(b.events(0)[0].operation, Operation::Trigger);
  EXPECT_EQ(b.events(0)[0].status, Status::Busy);
  for (unsigned i : {1u, 2u, 3u}) joined.give(i, 0, {}, kNothing);
  ASSERT_TRUE(b.settle());
  for (unsigned i : {1u, 2u, 3u}) EXPECT_EQ(b.events(i).size(), 1u) << i;
}

TEST(Reductions, ACutCableAndBitErrorsChangeNothingButTime) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    std::string text = reducing();
    text.insert(text.find("lanes = 4"), "bit_error_rate = 1e-6\n");
    Bench b(text, 11, "flit", 1 << 20, seed,
            "at " + std::to_string(5 + seed) + "us cut r" + std::to_string(seed) + ".p0\nat " +
                std::to_string(40 + seed) + "us cut r" + std::to_string(seed + 3) + ".p2\n");
    Joined joined(b);
    for (std::uint64_t round = 0; round < 24; ++round) {
      for (unsigned i = 0; i < 11; ++i)
        joined.give(i, round, {0, Combine::Sum, Element::I64, 0},
                    std::vector<std::int64_t>{static_cast<std::int64_t>(i + round), -1});
      if (round % 4 < 3) continue;  // as many under way as there is room for
      ASSERT_TRUE(b.settle());
      for (std::uint64_t r = round - 3; r <= round; ++r)
        for (unsigned i = 0; i < 11; ++i)
          EXPECT_EQ(joined.got<std::int64_t>(i, r, 2),
                    (std::vector<std::int64_t>{55 + 11 * static_cast<std::int64_t>(r), -11}))
              << seed << " " << r << " " << i;
    }
  }
}

TEST(Reductions, ThereAreNoneWhereRoutersOrErrorsDoNotAllowThem) {
  for (const auto& [text, engine] :
       {std::pair(test::torus(kNic, kHost, "[4, 4]"), "flit"), std::pair(reducing(), "ideal"),
        std::pair(reducing("corruption = 0.01\n"), "flit")}) {
    Bench b(text, 4, engine);
    Descriptor d;
    d.operation = Operation::Join;
    d.operand = 4;
    d.local_key = b.region(0, 0, 4096);
    d.length = 16;
    b.post(0, d);
    ASSERT_TRUE(b.settle());
    ASSERT_EQ(b.events(0).size(), 1u);
    EXPECT_EQ(b.events(0)[0].status, Status::BadOperation);
  }
}

}  // namespace
}  // namespace weft::nic
