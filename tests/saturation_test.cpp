// What routings carry beyond saturation, with buffers longer than any credit round trip: accepted flits per
// endpoint and cycle after a warm-up of many transit times.
#include <gtest/gtest.h>

#include "machine/machine.hpp"
#include "network/flit/engine.hpp"
#include "workload/synthetic.hpp"

namespace weft::test {
namespace {

using Settings = std::vector<std::string>;

struct Count final : network::Observer {
  void delivered(const network::Delivery& d) override { flits += d.flits; }
  std::uint64_t flits = 0;
};

double accepted(const std::string& profile, Settings settings, const std::string& pattern = "uniform") {
  settings.push_back("router.buffer_flits=512");
  machine::Machine m = machine::build(machine::describe(profile, settings));
  workload::Workload workload = workload::read_workload({pattern, "bernoulli", "4", {}, {}});
  workload::Members members(*m.graph, *m.faults);
  auto who = workload.pattern->make(workload.pattern_parameters.get(), {members, 1});
  network::flit::Engine engine(*m.graph, *m.routing, network::flit::settings_for(m, 4));
  workload::SyntheticTraffic traffic(workload, members, *who, 0.8);
  Count count;
  const network::Cycle warm_up = 8000, cycles = 2000;
  engine.run(traffic, {&count}, warm_up);
  std::uint64_t before = count.flits;
  engine.run(traffic, {&count}, warm_up + cycles);
  EXPECT_FALSE(engine.stalled());
  return static_cast<double>(count.flits - before) / static_cast<double>(cycles * members.count());
}

const Settings kSmallDragonfly{"topology.routers_per_group=4", "topology.endpoints_per_router=2",
                               "topology.global_cables_per_router=2"};

// Credits owed for a long cable are no queue: plain counts sent packets round by a third group for nothing.
TEST(Saturation, UgalGoesStraightUnderUniformTraffic) {
  EXPECT_GT(accepted("dragonfly", kSmallDragonfly), 0.62);
}

// Direct packets alone would get an eighth; those that wait for the one cable must not hold up the others.
TEST(Saturation, UgalGoesRoundWhenAGroupSendsToTheNext) {
  EXPECT_GT(accepted("dragonfly", kSmallDragonfly, "group-shift"), 0.40);
}

TEST(Saturation, ATreeUsesAllItsCables) {
  EXPECT_GT(
      accepted("fat-tree", {"topology.children=[4,4,4]", "topology.parents=[1,4,4]", "routing.candidates=2"}),
      0.6);
}

TEST(Saturation, ARandomGraphCarriesMoreThanItsRootWould) {
  EXPECT_GT(accepted("jellyfish", {"topology.routers=64"}), 0.62);
}

}  // namespace
}  // namespace weft::test
