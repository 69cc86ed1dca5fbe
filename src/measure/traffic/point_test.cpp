#include "measure/traffic/point.hpp"

#include <gtest/gtest.h>

#include "measure/traffic/sweep.hpp"
#include "network/flit/engine.hpp"

namespace weft::measure {
namespace {

TrafficPoint measured(const std::vector<std::string>& settings, double load, const std::string& packet = "4",
                      unsigned threads = 1) {
  machine::Machine m = machine::build(machine::describe("torus", settings));
  workload::WorkloadText text;
  text.packet = packet;
  SweepOptions how;
  how.loads = {load};
  how.threads = threads;
  return sweep(m, workload::read_workload(text), how).points.front();
}

TEST(Point, NoFigureComesFromLessThanATransit) {
  // 300 m of cable: a hop takes 250 cycles, and a window of 10,000 packets would be shorter than a path.
  for (double load : {0.005, 0.3, 0.9}) {
    TrafficPoint p = measured({"topology.dims=[6,6]", "cable.default.length=300m"}, load);
    ASSERT_TRUE(p.unmeasured.empty()) << p.unmeasured;
    EXPECT_GT(static_cast<double>(p.warmup_cycles), p.network.mean) << "at load " << load;
    EXPECT_GT(static_cast<double>(p.measured_cycles), (p.saturated ? 1 : 4) * p.network.mean)
        << "at load " << load;
    EXPECT_GT(p.network.mean, 700);
    if (!p.saturated) EXPECT_NEAR(p.accepted, load, 0.03 * load);
  }
}

TEST(Point, PastSaturationLatencyIsGrowingAndSourcesMakeWhatTheyWereAskedFor) {
  TrafficPoint p = measured({"topology.dims=[4,4]", "router.buffer_flits=8"}, 1);
  EXPECT_TRUE(p.saturated);
  EXPECT_TRUE(p.packet.growing);
  EXPECT_NEAR(p.generated, 1, 0.01) << "sources make what they were asked for";
  EXPECT_LT(p.accepted, 0.95);
}

TEST(Point, PastSaturationBuffersAreFullOrSaidToFill) {
  TrafficPoint p = measured({"topology.dims=[4,4]", "router.buffer_flits=64"}, 1);
  EXPECT_TRUE(p.saturated);
  EXPECT_FALSE(p.filling);
  EXPECT_LT(p.injected, 1.03 * p.accepted);
  EXPECT_GT(p.generated, 1.03 * p.injected) << "packets wait at their sources";
}

TEST(Point, QueuesOfSourcesAreFinite) {
  // Buffers of a packet each: deep in saturation. Made is taken and refused, and what waits is bounded.
  machine::Machine m =
      machine::build(machine::describe("torus", {"topology.dims=[2,2]", "router.buffer_flits=4"}));
  workload::WorkloadText text;
  text.packet = "4";
  workload::Workload w = workload::read_workload(text);
  auto settings = network::flit::settings_for(m, 4);
  settings.source_queue = 10;
  network::flit::Engine engine(*m.graph, *m.routing, settings);
  workload::Members members(*m.graph, *m.faults);
  auto pattern = w.pattern->make(w.pattern_parameters.get(), {members, w.seed});
  workload::SyntheticTraffic traffic(w, members, *pattern, 1);
  class Ignore : public network::Observer {
    void delivered(const network::Delivery&) override {}
  } ignore;
  engine.run(traffic, {&ignore}, 20'000);
  auto c = engine.counters();
  EXPECT_GT(c.packets_refused, 0u);
  EXPECT_EQ(c.flits_refused, 4 * c.packets_refused);
  EXPECT_EQ(traffic.flits_made(), 4 * (c.packets_created + c.packets_refused));
  std::uint64_t ports = m.graph->ports(), channels = settings.all_channels();
  EXPECT_LE(engine.counters().packets_in_network(), 4 * (10 + 1) + ports * channels)
      << "queues, and a packet in each buffer";
  engine.check_conservation();
}

TEST(Point, IsTheSameWithAnyNumberOfThreads) {
  for (double load : {0.2, 0.9}) {
    TrafficPoint one = measured({"topology.dims=[4,4]", "router.buffer_flits=16"}, load, "4", 1);
    TrafficPoint three = measured({"topology.dims=[4,4]", "router.buffer_flits=16"}, load, "4", 3);
    EXPECT_EQ(one.accepted, three.accepted);
    EXPECT_EQ(one.refused, three.refused);
    EXPECT_EQ(one.packet.histogram, three.packet.histogram);
  }
}

}  // namespace
}  // namespace weft::measure
