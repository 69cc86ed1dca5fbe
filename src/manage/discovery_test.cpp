#include "manage/discovery.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/random.hpp"
#include "manage/tables.hpp"

namespace weft::manage {
namespace {

machine::Machine machine_of(const std::string& profile, const std::vector<std::string>& settings = {}) {
  return machine::build(machine::describe(profile, settings));
}

/// Ports that can be looked at from the manager's router, by a search of the test's own.
std::set<RouterId> reachable(const Graph& graph, const Wiring& wiring, RouterId start) {
  std::set<RouterId> seen{start};
  std::vector<RouterId> ahead{start};
  while (!ahead.empty()) {
    RouterId r = ahead.back();
    ahead.pop_back();
    for (PortId p = graph.port_begin(r); p < graph.port_begin(r + 1); ++p)
      if (wiring.at(p).kind == Plug::Kind::Router &&
          seen.insert(graph.port_router(wiring.at(p).number)).second)
        ahead.push_back(graph.port_router(wiring.at(p).number));
  }
  return seen;
}

TEST(Discovery, FindsEveryProfileAsItIsDescribed) {
  for (const auto& profile : machine::profiles()) {
    machine::Machine m = machine_of(profile.name);
    const Graph& graph = *m.graph;
    for (EndpointId manager : {EndpointId{0}, graph.endpoints() / 2}) {
      Wiring wiring(graph, *m.faults);
      Chips chips(m, wiring, manager);
      Discovery found = discover(graph, chips);
      EXPECT_EQ(found.order.size(), graph.routers()) << profile.name;
      EXPECT_EQ(found.nodes, graph.endpoints()) << profile.name;
      EXPECT_TRUE(compare(graph, *m.faults, found).same()) << profile.name;
      for (EndpointId e = 0; e < graph.endpoints(); ++e) ASSERT_EQ(chips.node_number(e), e) << profile.name;
      EXPECT_GT(chips.time().value, 0);
    }
  }
}

// All that is wrong and can be seen is told, and nothing else.
TEST(Discovery, AThousandRandomMistakes) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> machines{
      {"torus", {"topology.dims=[4,4,3]"}},
      {"extoll-r1", {}},
      {"fat-tree", {}},
      {"dragonfly", {}},
      {"jellyfish", {}},
      {"mesh", {"topology.dims=[5,4]"}},
  };
  std::uint64_t draws = 0;
  auto draw = [&](std::uint64_t n) { return random_bits(20260, 1, ++draws) % n; };
  unsigned wrong = 0, hidden = 0;
  for (const auto& [profile, settings] : machines) {
    machine::Machine m = machine_of(profile, settings);
    const Graph& graph = *m.graph;
    for (int round = 0; round < 167; ++round) {
      Wiring wiring(graph, *m.faults);
      for (std::uint64_t mistakes = 1 + draw(4); mistakes; --mistakes) {
        const auto a = static_cast<PortId>(draw(graph.ports())), b = static_cast<PortId>(draw(graph.ports()));
        switch (draw(4)) {
          case 0:
            wiring.unplug(a);
            break;
          case 1:
            wiring.replace(a);
            break;
          default:
            if (a != b) wiring.swap(a, b);
        }
      }
      const auto manager = static_cast<EndpointId>(draw(graph.endpoints()));
      Chips chips(m, wiring, manager);
      Discovery found = discover(graph, chips);
      Comparison comparison = compare(graph, *m.faults, found);
      const std::set<RouterId> seen = reachable(graph, wiring, graph.endpoint_router(manager));
      std::set<PortId> expected, told;
      for (PortId p = 0; p < graph.ports(); ++p)
        if (seen.count(graph.port_router(p)) && wiring.at(p) != described(graph, *m.faults, p))
          expected.insert(p);
      for (const Difference& d : comparison.differences) {
        told.insert(d.port);
        EXPECT_EQ(d.found, wiring.at(d.port));
        EXPECT_EQ(d.expected, described(graph, *m.faults, d.port));
      }
      EXPECT_EQ(told, expected) << profile << " round " << round;
      EXPECT_EQ(comparison.missing.size(), graph.routers() - seen.size()) << profile << " round " << round;
      EXPECT_EQ(comparison.same(), expected.empty() && seen.size() == graph.routers());
      wrong += !expected.empty();
      hidden += seen.size() < graph.routers();
    }
  }
  EXPECT_GT(wrong, 900u);
  EXPECT_GT(hidden, 0u) << "some cut a part off";
}

TEST(Discovery, NothingIsReachedThatWasNotMadeReachable) {
  machine::Machine m = machine_of("torus", {"topology.dims=[4,4]"});
  Wiring wiring(*m.graph, *m.faults);
  Chips chips(m, wiring, 0);
  EXPECT_FALSE(chips.read_identity(0)) << "nobody has a number";
  chips.write_own_number(0);
  EXPECT_TRUE(chips.read_identity(0));
  EXPECT_FALSE(chips.read_identity(1)) << "no router knows the way";
  EXPECT_FALSE(chips.write_way(1, 2, 0));
  ASSERT_TRUE(chips.write_way(0, 1, 0));
  EXPECT_FALSE(chips.read_identity(1)) << "and it does not know that it is meant";
  EXPECT_TRUE(chips.write_number(0, 0, 1));
  EXPECT_TRUE(chips.read_identity(1));
  EXPECT_FALSE(chips.read_identity(2));
}

TEST(Discovery, ExchangedPlugsAreSeenAsSuch) {
  machine::Machine m = machine_of("extoll-tourmalet");
  const Graph& graph = *m.graph;
  Wiring wiring(graph, *m.faults);
  const PortId a = graph.port(3, 0), b = graph.port(9, 0);
  wiring.swap(a, b);
  Chips chips(m, wiring, 0);
  Comparison comparison = compare(graph, *m.faults, discover(graph, chips));
  EXPECT_EQ(comparison.differences.size(), 4u) << "both ends of two cables";
  EXPECT_THAT(comparison.exchanged, testing::Contains(std::pair(std::min(a, b), std::max(a, b))));
}

TEST(Tables, AreWrittenAndFollowed) {
  for (const char* profile : {"torus", "extoll-r1", "fat-tree", "mesh", "exanest-trenz"}) {
    machine::Machine m = machine_of(profile);
    Wiring wiring(*m.graph, *m.faults);
    Chips chips(m, wiring, 0);
    Discovery found = discover(*m.graph, chips);
    EXPECT_EQ(chips.deliver(0, m.graph->endpoints() - 1, {0, 0}), kNone) << "before";
    TableReport report = write_tables(m, found, chips, 100'000);
    EXPECT_EQ(report.failed, 0u) << profile;
    EXPECT_EQ(report.undelivered, 0u) << profile;
    EXPECT_GT(report.pairs, 0u);
    EXPECT_LE(report.entries, table_entries(*m.routing));
  }
}

}  // namespace
}  // namespace weft::manage
