#include "machine/networks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/joined.hpp"
#include "routing/verify.hpp"

namespace weft::machine {
namespace {

using testing::HasSubstr;

const char* kTwo = R"([network.a]
nodes = "0-3"
[network.a.topology]
kind = "torus"
dims = [4]
[network.a.routing]
kind = "dimension-order"
[network.b]
nodes = "3-6"
[network.b.topology]
kind = "torus"
dims = [4]
[network.b.routing]
kind = "dimension-order"
[network.b.cable.default]
lane_rate = "1Gbps"
[network.b.nic]
payload = "64B"
send_latency = "70ns"
[gateway]
nodes = "3"
)";

std::string errors_of(const std::string& text, const std::vector<std::string>& settings = {}) {
  try {
    describe_text(text, "test", settings);
  } catch (const UserError& error) {
    std::string out;
    for (const Diagnostic& d : error.diagnostics()) out += d.text() + "\n";
    return out;
  }
  return "";
}

TEST(Networks, EachIsAMachineAndTheWholeHasTheRoutersOfAll) {
  const Machine m =
      build(describe_text(kTwo, "test", {"network.a.topology.dims=[4,2]", "network.a.nodes=0-2,3"}));
  const Joined& parts = *joined(m);
  EXPECT_EQ(m.graph->endpoints(), 7u);
  EXPECT_EQ(m.graph->routers(), 12u);
  EXPECT_EQ(parts.parts()[1].first_router, 8u);
  EXPECT_EQ(m.graph->endpoint_router(3), 3u) << "a node on both is at home on the first";
  EXPECT_EQ(m.graph->endpoint_router(4), 9u);
  EXPECT_THAT(m.graph->router_name(9), HasSubstr("b (1)"));
  for (const JoinedPart& part : parts.parts())
    for (topology::PortId p = 0; p < part.machine.graph->ports(); ++p) {
      const topology::PortId peer = part.machine.graph->peer(p), whole = m.graph->peer(part.first_port + p);
      EXPECT_EQ(whole, peer == topology::kNone ? peer : part.first_port + peer);
    }
  // What is the machine's, and what is a network's own.
  EXPECT_EQ(parts.parts()[0].machine.description.nic.send_latency.value, NicParameters().send_latency.value);
  EXPECT_EQ(parts.parts()[1].machine.description.nic.send_latency.value, 70'000);
  EXPECT_EQ(m.description.nic.payload.value, 64) << "what all may count on";
}

TEST(Networks, WaysAreOneNetworkOrTwoAndAGateway) {
  const Machine m = build(describe_text(kTwo, "test", {}));
  const Joined& parts = *joined(m);
  EXPECT_EQ(parts.way(0, 2, 100).gateway, topology::kNone);
  EXPECT_EQ(parts.way(3, 5, 100).first, 1u) << "a gateway's own packets go by the network of who hears";
  const Way way = parts.way(0, 5, 100);
  EXPECT_EQ(way.first, 0u);
  EXPECT_EQ(way.second, 1u);
  EXPECT_EQ(way.gateway, 0u);
  // The routing of the whole brings a packet for elsewhere to the gateway.
  routing::Candidates out;
  routing::Hop hop{0};
  hop.target = 5;
  parts.candidates(hop, out);
  ASSERT_EQ(out.size(), 1u);
  hop.router = 5;
  hop.target = 0;
  parts.candidates(hop, out);
  EXPECT_EQ(out.size(), 1u);
}

TEST(Networks, OneOfThemIsAMachineByItsName) {
  const Description d = describe_text(kTwo, "test", {});
  const Machine b = build(one_network(d, "b"));
  EXPECT_EQ(b.graph->endpoints(), 4u);
  EXPECT_EQ(b.graph->cable_types()[0].rate().value, 3'200'000'000);
  EXPECT_EQ(b.description.nic.payload.value, 64);
  EXPECT_THROW(one_network(d, "c"), UserError);
  EXPECT_THROW(refuse_networks(d, "weft traffic"), UserError);
  EXPECT_NO_THROW(refuse_networks(b.description, "weft traffic"));
}

TEST(Networks, EveryMistakeIsToldAtOnce) {
  const std::string wrong = errors_of(std::string(kTwo) + R"(
latency = "0s"
lateny = "1us"
[topology]
kind = "torus"
[network.c]
nods = "7"
[network.c.topology]
kind = "toru"
[network.c.routing]
kind = "dimension-order"
[network.c.nic]
ports = 3
)");
  for (const char* part : {"gateway.latency", "lateny", "topology", "network.c.nods", "'nodes'",
                           "network.c.topology.kind", "torus", "network.c.nic.ports", "belongs in [nic]"})
    EXPECT_THAT(wrong, HasSubstr(part));
  EXPECT_THAT(errors_of(kTwo, {"network.b.nodes=3,3-5"}), HasSubstr("names node 3 twice"));
  EXPECT_THAT(errors_of(kTwo, {"network.b.nodes=3,5-8"}), HasSubstr("names 5 nodes"));
  EXPECT_THAT(errors_of(kTwo, {"network.b.nodes=3,5-7"}), HasSubstr("no network has node 4"));
  EXPECT_THAT(errors_of(kTwo, {"network.b.nodes=5-3"}), HasSubstr("expected nodes such as"));
  EXPECT_THAT(errors_of(kTwo, {"gateway.nodes=\"2\""}), HasSubstr("node 2 is on a alone"));
  EXPECT_THAT(errors_of(kTwo, {"gateway.nodes=\"9\""}), HasSubstr("there is no node 9"));
  EXPECT_THAT(errors_of(kTwo, {"gateway.nodes="}), HasSubstr("no gateway joins a (node 0) and b (node 4)"));
  EXPECT_THAT(errors_of(kTwo, {"network.b.up_to=64B"}), HasSubstr("is on b alone"));
  EXPECT_THAT(errors_of(kTwo, {"network.b.router.class_weights=[1,1]"}), HasSubstr("class_weights"));
  EXPECT_THAT(errors_of("[gateway]\nnodes = \"1\"\n[topology]\nkind = \"torus\"\n[routing]\nkind = "
                        "\"dimension-order\"\n"),
              HasSubstr("this machine has no [network.NAME]"));
  EXPECT_EQ(errors_of(kTwo), "");
}

TEST(Networks, NodesOfARouterFollowEachOther) {
  const Description d =
      describe_text(kTwo, "test",
                    {"network.a.topology.dims=[2]", "network.a.topology.endpoints_per_router=2",
                     "network.a.nodes=0,2,1,3"});
  EXPECT_THROW(build(d), UserError);
}

TEST(Networks, DeepIsAClusterAndABoosterWithInterfacesBetween) {
  const Machine m = build(describe("deep", {}));
  const Joined& parts = *joined(m);
  ASSERT_EQ(parts.parts().size(), 2u);
  EXPECT_EQ(parts.gateways(), (std::vector<topology::EndpointId>{16, 17, 18, 19}));
  const Description &cluster = parts.parts()[0].machine.description,
                    &booster = parts.parts()[1].machine.description;
  const Description qdr = describe("infiniband-qdr", {}), extoll = describe("deep-booster", {});
  EXPECT_EQ(cluster.cables[0].rate().value, qdr.cables[0].rate().value);
  EXPECT_EQ(cluster.nic.occupancy.value, qdr.nic.occupancy.value);
  EXPECT_EQ(cluster.nic.payload.value, qdr.nic.payload.value);
  EXPECT_EQ(cluster.host.write_latency.value, qdr.host.write_latency.value);
  EXPECT_EQ(booster.cables[0].rate().value, extoll.cables[0].rate().value);
  EXPECT_EQ(booster.nic.send_latency.value, extoll.nic.send_latency.value);
  EXPECT_EQ(booster.router.channels, extoll.router.channels);
  EXPECT_EQ(booster.host.bus, extoll.host.bus);
  EXPECT_EQ(booster.nic.ports, cluster.nic.ports) << "programs see one interface";
  // Pairs take the gateways in equal shares.
  std::vector<unsigned> pairs(4);
  for (topology::EndpointId from = 0; from < 16; ++from)
    for (topology::EndpointId to = 20; to < 52; ++to) ++pairs[parts.way(from, to, 64).gateway];
  EXPECT_EQ(pairs, (std::vector<unsigned>{128, 128, 128, 128}));
}

TEST(Networks, FaultsOfANetworkAreFaultsOfTheWhole) {
  const Machine m = build(describe_text(
      kTwo, "test", {"network.b.faults.dead_cables=[\"r1.p0\"]", "network.b.routing.kind=shortest-path"}));
  EXPECT_TRUE(m.faults->any());
  const JoinedPart& b = joined(m)->parts()[1];
  EXPECT_TRUE(m.faults->cable_dead(m.graph->port_cable(b.first_port + b.machine.graph->port(1, 0))));
}

}  // namespace
}  // namespace weft::machine
