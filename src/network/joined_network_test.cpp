// Several networks as one: each tells what it tells alone, and what goes through a gateway takes the time of
// its parts, at the rate of the slowest of them, without loss or overflow.
#include "network/joined_network.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.hpp"
#include "machine/machine.hpp"

namespace weft::network {
namespace {

const EngineKind& kind(const std::string& name) { return *config::Registry<EngineKind>::find(name); }

machine::Machine torus(const char* dims, const char* lanes) {
  return machine::build(machine::describe(
      "torus", {std::string("topology.dims=") + dims, std::string("cable.default.lanes=") + lanes}));
}

struct Sent {
  Packet packet;
  Time at;
};

using Told = std::map<std::pair<Tag, int>, Time>;
constexpr int kDeparted = 0, kDelivered = 1, kLost = 2;

/// All that is told, by tag and kind; packets are sent when their time has come.
Told told(Network& network, const std::vector<Sent>& all) {
  Told out;
  std::vector<Notice> notices;
  network.set_reaction_time(Time{50'000});
  Time last{0};
  auto hear = [&](Time until) {
    for (std::size_t before = ~std::size_t{0}; before != out.size();) {
      before = out.size();
      notices.clear();
      network.advance(until, notices);
      for (const Notice& n : notices) {
        EXPECT_GE(n.at, last) << "notices come in the order of their times";
        last = n.at;
        EXPECT_LE(n.at, until);
        EXPECT_TRUE(out.emplace(std::pair(n.tag, static_cast<int>(n.kind)), n.at).second) << "told twice";
      }
    }
  };
  for (const Sent& s : all) {
    hear(s.at);
    last = s.at;
    network.send(s.packet, s.at);
  }
  hear(Time{1'000'000'000'000});
  EXPECT_TRUE(network.idle());
  return out;
}

std::vector<Sent> workload(std::uint64_t seed, unsigned nodes, unsigned packets, std::uint64_t apart_ps) {
  std::vector<Sent> out;
  std::uint64_t step = 0;
  auto draw = [&](std::uint32_t below) { return random_below(seed, 5, step++, below); };
  Time at{0};
  for (Tag tag = 0; tag < packets; ++tag) {
    at = Time{at.value + draw(static_cast<std::uint32_t>(apart_ps))};
    const EndpointId from = draw(nodes), to = (from + 1 + draw(nodes - 1)) % nodes;
    out.push_back({{from, to, 64 + draw(200), 0, tag}, at});
  }
  return out;
}

TEST(JoinedNetwork, EachTellsWhatItTellsAlone) {
  machine::Machine wide = torus("[4,2,2]", "8"), narrow = torus("[16]", "1");
  for (const char* name : {"ideal", "flow", "flit"})
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      std::vector<Sent> all = workload(seed, 16, 120, 400'000), data, control;
      for (Sent& s : all) {
        const bool apart = random_below(seed, 6, s.packet.tag, 2);
        (apart ? control : data).push_back(s);
        if (apart) s.packet.message_class = JoinedNetwork::kControl;
      }
      std::vector<std::unique_ptr<Network>> first;
      first.push_back(kind(name).make(wide, {}));
      JoinedNetwork two(wide, std::move(first), kind(name).make(narrow, {}));
      const Told together = told(two, all);
      Told alone = told(*kind(name).make(wide, {}), data);
      alone.merge(told(*kind(name).make(narrow, {}), control));
      EXPECT_EQ(together, alone) << name << ", seed " << seed;
    }
}

/// Two rings of unlike cables: nodes 0-2 on one, 3-5 on the other, 6 and 7 on both.
machine::Machine rings(const std::vector<std::string>& more = {}) {
  std::string text;
  for (const auto& [name, nodes, rate] :
       {std::tuple("a", "0-2,6,7", "8Gbps"), std::tuple("b", "7,3-5,6", "2Gbps")})
    text += fmt::format(
        "[network.{0}]\nnodes = \"{1}\"\n[network.{0}.topology]\nkind = \"torus\"\ndims = [5]\n"
        "[network.{0}.routing]\nkind = \"dimension-order\"\n[network.{0}.router]\nchannels = 4\n"
        "[network.{0}.cable.default]\nlane_rate = \"{2}\"\n",
        name, nodes, rate);
  text +=
      "[network.a.nic]\nheader = \"32B\"\n[network.b.nic]\nheader = \"16B\"\n"
      "[gateway]\nnodes = \"6,7\"\nlatency = \"700ns\"\noccupancy = \"90ns\"\nrate = \"16Gbps\"\n";
  return machine::build(machine::describe_text(text, "test", more));
}

std::unique_ptr<JoinedNetwork> joined(const char* engine, const machine::Machine& m,
                                      const EngineOptions& options = {}) {
  auto network = make_network(kind(engine), m, options);
  return std::unique_ptr<JoinedNetwork>(dynamic_cast<JoinedNetwork*>(network.release()));
}

/// When a packet that is alone in a network arrives.
Time alone(const char* engine, const machine::Machine& m, EndpointId from, EndpointId to, std::uint64_t bytes,
           Time at = Time{0}) {
  auto network = kind(engine).make(m, {});
  return told(*network, {{{from, to, bytes, 0, 1}, at}}).at({1, kDelivered});
}

TEST(JoinedNetwork, LatencyThroughAGatewayIsTheSumOfItsParts) {
  const machine::Machine m = rings();
  const machine::Joined& parts = *machine::joined(m);
  for (const char* engine : {"ideal", "flow", "flit"})
    for (EndpointId from : {0u, 1u, 2u})
      for (EndpointId to : {3u, 4u, 5u})
        for (std::uint64_t bytes : {40u, 100u, 288u})
          for (bool back : {false, true}) {
            const EndpointId source = back ? to : from, goal = back ? from : to;
            const machine::Way way = parts.way(source, goal, bytes);
            const machine::JoinedPart &a = parts.parts()[way.first], &b = parts.parts()[way.second];
            const EndpointId gateway = parts.gateways()[way.gateway];
            EXPECT_EQ(way.gateway, (from + to) % 2) << "gateways in turn, by the pair";
            // Its header there is that of that network's packets.
            const std::uint64_t there = back ? bytes + 16 : bytes - 16;
            const Time first = alone(engine, a.machine, a.endpoint_of[source], a.endpoint_of[gateway], bytes);
            const Time sent_on = first + Time{90'000} + transfer_time(bytes, 16'000'000'000) + Time{700'000};
            const Time expected =
                alone(engine, b.machine, b.endpoint_of[gateway], b.endpoint_of[goal], there, sent_on);
            const Told both = told(*joined(engine, m), {{{source, goal, bytes, 0, 1}, Time{0}}});
            EXPECT_EQ(both.at({1, kDelivered}), expected) << engine << " " << source << " -> " << goal;
            EXPECT_TRUE(both.contains({1, kDeparted}));
          }
}

/// Packets of 272 B in a stream from node 0 to node 3, in bytes a second.
double stream_rate(const machine::Machine& m, const char* engine, unsigned packets = 1000) {
  std::vector<Sent> all;
  for (Tag tag = 0; tag < packets; ++tag) all.push_back({{0, 3, 272, 0, tag}, Time{0}});
  const Told told_all = told(*joined(engine, m), all);
  // Without the way of the first and the last.
  const double first = static_cast<double>(told_all.at({packets / 4, kDelivered}).value),
               last = static_cast<double>(told_all.at({packets - 1, kDelivered}).value);
  return 272.0 * (packets - 1 - packets / 4) / ((last - first) * 1e-12);
}

TEST(JoinedNetwork, BandwidthIsThatOfTheSlowestPart) {
  struct Case {
    const char* what;
    std::vector<std::string> settings;
    double bytes_per_second;  // of packets of 272 B, 256 B of them on network b
  };
  // Lanes: four of 8b10b.
  const Case cases[] = {
      {"network b", {}, 4 * 2e9 * 0.8 / 8 * 272 / 256},
      {"network a", {"network.a.cable.default.lane_rate=1Gbps"}, 4 * 1e9 * 0.8 / 8},
      {"forwarding of a packet", {"gateway.occupancy=600ns"}, 272 / (600e-9 + 272 * 8 / 16e9)},
      {"copying in the gateway", {"gateway.rate=3Gbps"}, 272 / (90e-9 + 272 * 8 / 3e9)},
  };
  for (const Case& c : cases)
    for (const char* engine : {"ideal", "flow", "flit"}) {
      std::vector<std::string> settings = c.settings;
      settings.push_back("gateway.window=64");
      const double rate = stream_rate(rings(settings), engine);
      EXPECT_NEAR(rate / c.bytes_per_second, 1, 0.03) << c.what << ", " << engine;
    }
}

// With room for one packet the next waits for the credit of the one before: from its being sent to the
// credit's being there, and what a sender then takes.
TEST(JoinedNetwork, AWindowOfOneGoesByTheRoundTrip) {
  const machine::Machine m = rings({"gateway.window=1", "gateway.credit=40B"});
  const machine::Joined& parts = *machine::joined(m);
  const machine::JoinedPart &a = parts.parts()[0], &b = parts.parts()[1];
  const EndpointId gateway = parts.gateways()[parts.way(0, 3, 272).gateway];
  const Time there = alone("ideal", a.machine, a.endpoint_of[0], a.endpoint_of[gateway], 272);
  const Time on = Time{90'000} + transfer_time(272, 16'000'000'000) + Time{700'000};
  const Time left = told(*kind("ideal").make(b.machine, {}),
                         {{{b.endpoint_of[gateway], b.endpoint_of[3], 256, 0, 1}, Time{0}}})
                        .at({1, kDeparted});
  const Time credit = alone("ideal", a.machine, a.endpoint_of[gateway], a.endpoint_of[0], 40);
  const double turn = static_cast<double>(
      (there + on + left + Time{700'000} + credit + m.description.nic.send_latency).value);
  EXPECT_NEAR(stream_rate(m, "ideal", 200) / (272 / (turn * 1e-12)), 1, 1e-3);
}

TEST(JoinedNetwork, AGatewayHoldsNoMoreThanItsSendersMayPutThere) {
  for (unsigned window : {1u, 3u, 16u}) {
    const machine::Machine m = rings({fmt::format("gateway.window={}", window), "gateway.share=destination",
                                      "network.b.cable.default.lane_rate=500Mbps"});
    auto network = joined("flit", m);
    std::vector<Sent> all;
    for (Tag tag = 0; tag < 600; ++tag)
      all.push_back({{static_cast<EndpointId>(tag % 3), 4, 272, 0, tag}, Time{0}});
    const Told heard = told(*network, all);
    EXPECT_EQ(heard.size(), 2u * 600);
    const JoinedNetwork::GatewayState& g = network->gateways()[0];
    EXPECT_EQ(g.packets, 600u) << "all to one destination by one gateway";
    // Three senders: as full as it gets while half a window of credits is on its way, and no fuller.
    EXPECT_LE(g.most_held, std::uint64_t{3} * window * 272);
    EXPECT_GE(g.most_held, std::uint64_t{3} * window * 272 * 9 / 10);
    EXPECT_EQ(g.waited, 600u - 3 * window);
    EXPECT_EQ(g.held, 0u);
  }
}

TEST(JoinedNetwork, RandomPacketsArriveOnceWithBitErrorsAndCutCables) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const machine::Machine m =
        rings({"network.a.cable.default.bit_error_rate=1e-5", "network.b.cable.default.bit_error_rate=1e-5",
               fmt::format("gateway.window={}", 1 + seed % 4)});
    const std::vector<Sent> all = workload(seed, 8, 300, 120'000);
    const char* faults = "at 2us cut r1.p1; at 9us cut r7.p0; at 20us restore r1.p1";
    EngineOptions options{seed, 1, link::read_faults(faults, *m.graph)};
    auto network = joined("flit", m, options);
    const Told once = told(*network, all);
    for (const Sent& s : all) {
      EXPECT_TRUE(once.contains({s.packet.tag, kDelivered}))
          << "seed " << seed << ", packet " << s.packet.tag;
      EXPECT_FALSE(once.contains({s.packet.tag, kLost}));
    }
    EXPECT_FALSE(network->incidents().empty());
    std::uint64_t sent_again = 0;
    for (topology::PortId p = 0; p < m.graph->ports(); ++p) sent_again += network->port_state(p).sent_again;
    EXPECT_GT(sent_again, 0u);
    EXPECT_EQ(told(*joined("flit", m, options), all), once) << "twice the same";
    options.threads = 2;
    EXPECT_EQ(told(*joined("flit", m, options), all), once) << "with two threads the same";
  }
}

// Every node asks every other at once, answers are sent as soon as they are asked for, gateways have room for
// one packet of each node and routers for hardly more than one: whatever waits for whom, all arrive.
TEST(JoinedNetwork, RequestsAndAnswersThroughFullGatewaysAllArrive) {
  for (const char* share : {"pair", "source", "destination"}) {
    const machine::Machine m = rings({"gateway.window=1", std::string("gateway.share=") + share,
                                      "network.a.router.buffer_flits=24", "network.b.router.buffer_flits=24",
                                      "network.b.router.channels=2", "network.a.router.channels=2"});
    auto network = joined("flit", m);
    constexpr Time kReaction{50'000};
    network->set_reaction_time(kReaction);
    constexpr Tag kAnswer = 1 << 20;
    std::vector<Packet> asked;
    for (unsigned round = 0; round < 8; ++round)
      for (EndpointId from = 0; from < 8; ++from)
        for (EndpointId to = 0; to < 8; ++to)
          if (from != to) asked.push_back({from, to, 272, 0, asked.size()});
    for (const Packet& packet : asked) network->send(packet, Time{0});
    std::set<Tag> arrived;
    std::vector<Notice> notices;
    while (!network->idle()) {
      notices.clear();
      network->advance(Time{1'000'000'000'000}, notices);
      for (const Notice& n : notices) {
        if (n.kind != Notice::Kind::Delivered) continue;
        EXPECT_TRUE(arrived.insert(n.tag).second);
        if (n.tag & kAnswer) continue;
        const Packet& of = asked[n.tag];
        network->send({of.destination, of.source, 272, 0, n.tag | kAnswer}, n.at + kReaction);
      }
      ASSERT_FALSE(notices.empty());
    }
    EXPECT_EQ(arrived.size(), 2 * asked.size()) << share;
  }
}

// One network of a gateway is cut off: what was on its way there is lost and told so, what comes after takes
// the other gateway.
TEST(JoinedNetwork, AnotherGatewayTakesOverWhereOneIsCutOff) {
  const machine::Machine m = rings();
  const machine::Joined& parts = *machine::joined(m);
  ASSERT_EQ(parts.gateways()[parts.way(0, 4, 100).gateway], 6u);
  // Node 6 is at router 4 of the second ring: r9 of all.
  EngineOptions options{1, 1, link::read_faults("at 1us kill router 9", *m.graph)};
  std::vector<Sent> all;
  for (Tag tag = 0; tag < 20; ++tag)
    all.push_back({{0, 4, 100, 0, tag}, Time{static_cast<std::int64_t>(50'000'000 + tag * 30'000'000)}});
  auto network = joined("flit", m, options);
  const Told heard = told(*network, all);
  EXPECT_TRUE(heard.contains({0, kLost}));
  for (Tag tag = 1; tag < 20; ++tag) EXPECT_TRUE(heard.contains({tag, kDelivered})) << tag;
  EXPECT_EQ(network->gateways()[1].packets, 19u);
}

// Nodes on both: small packets by the one, the others by the other, and no node's wait for each other's.
TEST(JoinedNetwork, SizesChooseBetweenTwoNetworksOfTheSameNodes) {
  const machine::Machine m = machine::build(machine::describe("exanest-qfdb", {}));
  auto network = joined("flit", m);
  std::vector<Sent> all;
  for (Tag tag = 0; tag < 40; ++tag)
    all.push_back({{0, 1, tag % 2 ? 192u : 193u, 0, tag}, Time{static_cast<std::int64_t>(tag * 1'000'000)}});
  const Told heard = told(*network, all);
  const machine::Joined& parts = *machine::joined(m);
  for (std::size_t p = 0; p < 2; ++p) {
    const machine::JoinedPart& part = parts.parts()[p];
    const Time one = alone("flit", part.machine, 0, 1, p == 0 ? 192 : 193);
    for (Tag tag = p == 0; tag < 40; tag += 2)
      // A cycle is no whole number of picoseconds.
      EXPECT_NEAR(static_cast<double>((heard.at({tag, kDelivered}) - one).value),
                  static_cast<double>(tag) * 1e6, 1);
    std::uint64_t flits = 0;
    for (topology::PortId port = 0; port < part.machine.graph->ports(); ++port)
      if (part.machine.graph->peer(port) != topology::kNone)
        flits += network->port_state(part.first_port + port).sent;
    const auto flit = static_cast<std::uint64_t>(part.machine.description.router.flit.value);
    EXPECT_EQ(flits, 20 * (((p == 0 ? 192 : 193) + flit - 1) / flit)) << "by " << part.name;
  }
}

}  // namespace
}  // namespace weft::network
