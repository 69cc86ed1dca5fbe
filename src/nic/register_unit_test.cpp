// Registers of chips, over the network: values, rights, times.
#include "nic/register_unit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "abi/registers.hpp"
#include "nic/register_client.hpp"
#include "nic/test_host.hpp"

namespace weft::nic {

namespace {

using abi::registers::spot;
using Answer = RegisterClient::Answer;

struct Machine {
  explicit Machine(const std::string& text, const std::string& engine = "ideal", network::EndpointId node = 0,
                   const std::string& faults = "")
      : machine(machine::build(machine::describe_text(text, "test", {}))),
        network(config::Registry<network::EngineKind>::find(engine)->make(
            machine, {1, 1,
                      faults.empty() ? std::vector<network::link::FaultEvent>{}
                                     : network::link::read_faults(faults, *machine.graph)})),
        client(machine, *network, node) {}

  std::uint64_t read(const Chip& chip, std::uint64_t offset) {
    const Answer answer = client.read(chip, offset);
    EXPECT_EQ(answer.status, Status::Ok);
    return answer.values.empty() ? 0 : answer.values[0];
  }
  std::uint64_t read(const Chip& chip, const abi::registers::Spot& field, std::uint64_t index = 0) {
    return field.of(read(chip, field.at(index)));
  }

  machine::Machine machine;
  std::unique_ptr<network::Network> network;
  RegisterClient client;
};

Chip router(topology::RouterId r) { return {.node = 0, .router = router_chip(r)}; }

TEST(Registers, FieldsAreFoundByNameAndTakenApart) {
  abi::registers::Spot found;
  EXPECT_TRUE(abi::registers::find("link.neighbour.number", found));
  EXPECT_EQ(found.at(3), spot("link.neighbour").at(3));
  EXPECT_EQ(found.of(found.in(~std::uint64_t{0}, 77)), 77u);
  EXPECT_EQ(spot("link.neighbour.port").of(found.in(0, 77)), 0u);
  for (const char* wrong : {"", "link", "link.", "link.neighbour.", "link.neighbours",
                            "link.neighbour.numbers", "chip.state", "identity", "chip.identity.node.more"})
    EXPECT_FALSE(abi::registers::find(wrong, found)) << wrong;
}

/// All that the wiring is can be read off the chips, starting from one of them.
TEST(Registers, NeighboursLeadThroughTheWholeMachine) {
  for (const char* dims : {"[3, 3]", "[4, 2, 2]"}) {
    Machine m(test::torus("", "", dims));
    const topology::Graph& graph = *m.machine.graph;
    std::set<std::uint64_t> seen, nodes;
    std::vector<std::uint64_t> next{m.read({.node = 0}, spot("link.neighbour.number"))};
    while (!next.empty()) {
      const std::uint64_t r = next.back();
      next.pop_back();
      if (!seen.insert(r).second) continue;
      const Chip chip = router(static_cast<topology::RouterId>(r));
      EXPECT_EQ(m.read(chip, spot("chip.identity.router")), r);
      const std::uint64_t links = m.read(chip, spot("chip.kind.links"));
      EXPECT_EQ(links, graph.port_count(static_cast<topology::RouterId>(r)));
      for (std::uint64_t p = 0; p < links; ++p) {
        const std::uint64_t word = m.read(chip, spot("link.neighbour").at(p));
        const std::uint64_t kind = spot("link.neighbour.kind").of(word),
                            number = spot("link.neighbour.number").of(word);
        if (kind == abi::registers::kInterfaceSeen) nodes.insert(number);
        if (kind != abi::registers::kRouterSeen) continue;
        const topology::PortId peer =
            graph.peer(graph.port(static_cast<topology::RouterId>(r), static_cast<topology::PortIndex>(p)));
        EXPECT_EQ(number, graph.port_router(peer));
        EXPECT_EQ(spot("link.neighbour.port").of(word), graph.port_index(peer));
        next.push_back(number);
      }
    }
    EXPECT_EQ(seen.size(), graph.routers());
    EXPECT_EQ(nodes.size(), graph.endpoints());
  }
}

TEST(Registers, RoutersWithoutNodesAnswerThroughTheNearest) {
  const std::string tree =
      "[topology]\nkind = \"fat-tree\"\nchildren = [2, 2, 2]\nparents = [1, 2, 2]\n[routing]\nkind = "
      "\"fat-tree\"\n[router]\nchannels = 1\nlatency = "
      "\"60ns\"\n[cable.default]\ndelay = \"80ns\"\nlength = \"0m\"\n";
  Machine m(tree);
  const topology::Graph& graph = *m.machine.graph;
  Time nearest{0}, farthest{0};
  for (topology::RouterId r = 0; r < graph.routers(); ++r) {
    const Answer answer = m.client.read(router(r), spot("chip.identity").at());
    ASSERT_EQ(answer.status, Status::Ok);
    EXPECT_EQ(spot("chip.identity.router").of(answer.values[0]), r);
    const Time taken = answer.answered - answer.asked;
    if (r == graph.endpoint_router(0)) nearest = taken;
    farthest = std::max(farthest, taken);
  }
  EXPECT_GT(farthest, nearest + Time{2 * 60'000});
  EXPECT_EQ(m.client.read(router(graph.routers()), 0).status, Status::BadNode);
}

TEST(Registers, TheTableIsWhatTheRoutingSays) {
  Machine m(test::torus("", "", "[4, 4]"));
  const topology::Graph& graph = *m.machine.graph;
  for (topology::RouterId r : {0u, 5u}) {
    for (topology::EndpointId target = 0; target < graph.endpoints(); ++target) {
      const std::uint64_t word = m.read(router(r), spot("route.entry").at(target));
      EXPECT_EQ(spot("route.entry.valid").of(word), 1u);
      const std::uint64_t port = spot("route.entry.port").of(word);
      if (graph.endpoint_router(target) == r) {
        EXPECT_EQ(port, graph.port_index(graph.endpoint_port(target)));
        continue;
      }
      routing::Hop hop{r};
      hop.target = target;
      routing::Candidates out;
      m.machine.routing->candidates(hop, out);
      EXPECT_EQ(port, out[0].port);
      EXPECT_EQ(spot("route.entry.choices").of(word), out.size());
    }
  }
}

TEST(Registers, AreWrittenByThoseWhoMay) {
  // Node 2 asks; the manager is node 1.
  Machine m(test::torus("manager = 1"), "ideal", 2);
  const std::uint64_t mark = spot("chip.mark").at(), scratch = spot("chip.scratch").at();
  EXPECT_EQ(m.client.write({.node = 3}, mark, 7).status, Status::NoRight);
  EXPECT_EQ(m.client.write({.node = 2}, mark, 7).status, Status::NoRight);
  EXPECT_EQ(m.client.write({.node = 3}, scratch, 7).status, Status::NoRight);
  EXPECT_EQ(m.client.write({.node = 2}, scratch, 7).status, Status::Ok);
  EXPECT_EQ(m.read({.node = 2}, scratch), 7u);
  EXPECT_EQ(m.read({.node = 3}, scratch), 0u);
  EXPECT_EQ(m.client.write(router(m.machine.graph->endpoint_router(2)), scratch, 8).status, Status::Ok);
  EXPECT_EQ(m.client.write(router(m.machine.graph->endpoint_router(3)), scratch, 8).status, Status::NoRight);
  EXPECT_EQ(m.client.write({.node = 2}, spot("chip.identity").at(), 1).status, Status::NoRight);
  EXPECT_EQ(m.client.write({.node = 2}, spot("interface.packets_sent").at(), 0).status, Status::NoRight);
  EXPECT_EQ(m.read({.node = 2}, spot("chip.accesses.refused")), 3u);
  const NicId third = m.client.fabric().attach(3);
  EXPECT_EQ(m.client.fabric().counters(third).refused, 3u);  // its router is asked there too
}

TEST(Registers, TheManagerWritesEverywhereAndHandsItsRightsOver) {
  Machine m(test::torus("manager = 0"));
  const std::uint64_t mark = spot("chip.mark").at(), manager = spot("chip.manager").at();
  for (network::EndpointId node : {0u, 3u}) {
    EXPECT_EQ(m.client.write({.node = node}, mark, 0xfeed'0000'0000'0001).status, Status::Ok);
    EXPECT_EQ(m.read({.node = node}, mark), 0xfeed'0000'0000'0001u);
  }
  EXPECT_EQ(m.client.write({.node = 3}, manager, 1).status, Status::Ok);
  EXPECT_EQ(m.client.write({.node = 3}, mark, 2).status, Status::NoRight);
  EXPECT_EQ(m.client.write({.node = 3}, manager, 0).status, Status::NoRight);
  EXPECT_EQ(m.client.write({.node = 0}, mark, 2).status, Status::Ok);
}

TEST(Registers, CountersCountAndStartAnew) {
  Machine m(test::torus(), "flit");
  const std::uint64_t sent = spot("interface.packets_sent").at();
  const std::uint64_t before = m.read({.node = 0}, sent);
  m.read({.node = 3}, sent);
  EXPECT_EQ(m.read({.node = 0}, sent), before + 3);  // a request and an answer of its own, and one request
  const Chip first = router(m.machine.graph->endpoint_router(0));
  EXPECT_EQ(m.read(first, spot("chip.kind.counts")), 1u);
  std::uint64_t flits = 0, links = m.read(first, spot("chip.kind.links"));
  for (std::uint64_t p = 0; p < links; ++p) flits += m.read(first, spot("traffic.sent").at(p));
  EXPECT_GT(flits, 0u);
  // Requests for the router next to the interface cross no cable.
  EXPECT_EQ(m.client.write(first, spot("chip.clear").at(), 1).status, Status::Ok);
  for (std::uint64_t p = 0; p < links; ++p) EXPECT_EQ(m.read(first, spot("traffic.sent").at(p)), 0u);
  EXPECT_EQ(m.client.write({.node = 3}, spot("chip.clear").at(), 1).status, Status::Ok);
  EXPECT_EQ(m.read({.node = 3}, sent), 1u);  // the answer to the write
  std::uint64_t anew = 0;
  for (std::uint64_t p = 0; p < links; ++p) anew += m.read(first, spot("traffic.sent").at(p));
  EXPECT_GT(anew, 0u);
}

TEST(Registers, WhatIsNotThereIsRefused) {
  Machine m(test::torus());
  const topology::Graph& graph = *m.machine.graph;
  EXPECT_EQ(m.client.read({.node = 1}, 0xff8).status, Status::BadRange);
  EXPECT_EQ(m.client.read({.node = 1}, 4).status, Status::BadRange);
  EXPECT_EQ(m.client.read({.node = 1}, spot("link.state").at(1)).status, Status::BadRange);
  EXPECT_EQ(m.client.read({.node = 1}, spot("route.entry").at()).status, Status::BadRange);
  EXPECT_EQ(m.client.read(router(0), spot("interface.ports").at()).status, Status::BadRange);
  EXPECT_EQ(m.client.read(router(0), spot("link.state").at(graph.port_count(0))).status, Status::BadRange);
  EXPECT_EQ(m.client.read({.node = graph.endpoints()}, 0).status, Status::BadNode);
  EXPECT_EQ(m.client.read({.node = 1}, 0, 0).status, Status::BadLength);
  EXPECT_EQ(m.client.read({.node = 1}, 0, 1000).status, Status::BadLength);
}

/// A request there and an answer back, and the file's own time for each register.
TEST(Registers, TakeTheTimeOfTheWayAndOfTheFile) {
  auto taken = [](const std::string& nic, network::EndpointId node, unsigned registers = 1) {
    Machine m(test::torus(nic, "", "[8]"));
    const Answer answer = m.client.read({.node = node}, spot("chip.identity").at(), registers);
    EXPECT_EQ(answer.status, Status::Ok);
    return answer.answered - answer.asked;
  };
  const Time one = taken("", 1), two = taken("", 2), three = taken("", 3);
  EXPECT_GT(two, one);
  EXPECT_EQ(three - two, two - one);
  EXPECT_EQ(taken("register_access = \"120ns\"", 2) - two, Time{100'000});
  EXPECT_EQ(taken("register_access = \"120ns\"", 2, 4) - taken("register_access = \"20ns\"", 2, 4),
            Time{400'000});
}

TEST(Registers, ADeadLinkSaysSoAndItsNeighbourIsNotSeen) {
  std::string text = test::torus("", "", "[4]") + "[faults]\ndead_cables = [\"r1.p0\"]\n";
  const std::string routing = "dimension-order";
  text.replace(text.find(routing), routing.size(), "up-down");
  Machine m(text);
  const topology::Graph& graph = *m.machine.graph;
  const topology::PortId port = graph.port(1, 0);
  const Chip chip = router(1);
  EXPECT_EQ(m.read(chip, spot("link.state.up"), 0), 0u);
  EXPECT_EQ(m.read(chip, spot("link.neighbour.kind"), 0), abi::registers::kNobodySeen);
  const topology::PortId peer = graph.peer(port);
  EXPECT_EQ(m.read(router(graph.port_router(peer)), spot("link.state.up"), graph.port_index(peer)), 0u);
  EXPECT_EQ(m.read(chip, spot("link.state.up"), 1), 1u);
  EXPECT_EQ(m.read(chip, spot("link.state.lanes"), 1), 4u);
}

TEST(Registers, ACableThatIsCutIsSeenToBeDown) {
  Machine m(test::torus("", "", "[4]"), "flit", 0, "at 5us cut r1.p0\n");
  const Chip chip = router(1);
  EXPECT_EQ(m.read(chip, spot("link.state.up"), 0), 1u);
  for (int i = 0; i < 2000 && m.client.now() < Time{100'000'000}; ++i) m.read({.node = 1}, 0);
  EXPECT_EQ(m.read(chip, spot("link.state.up"), 0), 0u);
  EXPECT_EQ(m.read(chip, spot("link.state.up"), 1), 1u);
  EXPECT_EQ(m.read(chip, spot("route.entry.port"), 2), 1u);  // the other way round
}

TEST(Registers, ManyAtOnceGiveTheSameAnswers) {
  Machine m(test::torus("", "", "[4, 4]"), "flit");
  std::vector<RegisterClient::Request> requests;
  for (network::EndpointId node = 0; node < 16; ++node)
    for (int i = 0; i < 20; ++i) requests.push_back({{.node = node}, spot("chip.identity").at()});
  const std::vector<Answer> answers = m.client.read_all(requests);
  ASSERT_EQ(answers.size(), requests.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_EQ(answers[i].status, Status::Ok);
    EXPECT_EQ(spot("chip.identity.node").of(answers[i].values[0]), requests[i].chip.node);
  }
}

}  // namespace

}  // namespace weft::nic
