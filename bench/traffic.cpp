// What the shipped machines carry: accepted load at saturation, packets of four flits, every figure with its
// limit.
#include <fmt/format.h>

#include <algorithm>

#include "app/bench.hpp"
#include "base/parallel.hpp"
#include "measure/traffic/sweep.hpp"
#include "network/cycle_engine.hpp"

namespace weft::bench {

namespace {

struct Case {
  std::string name, machine;
  std::vector<std::string> settings;
  std::string pattern;
  double load;   // offered, past saturation; 0: a little more than is wanted of the narrowest cut
  double least;  // accepted, in flits per endpoint and cycle; 0: a share of the narrowest cut's bound
};

constexpr double kLeastOfCut = 0.8, kOfferedOfCut = 0.87;

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"fat-tree, uniform", "fat-tree", {}, "uniform", 0.9, 0.65},
      {"dragonfly, uniform", "dragonfly", {}, "uniform", 0.8, 0.62},
      {"dragonfly, group shift", "dragonfly", {}, "group-shift", 0.45, 0.40},
      {"jellyfish, uniform", "jellyfish", {}, "uniform", 0.8, 0.62},
      {"torus 8x8x8, uniform", "torus", {}, "uniform", 0.7, 0.60},
      {"exanest-track1, uniform", "exanest-track1", {}, "uniform", 0, 0},
      {"exanest-track1, adaptive, uniform",
       "exanest-track1",
       {"routing.kind=minimal-adaptive"},
       "uniform",
       0,
       0},
      {"deep-booster, uniform", "deep-booster", {}, "uniform", 0.805, 0.8},
      {"greenice, uniform", "greenice", {}, "uniform", 0, 0},
      {"tianhe2, adaptive, uniform", "tianhe2", {"routing.candidates=4"}, "uniform", 0.8, 0.62},
      {"tianhe2, oblivious, uniform", "tianhe2", {"routing.candidates=1"}, "uniform", 0.8, 0.45},
  };
  return all;
}

/// The load at which uniform traffic fills the narrowest of the cuts between the first routers and the rest:
/// of what either side sends, the share of the other side's endpoints crosses it.
double cut_bound(const machine::Machine& m, const network::CycleFacts& facts) {
  const topology::Graph& graph = *m.graph;
  const double flit_bits =
      static_cast<double>(m.description.router.flit.value * 8 + m.description.router.flit_overhead_bits);
  const double cycle = facts.cycle.nanoseconds(1) * 1e-9, all = graph.endpoints();
  double bound = 1, crossing = 0, first = 0;  // flits per cycle that cross; endpoints of the first routers
  for (topology::RouterId r = 0; r + 1 < graph.routers(); ++r) {
    first += graph.endpoint_count(r);
    for (topology::PortIndex i = 0; i < graph.port_count(r); ++i) {
      const topology::PortId port = graph.port(r, i);
      const topology::CableId cable = graph.port_cable(port);
      if (cable == topology::kNone || graph.peer(port) == topology::kNone) continue;
      const double rate = static_cast<double>(graph.cable_type(cable).rate().value) / flit_bits * cycle;
      crossing += graph.port_router(graph.peer(port)) > r ? rate : -rate;
    }
    if (first > 0 && first < all) bound = std::min(bound, crossing * all / (first * (all - first)));
  }
  return bound;
}

Json measure(const Case& one) {
  machine::Machine m = machine::build(machine::describe(one.machine, one.settings));
  workload::WorkloadText text;
  text.pattern = one.pattern;
  text.packet = "4";
  workload::Workload workload = workload::read_workload(text);
  double bound = cut_bound(m, network::cycle_engine().facts(m, workload.sizes.largest()));
  double load = one.load > 0 ? one.load : std::min(1.0, kOfferedOfCut * bound);
  measure::SweepOptions how;
  how.loads = {load};
  how.threads = default_threads();
  measure::TrafficPoint point = measure::sweep(m, workload, how).points.front();
  if (!point.unmeasured.empty()) return {{"error", point.unmeasured}};
  if (point.stalled) return {{"error", "nothing moves any more"}};
  return {{"endpoints", m.graph->endpoints()},
          {"offered", load},
          {"accepted", point.accepted},
          {"limit_accepted", one.least > 0 ? one.least : kLeastOfCut * bound},
          {"cut_bound", bound},
          {"measured_cycles", point.measured_cycles},
          {"steady", point.steady},
          {"filling", point.filling}};
}

void run(app::BenchResults& results) {
  for (const Case& one : cases()) {
    if (!results.wants(one.name)) continue;
    Json figures = app::measure_in_own_process([&] { return measure(one); });
    bool within = !figures.contains("error") && figures["accepted"] >= figures["limit_accepted"];
    results.add({one.name, std::move(figures), within});
  }
}

std::vector<app::Bench::Machine> machines() {
  std::vector<app::Bench::Machine> out;
  for (const Case& one : cases()) out.push_back({one.machine, one.settings});
  return out;
}

WEFT_REGISTER(app::Bench, {"traffic", "what the shipped machines carry at saturation, packets of four flits",
                           run, "accepted", machines()});

}  // namespace

}  // namespace weft::bench
