// The figures of the TH Express-2 paper (004_bcf4e0dc106c4acb.txt).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "measure/lab/benchmarks.hpp"
#include "measure/lab/streams.hpp"
#include "measure/predict/fit.hpp"
#include "measure/validate/mpi_pairs.hpp"
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

const std::vector<std::string> kLatencySetFrom{"V-TH2-01", "V-TH2-03 9 hops"};

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

WEFT_REGISTER(ExperimentKind,
              {"tianhe2/latency",
               10,
               "tianhe2",
               {{"V-TH2-01", "",
                 "one-way latency between neighbours, put in the descriptor written by the processor", "ns",
                 760, percent_off(2), Basis::Calibrated, true, "section 6.1"},
                {"V-TH2-02", "", "the same with a fetched descriptor", "ns", 960, percent_off(2),
                 Basis::Calibrated, true, "section 6.1"},
                {"V-TH2-03", "3 hops", "one-way latency", "ns", 952, percent_off(2), Basis::Predicted, true,
                 "table 1", kLatencySetFrom},
                {"V-TH2-03", "5 hops", "one-way latency, 20 m of fibre", "ns", 1254, percent_off(2),
                 Basis::Predicted, true, "table 1", kLatencySetFrom},
                {"V-TH2-03", "7 hops", "one-way latency, 60 m of fibre", "ns", 1659, percent_off(2),
                 Basis::Predicted, true, "table 1", kLatencySetFrom},
                {"V-TH2-03", "9 hops", "one-way latency, 60 m of fibre", "ns", 1863, percent_off(2),
                 Basis::Calibrated, true, "table 1"},
                {"V-TH2-04", "", "latency of a further hop", "ns", 100, percent_off(2), Basis::Derived, true,
                 "section 6.1", kLatencySetFrom}},
               latency});

// ---- processes on a node

void processes(Trial& trial) {
  Plot plot{"Average MPI latency over processes on a node",
            "tianhe2",
            "Mean half round trip of MPI between processes on two neighbouring nodes, all at once.",
            "processes on each node",
            "ns",
            false,
            false,
            {}};
  constexpr std::size_t kSizes = 3;
  const std::vector<std::uint64_t> sizes{8, 256, 2048};
  double worst = 0, first[kSizes] = {};
  std::vector<Series> series;
  for (std::uint64_t bytes : sizes) series.push_back({fmt::format("{} B", bytes), Series::Look::Ours, {}});
  for (unsigned pairs = 2; pairs <= 14; pairs += trial.quick ? 12 : 4) {
    auto values = run_pairs(trial, {.pairs = pairs}, {"latency", "20"}, sizes);
    for (std::size_t i = 0; i < kSizes; ++i) {
      if (first[i] == 0) first[i] = values[i].second;
      worst = std::max(worst, 100 * values[i].second / first[i]);
      series[i].points.emplace_back(pairs, values[i].second);
    }
  }
  plot.series = std::move(series);
  trial.plots.push_back(std::move(plot));
  trial.give("V-TH2-06", "", worst,
             "the highest mean latency of 8 B, 256 B and 2 KiB, compared with two processes");
}

WEFT_REGISTER(ExperimentKind,
              {"tianhe2/processes",
               11,
               "tianhe2",
               {{"V-TH2-06",
                 "",
                 "mean latency with up to 14 processes on a node, compared with 2",
                 "%",
                 100,
                 percent_off(10),
                 Basis::Predicted,
                 true,
                 "section 6.1, figure 7: almost the same",
                 {"V-TH2-02", "V-TH2-07"},
                 Figure::Open{
                     "14 processes share the interface's units and its bus, all start at the same time, and "
                     "wait for each other in every round",
                     "how far the paper's processes were in step, which it does not say; or a model of the "
                     "chip's prefetch of descriptors"}}},
               processes});

// ---- exclusive and shared receive buffers

constexpr std::uint64_t kChannelSizes[] = {8, 256, 2048};

void exclusive_and_shared(Trial& trial) {
  std::vector<std::uint64_t> sizes(std::begin(kChannelSizes), std::end(kChannelSizes));
  if (!trial.quick) sizes = {8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096};
  auto latencies = [&](const char* eager) {
    return run_pairs(trial, {.settings = {fmt::format("mpi.eager={}", eager)}}, {"latency", "20"}, sizes);
  };
  auto exclusive = latencies("exclusive"), shared = latencies("shared");
  Plot plot{"MPI latency between neighbour nodes",
            "tianhe2",
            "Half a round trip, with buffers of the pair's own (ER) and buffers that all senders share (SR).",
            "bytes",
            "us",
            true,
            false,
            {{"PIO-ER, ours", Series::Look::Ours, {}}, {"PIO-SR, ours", Series::Look::Ours, {}}}};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    plot.series[0].points.emplace_back(exclusive[i].first, exclusive[i].second * 1e-3);
    plot.series[1].points.emplace_back(shared[i].first, shared[i].second * 1e-3);
    if (std::find(std::begin(kChannelSizes), std::end(kChannelSizes), sizes[i]) != std::end(kChannelSizes))
      trial.give("V-TH2-05", fmt::format("{} B", sizes[i]), 100 * exclusive[i].second / shared[i].second);
  }
  trial.plots.push_back(std::move(plot));
}

std::vector<Figure> channel_figures() {
  std::vector<Figure> out;
  for (std::uint64_t bytes : kChannelSizes)
    out.push_back({"V-TH2-05",
                   fmt::format("{} B", bytes),
                   "latency with exclusive buffers, of that with shared ones",
                   "%",
                   98,
                   points_off(1.9),
                   Basis::Predicted,
                   true,
                   "figure 6: slightly lower",
                   {"V-TH2-01"}});
  out.front().open = {"a message that fits into one small message takes the same path under both",
                      "how the paper's small messages travel, which it does not say"};
  return out;
}

WEFT_REGISTER(ExperimentKind,
              {"tianhe2/exclusive-and-shared", 17, "tianhe2", channel_figures(), exclusive_and_shared});

// ---- bandwidth

/// Bandwidths by size, and a plot of them with the published peak.
double bandwidth_plot(Trial& trial, const char* title, const char* words, double published) {
  Plot plot{
      title,
      "tianhe2",
      "Between neighbouring nodes, MPI: puts up to the eager limit, then gets by the receiver, which are the "
      "same with exclusive (ER) and shared (SR) buffers.",
      "bytes",
      "MB/s",
      true,
      false,
      {}};
  double peak = 0;
  for (const char* eager : {"exclusive", "shared"}) {
    const bool shared = std::string(eager) == "shared";
    if (shared && trial.quick) continue;
    std::vector<std::uint64_t> sizes;
    const std::uint64_t smallest = trial.quick ? 1024 : 64, largest = shared ? 1u << 14 : 4u << 20;
    for (std::uint64_t bytes = smallest; bytes <= largest; bytes *= trial.quick ? 64 : 4)
      sizes.push_back(bytes);
    Series series{shared ? "SR, ours" : "ER, ours", Series::Look::Ours, {}};
    for (auto [bytes, each] :
         run_pairs(trial, {.settings = {fmt::format("mpi.eager={}", eager)}}, {words, "16", "2"}, sizes)) {
      series.points.emplace_back(bytes, each * bytes * 1e-6);
      peak = std::max(peak, series.points.back().second);
    }
    plot.series.push_back(std::move(series));
  }
  plot.series.push_back(
      {"published peak", Series::Look::Published, {{1 << 20, published}, {4 << 20, published}}});
  trial.plots.push_back(std::move(plot));
  return peak;
}

void bandwidth(Trial& trial) {
  trial.give("V-TH2-07", "", bandwidth_plot(trial, "Unidirectional MPI bandwidth", "rate", 12005),
             "packets of 256 B and 32 B of header, assumed");
  trial.give("V-TH2-08", "", bandwidth_plot(trial, "Bidirectional MPI bandwidth", "both", 23200));
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
                               {{"V-TH2-09",
                                 "",
                                 "bandwidth of each node where no two pairs meet",
                                 "GB/s",
                                 11.8,
                                 percent_off(3),
                                 Basis::Predicted,
                                 true,
                                 "section 6.2",
                                 {"V-TH2-07"}}},
                               neighbour_pairs});

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
  constexpr unsigned kShippedCandidates = 4;  // as the profile has it
  unsigned draws = trial.quick ? 1 : 2, nodes = 0;
  Series series{"ours", Series::Look::Ours, {}};
  for (unsigned candidates : {1u, 2u, 4u}) {
    if (trial.quick && candidates != kShippedCandidates) continue;
    machine::Machine m =
        trial.machine({"topology.groups=1", fmt::format("routing.candidates={}", candidates)});
    nodes = m.graph->endpoints();
    double share = 100 * random_pairs_share(m, trial.quick ? 256 : 768, draws);
    series.points.emplace_back(candidates, share);
    if (candidates == kShippedCandidates)
      trial.give("V-TH2-10", "", share,
                 fmt::format("{} nodes of one group, the routing of the profile; {}", nodes,
                             count_of(draws, "draw")));
  }
  Series over_nodes{"ours", Series::Look::Ours, {}};
  if (!trial.quick) {
    machine::Machine frame = trial.machine({"topology.groups=1", "topology.group_frames=1"}),
                     whole = trial.machine({});
    over_nodes.points = {{frame.graph->endpoints(), 100 * random_pairs_share(frame, 768, draws)},
                         {nodes, series.points.back().second},
                         {whole.graph->endpoints(), 100 * random_pairs_share(whole, 128, 1)}};
    trial.give("V-TH2-10", "whole", over_nodes.points.back().second,
               fmt::format("all {} nodes, the profile as it is; 1 draw; published without a number of nodes",
                           whole.graph->endpoints()));
  }
  Plot plot{
      "Random pairs over candidate ports",
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
  plot.series.push_back({"published", Series::Look::Published, {{kShippedCandidates, 68.75}}});
  trial.plots.push_back(std::move(plot));
  if (trial.quick) return;
  Plot scale{
      "Bandwidth of random pairs over nodes",
      "tianhe2",
      "Nodes paired at random in one frame, one group and the whole machine. At how many nodes the published "
      "share was measured is not known; the ring stands at one group.",
      "nodes",
      "% of peak",
      true,
      false,
      {}};
  scale.series = {std::move(over_nodes), {"published", Series::Look::Published, {{nodes, 68.75}}}};
  trial.plots.push_back(std::move(scale));
}

WEFT_REGISTER(ExperimentKind,
              {"tianhe2/random-pairs",
               14,
               "tianhe2",
               {{"V-TH2-10", "", "bandwidth of nodes paired at random, of peak", "%", 68.75, points_off(5),
                 Basis::Calibrated, true, "section 6.2, figure 10"},
                {"V-TH2-10",
                 "whole",
                 "the same on the whole machine",
                 "%",
                 68.75,
                 points_off(5),
                 Basis::Predicted,
                 false,
                 "section 6.2, figure 10",
                 {"V-TH2-10"},
                 Figure::Open{"routes up and down share the root tier among all groups, and pairs "
                              "of different groups collide there twice",
                              "the number of nodes the paper paired, which it does not say"}}},
               random_pairs});

}  // namespace

}  // namespace weft::measure
