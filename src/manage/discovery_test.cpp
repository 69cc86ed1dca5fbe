#include "manage/discovery.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/random.hpp"
#include "machines.hpp"
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
  for (const std::string& name : test::single_networks()) {
    machine::Machine m = machine_of(name);
    const Graph& graph = *m.graph;
    for (EndpointId manager : {EndpointId{0}, graph.endpoints() / 2}) {
      Wiring wiring(graph, *m.faults);
      Chips chips(m, wiring, manager);
      Discovery found = discover(graph, chips);
      EXPECT_EQ(found.order.size(), graph.routers()) << name;
      EXPECT_EQ(found.nodes, graph.endpoints()) << name;
      EXPECT_TRUE(compare(graph, *m.faults, found).same()) << name;
      for (EndpointId e = 0; e < graph.endpoints(); ++e) ASSERT_EQ(chips.node_number(e), e) << name;
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
        switch (draw(6)) {
          case 0:
            wiring.unplug(a);
            break;
          case 1:
            wiring.replace(a);
            break;
          case 2: {  // a dead router: nothing answers at any of its ports, nor at the others' ends
            const RouterId dead = graph.port_router(a);
            if (draw(4)) break;
            for (PortId p = graph.port_begin(dead); p < graph.port_begin(dead + 1); ++p) wiring.unplug(p);
            break;
          }
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

// A node that is not the manager reads what it likes, and writes nothing that is the manager's (F141).
TEST(Discovery, AHostileNodeIsRefused) {
  machine::Machine m = machine_of("torus", {"topology.dims=[4,4]"});
  Wiring wiring(*m.graph, *m.faults);
  Chips chips(m, wiring, 0);
  chips.name_successor(9);
  Discovery found = discover(*m.graph, chips);
  write_tables(m, found, chips, 1000);
  const std::uint64_t links = chips.read_links(found.number[0], m.graph->port_count(0)).value();
  using abi::registers::spot;
  const std::vector<std::pair<Chips::Target, std::uint64_t>> registers{
      {{Chips::Target::What::Own}, spot("chip.manager").offset},
      {{Chips::Target::What::Own}, spot("chip.number").offset},
      {{Chips::Target::What::Own}, spot("chip.mark").offset},
      {{Chips::Target::What::Own}, spot("route.entry").at(3)},
      {{Chips::Target::What::Own}, spot("standby.entry").at(3)},
      {{Chips::Target::What::Own}, spot("copy.tables").offset},
      {{Chips::Target::What::Own}, spot("way.port").at(1)},
      {{Chips::Target::What::Own}, spot("link.state").at(1)},
      {{Chips::Target::What::Interface, found.number[m.graph->endpoint_router(5)],
        m.graph->port_index(m.graph->endpoint_port(5))},
       spot("interface.sending").offset},
  };
  const std::uint64_t one = 1;
  for (EndpointId hostile : {EndpointId{5}, EndpointId{9}}) {
    chips.move_manager(hostile);
    for (const auto& [target, offset] : registers) {
      const bool may = hostile == 9 && offset == spot("chip.manager").offset;  // who may take over
      if (may) continue;
      Chips::Target there = target;
      if (there.what == Chips::Target::What::Interface && hostile == 9) continue;  // not on its way
      if (there.what == Chips::Target::What::Interface)
        there.chip = found.number[m.graph->endpoint_router(hostile)];
      EXPECT_EQ(chips.write(there, offset, {&one, 1}), nic::Status::NoRight) << offset;
    }
  }
  chips.move_manager(0);
  EXPECT_EQ(chips.read_links(found.number[0], m.graph->port_count(0)), links);
  TableReport after;
  follow(*m.graph, found, chips, {table_classes(*m.routing), 0}, 100'000, after);
  EXPECT_EQ(after.undelivered, 0u) << "it has changed nothing";
  EXPECT_EQ(chips.write({Chips::Target::What::Own}, 0x7777'0000, {&one, 1}), nic::Status::BadRange);
  std::vector<std::uint64_t> many(Chips::kMostAtOnce + 1);
  EXPECT_EQ(chips.read({Chips::Target::What::Own}, 0, many), nic::Status::BadLength);
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
