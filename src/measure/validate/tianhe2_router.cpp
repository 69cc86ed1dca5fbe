// What the TH Express-2 paper (004_bcf4e0dc106c4acb.txt) says of its router chip.
#include <fmt/format.h>

#include "measure/traffic/sweep.hpp"
#include "measure/validate/figure.hpp"

namespace weft::measure {

namespace {

/// What the network takes of all that is offered.
double accepted(const machine::Machine& m, workload::WorkloadText text, std::uint64_t batch = 0) {
  workload::Workload workload = workload::read_workload(text);
  workload.batch = batch;
  SweepOptions options;
  options.loads = {1};
  return sweep(m, workload, options).points.front().accepted;
}

void throughput(Trial& trial) {
  machine::Machine m =
      trial.machine({"topology.kind=torus", "topology.dims=[1]", "topology.endpoints_per_router=24",
                     "routing.kind=dimension-order", "router.kind=tiled", "router.switching=wormhole",
                     "router.shared_flits=0"});
  workload::WorkloadText uniform, permutation;
  uniform.packet = permutation.packet = "8";
  permutation.pattern = "permutation";
  permutation.source = "fixed";
  trial.give("V-TH2-11", "uniform", 100 * accepted(m, uniform), "sizes of row and column buffers calibrated");
  trial.give("V-TH2-11", "permutation", 100 * accepted(m, permutation, 2000));
}

WEFT_REGISTER(ExperimentKind, {"tianhe2/router",
                               15,
                               "tianhe2",
                               {{"V-TH2-11", "uniform", "throughput of the tiled router, uniform traffic",
                                 "%", 96, points_off(1.5), Basis::Calibrated, true, "section 2.1.2"},
                                {"V-TH2-11",
                                 "permutation",
                                 "throughput of the tiled router, a flow from each input to one output",
                                 "%",
                                 100,
                                 points_off(1),
                                 Basis::Predicted,
                                 true,
                                 "section 6.2",
                                 {"V-TH2-11 uniform"}}},
                               throughput});

// ---- buffers that all channels share

/// How much memory a shared buffer saves over static shares that take as much of uniform traffic, in percent.
/// The four virtual channels are classes of messages, of which synthetic traffic loads one, or all of one
/// class, which packets take in turn.
double saved(Trial& trial, bool all_loaded, std::string& note) {
  const int total = 64, step = 8;
  auto with = [&](int own, int shared) {
    machine::Machine mesh = trial.machine(
        {"topology.kind=mesh", "topology.dims=[4,4]", "routing.kind=dimension-order",
         fmt::format("router.message_classes={}", all_loaded ? 1 : 4),
         fmt::format("router.channels={}", all_loaded ? 4 : 1), "router.ports=0", "router.switching=wormhole",
         "router.clock=1GHz", "router.latency=4ns", "cable.default.length=0m", "cable.default.delay=10ns",
         "cable.default.lanes=1", "cable.default.lane_rate=128Gbps", "cable.default.coding=none",
         "cable.default.fallback_rates=[]", "cable.default.min_lanes=0",
         fmt::format("router.buffer_flits={}", own), fmt::format("router.shared_flits={}", shared)});
    workload::WorkloadText text;
    text.packet = "8";
    return accepted(mesh, text);
  };
  const double fixed = with(total / 4, 0);
  // Each of four channels keeps one flit of its own.
  int shared = total;
  double least = with(1, total - 4);
  if (least < fixed) {
    note = fmt::format("{} flits take {:.1f}% shared and {:.1f}% in four static shares: nothing is saved",
                       total, 100 * least, 100 * fixed);
    return 0;
  }
  while (shared > 4 + step && with(1, shared - step - 4) >= fixed) shared -= step;
  note = fmt::format("{} shared flits take what {} in four static shares take; published is a lower bound",
                     shared, total);
  return 100.0 * (total - shared) / total;
}

void shared_buffers(Trial& trial) {
  std::string note;
  double one = saved(trial, false, note);
  trial.give("V-TH2-12", "", one, note);
  double all = saved(trial, true, note);
  trial.give("V-TH2-12", "all loaded", all, note);
}

WEFT_REGISTER(
    ExperimentKind,
    {"tianhe2/shared-buffers",
     18,
     "tianhe2",
     {{"V-TH2-12", "", "memory saved by a buffer shared by all channels, one of four in use", "%", 30,
       at_least(), Basis::Structure, false, "section 2.1.2: more than 30%"},
      {"V-TH2-12",
       "all loaded",
       "the same with all four virtual channels in use",
       "%",
       30,
       at_least(),
       Basis::Predicted,
       false,
       "section 2.1.2: more than 30%",
       {"V-TH2-11 uniform"},
       Figure::Open{
           "with all channels evenly loaded past saturation one that is stalled can hold most of the "
           "pool, and static shares take as much",
           "the traffic the paper's buffers were compared under, which it does not say; or a bound on "
           "what one channel may hold of the pool"}}},
     shared_buffers});

}  // namespace

}  // namespace weft::measure
