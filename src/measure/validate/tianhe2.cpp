// The figures of the TH Express-2 paper (004_bcf4e0dc106c4acb.txt).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "measure/lab/benchmarks.hpp"
#include "measure/lab/streams.hpp"
#include "measure/predict/fit.hpp"
#include "measure/traffic/sweep.hpp"
#include "measure/validate/figure.hpp"
#include "routing/distances.hpp"

namespace weft::measure {

namespace {

using lab::PairSetup;
using topology::EndpointId;

/// An endpoint so many routers away from endpoint 0, which is as many as cables and one.
EndpointId at_hops(const machine::Machine& m, unsigned hops) {
  std::vector<std::uint16_t> distance;
  std::vector<topology::RouterId> scratch;
  routing::distances_to(*m.graph, *m.faults, m.graph->endpoint_router(0), distance, scratch);
  for (EndpointId e = 1; e < m.graph->endpoints(); ++e)
    if (distance[m.graph->endpoint_router(e)] + 1u == hops) return e;
  WEFT_CHECK(false, fmt::format("{} has nodes {} hops apart", m.description.identity.name, hops));
}

// ---- latency over hops

void latency(Trial& trial) {
  machine::Machine m = trial.machine();
  struct Point {
    double hops, metres, published;
  };
  const Point points[] = {{1, 0, 760}, {3, 0, 952}, {5, 20, 1254}, {7, 60, 1659}, {9, 60, 1863}};
  std::vector<std::pair<double, double>> ours, published, straight;
  std::vector<std::array<double, 3>> rows;
  std::vector<double> values;
  for (const Point& p : points) {
    PairSetup setup;
    setup.nodes = {{0, at_hops(m, static_cast<unsigned>(p.hops))}};
    double ns = lab::put_latency_ns(m, setup, 8);
    ours.emplace_back(p.hops, ns);
    published.emplace_back(p.hops, p.published);
    rows.push_back({1, p.hops - 1, p.metres});
    values.push_back(ns);
    if (p.hops == 1) {
      trial.give("V-TH2-01", "", ns);
      setup.memory_queue = true;
      trial.give("V-TH2-02", "", lab::put_latency_ns(m, setup, 8));
    } else {
      trial.give("V-TH2-03", fmt::format("{:g} hops", p.hops), ns);
    }
  }
  std::array<double, 3> fit = least_squares(rows, values);
  trial.give("V-TH2-04", "", fit[1],
             fmt::format("our five points are {:.1f} ns + {:.1f} ns per further hop + {:.2f} ns per metre",
                         fit[0], fit[1], fit[2]));
  for (const Point& p : points) straight.emplace_back(p.hops, fit[0] + fit[1] * (p.hops - 1));
  Plot plot{"Latency over hops",
            "tianhe2",
            "Half a round trip of a put in the descriptor. What lies above the straight line is fibre: 20 m "
            "at five "
            "hops, 60 m at seven and nine.",
            "routers crossed",
            "ns",
            false,
            false,
            {}};
  plot.series.push_back({"ours", Series::Look::Ours, ours});
  plot.series.push_back({"published", Series::Look::Published, published});
  plot.series.push_back({"fit without fibre", Series::Look::Fit, straight});
  trial.plots.push_back(std::move(plot));
}

WEFT_REGISTER(
    ExperimentKind,
    {"tianhe2/latency",
     10,
     "tianhe2",
     {{"V-TH2-01", "", "one-way latency between neighbours, put in the descriptor written by the processor",
       "ns", 760, percent_off(2), Basis::Calibrated, true, "section 6.1"},
      {"V-TH2-02", "", "the same with a fetched descriptor", "ns", 960, percent_off(2), Basis::Calibrated,
       true, "section 6.1"},
      {"V-TH2-03", "3 hops", "one-way latency", "ns", 952, percent_off(2), Basis::Predicted, true, "table 1"},
      {"V-TH2-03", "5 hops", "one-way latency, 20 m of fibre", "ns", 1254, percent_off(2), Basis::Predicted,
       true, "table 1"},
      {"V-TH2-03", "7 hops", "one-way latency, 60 m of fibre", "ns", 1659, percent_off(2), Basis::Predicted,
       true, "table 1"},
      {"V-TH2-03", "9 hops", "one-way latency, 60 m of fibre", "ns", 1863, percent_off(2), Basis::Calibrated,
       true, "table 1"},
      {"V-TH2-04", "", "latency of a further hop", "ns", 100, percent_off(2), Basis::Predicted, true,
       "section 6.1"}},
     latency});

// ---- processes on a node

void processes(Trial& trial) {
  machine::Machine m = trial.machine();
  Plot plot{
      "Latency over processes on a node",
      "tianhe2",
      "Mean half round trip between processes on two neighbouring nodes, all at once, with a message-passing "
      "library; descriptors are fetched, because 14 processes share eight queues that need no fetching.",
      "processes on each node",
      "ns",
      false,
      false,
      {}};
  double worst = 0;
  for (std::uint64_t bytes : {8u, 256u, 2048u}) {
    Series series{fmt::format("{} B", bytes), Series::Look::Ours, {}};
    double first = 0;
    for (unsigned pairs = 2; pairs <= 14; pairs += trial.quick ? 6 : 2) {
      PairSetup setup;
      setup.pairs = pairs;
      setup.memory_queue = true;
      double ns = lab::library_latency_ns(m, setup, bytes);
      if (first == 0) first = ns;
      if (bytes == 8 || bytes == 256) worst = std::max(worst, 100 * ns / first);
      series.points.emplace_back(pairs, ns);
    }
    plot.series.push_back(std::move(series));
  }
  trial.plots.push_back(std::move(plot));
  trial.give("V-TH2-06", "", worst,
             "the highest mean latency of 8 and 256 B, compared with two processes; 2 KiB rise more, they "
             "fill half of the link");
}

WEFT_REGISTER(ExperimentKind,
              {"tianhe2/processes",
               11,
               "tianhe2",
               {{"V-TH2-06", "", "mean latency with up to 14 processes on a node, compared with 2", "%", 100,
                 percent_off(20), Basis::Predicted, true,
                 "section 6.1, figure 7: \"almost keeps the same\", without a number"}},
               processes});

// ---- bandwidth

void bandwidth(Trial& trial) {
  machine::Machine m = trial.machine();
  Plot plot{"Bandwidth over message size",
            "tianhe2",
            "Between neighbouring nodes with a message-passing library: puts up to the eager limit, then "
            "gets by the "
            "receiver.",
            "bytes",
            "MB/s",
            true,
            false,
            {}};
  double peak[2] = {0, 0};
  for (bool both : {false, true}) {
    Series series{both ? "ours, both ways" : "ours, one way", Series::Look::Ours, {}};
    for (std::uint64_t bytes = 1024; bytes <= 4u << 20; bytes *= trial.quick ? 16 : 2) {
      PairSetup setup;
      setup.both_ways = both;
      setup.window = 16;
      setup.volume = std::max<std::uint64_t>(trial.quick ? 1 << 20 : 4 << 20, 4 * bytes);
      double mbs = lab::message_rate(m, setup, bytes) * static_cast<double>(bytes) * 1e-6;
      peak[both] = std::max(peak[both], mbs);
      series.points.emplace_back(bytes, mbs);
    }
    plot.series.push_back(std::move(series));
    double published = both ? 23200 : 12005;
    plot.series.push_back({both ? "published peak, both ways" : "published peak, one way",
                           Series::Look::Published,
                           {{1 << 20, published}, {4 << 20, published}}});
  }
  trial.plots.push_back(std::move(plot));
  trial.give("V-TH2-07", "", peak[0], "packets of 256 B and 32 B of header, assumed");
  trial.give("V-TH2-08", "", peak[1]);
}

WEFT_REGISTER(ExperimentKind, {"tianhe2/bandwidth",
                               12,
                               "tianhe2",
                               {{"V-TH2-07", "", "peak bandwidth of long messages, one way", "MB/s", 12005,
                                 percent_off(3), Basis::Calibrated, true, "section 6.1, figure 8"},
                                {"V-TH2-08", "", "peak bandwidth of long messages, both ways", "MB/s", 23200,
                                 percent_off(3), Basis::Calibrated, true, "section 6.1, figure 9"}},
                               bandwidth});

// ---- many pairs

void neighbour_pairs(Trial& trial) {
  machine::Machine m = trial.machine({"topology.groups=1", "topology.group_frames=1"});
  PairSetup setup;
  setup.engine = "flit";
  setup.nodes.clear();
  // Neighbours on one router: no two pairs have a cable in common.
  for (EndpointId e = 0; e + 1 < m.graph->endpoints(); e += 2) setup.nodes.emplace_back(e, e + 1);
  setup.nodes.resize(trial.quick ? 2 : 8);
  setup.window = 16;
  setup.volume = 1 << 24;
  std::uint64_t bytes = 1 << 18;
  double rate = lab::message_rate(m, setup, bytes) * static_cast<double>(bytes) * 1e-9;
  trial.give("V-TH2-09", "", rate / static_cast<double>(setup.nodes.size()),
             fmt::format("{} pairs at once, flit by flit", setup.nodes.size()));
}

WEFT_REGISTER(ExperimentKind, {"tianhe2/neighbour-pairs",
                               13,
                               "tianhe2",
                               {{"V-TH2-09", "", "bandwidth of each node where no two pairs meet", "GB/s",
                                 11.8, percent_off(3), Basis::Predicted, true, "section 6.2"}},
                               neighbour_pairs});

/// What the network takes of all that is offered, averaged over draws.
double accepted(const machine::Machine& m, workload::WorkloadText text, std::uint64_t batch, unsigned draws) {
  double sum = 0;
  for (unsigned seed = 1; seed <= draws; ++seed) {
    workload::Workload workload = workload::read_workload(text);
    workload.seed = seed;
    workload.batch = batch;
    SweepOptions options;
    options.loads = {1};
    sum += sweep(m, workload, options).points.front().accepted;
  }
  return sum / draws;
}

/// What pairs drawn at random get of a link's rate: all they move over the mean of their times, as the
/// benchmark adds them up.
double random_pairs_share(const machine::Machine& m, unsigned packets, unsigned draws) {
  double sum = 0;
  for (unsigned seed = 1; seed <= draws; ++seed) {
    lab::StreamSetup setup;
    setup.packets = packets;
    setup.packet =
        static_cast<std::uint64_t>(m.description.nic.payload.value + m.description.nic.header.value);
    double times = 0;
    std::vector<double> rates = lab::stream_rates(m, lab::random_pairs(m, seed), setup);
    for (double rate : rates) times += 1 / rate;
    sum += 8 * static_cast<double>(rates.size()) / times /
           static_cast<double>(m.graph->cable_types()[0].rate().value);
  }
  return sum / draws;
}

void random_pairs(Trial& trial) {
  constexpr unsigned kShippedWays = 4;  // as the profile has it
  unsigned draws = trial.quick ? 1 : 2, nodes = 0;
  Series series{"ours", Series::Look::Ours, {}};
  for (unsigned ways : {1u, 2u, 4u}) {
    if (trial.quick && ways != kShippedWays) continue;
    machine::Machine m = trial.machine({"topology.groups=1", fmt::format("routing.ways={}", ways)});
    nodes = m.graph->endpoints();
    double share = 100 * random_pairs_share(m, trial.quick ? 256 : 768, draws);
    series.points.emplace_back(ways, share);
    if (ways == kShippedWays)
      trial.give("V-TH2-10", "", share,
                 fmt::format("{} nodes of one group, the routing of the profile; {}", nodes,
                             count_of(draws, "draw")));
  }
  if (!trial.quick) {
    machine::Machine whole = trial.machine({});
    trial.give("V-TH2-10", "whole", 100 * random_pairs_share(whole, 128, 1),
               fmt::format("all {} nodes, the profile as it is; 1 draw; published without a number of nodes",
                           whole.graph->endpoints()));
  }
  Plot plot{
      "Random pairs over ways",
      "tianhe2",
      fmt::format(
          "Share of a link's rate that {} nodes get, paired at random, with one, two or four outputs to "
          "choose among at each step up.",
          nodes),
      "outputs to choose among",
      "% of peak",
      false,
      false,
      {}};
  plot.series.push_back(std::move(series));
  plot.series.push_back({"published", Series::Look::Published, {{kShippedWays, 68.75}}});
  trial.plots.push_back(std::move(plot));
}

WEFT_REGISTER(ExperimentKind, {"tianhe2/random-pairs",
                               14,
                               "tianhe2",
                               {{"V-TH2-10", "", "bandwidth of nodes paired at random, of peak", "%", 68.75,
                                 points_off(5), Basis::Calibrated, true, "section 6.2, figure 10"},
                                {"V-TH2-10", "whole", "the same on the whole machine", "%", 68.75,
                                 points_off(5), Basis::Predicted, false, "section 6.2, figure 10"}},
                               random_pairs});

// ---- one router

void router(Trial& trial) {
  machine::Machine m =
      trial.machine({"topology.kind=torus", "topology.dims=[1]", "topology.endpoints_per_router=24",
                     "routing.kind=dimension-order", "router.kind=tiled", "router.switching=wormhole",
                     "router.shared_flits=0"});
  workload::WorkloadText uniform, permutation;
  uniform.packet = permutation.packet = "8";
  permutation.pattern = "permutation";
  permutation.source = "fixed";
  trial.give("V-TH2-11", "uniform", 100 * accepted(m, uniform, 0, 1),
             "sizes of row and column buffers calibrated");
  trial.give("V-TH2-11", "permutation", 100 * accepted(m, permutation, 2000, 1));

  if (trial.quick) return;
  // How much buffer static shares need to take as much as a shared buffer does.
  auto with = [&](int own, int shared) {
    machine::Machine mesh = trial.machine(
        {"topology.kind=mesh", "topology.dims=[4,4]", "routing.kind=dimension-order",
         "router.message_classes=4", "router.channels=1", "router.ports=0", "router.switching=wormhole",
         "router.clock=1GHz", "router.latency=4ns", "cable.default.length=0m", "cable.default.delay=10ns",
         "cable.default.lanes=1", "cable.default.lane_rate=128Gbps", "cable.default.coding=none",
         "cable.default.fallback_rates=[]", "cable.default.min_lanes=0",
         fmt::format("router.buffer_flits={}", own), fmt::format("router.shared_flits={}", shared)});
    workload::WorkloadText text;
    text.packet = "8";
    return accepted(mesh, text, 0, 1);
  };
  const int total = 64;
  double fixed = with(total / 4, 0);
  int shared = total;
  while (shared > 12 && with(1, shared - 8 - 4) >= fixed) shared -= 8;
  trial.give(
      "V-TH2-12", "", 100.0 * (total - shared) / total,
      fmt::format("{} shared flits take what {} in four static shares take; published is a lower bound",
                  shared, total));
}

WEFT_REGISTER(ExperimentKind, {"tianhe2/router",
                               15,
                               "tianhe2",
                               {{"V-TH2-11", "uniform", "throughput of the tiled router, uniform traffic",
                                 "%", 96, points_off(1.5), Basis::Calibrated, true, "section 2.1.2"},
                                {"V-TH2-11", "permutation",
                                 "throughput of the tiled router, a flow from each input to one output", "%",
                                 100, points_off(1), Basis::Predicted, true, "section 6.2"},
                                {"V-TH2-12", "", "memory saved by buffers shared by all channels", "%", 30,
                                 at_least(), Basis::Predicted, false, "section 2.1.2: more than 30%"}},
                               router});

}  // namespace

}  // namespace weft::measure
