#include "network/flit/timing.hpp"

#include <gtest/gtest.h>

#include "network/network.hpp"

namespace weft::network::flit {
namespace {

/// When a packet of one flit arrives, sent at a time from endpoint 0.
Time arrival(const machine::Machine& m, EndpointId to, Time sent) {
  auto network = config::Registry<EngineKind>::find("flit")->make(m, {});
  network->send({.source = 0, .destination = to, .bytes = 1}, sent);
  std::vector<Notice> notices;
  for (;;) {
    notices.clear();
    network->advance(Time{1'000'000'000'000}, notices);
    for (const Notice& notice : notices)
      if (notice.kind == Notice::Kind::Delivered) return notice.at;
    if (notices.empty()) return Time{0};
  }
}

machine::Machine line(const std::string& rate, const std::string& latency, const std::string& length) {
  return machine::build(machine::describe_text(
      "[topology]\nkind = \"mesh\"\ndims = [12]\n[routing]\nkind = \"dimension-order\"\n[router]\nflit = "
      "\"16B\"\n"
      "[cable.default]\nlanes = 1\ncoding = \"none\"\n",
      "test",
      {"cable.default.lane_rate=" + rate, "router.latency=" + latency, "cable.default.length=" + length}));
}

TEST(Timing, APathTakesTheSumOfItsTimes) {
  for (const char* rate : {"1Gbps", "2.5Gbps", "10Gbps", "34Gbps", "100Gbps"})
    for (const char* latency : {"20ns", "50ns", "100.4ns", "133ns"})
      for (const char* length : {"20cm", "2m", "17m"}) {
        machine::Machine m = line(rate, latency, length);
        const Timing timing = timing_of(m);
        const Time hop =
            m.description.router.latency + m.graph->cable_type(0).flight_time(m.graph->cable_length(0));
        // Hops shorter than a cycle take one in the engine; only what lies behind the last router can make
        // that good.
        if (timing.cycle.whole_cycles(hop) < timing.router_cycles()) continue;
        const Time near = arrival(m, 1, Time{0});
        for (EndpointId to : {2u, 5u, 11u}) {
          Time expected = near + hop * static_cast<std::int64_t>(to - 1);
          EXPECT_NEAR(static_cast<double>(arrival(m, to, Time{0}).value), static_cast<double>(expected.value),
                      2)
              << rate << ", " << latency << ", " << length << ", " << to << " cables";
        }
      }
}

TEST(Timing, WhatIsSentBetweenTwoCyclesArrivesSoMuchLater) {
  machine::Machine m = line("10Gbps", "50ns", "2m");  // cycles of 12.8 ns
  const Time zero = arrival(m, 5, Time{0});
  for (std::int64_t sent : {1, 700, 6'400, 12'799, 12'800, 100'001})
    EXPECT_NEAR(static_cast<double>(arrival(m, 5, Time{sent}).value), static_cast<double>(zero.value + sent),
                2);
}

/// The times of all cables and routers from the first router to an endpoint's, the last router's not among
/// them.
Time walk(const machine::Machine& m, EndpointId to) {
  Time sum{0};
  routing::Hop hop{.router = m.graph->endpoint_router(0)};
  hop.target = to;
  routing::Candidates candidates;
  while (hop.router != m.graph->endpoint_router(to)) {
    m.routing->candidates(hop, candidates);
    const topology::PortId out = m.graph->port_begin(hop.router) + candidates[0].port;
    const topology::CableId cable = m.graph->port_cable(out);
    sum = sum + m.description.router.latency +
          m.graph->cable_type(cable).flight_time(m.graph->cable_length(cable));
    const topology::PortId in = m.graph->peer(out);
    hop.router = m.graph->port_router(in);
    hop.in_port = m.graph->port_index(in);
    hop.in_class = candidates[0].channel_class;
  }
  return sum;
}

TEST(Timing, CablesThatDifferAreAddedUpOnTheWay) {
  machine::Machine m = machine::build(machine::describe(
      "dragonfly", {"routing.mode=minimal", "cable.default.length=3.1m", "cable.optical.length=23m",
                    "router.latency=47ns", "topology.groups=5"}));
  const Time here = arrival(m, 1, Time{0});
  ASSERT_EQ(m.graph->endpoint_router(0), m.graph->endpoint_router(1));
  for (EndpointId to = 4; to < m.graph->endpoints(); to += 13)
    EXPECT_NEAR(static_cast<double>(arrival(m, to, Time{0}).value),
                static_cast<double>((here + walk(m, to)).value), 3)
        << "to endpoint " << to;
}

}  // namespace
}  // namespace weft::network::flit
