// Packets for many, in every engine that has them.
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

machine::Machine copying(const std::string& topology, const test::Settings& size,
                         const std::string& routing = "up-down", test::Settings more = {}) {
  more.push_back("router.multicast=true");
  return test::make_machine(topology, size, routing, {}, 2, more);
}

std::unique_ptr<Network> engine(const char* name, const machine::Machine& m, EngineOptions options = {}) {
  return config::Registry<EngineKind>::find(name)->make(m, options);
}

std::vector<Notice> run(Network& network) {
  std::vector<Notice> out;
  while (!network.idle()) network.advance(kForever, out);
  return out;
}

/// When each member heard of a packet.
std::map<EndpointId, Time> arrivals(const std::vector<Notice>& notices, Tag tag) {
  std::map<EndpointId, Time> out;
  for (const Notice& n : notices)
    if (n.tag == tag && n.kind == Kind::Delivered) EXPECT_TRUE(out.emplace(n.where, n.at).second) << n.where;
  return out;
}

std::vector<EndpointId> all_endpoints(const machine::Machine& m) {
  std::vector<EndpointId> out;
  for (EndpointId e = 0; e < m.graph->endpoints(); ++e) out.push_back(e);
  return out;
}

class PacketsForMany : public ::testing::TestWithParam<const char*> {};

TEST_P(PacketsForMany, ComeToEveryMemberOnceAndDepartOnce) {
  const machine::Machine m = copying("torus", {"dims=[4,4]", "endpoints_per_router=2"});
  auto network = engine(GetParam(), m);
  ASSERT_TRUE(network->multicasts());
  const std::vector<EndpointId> members{1, 5, 9, 30, 31, 2};
  const GroupNumber group = network->group(members);
  EXPECT_EQ(group, network->group(std::vector<EndpointId>{31, 30, 9, 5, 2, 1, 1})) << "a set has one number";
  Packet packet{.source = 5, .bytes = 256, .tag = 7};
  packet.group = group;
  network->send(packet, Time{1000});
  const std::vector<Notice> notices = run(*network);
  const auto times = arrivals(notices, 7);
  std::set<EndpointId> reached;
  for (const auto& [where, at] : times) reached.insert(where);
  EXPECT_EQ(reached, (std::set<EndpointId>{1, 2, 9, 30, 31})) << "all but the source";
  EXPECT_EQ(
      std::count_if(notices.begin(), notices.end(), [](const Notice& n) { return n.kind == Kind::Departed; }),
      1);
  EXPECT_EQ(notices.size(), 6u);
}

/// One packet after the other to all: no cable carries more than it would to one, so all of it takes one
/// serialisation and the deepest way, which is what the last packet alone takes after the others have left.
TEST_P(PacketsForMany, TakeOneSerialisationAndTheDeepestWay) {
  const machine::Machine m = copying("torus", {"dims=[4,4]"});
  constexpr unsigned kPackets = 64;
  constexpr std::uint64_t kBytes = 512;
  const auto send = [&](Network& network, unsigned count) {
    const GroupNumber group = network.group(all_endpoints(m));
    for (Tag tag = 0; tag < count; ++tag) {
      Packet packet{.source = 3, .bytes = kBytes, .tag = tag};
      packet.group = group;
      network.send(packet, Time{0});
    }
    const std::vector<Notice> notices = run(network);
    Time last{0}, left{0};
    for (const Notice& n : notices)
      (n.kind == Kind::Delivered ? last : left) = std::max(n.kind == Kind::Delivered ? last : left, n.at);
    return std::pair(last, left);
  };
  const auto [alone, alone_left] = send(*engine(GetParam(), m), 1);
  const auto [last, left] = send(*engine(GetParam(), m), kPackets);
  const std::int64_t deepest = alone.value - alone_left.value;
  const std::int64_t wire = static_cast<std::int64_t>(kPackets) * alone_left.value;
  EXPECT_GE(last.value, wire);
  EXPECT_LE(static_cast<double>(last.value), 1.03 * static_cast<double>(wire + deepest));
}

INSTANTIATE_TEST_SUITE_P(In, PacketsForMany, ::testing::Values("ideal", "flow", "flit"),
                         [](const auto& test) { return std::string(test.param); });

/// A hop of the tree takes what a hop of a route takes: a member alone hears when it would of a packet to it
/// alone, where the route is the same.
TEST(Multicast, ToOneMemberTakesTheTimeOfAPacketToIt) {
  for (const char* topology : {"torus", "fat-tree"}) {
    const machine::Machine m = std::string(topology) == "torus"
                                   ? copying("torus", {"dims=[6]"}, "up-down")
                                   : copying("fat-tree", {"children=[2,4]", "parents=[1,2]"}, "up-down");
    for (EndpointId to = 1; to < m.graph->endpoints(); ++to) {
      auto copies = engine("flit", m), plain = engine("flit", m);
      Packet packet{.source = 0, .destination = to, .bytes = 200, .tag = 1};
      plain->send(packet, Time{0});
      packet.group = copies->group(std::vector<EndpointId>{to});
      copies->send(packet, Time{0});
      EXPECT_EQ(run(*plain)[1].at.value, arrivals(run(*copies), 1)[to].value) << topology << " " << to;
    }
  }
}

struct Heard {
  std::vector<Notice> notices;
  std::uint64_t expected = 0;
};

/// Random packets for one and for many, all at once.
Heard random_traffic(const machine::Machine& m, std::uint64_t seed, const EngineOptions& options) {
  auto network = engine("flit", m, options);
  Heard out;
  const unsigned endpoints = m.graph->endpoints();
  std::vector<GroupNumber> groups;
  std::vector<std::set<EndpointId>> sets(5);
  for (unsigned g = 0; g < sets.size(); ++g) {
    for (unsigned i = 0; i < 2 + 4 * g; ++i)
      sets[g].insert(static_cast<EndpointId>(random_bits(seed, g, i) % endpoints));
    sets[g].insert(static_cast<EndpointId>(g));
    sets[g].insert(static_cast<EndpointId>(g + 1));
    groups.push_back(network->group(std::vector<EndpointId>(sets[g].begin(), sets[g].end())));
  }
  for (Tag tag = 0; tag < 400; ++tag) {
    const auto draw = [&](unsigned what) { return random_bits(seed, 1000 + tag, what); };
    Packet packet{
        .source = static_cast<EndpointId>(draw(0) % endpoints), .bytes = 1 + draw(1) % 500, .tag = tag};
    packet.destination = static_cast<EndpointId>((packet.source + 1 + draw(2) % (endpoints - 1)) % endpoints);
    if (draw(3) % 2) {
      const auto g = static_cast<std::size_t>(draw(4) % groups.size());
      packet.group = groups[g];
      out.expected += sets[g].size() - sets[g].count(packet.source);
    } else {
      ++out.expected;
    }
    network->send(packet, Time{static_cast<std::int64_t>(tag) * 2'000});
  }
  out.notices = run(*network);
  return out;
}

TEST(Multicast, RandomTrafficArrivesAndIsTheSameForAnyNumberOfThreads) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const machine::Machine m =
        seed % 2 ? copying("torus", {"dims=[4,4]", "endpoints_per_router=2"}, "dimension-order")
                 : copying("dragonfly", {}, seed % 4 ? "up-down" : "shortest-path", {"router.channels=4"});
    const Heard one = random_traffic(m, seed, {.seed = seed});
    std::uint64_t delivered = 0;
    for (const Notice& n : one.notices) delivered += n.kind == Kind::Delivered;
    EXPECT_EQ(delivered, one.expected) << seed;
    EXPECT_EQ(one.notices, random_traffic(m, seed, {.seed = seed, .threads = 3}).notices) << seed;
  }
}

TEST(Multicast, RoutersOfOtherKindsAndOtherSwitchingRefuseInWords) {
  const auto message = [](const test::Settings& settings) -> std::string {
    try {
      const machine::Machine m = test::make_machine("torus", {"dims=[4,4]"}, "up-down", {}, 2, settings);
      engine("flit", m);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message({"router.kind=virtual-output-queued", "router.multicast=true"}),
              HasSubstr("router.multicast: is a key of router kind input-queued"));
  EXPECT_THAT(message({"router.switching=wormhole", "router.multicast=true"}),
              HasSubstr("router.multicast: needs router.switching = \"cut-through\""));
  EXPECT_THAT(message({"router.message_classes=8", "router.multicast=true"}),
              HasSubstr("router.multicast: packets for many have a message class of their own"));
}

}  // namespace
}  // namespace weft::network
