#include "machine/own_system.hpp"

#include <gtest/gtest.h>

namespace weft::machine {
namespace {

TEST(OwnSystem, AnAcceleratorIsItsNodesProcessorBehindItsLink) {
  const Description d = describe(
      "deep-booster",
      {"node.device.knc.nodes=[1,2]", "node.device.knc.peer_rate=16Gbps", "node.device.knc.peer_reads=7"});
  EXPECT_EQ(own_system_of(d, 0), nullptr);
  ASSERT_NE(own_system_of(d, 2), nullptr);
  EXPECT_EQ(own_system_of(d, 2)->name, "knc");
  const node::BusParameters bus = d.host.bus_parameters();
  const node::BusParameters server = bus_of(d, d.host, 0), accelerator = bus_of(d, d.host, 2);
  EXPECT_EQ(server.rate.value, bus.rate.value);
  EXPECT_EQ(server.read_latency.value, bus.read_latency.value);
  EXPECT_EQ(accelerator.rate.value, 16'000'000'000);
  EXPECT_EQ(accelerator.tags, 7u);
  EXPECT_EQ(accelerator.read_request.value, 256);
  EXPECT_EQ(accelerator.read_latency.value, 700'000);
  EXPECT_EQ(accelerator.write_latency.value, 400'000);
  // A link that is wider than the bus is no wider than the bus.
  const Description wide = describe("deep-booster", {"node.device.knc.peer_rate=1Tbps"});
  EXPECT_EQ(bus_of(wide, wide.host, 0).rate.value, wide.host.bus_parameters().rate.value);
  const Description none = describe("deep-booster", {"node.device.knc.os=none"});
  EXPECT_EQ(own_system_of(none, 2), nullptr);
  EXPECT_EQ(bus_of(none, none.host, 2).read_latency.value, none.host.bus_parameters().read_latency.value);
}

TEST(OwnSystem, WorkPerCycleIsAsGoodAsAClock) {
  const std::vector<std::string> common{"host.post_cost=100ns", "mpi.send_cost=1us",
                                        "processor.nominal_clock=2GHz"};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), common.begin(), common.end());
    return describe("torus", more);
  };
  const Description half = with({"processor.clock=1GHz"}),
                    same = with({"processor.clock=4GHz", "processor.work_per_cycle=0.25"});
  EXPECT_EQ(half.host.post_cost.value, 200'000);
  EXPECT_EQ(same.host.post_cost.value, half.host.post_cost.value);
  EXPECT_EQ(same.mpi.send_cost.value, half.mpi.send_cost.value);
  const Description some =
      with({"processor.clock=2GHz", "processor.slow.nodes=[3]", "processor.slow.work_per_cycle=0.5"});
  EXPECT_DOUBLE_EQ(some.slowness_of(3), 2);
  EXPECT_DOUBLE_EQ(some.slowness_of(2), 1);
}

}  // namespace
}  // namespace weft::machine
