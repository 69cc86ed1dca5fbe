#include "nic/reductions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/random.hpp"
#include "collective/sequences.hpp"
#include "nic/test_host.hpp"

namespace weft::nic {
namespace {

using collective::Part;
using collective::Shape;
using test::Bench;

const char* kNic =
    "triggers = 64\noperation_units = 1\ntrigger_rounds = 4\ntrigger_time = \"20ns\"\noperation_time = "
    "\"2ns\"\nsend_latency = \"100ns\"\nreceive_latency = \"200ns\"\noccupancy = \"10ns\"\ntranslation = "
    "\"none\"\nheader = \"32B\"";
const char* kHost = "bus = \"axi-128\"\nwrite_latency = \"150ns\"\nread_latency = \"300ns\"";

std::string joining(const std::string& router = "", const std::string& cable = "",
                    const std::string& dims = "[4, 4]") {
  std::string text = test::torus(kNic, kHost, dims);
  const auto put = [&](const std::string& before, const std::string& what) {
    text.insert(text.find(before), what + "\n");
  };
  put("latency = \"60ns\"", "multicast = true\nreduction = true\nreduction_time = \"30ns\"\n" + router);
  put("lanes = 4", cable);
  return text;
}

/// A process on each node of a bench, in one group whose all-reduces routers carry out.
class Group {
 public:
  static constexpr std::uint64_t kKey = 77, kArea = 1 << 16, kImage = 1024, kStride = 256, kList = 0x8000;
  static constexpr std::uint32_t kGroup = 3;

  explicit Group(Bench& bench, std::uint32_t root = 0)
      : b(bench), count(static_cast<unsigned>(bench.ports.size())), tree(Shape::Kary, 2, 2, groups(count)) {
    // The root has place 0.
    for (std::uint32_t i = 0; i < count; ++i) nodes.push_back((root + i) % count);
    for (std::uint32_t node : nodes) members.push_back({node, b.ports[node].port, 0});
    for (std::uint32_t i = 0; i < count; ++i) keys.push_back(b.region(i, 0, kArea));
    for (std::uint32_t i = 0; i < count; ++i) {
      std::memcpy(b.host.memory[i].data() + kList, nodes.data(), nodes.size() * 4);
      Descriptor d;
      d.operation = Operation::Join;
      d.tag = kGroup;
      d.local_key = keys[i];
      d.local_offset = kList;
      d.length = nodes.size() * 4;
      d.remote_key = kKey;
      d.spare[0] = 1;
      d.spare[1] = root + 1;
      b.post(i, d);
    }
    EXPECT_TRUE(b.settle());
    for (std::uint32_t i = 0; i < count; ++i) {
      EXPECT_EQ(b.events(i).size(), 1u);
      if (!b.events(i).empty()) granted += b.events(i)[0].data & kControlIsJoined ? 1 : 0;
      b.events(i).clear();
    }
    if (granted != count) return;
    for (std::uint32_t place = 0; place < count; ++place)
      for (std::uint16_t part = 0; part < collective::kParts; ++part) arm(place, part);
    EXPECT_TRUE(b.settle());
    for (std::uint32_t i = 0; i < count; ++i) {
      EXPECT_EQ(b.events(i).size(), collective::kParts);
      for (const Event& e : b.events(i)) EXPECT_EQ(e.kind, EventKind::Armed);
      b.events(i).clear();
    }
  }

  static std::vector<collective::Place> groups(unsigned count) {
    return std::vector<collective::Place>(count, 1);
  }

  void arm(std::uint32_t place, std::uint16_t part) {
    const std::uint32_t node = nodes[place];
    collective::Sequence s =
        collective::sequence_for(tree, members, place, static_cast<Part>(part), {true, true, kGroup});
    s.image.key = kKey;
    s.image.context = 5;
    s.image.local_key = keys[node];
    s.image.local_offset = 0x4000 + (part < 2 ? 0 : part * 0x800u);  // Up and Down deliver to one place
    s.image.stride = kStride;
    std::uint8_t* at = b.host.memory[node].data() + part * kImage;
    std::memcpy(at, &s.image, sizeof s.image);
    std::memcpy(at + sizeof s.image, s.targets.data(), s.targets.size() * sizeof(TriggerTarget));
    Descriptor d;
    d.operation = Operation::Arm;
    d.tag = part;
    d.local_key = keys[node];
    d.local_offset = part * kImage;
    d.length = sizeof s.image + s.targets.size() * sizeof(TriggerTarget);
    b.post(node, d);
  }

  template <class T>
  void give(std::uint32_t node, std::uint64_t round, RoundKind kind, const std::vector<T>& data) {
    Descriptor d;
    d.operation = Operation::Trigger;
    d.node = node;
    d.port = b.ports[node].port;
    d.tag = trigger_tag(static_cast<std::uint16_t>(Part::Up), 0);
    d.remote_key = kKey;
    d.operand = round;
    d.compare = kind.packed();
    d.length = data.size() * sizeof(T);
    if (!data.empty()) std::memcpy(d.data, data.data(), d.length);
    b.post(node, d);
  }

  template <class T>
  T delivered(std::uint32_t node, std::uint64_t round) const {
    T out;
    std::memcpy(&out, b.host.memory[node].data() + 0x4000 + round % 4 * kStride, sizeof out);
    return out;
  }

  Bench& b;
  unsigned count, granted = 0;
  collective::Tree tree;
  std::vector<std::uint32_t> nodes;  // by place
  std::vector<collective::Member> members;
  std::vector<std::uint64_t> keys;
};

const std::vector<std::uint8_t> kNothing;

TEST(Reductions, AllReducesGiveTheSumToAllRoundAfterRound) {
  for (const char* engine : {"ideal", "flit"}) {
    Bench b(joining(), 13, engine);
    Group g(b, 4);
    ASSERT_EQ(g.granted, 13u) << engine;
    for (std::uint64_t round = 0; round < 11; ++round) {
      std::int64_t sum = 0;
      for (std::uint32_t i = 0; i < 13; ++i) {
        const auto value = static_cast<std::int64_t>(random_bits(1, round, i));
        sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(value));
        g.give(i, round, {0, Combine::Sum, Element::I64, 0}, std::vector<std::int64_t>{value});
      }
      ASSERT_TRUE(b.settle());
      for (std::uint32_t i = 0; i < 13; ++i) {
        ASSERT_EQ(b.events(i).size(), 1u) << engine << i;
        EXPECT_EQ(b.events(i)[0].kind, EventKind::Triggered);
        EXPECT_EQ(b.events(i)[0].data, round);
        EXPECT_EQ(g.delivered<std::int64_t>(i, round), sum) << engine << " " << round << " " << i;
        b.events(i).clear();
      }
    }
    std::uint64_t packets = 0;
    for (unsigned i = 0; i < 13; ++i) packets += b.fabric->counters(i).control_packets;
    EXPECT_EQ(packets, 11u * 13) << "one of each that is not the root, and one to all";
  }
}

TEST(Reductions, SumsAreThoseOfTheTreeWhateverComesFirst) {
  // Numbers whose sum depends on the order.
  std::vector<double> own;
  for (unsigned i = 0; i < 13; ++i) own.push_back(i % 3 ? 1e16 / (i + 1) : -3.3 * i);
  double first = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    Bench b(joining(), 13, seed % 2 ? "flit" : "ideal");
    Group g(b);
    std::vector<unsigned> order(13);
    for (unsigned i = 0; i < 13; ++i) order[i] = i;
    for (unsigned i = 12; i > 0; --i) std::swap(order[i], order[random_bits(seed, i, 0) % (i + 1)]);
    for (unsigned i : order) {
      g.give(i, 0, {0, Combine::Sum, Element::F64, 0}, std::vector<double>{own[i]});
      b.fabric->advance(b.fabric->now() + Time{static_cast<std::int64_t>(random_bits(seed, i, 1) % 900'000)});
    }
    ASSERT_TRUE(b.settle());
    if (seed == 0) first = g.delivered<double>(0, 0);
    for (unsigned i = 0; i < 13; ++i) {
      const double got = g.delivered<double>(i, 0);
      EXPECT_EQ(std::memcmp(&got, &first, sizeof got), 0) << seed << " " << i;
    }
  }
}

/// Two nodes on two routers next to each other: no joint, so a barrier is one packet each way.
TEST(Reductions, ABarrierTakesTheSumOfItsSteps) {
  for (const char* engine : {"ideal", "flit"}) {
    Bench b(joining("", "", "[2]"), 2, engine);
    Group g(b);
    const Time start = b.fabric->now();
    for (unsigned i = 0; i < 2; ++i) g.give(i, 0, {}, kNothing);
    ASSERT_TRUE(b.settle());
    ASSERT_EQ(b.events(1).size(), 1u);
    const auto wire = [](std::int64_t bytes) { return Time{bytes * 8 * 50}; };
    const auto bus = [](std::int64_t bytes) { return Time{bytes * 8 * 1'000'000'000'000 / 19'200'000'000}; };
    const Time step = Time{100'000 + 60'000 + 90'000 + 60'000} + wire(32) + Time{200'000 + 20'000};
    const Time posted = start + bus(48) + Time{150'000} + Time{20'000};
    EXPECT_EQ(b.events(1)[0].time, (posted + step + step + bus(16) + Time{150'000}).value) << engine;
  }
}

TEST(Reductions, BitErrorsAndACutCableChangeNothingButTime) {
  Bench whole(joining(), 16, "flit"),
      broken(joining("", "bit_error_rate = 1e-6"), 16, "flit", 1 << 20, 1, "at 9us cut r0.p0\n");
  Group first(whole), second(broken);
  for (std::uint64_t round = 0; round < 40; ++round) {
    for (Group* g : {&first, &second})
      for (std::uint32_t i = 0; i < 16; ++i)
        g->give(i, round, {0, Combine::Maximum, Element::U32, 0},
                std::vector<std::uint32_t>{static_cast<std::uint32_t>(random_bits(2, round, i))});
    ASSERT_TRUE(whole.settle() && broken.settle());
    for (std::uint32_t i = 0; i < 16; ++i) {
      ASSERT_EQ(broken.events(i).size(), 1u) << round << " " << i;
      EXPECT_EQ(second.delivered<std::uint32_t>(i, round), first.delivered<std::uint32_t>(i, round));
      broken.events(i).clear();
      whole.events(i).clear();
    }
  }
  EXPECT_GT(broken.fabric->now(), whole.fabric->now());
}

TEST(Reductions, MembersThatCallDifferentThingsAreTold) {
  Bench b(joining(), 6, "flit");
  Group g(b);
  for (std::uint32_t i = 0; i < 6; ++i)
    g.give(i, 0, {7, Combine::Sum, i == 4 ? Element::I32 : Element::U32, 0}, std::vector<std::uint32_t>{1});
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.events(0).size(), 1u);
  EXPECT_EQ(b.events(0)[0].kind, EventKind::Failed);
  EXPECT_EQ(b.events(0)[0].status, Status::Mismatch);
}

TEST(Reductions, RoutersWithoutRoomSaySoAndKeysProtect) {
  Bench few(joining("reduction_entries = 3"), 9, "flit");
  Group none(few);
  EXPECT_EQ(none.granted, 0u);
  // A sequence whose key is not the group's, or whose process is in none, is not armed.
  Bench b(joining(), 4, "flit");
  Group g(b);
  for (const std::uint64_t key : {Group::kKey, Group::kKey + 1}) {
    collective::Sequence s =
        collective::sequence_for(g.tree, g.members, 1, Part::Up, {true, true, Group::kGroup});
    s.image.key = key;
    if (key == Group::kKey) s.image.step[1].count = 9;  // no such group
    std::memcpy(b.host.memory[1].data(), &s.image, sizeof s.image);
    std::memcpy(b.host.memory[1].data() + sizeof s.image, s.targets.data(), s.targets.size() * 12);
    Descriptor d;
    d.operation = Operation::Arm;
    d.tag = 40;
    d.local_key = g.keys[1];
    d.length = sizeof s.image + s.targets.size() * 12;
    b.post(1, d);
    ASSERT_TRUE(b.settle());
    ASSERT_EQ(b.events(1).size(), 1u);
    EXPECT_EQ(b.events(1)[0].status, Status::BadKey);
    b.events(1).clear();
  }
}

TEST(Reductions, WhoIsMissingIsKnown) {
  Bench b(joining(), 6, "flit");
  Group g(b);
  for (std::uint32_t i = 0; i < 6; ++i)
    if (i != 4) g.give(i, 0, {}, kNothing);
  EXPECT_TRUE(b.settle());
  const std::vector<WaitingRound> waiting = b.fabric->waiting_rounds(0);
  ASSERT_EQ(waiting.size(), 1u);
  ASSERT_EQ(waiting[0].missing.size(), 1u);
  EXPECT_EQ(waiting[0].missing[0].node, 4u);
  EXPECT_EQ(waiting[0].here.size(), 4u);
}

}  // namespace
}  // namespace weft::nic
