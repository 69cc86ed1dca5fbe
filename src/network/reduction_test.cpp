// Packets of many for one, in every engine whose routers join them.
#include "network/reduction.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.hpp"
#include "machines.hpp"
#include "network/network.hpp"

namespace weft::network {
namespace {

using ::testing::HasSubstr;
using Kind = Notice::Kind;

machine::Machine joining(const std::string& topology, const test::Settings& size,
                         const std::string& routing = "up-down", test::Settings more = {}) {
  more.insert(more.end(), {"router.multicast=true", "router.reduction=true"});
  return test::make_machine(topology, size, routing, {}, 2, more);
}

struct Joining {
  Joining(const char* name, const machine::Machine& m, EngineOptions options = {})
      : network(config::Registry<EngineKind>::find(name)->make(m, options)),
        reducer(dynamic_cast<Reducer*>(network.get())) {}

  void send(GroupNumber reduction, EndpointId member, std::uint32_t round, Tag tag, Time at,
            std::uint64_t bytes = 64) {
    Packet packet{.source = member, .destination = round, .bytes = bytes, .tag = tag};
    packet.group = reduction;
    network->send(packet, at);
  }
  std::vector<Notice> run() {
    std::vector<Notice> out;
    while (!network->idle()) network->advance(kForever, out);
    return out;
  }

  std::unique_ptr<Network> network;
  Reducer* reducer;
};

std::vector<EndpointId> all_but(const machine::Machine& m, EndpointId root) {
  std::vector<EndpointId> out;
  for (EndpointId e = 0; e < m.graph->endpoints(); ++e)
    if (e != root) out.push_back(e);
  return out;
}

class PacketsForOne : public ::testing::TestWithParam<const char*> {};

TEST_P(PacketsForOne, ComeAsOneWhenAllHaveBeenSent) {
  const machine::Machine m = joining("torus", {"dims=[4,4]", "endpoints_per_router=2"});
  Joining j(GetParam(), m);
  ASSERT_TRUE(j.reducer && j.reducer->reduces());
  const std::vector<EndpointId> members{1, 5, 9, 20, 30, 31};
  const GroupNumber reduction = j.reducer->reduction(members, 2, 4);
  ASSERT_TRUE(is_reduction(reduction));
  for (std::uint32_t round = 0; round < 9; ++round) {
    const Time start{1'000'000 * (round + 1)};
    // All but the last wait at joints, and only another packet can make anything happen.
    for (std::size_t i = 0; i + 1 < members.size(); ++i)
      j.send(reduction, members[(i + round) % members.size()], round, 100 * round + i, later(start, Time{i}));
    std::vector<Notice> heard = j.run();
    EXPECT_EQ(heard.size(), members.size() - 1);
    for (const Notice& n : heard) EXPECT_EQ(n.kind, Kind::Departed);
    const Time late = later(start, Time{500'000});
    j.network->advance(late, heard);
    j.send(reduction, members[(members.size() - 1 + round) % members.size()], round, 100 * round + 50, late);
    heard = j.run();
    ASSERT_EQ(heard.size(), 2u);
    EXPECT_EQ(heard[0].kind, Kind::Departed);
    EXPECT_EQ(heard[1].kind, Kind::Delivered);
    EXPECT_EQ(heard[1].where, topology::kNone);
    EXPECT_GT(heard[1].at, late);
    std::vector<Tag> tags;
    j.reducer->take_round(reduction, round, tags);
    ASSERT_EQ(tags.size(), members.size());
    EXPECT_EQ(heard[1].tag, tags[0]);
    EXPECT_EQ(std::set<Tag>(tags.begin(), tags.end()).size(), members.size());
  }
}

/// Who sends a round twice, or one for which there is no room yet, is told.
TEST_P(PacketsForOne, WhatHasNoRoomIsLost) {
  const machine::Machine m = joining("torus", {"dims=[4,4]"});
  Joining j(GetParam(), m);
  const GroupNumber reduction = j.reducer->reduction(std::vector<EndpointId>{1, 2, 3}, 0, 2);
  j.send(reduction, 1, 0, 1, Time{0});
  j.send(reduction, 1, 0, 2, Time{0});
  j.send(reduction, 2, 2, 3, Time{0});  // the room of round 0
  j.send(reduction, 3, 1, 4, Time{0});
  std::set<Tag> lost;
  for (const Notice& n : j.run())
    if (n.kind == Kind::Lost) lost.insert(n.tag);
  EXPECT_EQ(lost, (std::set<Tag>{2, 3}));
}

INSTANTIATE_TEST_SUITE_P(In, PacketsForOne, ::testing::Values("ideal", "flit"),
                         [](const auto& test) { return std::string(test.param); });

/// Without contention a round takes its longest way: each joint on it lets the packet come in as a whole,
/// which is one serialisation, and its units take their time. `lone` is a packet on the same way, unjoined.
TEST(Reduction, ARoundTakesItsLongestWayAndItsJoints) {
  // A line of routers: all joints are on one way.
  const machine::Machine m = joining("mesh", {"dims=[8]"}, "up-down", {"router.reduction_time=40ns"});
  for (const char* name : {"ideal", "flit"})
    for (EndpointId far = 1; far < 8; ++far) {
      constexpr std::uint64_t kBytes = 128;
      Joining alone(name, m), joined(name, m);
      const GroupNumber one = alone.reducer->reduction(std::vector<EndpointId>{far}, 0, 1);
      alone.send(one, far, 0, 0, Time{0}, kBytes);
      std::vector<EndpointId> members;
      for (EndpointId e = 1; e <= far; ++e) members.push_back(e);
      const GroupNumber all = joined.reducer->reduction(members, 0, 1);
      for (EndpointId e : members) joined.send(all, e, 0, e, Time{0}, kBytes);
      const auto heard_alone = alone.run(), heard = joined.run();
      const Time lone = heard_alone.back().at, left = heard_alone.front().at;
      const std::int64_t joints = far - 1;  // at the routers of the others
      const std::int64_t each = 40'000 + left.value;
      EXPECT_NEAR(static_cast<double>(heard.back().at.value), static_cast<double>(lone.value + joints * each),
                  static_cast<double>(joints) * 2'000.0)
          << name << " " << far;
    }
}

struct Heard {
  std::vector<Notice> notices;
  std::map<std::pair<unsigned, std::uint32_t>, unsigned> delivered;  // by reduction and round
};

constexpr unsigned kReductions = 4;
constexpr std::uint32_t kRounds = 24, kWindow = 4;

/// Random packets for one and for many, and rounds of reductions, each sent when it may be.
Heard random_traffic(const machine::Machine& m, std::uint64_t seed, const EngineOptions& options) {
  Joining j("flit", m, options);
  j.network->set_reaction_time(Time{100'000});
  Heard out;
  const unsigned endpoints = m.graph->endpoints();
  std::vector<GroupNumber> reductions;
  std::vector<std::vector<EndpointId>> members(kReductions);
  for (unsigned r = 0; r < kReductions; ++r) {
    std::set<EndpointId> set;
    for (unsigned i = 0; i < 3 + 4 * r; ++i)
      set.insert(static_cast<EndpointId>(random_bits(seed, r, i) % endpoints));
    const auto root = static_cast<EndpointId>(random_bits(seed, r, 99) % endpoints);
    set.erase(root);
    set.insert((root + 1) % endpoints);
    members[r].assign(set.begin(), set.end());
    reductions.push_back(j.reducer->reduction(members[r], root, kWindow));
    EXPECT_TRUE(is_reduction(reductions.back()));
  }
  const GroupNumber many = j.network->group(all_but(m, 0));
  const auto round_tag = [](unsigned r, std::uint32_t round, std::size_t member) {
    return Tag{1'000'000} + (Tag{r} * kRounds + round) * 1000 + member;
  };
  const auto send_round = [&](unsigned r, std::uint32_t round, Time from) {
    for (std::size_t i = 0; i < members[r].size(); ++i)
      j.send(
          reductions[r], members[r][i], round, round_tag(r, round, i),
          later(from, Time{static_cast<std::int64_t>(random_bits(seed, 500 + r, round * 64 + i) % 300'000)}),
          16 + random_bits(seed, 600 + r, round) % 200);
  };
  for (Tag tag = 0; tag < 200; ++tag) {
    const auto draw = [&](unsigned what) { return random_bits(seed, 1000 + tag, what); };
    Packet packet{
        .source = static_cast<EndpointId>(draw(0) % endpoints), .bytes = 1 + draw(1) % 500, .tag = tag};
    packet.destination = static_cast<EndpointId>((packet.source + 1 + draw(2) % (endpoints - 1)) % endpoints);
    if (draw(3) % 4 == 0) packet.group = many;
    j.network->send(packet, Time{static_cast<std::int64_t>(tag) * 5'000});
  }
  for (unsigned r = 0; r < kReductions; ++r)
    for (std::uint32_t round = 0; round < kWindow; ++round) send_round(r, round, Time{0});
  std::size_t seen = 0;
  while (!j.network->idle()) {
    j.network->advance(kForever, out.notices);
    for (; seen < out.notices.size(); ++seen) {
      const Notice& n = out.notices[seen];
      if (n.kind != Kind::Delivered || n.tag < 1'000'000) continue;
      const auto r = static_cast<unsigned>((n.tag - 1'000'000) / 1000 / kRounds);
      const auto round = static_cast<std::uint32_t>((n.tag - 1'000'000) / 1000 % kRounds);
      ++out.delivered[{r, round}];
      std::vector<Tag> tags;
      j.reducer->take_round(reductions[r], round, tags);
      EXPECT_EQ(tags.size(), members[r].size());
      if (round + kWindow < kRounds) send_round(r, round + kWindow, later(n.at, Time{100'000}));
    }
  }
  return out;
}

void expect_all_once(const Heard& heard, const std::string& about) {
  EXPECT_EQ(heard.delivered.size(), kReductions * kRounds) << about;
  for (const auto& [which, times] : heard.delivered) EXPECT_EQ(times, 1u) << about;
  std::map<Tag, unsigned> departed;
  for (const Notice& n : heard.notices) {
    EXPECT_NE(n.kind, Kind::Lost) << about;
    if (n.kind == Kind::Departed) ++departed[n.tag];
  }
  for (const auto& [tag, times] : departed) EXPECT_EQ(times, 1u) << about << " " << tag;
}

TEST(Reduction, RandomRoundsArriveOnceAndAreTheSameForAnyNumberOfThreads) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const machine::Machine m =
        seed % 2 ? joining("torus", {"dims=[4,4]", "endpoints_per_router=2"}, "dimension-order")
                 : joining("dragonfly", {}, seed % 4 ? "up-down" : "shortest-path", {"router.channels=4"});
    const Heard one = random_traffic(m, seed, {.seed = seed});
    expect_all_once(one, std::to_string(seed));
    EXPECT_EQ(one.notices, random_traffic(m, seed, {.seed = seed, .threads = 3}).notices) << seed;
  }
}

/// Rounds that have begun where a cable is cut go packet by packet; those after them are joined again.
TEST(Reduction, ACutCableLosesNothingAndBringsNothingTwice) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const machine::Machine m =
        joining("torus", {"dims=[4,4]"}, "dimension-order",
                {"router.channels=4", "cable.default.heartbeat=100ns", "cable.default.training_time=200ns"});
    const std::string cut = "at " + std::to_string(100 + 90 * seed) + "ns cut r" +
                            std::to_string(random_bits(seed, 0, 0) % 16) + ".p" +
                            std::to_string(random_bits(seed, 0, 1) % 4) + "\n";
    expect_all_once(random_traffic(m, seed, {.seed = seed, .faults = link::read_faults(cut, *m.graph)}), cut);
  }
}

TEST(Reduction, BitErrorsChangeNothingButTime) {
  const machine::Machine m =
      joining("torus", {"dims=[4,4]"}, "dimension-order", {"cable.default.bit_error_rate=1e-5"});
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    expect_all_once(random_traffic(m, seed, {.seed = seed}), std::to_string(seed));
}

/// Room at routers is bounded, and given back.
TEST(Reduction, AFullTableRefusesAndTakesAgainWhatIsGivenBack) {
  const machine::Machine m = joining("torus", {"dims=[4,4]"}, "up-down", {"router.reduction_entries=10"});
  Joining j("flit", m);
  const std::vector<EndpointId> members = all_but(m, 5);
  const GroupNumber first = j.reducer->reduction(members, 5, 4), second = j.reducer->reduction(members, 5, 4);
  EXPECT_TRUE(is_reduction(first) && is_reduction(second) && first != second);
  EXPECT_EQ(j.reducer->reduction(members, 5, 4), kNoGroup);
  EXPECT_NE(j.reducer->reduction(members, 5, 2), kNoGroup);
  j.reducer->end_reduction(first);
  EXPECT_EQ(j.reducer->reduction(members, 5, 4), first);
}

/// Children are combined in a fixed order: the router's own members, then what comes from others.
TEST(Reduction, TheOrderIsThatOfTheTree) {
  const machine::Machine m = joining("mesh", {"dims=[8]", "endpoints_per_router=2"});
  const routing::MulticastTrees trees(*m.graph, *m.faults);
  const std::vector<EndpointId> members{1, 2, 3, 4, 6};
  const routing::ReductionTree tree = routing::grow_reduction(*m.graph, trees, members, 0);
  EXPECT_TRUE(tree.whole);
  ASSERT_EQ(tree.stops.size(), 4u);
  const routing::FoldOrder order = tree.order();
  EXPECT_EQ(order.first, 0u);
  EXPECT_EQ(order.folds, (std::vector<routing::Fold>{{3, 4}, {1, 2}, {1, 3}, {0, 1}}));
}

TEST(Reduction, RoutersOfOtherKindsAndThoseThatDoNotCopyRefuseInWords) {
  const auto message = [](const test::Settings& settings) -> std::string {
    try {
      const machine::Machine m = test::make_machine("torus", {"dims=[4,4]"}, "up-down", {}, 2, settings);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message({"router.kind=virtual-output-queued", "router.reduction=true"}),
              HasSubstr("router.reduction: is a key of router kind input-queued"));
  EXPECT_THAT(message({"router.reduction=true"}),
              HasSubstr("router.reduction: needs router.multicast = true"));
}

}  // namespace
}  // namespace weft::network
