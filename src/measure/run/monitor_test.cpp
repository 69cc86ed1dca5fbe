#include "measure/run/monitor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::measure {
namespace {

using testing::HasSubstr;

machine::Machine ring(const std::string& more = "") {
  return machine::build(
      machine::describe_text("[topology]\nkind = \"torus\"\ndims = [4]\n[routing]\nkind = "
                             "\"dimension-order\"\n[cable.default]\nlanes = "
                             "8\n" +
                                 more,
                             "test", {}));
}

/// A network of which only ports are seen.
class Seen final : public network::Network {
 public:
  PortState state[64];
  PortState port_state(topology::PortId port) const override { return state[port]; }
  bool idle() const override { return true; }

 private:
  void accept(const network::Packet&, Time) override {}
  void run(Time, std::vector<network::Notice>&) override {}
};

TEST(Monitor, ARoundTakesWhatTheStationsLinkCarries) {
  const machine::Machine m = ring(
      "[management]\nrate = \"1Gbps\"\nlatency = \"5us\"\nrequest = \"125B\"\nheader = \"100B\"\nport_state "
      "= \"50B\"\n");
  const Seen network;
  Monitor monitor(m, network, Time{1});
  const std::int64_t ports = m.graph->port_count(0), answer = (100 + 50 * ports) * 8 * 1000;
  EXPECT_EQ(monitor.round().value, 4 * answer);
  EXPECT_EQ(monitor.period().value, 4 * answer) << "not more often than that";
  EXPECT_EQ(monitor.first().value, 5'000'000 + 1'000'000);
  Time at = monitor.first();
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(at.value, monitor.first().value + i * answer);
    at = monitor.read(at);
  }
  EXPECT_EQ(monitor.rounds(), 2u);
  EXPECT_EQ(Monitor(m, network, Time{1'000'000'000}).period().value, 1'000'000'000);
}

// The station and four routers on a ring of five: two are next to it, two are one further. Nearer ones are
// not read earlier than those asked before them, and no answer overtakes another on the station's link.
TEST(Monitor, TheManagementNetworkHasATopologyOfItsOwn) {
  const machine::Machine m = ring(
      "[management]\nrate = \"1Gbps\"\nlatency = \"5us\"\nrequest = \"125B\"\nheader = \"100B\"\nport_state "
      "= \"50B\"\n[management.topology]\nkind = \"torus\"\ndims = [5]\n");
  const Seen network;
  Monitor monitor(m, network, Time{1});
  const std::int64_t answer = (100 + 50 * std::int64_t{m.graph->port_count(0)}) * 8 * 1000;
  const std::int64_t request = 1'000'000, hop = 5'000'000;
  EXPECT_EQ(monitor.first().value, 2 * hop + request);
  Time at = monitor.first();
  at = monitor.read(at);
  EXPECT_EQ(at.value, answer + 3 * hop + request) << "one switch more";
  at = monitor.read(at);
  EXPECT_EQ(at.value, 2 * answer + 3 * hop + request);
  at = monitor.read(at);
  EXPECT_EQ(at.value, std::max(2 * answer + 3 * hop + request, 3 * answer + 2 * hop + request));
  EXPECT_EQ(monitor.round().value, 4 * answer) << "the station's link carries the same";
}

TEST(Monitor, ATopologyThatDoesNotReachAllIsAnError) {
  const Seen network;
  const machine::Machine m = ring("[management.topology]\nkind = \"torus\"\ndims = [4]\n");
  try {
    Monitor monitor(m, network, Time{1});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("management.topology: has 4 endpoints; the station and every one of the "
                          "machine's 4 routers need one"));
  }
  try {
    ring("[management.topology]\nkind = \"tores\"\n");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("management.topology.kind"));
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'torus'?"));
  }
}

TEST(Monitor, KeepsWhatChangesAndLocatesFaults) {
  const machine::Machine m = ring();
  Seen network;
  for (auto& state : network.state) state.lanes = 8, state.lane_mask = 0xff;
  Monitor monitor(m, network, Time{1'000'000'000});
  Time at = monitor.first();
  const auto round = [&] {
    for (int i = 0; i < 4; ++i) at = monitor.read(at);
  };
  round();
  const std::size_t all = monitor.readings().size();
  EXPECT_EQ(all, m.graph->ports());
  round();
  EXPECT_EQ(monitor.readings().size(), all) << "nothing has changed";
  const topology::CableEnds ends = m.graph->cable_ends(0);
  for (topology::PortId end : {ends.a, ends.b}) {
    network.state[end].lanes = 7;
    network.state[end].lane_mask = 0xdf;
    network.state[end].rate_share = 0.875;
  }
  round();
  EXPECT_EQ(monitor.readings().size(), all + 2);
  ASSERT_EQ(monitor.alarms().size(), 1u) << "one cable, seen from both ends";
  EXPECT_THAT(monitor.in_words(monitor.alarms()[0]),
              HasSubstr("it goes on without lane 5 of 8, at 88% of its rate"));
  EXPECT_THAT(monitor.in_words(monitor.alarms()[0]), HasSubstr("since 2.0"));
  EXPECT_GT(monitor.alarms()[0].seen, monitor.alarms()[0].since);
  for (topology::PortId end : {ends.a, ends.b})
    network.state[end].up = false, network.state[end].rate_share = 0;
  round();
  for (topology::PortId end : {ends.a, ends.b}) {
    network.state[end] = {};
    network.state[end].lanes = 8;
    network.state[end].lane_mask = 0xff;
  }
  round();
  ASSERT_EQ(monitor.alarms().size(), 3u);
  EXPECT_EQ(monitor.alarms()[1].what, "is down");
  EXPECT_EQ(monitor.alarms()[2].what, "is whole again");
  EXPECT_THAT(monitor.csv(), HasSubstr(",7,0.875,"));
}

}  // namespace
}  // namespace weft::measure
