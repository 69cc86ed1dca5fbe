// What the shipped machines carry: accepted load at saturation, packets of four flits, every figure with its
// limit.
#include <fmt/format.h>

#include <algorithm>

#include "app/bench.hpp"
#include "base/parallel.hpp"
#include "measure/traffic/sweep.hpp"
#include "network/flit/settings.hpp"
#include "topology/metrics.hpp"

namespace weft::bench {

namespace {

struct Case {
  std::string name, machine;
  std::vector<std::string> settings;
  std::string pattern;
  double load;   // offered, past saturation; 0: a tenth more than the bisection lets through
  double least;  // accepted, in flits per endpoint and cycle; 0: of the bisection's bound
};

constexpr double kLeastOfBisection = 0.8;

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"fat-tree, uniform", "fat-tree", {}, "uniform", 0.9, 0.65},
      {"dragonfly, uniform", "dragonfly", {}, "uniform", 0.8, 0.62},
      {"dragonfly, group shift", "dragonfly", {}, "group-shift", 0.6, 0.40},
      {"jellyfish, uniform", "jellyfish", {}, "uniform", 0.7, 0.62},
      {"torus 8x8x8, uniform", "torus", {}, "uniform", 0.7, 0.60},
      {"exanest-track1, uniform", "exanest-track1", {}, "uniform", 0, 0},
      {"exanest-track1, adaptive, uniform",
       "exanest-track1",
       {"routing.kind=minimal-adaptive"},
       "uniform",
       0,
       0},
      {"deep-booster, uniform", "deep-booster", {}, "uniform", 0, 0},
      {"greenice, uniform", "greenice", {}, "uniform", 0, 0},
      {"tianhe2, adaptive, uniform", "tianhe2", {"routing.ways=4"}, "uniform", 0.8, 0.62},
      {"tianhe2, oblivious, uniform", "tianhe2", {"routing.ways=1"}, "uniform", 0.8, 0.45},
  };
  return all;
}

/// The load at which uniform traffic fills the narrowest cut found: half of what each half sends crosses it.
double bisection_bound(const machine::Machine& m, const network::flit::Settings& settings) {
  auto cut = topology::estimate_bisection(*m.graph, *m.faults);
  if (!cut) return 1;
  double flit_bits =
      static_cast<double>(m.description.router.flit.value * 8 + m.description.router.flit_overhead_bits);
  double flits_per_cycle = cut->rate / flit_bits * settings.cycle.nanoseconds(1) * 1e-9;
  double a = static_cast<double>(cut->endpoints[0]), b = static_cast<double>(cut->endpoints[1]);
  return std::min(1.0, flits_per_cycle * (a + b) / (a * b));
}

Json measure(const Case& one) {
  machine::Machine m = machine::build(machine::describe(one.machine, one.settings));
  workload::WorkloadText text;
  text.pattern = one.pattern;
  text.packet = "4";
  workload::Workload workload = workload::read_workload(text);
  double bound = bisection_bound(m, network::flit::settings_for(m, workload.sizes.largest()));
  double load = one.load > 0 ? one.load : std::min(1.0, 1.1 * bound);
  measure::SweepOptions how;
  how.loads = {load};
  how.threads = default_threads();
  measure::TrafficPoint point = measure::sweep(m, workload, how).points.front();
  if (!point.unmeasured.empty()) return {{"error", point.unmeasured}};
  if (point.stalled) return {{"error", "nothing moves any more"}};
  return {{"endpoints", m.graph->endpoints()},
          {"offered", load},
          {"accepted", point.accepted},
          {"limit_accepted", one.least > 0 ? one.least : kLeastOfBisection * bound},
          {"bisection_bound", bound},
          {"measured_cycles", point.measured_cycles},
          {"steady", point.steady}};
}

void run(const std::function<void(app::BenchCase)>& done) {
  for (const Case& one : cases()) {
    Json figures = app::measure_in_own_process([&] { return measure(one); });
    bool within = !figures.contains("error") && figures["accepted"] >= figures["limit_accepted"];
    done({one.name, std::move(figures), within});
  }
}

WEFT_REGISTER(app::Bench, {"traffic", "what the shipped machines carry at saturation, packets of four flits",
                           run, "accepted"});

}  // namespace

}  // namespace weft::bench
