// Reduction in routers: contributions that are combined on their way up a tree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.hpp"
#include "machines.hpp"
#include "network/flit/timing.hpp"
#include "network/network.hpp"
#include "routing/multicast.hpp"

namespace weft::network {
namespace {

using ::testing::HasSubstr;
using Kind = Notice::Kind;

machine::Machine reducing(const std::string& topology, const test::Settings& size, test::Settings more = {},
                          const std::string& routing = "up-down") {
  more.insert(more.begin(), {"router.multicast=true", "router.reduction_groups=16"});
  return test::make_machine(topology, size, routing, {}, 2, more);
}

std::unique_ptr<Network> flit(const machine::Machine& m, const EngineOptions& options = {}) {
  return config::Registry<EngineKind>::find("flit")->make(m, options);
}

std::vector<EndpointId> some_endpoints(const machine::Machine& m, std::uint64_t seed, unsigned wanted) {
  std::set<EndpointId> out;
  for (unsigned i = 0; out.size() < std::min(wanted, m.graph->endpoints()); ++i)
    out.insert(static_cast<EndpointId>(random_bits(seed, 77, i) % m.graph->endpoints()));
  return {out.begin(), out.end()};
}

constexpr Tag kOthers = 1'000'000;  // tags of other traffic, from here on

/// Members contribute to rounds, each as soon as it may and has waited for a while, as `weft run` does.
class Rounds {
 public:
  Rounds(Network& network, std::vector<EndpointId> members, unsigned ahead, std::uint64_t seed)
      : network_(network), members_(std::move(members)), ahead_(ahead), seed_(seed) {
    number = network.reserve_reduction(members_, ahead);
    EXPECT_NE(number, kNoReduction);
  }

  void run(unsigned rounds) {
    for (unsigned i = 0; i < members_.size(); ++i)
      for (unsigned r = 0; r < std::min(rounds, ahead_); ++r) give(i, r, Time{0});
    std::vector<Notice> notices;
    while (!network_.idle()) {
      notices.clear();
      network_.advance(kForever, notices);
      for (const Notice& n : notices) {
        all.push_back(n);
        if (n.tag >= kOthers) continue;
        if (n.kind == Kind::Lost) ++lost;
        if (n.kind != Kind::Delivered) continue;
        const auto i = static_cast<unsigned>(n.tag % members_.size());
        const auto r = static_cast<unsigned>(n.tag / members_.size());
        delivered[r].emplace(members_[i], n.at);
        EXPECT_GE(n.at.value, last_given_[r].value) << "before all had contributed";
        if (r + ahead_ < rounds) give(i, r + ahead_, later(n.at, network_.reaction_time()));
      }
    }
  }

  ReductionNumber number;
  std::map<unsigned, std::map<EndpointId, Time>> delivered;
  std::vector<Notice> all;
  unsigned lost = 0;

 private:
  void give(unsigned i, unsigned round, Time from) {
    const Time at{from.value + static_cast<std::int64_t>(random_bits(seed_, i, round) % 500'000)};
    Time& mine = last_[i];
    mine = std::max(mine, at);
    last_given_[round] = std::max(last_given_[round], mine);
    network_.send({.source = members_[i],
                   .bytes = 1 + random_bits(seed_, 4, round) % 300,
                   .tag = round * members_.size() + i,
                   .reduction = number,
                   .round = round},
                  mine);
  }
  Network& network_;
  std::vector<EndpointId> members_;
  unsigned ahead_;
  std::uint64_t seed_;
  std::map<unsigned, Time> last_;        // by member
  std::map<unsigned, Time> last_given_;  // by round
};

TEST(Reduction, ComesToEveryMemberOfEveryRoundOnceOnEveryTopology) {
  for (const auto& [name, kind] : topology::Topologies::all())
    for (const auto& size : kind.examples)
      for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        const machine::Machine m = reducing(name, size);
        if (m.graph->endpoints() < 3) continue;
        auto network = flit(m);
        ASSERT_TRUE(network->reduces());
        network->set_reaction_time(Time{100'000});
        const auto members = some_endpoints(m, seed, 3 + seed * 7);
        Rounds rounds(*network, members, 3, seed);
        std::multiset<EndpointId> combined;
        std::uint32_t depth = 0;
        for (const ReductionStep& step : network->reduction_steps(rounds.number)) {
          if (step.combine == 0) combined.insert(step.member);
          depth = step.combine ? depth - step.combine + 1 : depth + 1;
        }
        EXPECT_EQ(depth, 1u) << name;
        EXPECT_EQ(combined, std::multiset<EndpointId>(members.begin(), members.end())) << name;
        rounds.run(8);
        ASSERT_EQ(rounds.delivered.size(), 8u) << name;
        for (const auto& [round, by] : rounds.delivered) EXPECT_EQ(by.size(), members.size()) << name;
        EXPECT_EQ(rounds.all.size(), 16 * members.size()) << name << ": each departs and is delivered once";
      }
}

/// The router where all ways meet, and what is between it and a member.
struct Tree {
  std::map<EndpointId, Time> way;      // from the member's router to the root, the root's own not among it
  std::map<EndpointId, unsigned> met;  // routers on it where ways come together, the root among them
  unsigned cables = 0;
};

Tree tree_of(const machine::Machine& m, const std::vector<EndpointId>& members) {
  const routing::MulticastTrees trees(*m.graph, *m.faults);
  std::vector<topology::RouterId> routers;
  for (EndpointId e : members) routers.push_back(m.graph->endpoint_router(e));
  std::vector<routing::TreeStep> steps;
  trees.descend(trees.meeting_point(routers), steps);
  std::map<topology::RouterId, std::uint32_t> at;
  for (std::uint32_t i = 0; i < steps.size(); ++i) at[steps[i].router] = i;
  std::map<std::uint32_t, std::set<std::uint64_t>> inputs;
  for (EndpointId e : members) {
    std::uint32_t i = at[m.graph->endpoint_router(e)];
    inputs[i].insert(e + (1ull << 32));
    for (; i; i = steps[i].parent) inputs[steps[i].parent].insert(i);
  }
  Tree out;
  for (const auto& [step, who] : inputs) out.cables += step != 0;
  for (EndpointId e : members) {
    Time& way = out.way[e] = Time{0};
    for (std::uint32_t i = at[m.graph->endpoint_router(e)];; i = steps[i].parent) {
      out.met[e] += inputs[i].size() > 1;
      if (i == 0) break;
      const topology::CableId cable = m.graph->port_cable(steps[i].in);
      way = way + m.description.router.latency +
            m.graph->cable_type(cable).flight_time(m.graph->cable_length(cable));
    }
  }
  return out;
}

/// Without contention: a packet's time to a neighbour at the same router, the way up of who comes last and
/// the way down, and at every router where ways come together the rest of the packet and the operation.
TEST(Reduction, TakesTheClosedFormToTheNanosecond) {
  const std::vector<std::pair<std::string, test::Settings>> machines{
      {"torus", {"dims=[4,3]", "endpoints_per_router=2"}},
      {"fat-tree", {"children=[4,4,3]", "parents=[1,2,2]"}},
      {"dragonfly", {}}};
  for (const auto& [name, size] : machines)
    for (const char* latency : {"47ns", "60ns"})
      for (const std::uint64_t bytes : {1u, 40u, 256u})
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
          const machine::Machine m =
              reducing(name, size,
                       {std::string("router.latency=") + latency, "router.reduction_latency=33.3ns",
                        "cable.default.length=7.7m"});
          const auto members = some_endpoints(m, seed, 4 + 3 * static_cast<unsigned>(seed));
          const Tree tree = tree_of(m, members);
          // To a neighbour at the same router.
          auto plain = flit(m);
          plain->send({.source = 0, .destination = 1, .bytes = bytes, .tag = 1}, Time{0});
          Time near{0};
          std::vector<Notice> notices;
          while (!plain->idle()) plain->advance(kForever, notices);
          near = notices.back().at;
          ASSERT_EQ(m.graph->endpoint_router(0), m.graph->endpoint_router(1));
          auto network = flit(m);
          const ReductionNumber number = network->reserve_reduction(members, 1);
          for (EndpointId e : members)
            network->send({.source = e, .bytes = bytes, .tag = e, .reduction = number}, Time{0});
          notices.clear();
          while (!network->idle()) network->advance(kForever, notices);
          const double cycle = static_cast<double>(flit::timing_of(m).cycle.time(1'000'000).value) / 1e6;
          const double flits = static_cast<double>((bytes + 15) / 16);
          const double meeting = (flits - 1) * cycle + 33'300;
          double up = 0;
          for (EndpointId e : members)
            up = std::max(up, static_cast<double>(tree.way.at(e).value) + tree.met.at(e) * meeting);
          unsigned heard = 0;
          for (const Notice& n : notices) {
            if (n.kind != Kind::Delivered) continue;
            ++heard;
            const double expected = static_cast<double>(near.value) + up +
                                    static_cast<double>(tree.way.at(static_cast<EndpointId>(n.tag)).value);
            EXPECT_NEAR(static_cast<double>(n.at.value), expected, 100)
                << name << " " << latency << " " << bytes << " bytes, seed " << seed << ", member " << n.tag;
          }
          EXPECT_EQ(heard, members.size());
          // Once up and once down by every cable of the tree.
          std::uint64_t sent = 0;
          for (topology::PortId p = 0; p < m.graph->ports(); ++p)
            if (m.graph->peer(p) != topology::kNone) sent += network->port_state(p).sent;
          EXPECT_EQ(sent, 2 * tree.cables * static_cast<std::uint64_t>(flits)) << name;
        }
}

TEST(Reduction, IsTheSameForAnyNumberOfThreadsAndAnyTraffic) {
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const machine::Machine m =
        reducing("torus", {"dims=[4,4]", "endpoints_per_router=2"}, {}, "dimension-order");
    const auto go = [&](unsigned threads) {
      auto network = flit(m, {.seed = seed, .threads = threads});
      network->set_reaction_time(Time{50'000});
      const std::vector<EndpointId> every = some_endpoints(m, seed, 32);
      const GroupNumber group = network->group(every);
      for (unsigned i = 0; i < 200; ++i) {
        const auto source = static_cast<EndpointId>(random_bits(seed, 5, i) % 32);
        Packet packet{
            .source = source,
            .destination = (source + 1 + static_cast<EndpointId>(random_bits(seed, 6, i) % 31)) % 32,
            .bytes = 400,
            .tag = kOthers + i};
        if (i % 3 == 0) packet.group = group;
        network->send(packet, Time{static_cast<std::int64_t>(i) * 3'000});
      }
      Rounds rounds(*network, some_endpoints(m, seed + 9, 20), 4, seed);
      rounds.run(8);
      EXPECT_EQ(rounds.delivered.size(), 8u);
      for (const auto& [round, by] : rounds.delivered) EXPECT_EQ(by.size(), 20u);
      return rounds.all;
    };
    const std::vector<Notice> one = go(1);
    EXPECT_EQ(one, go(1 + static_cast<unsigned>(seed))) << seed;
  }
}

TEST(Reduction, RoomInRoutersIsReservedAndGivenBack) {
  const machine::Machine few =
      reducing("torus", {"dims=[4]", "endpoints_per_router=2"}, {"router.reduction_groups=1"});
  auto network = flit(few);
  const std::vector<EndpointId> left{0, 1}, right{4, 5}, both{0, 1, 4, 5};
  const ReductionNumber first = network->reserve_reduction(left, 4);
  EXPECT_NE(first, kNoReduction);
  EXPECT_EQ(network->reserve_reduction(left, 4), kNoReduction) << "the router has one group's room";
  EXPECT_NE(network->reserve_reduction(right, 4), kNoReduction) << "another router's";
  EXPECT_EQ(network->reserve_reduction(both, 4), kNoReduction);
  network->release_reduction(first);
  EXPECT_EQ(network->reserve_reduction(left, 4), first) << "the same tree";
  const machine::Machine small =
      reducing("torus", {"dims=[4]", "endpoints_per_router=2"}, {"router.reduction_operands=15"});
  auto other = flit(small);
  EXPECT_EQ(other->reserve_reduction(left, 8), kNoReduction) << "two ways, eight rounds";
  EXPECT_NE(other->reserve_reduction(left, 7), kNoReduction);
}

TEST(Reduction, ACutCableChangesNothingButTime) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const machine::Machine m = reducing("torus", {"dims=[4,4]"}, {"cable.default.bit_error_rate=1e-7"});
    std::vector<link::FaultEvent> faults = link::read_faults(
        "at " + std::to_string(1 + seed % 4) + "us cut r" + std::to_string(seed) + ".p0\nat " +
            std::to_string(5 + seed % 3) + "us cut r" + std::to_string((seed + 5) % 16) + ".p2\n",
        *m.graph);
    auto network = flit(m, {.seed = seed, .faults = faults});
    network->set_reaction_time(Time{100'000});
    Rounds rounds(*network, some_endpoints(m, seed, 11), 3, seed);
    rounds.run(30);
    EXPECT_EQ(rounds.lost, 0u) << seed;
    ASSERT_EQ(rounds.delivered.size(), 30u) << seed;
    for (const auto& [round, by] : rounds.delivered) EXPECT_EQ(by.size(), 11u) << seed;
    EXPECT_EQ(rounds.all.size(), 2u * 30 * 11) << seed;
    EXPECT_FALSE(network->incidents().empty());
  }
}

/// The network is empty when routes change, but for what routers hold of a round that others come to later.
TEST(Reduction, WhatRoutersHoldWhenRoutesChangeIsNotForgotten) {
  const machine::Machine m = reducing("torus", {"dims=[4,4]"});
  for (EndpointId late = 0; late < 16; late += 5) {
    auto network = flit(m, {.faults = link::read_faults("at 5us cut r1.p0\n", *m.graph)});
    const std::vector<EndpointId> members{0, 1, 2, 5, 9, 10, 15};
    const ReductionNumber number = network->reserve_reduction(members, 1);
    const auto give = [&](EndpointId e, Time at) {
      network->send({.source = e, .bytes = 64, .tag = e, .reduction = number}, at);
    };
    for (EndpointId e : members)
      if (e != late) give(e, Time{0});
    network->send({.source = 3, .destination = 7, .bytes = 64, .tag = 99}, Time{40'000'000});
    if (std::find(members.begin(), members.end(), late) != members.end()) give(late, Time{60'000'000});
    std::vector<Notice> notices;
    while (!network->idle()) network->advance(kForever, notices);
    unsigned delivered = 0;
    for (const Notice& n : notices) delivered += n.kind == Kind::Delivered && n.tag != 99;
    EXPECT_EQ(delivered, members.size()) << late;
    EXPECT_FALSE(network->incidents().empty());
  }
}

TEST(Reduction, AMemberThatIsCutOffIsToldToAll) {
  const machine::Machine m = reducing("torus", {"dims=[4]"});
  auto network = flit(m, {.faults = link::read_faults("at 100ns cut r2.p0\nat 100ns cut r2.p1\n", *m.graph)});
  network->set_reaction_time(Time{100'000});
  Rounds rounds(*network, {0, 1, 2, 3}, 2, 1);
  rounds.run(4);
  EXPECT_GE(rounds.lost, 4u);
  EXPECT_LE(rounds.lost + rounds.delivered[0].size() + rounds.delivered[1].size(), 8u);
}

TEST(Reduction, IsRefusedInWordsWithoutCopies) {
  try {
    const machine::Machine m =
        test::make_machine("torus", {"dims=[4,4]"}, "up-down", {}, 2, {"router.reduction_groups=4"});
    flit(m);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("router.reduction_groups: needs router.multicast = true"));
  }
}

TEST(Reduction, OtherEnginesSayThatTheyDoNot) {
  const machine::Machine m = reducing("torus", {"dims=[4,4]"});
  for (const char* name : {"ideal", "flow"})
    EXPECT_FALSE(config::Registry<EngineKind>::find(name)->make(m, {})->reduces()) << name;
}

}  // namespace
}  // namespace weft::network
