// Figures move with the parameters they follow from, by as much as they should, and with no others. Every
// predicted figure is among those that must move: one that does not is a copy of an input.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "measure/validate/figure.hpp"

namespace weft::measure {
namespace {

struct Effect {
  std::string figure;  // "V-TH2-03 5 hops"
  enum class Kind { Plus, Times, Stays } kind;
  double value, within;
};
Effect plus(std::string figure, double value, double within = 1) {
  return {std::move(figure), Effect::Kind::Plus, value, within};
}
Effect times(std::string figure, double value, double within = 0.01) {
  return {std::move(figure), Effect::Kind::Times, value, within};
}
Effect stays(std::string figure, double within = 1e-9) {
  return {std::move(figure), Effect::Kind::Stays, 0, within};
}
/// Would the figure fail the check if it stayed where it is?
bool must_move(const Effect& e) {
  if (e.kind == Effect::Kind::Stays) return false;
  return std::abs(e.value - (e.kind == Effect::Kind::Times ? 1 : 0)) > e.within;
}

struct Perturbation {
  std::string machine, setting;
  std::vector<Effect> effects;
};

const std::vector<Perturbation>& perturbations() {
  static const std::vector<Perturbation> all{
      // 100 ns more in each router that is crossed.
      {"tianhe2",
       "router.latency=200.4ns",
       {plus("V-TH2-01", 100), plus("V-TH2-02", 100), plus("V-TH2-03 3 hops", 300),
        plus("V-TH2-03 5 hops", 500), plus("V-TH2-03 7 hops", 700), plus("V-TH2-03 9 hops", 900),
        plus("V-TH2-04", 100), times("V-TH2-11 permutation", 0.78, 0.05), stays("V-TH2-14")}},
      // Two times 20 m of fibre less, 5 ns each, beyond five hops.
      {"tianhe2",
       "cable.long.length=0m",
       {plus("V-TH2-03 7 hops", -200), plus("V-TH2-03 9 hops", -200), stays("V-TH2-03 5 hops"),
        stays("V-TH2-01")}},
      // A descriptor is fetched once; written by the processor it is not.
      {"tianhe2", "host.read_latency=291ns", {plus("V-TH2-02", 100), stays("V-TH2-01")}},
      {"tianhe2",
       "host.post_cost=100ns",
       {plus("V-TH2-01", 50), plus("V-TH2-03 9 hops", 50), stays("V-TH2-14")}},
      // Half the processor's clock: posting (50 ns) and taking what arrived (34 ns) take twice as long.
      {"tianhe2",
       "processor.clock=1.1GHz",
       {plus("V-TH2-01", 84), plus("V-TH2-03 3 hops", 84), stays("V-TH2-04"), stays("V-TH2-14"),
        stays("V-TH2-11 uniform")}},
      // Headers of 32 B with half the payload: (128 / 160) / (256 / 288).
      {"tianhe2", "nic.payload=128B", {times("V-TH2-09", 0.9), stays("V-TH2-01")}},
      // Half a bus; it is what limits then.
      {"tianhe2", "host.bus=pcie-gen2-x16", {times("V-TH2-09", 0.561, 0.02), stays("V-TH2-11 uniform")}},
      {"tianhe2",
       "cable.default.lanes=4",
       {times("V-TH2-14", 0.5), times("V-TH2-15", 0.5), stays("V-TH2-01")}},
      {"tianhe2",
       "router.column_buffer_flits=12",
       {plus("V-TH2-11 uniform", -2.3, 1), stays("V-TH2-11 permutation")}},
      {"tianhe2",
       "mpi.copy_rate=20Gbps",
       {plus("V-TH2-05 2048 B", 0.85, 0.2), plus("V-TH2-05 256 B", 0.3, 0.1), stays("V-TH2-05 8 B")}},
      {"tianhe2", "host.bus=pcie-gen2-x8", {plus("V-TH2-06", 69, 5)}},

      {"extoll-r1", "router.latency=138.4ns", {plus("V-EX1-04", 100), stays("V-EX1-05 net"), stays("C1")}},
      {"extoll-r1",
       "cable.default.lanes=2",
       {times("V-EX1-05 raw", 2), times("V-EX1-05 net", 2), stays("V-EX1-04"),
        plus("V-EX1-06 message rate at 140 MHz", 1, 0.3), plus("V-EX1-06 bandwidth at 140 MHz", 2.1, 0.3),
        plus("V-EX1-06 latency at 140 MHz", 1.4, 0.3), plus("V-EX1-06 message rate at 125 MHz", 2, 0.3),
        plus("V-EX1-06 bandwidth at 125 MHz", 4.2, 0.3), plus("V-EX1-06 latency at 125 MHz", 2.6, 0.3),
        plus("V-EX1-06 message rate at 117 MHz", 2.6, 0.3), plus("V-EX1-06 bandwidth at 117 MHz", 5.4, 0.3),
        plus("V-EX1-06 latency at 117 MHz", 3.3, 0.3)}},
      // 40 B more of wire for each message: 104 / 64.
      {"extoll-r1",
       "nic.header=80B",
       {plus("C1", 40), times("C3", 104.0 / 64, 0.02), times("V-EX1-01 highest", 64.0 / 104, 0.03),
        times("V-EX1-01", 64.0 / 104, 0.12), stays("V-EX1-04")}},
      // Half the chip's clock: transceivers (252 ns) and router (38.4 ns) take twice as long, links carry
      // half.
      {"extoll-r1",
       "core.clock=78MHz",
       {plus("V-EX1-04", 290.4), times("V-EX1-05 raw", 0.5), times("V-EX1-07 updates", 0.5, 0.02),
        stays("C1")}},
      {"extoll-r1", "cable.default.length=20m", {plus("V-EX1-04", 90), stays("V-EX1-05 raw")}},
      {"extoll-r1",
       "processor.clock=1.25GHz",
       {times("V-EX1-07 updates", 0.683, 0.02), times("V-EX1-09", 0.093, 0.02),
        times("V-EX1-09 by message rate", 0.478, 0.03), times("V-EX1-10 by frequency", 0.078, 0.02),
        times("V-EX1-10 by message rate", 0.5, 0.03), times("V-EX1-11", 0.516, 0.02),
        times("V-EX1-11 by message rate", 0.518, 0.02), times("V-EX1-12 by frequency", 0.5, 0.02),
        times("V-EX1-12 by message rate", 0.5, 0.02), plus("V-EX1-14 70%", 3.8, 1),
        plus("V-EX1-14 first step", -8.5, 1), stays("V-EX1-04"), stays("C1")}},
      {"extoll-r1",
       "mpi.send_cost=1us",
       {plus("V-EX1-03 saturated", 3, 1), plus("V-EX1-03 beyond", 2.3, 0.5), stays("V-EX1-05 raw")}},

      // Two crossings of a router for neighbours, three for those across the square.
      {"exanest-trenz",
       "router.latency=200ns",
       {plus("V-EXN-01", 300), plus("V-EXN-03", 450), plus("V-EXN-04", 150), stays("V-EXN-06")}},
      {"exanest-trenz",
       "cable.default.delay=400ns",
       {plus("V-EXN-01", 62), plus("V-EXN-03", 124), plus("V-EXN-04", 62), plus("V-EXN-05", 3 * 62, 10)}},
      {"exanest-trenz",
       "nic.send_latency=200ns",
       {plus("V-EXN-01", 100), plus("V-EXN-02", 100), stays("V-EXN-04")}},
      {"exanest-trenz",
       "nic.adapter_latency=26.666ns",
       {times("V-EXN-07", 2, 0.01), stays("V-EXN-01"), plus("V-EXN-05", 4 * 13.333, 2)}},
      {"exanest-trenz",
       "processor.clock=0.6GHz",
       {plus("V-EXN-01", 168.7), stays("V-EXN-04"), stays("V-EXN-06", 0.001), times("V-EXN-10 processor", 2),
        stays("V-EXN-10 FPGA")}},
      // Half of what the blocks of the FPGA share: half as fast, and half as many are enough.
      {"exanest-trenz",
       "node.device.fpga.memory_bandwidth=20.67Gbps",
       {times("V-EXN-10 FPGA", 2), plus("V-EXN-10 blocks", -4, 0.1), stays("V-EXN-10 processor")}},

      // NVM that is slower than the disk makes every query slower.
      {"exanest-trenz", "storage.device.channel_rate=1Mbps", {plus("V-EXN-17", -22)}},

      // Buffers shorter than a cable's credit round trip: the torus, with its few cables, falls behind the
      // tree.
      {"topologies", "router.buffer_flits=16", {plus("V-EXN-13", -2), plus("V-EXN-15", -2)}},
      // Sequences that take long in the interface: few ranks are better served by messages.
      // One output to choose among instead of four.
      {"tianhe2", "routing.candidates=1", {plus("V-TH2-10", -23.1, 1)}},
      {"tianhe2",
       "nic.trigger_time=1us",
       {times("V-TH2-13 gain", 0.33, 0.03), times("V-TH2-13 growth", 1.2, 0.03),
        plus("V-TH2-13 large", -0.0128, 0.005)}},
      {"extoll-r1",
       "host.post_cost=3ns",
       {plus("V-EX1-13 ASIC", 26.9, 3), plus("V-EX1-13 Virtex-6", 25.9, 3)}},

      {"apenet-plus", "router.latency=100ns", {plus("V-APE-01", 40), stays("V-APE-02")}},
      // Requests that a GPU answers later: half the bandwidth, and 1.8 us and a little more for what is read
      // there.
      {"apenet-plus",
       "node.device.gpu.peer_read_latency=3.6us",
       {times("V-APE-09", 0.823, 0.02), plus("V-APE-09 GPUs", 1.85, 0.02), stays("V-APE-09 processors"),
        times("V-APE-10 latency", 1.23, 0.02), times("V-APE-10 bandwidth", 2, 0.01),
        times("V-APE-10 mended", 1.233, 0.02), stays("V-APE-01")}},
      // Two copies that begin 16 us later, and copies slower than the link, which 64 of them in a row do not
      // hide.
      {"deep-booster",
       "node.device.knc.copy_startup=20us",
       {plus("V-NAA-01 least", 26.6, 0.3), plus("V-NAA-01 most", 26.3, 0.3), plus("V-NAA-02 one", 4.1, 0.2),
        stays("V-EX2-02 raw")}},
      {"deep-booster",
       "node.device.knc.copy_rate=10Gbps",
       {plus("V-NAA-02 one", 172.9, 0.5), plus("V-NAA-02 many", 27.5, 0.5)}},
      // Ranks on an accelerator lie in its memory, which the interface reads over its link.
      {"deep-booster",
       "node.device.knc.peer_read_latency=5us",
       {plus("V-NAA-01 least", -6.5, 0.3), plus("V-NAA-01 most", -4.96, 0.3), stays("V-EX2-02 raw")}},
      // Cores that are twice as fast run MPI twice as fast.
      {"deep-booster",
       "processor.work_per_cycle=0.62",
       {plus("V-NAA-01 least", 15.65, 0.3), plus("V-NAA-01 most", 11.98, 0.3), stays("V-EX2-02 raw")}},
      {"apenet-plus", "cable.default.length=50m", {stays("V-APE-01"), stays("C27")}},
      // The bytes the paper counts, and the unit that takes them one after the other.
      {"infiniband-qdr",
       "nic.header=64B",
       {plus("C2 IB-QDR wire", 32), stays("C2 IB-QDR message rate", 0.02)}},
      {"infiniband-qdr",
       "nic.occupancy=292ns",
       {times("C2 IB-QDR message rate", 0.5, 0.03), plus("V-EX1-03 IB-QDR saturated", -2, 0),
        stays("C2 IB-QDR wire")}},
      {"ethernet-10g",
       "nic.occupancy=3us",
       {times("C2 10GE message rate", 0.5, 0.03), stays("C2 10GE wire")}},
      // 8 GT/s with 128b/130b over 5 GT/s with 8b/10b.
      {"apenet-plus", "host.bus=pcie-gen3-x8", {times("V-APE-07", 8 * 128.0 / 130 / 4), stays("V-APE-02")}},
      {"apenet-plus",
       "cable.default.lanes=2",
       {times("V-APE-02", 0.5), times("C27", 0.5), stays("V-APE-07")}},
      {"deep-booster",
       "cable.default.lanes=8",
       {times("V-EX2-02 raw", 2), times("V-EX2-02 net", 2), stays("C32")}},
      {"deep-booster", "core.clock=50MHz", {times("V-EX2-02 raw", 0.5), stays("C32")}},
      // Seven links of six lanes less.
      {"extoll-tourmalet", "cable.default.lanes=6", {times("V-EX2-01", 0.5), plus("V-EX2-03", -42)}},
      {"greenice",
       "topology.dims=[4,4,4]",
       {plus("C38 diameter", 1, 0.1), times("C38 cables", 2.4), times("V-NAA-05", 2)}},
  };
  return all;
}

std::string id_of(const std::string& figure) { return figure.substr(0, figure.find(' ')); }

std::map<std::string, double> values(const std::string& machine, const std::set<std::string>& ids,
                                     const std::vector<std::string>& settings) {
  ValidateOptions options;
  options.machine = machine;
  options.figures.assign(ids.begin(), ids.end());
  options.settings = settings;
  options.quick = true;
  std::map<std::string, double> out;
  for (const FigureResult& f : validate(options).figures) out[f.figure.name()] = f.ours;
  return out;
}

class Perturbed : public testing::TestWithParam<std::size_t> {};

TEST_P(Perturbed, FiguresMoveByAsMuchAsTheyShould) {
  const Perturbation& p = perturbations()[GetParam()];
  SCOPED_TRACE(p.machine + " --set " + p.setting);
  std::set<std::string> ids;
  for (const Effect& effect : p.effects) ids.insert(id_of(effect.figure));
  auto before = values(p.machine, ids, {}), after = values(p.machine, ids, {p.setting});
  for (const Effect& effect : p.effects) {
    ASSERT_TRUE(before.count(effect.figure)) << effect.figure;
    double was = before[effect.figure], is = after[effect.figure];
    switch (effect.kind) {
      case Effect::Kind::Plus:
        EXPECT_NEAR(is - was, effect.value, effect.within) << effect.figure;
        break;
      case Effect::Kind::Times:
        EXPECT_NEAR(is / was, effect.value, effect.within) << effect.figure;
        break;
      case Effect::Kind::Stays:
        EXPECT_NEAR(is, was, std::abs(was) * effect.within) << effect.figure;
        break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Perturbed, testing::Range<std::size_t>(0, perturbations().size()),
                         [](const auto& info) {
                           std::string name = perturbations()[info.param].machine + "_" +
                                              perturbations()[info.param].setting;
                           for (char& c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return name;
                         });

/// Predicted figures that nothing here moves, and why.
const std::map<std::string, const char*> kNotMoved{
    {"V-EXN-16", "an order of topologies that have all values in common: none puts one before another"},
    {"V-TH2-12 all loaded", "with all channels loaded nothing is saved, whatever the cable and the router"},
    {"V-TH2-05 8 B",
     "one small message takes the same path under both, whatever that costs: an open failure"},
    {"V-EXN-09 communication",
     "needs LAMMPS and Linux nodes; Ethernet.CostsFollowTheProcessorsClock is of its parts"},
    {"V-EXN-09 wall", "the same"},
    {"V-TH2-10 whole", "takes minutes; the same of one group, V-TH2-10, moves"},
};

TEST(Perturbation, EveryPredictedFigureMoves) {
  std::set<std::string> moving;
  std::size_t pairs = 0;
  for (const Perturbation& p : perturbations())
    for (const Effect& effect : p.effects) {
      ++pairs;
      if (effect.kind == Effect::Kind::Stays) continue;
      EXPECT_TRUE(must_move(effect)) << p.machine << " --set " << p.setting << ": " << effect.figure;
      moving.insert(effect.figure);
    }
  EXPECT_GE(pairs, 25u);
  for (const ExperimentKind* e : experiments_in_order())
    for (const Figure& f : e->figures) {
      if (f.basis == Basis::Predicted)
        EXPECT_NE(moving.count(f.name()), kNotMoved.count(f.name())) << f.name();
      if (f.basis == Basis::Predicted || f.basis == Basis::Derived) EXPECT_FALSE(f.from.empty()) << f.name();
    }
}

}  // namespace
}  // namespace weft::measure
