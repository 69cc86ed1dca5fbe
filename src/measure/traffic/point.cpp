// Warm-up and measurement of one load.
//
// The network starts empty and runs in windows until WarmUpTest calls it steady or saturated. A window is as
// long as packets take through the network, or longer: several times where latency is to keep still. Past
// saturation only throughput is: there four windows together are that long, and the test waits for the
// network's buffers to be full, or says that they are not. Then batches of a window each, or of three
// quarters of one past saturation, are measured: 8, and twice as many again while the 95% confidence interval
// of the mean latency is wider than 1% either way, up to 32. If the first half of the batches differs from
// the second, or a network that seemed saturated caught up, the warm-up was too short after all: what was
// measured is thrown away and all starts again, with windows twice as long.
//
// Memory is bounded by the sources: past saturation their queues fill, and what they make beyond that is
// refused and counted. The measurement itself is never cut short; what cannot be measured is called so.
#include "measure/traffic/point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/stopwatch.hpp"
#include "base/text.hpp"
#include "measure/traffic/link_watch.hpp"
#include "measure/traffic/recorder.hpp"
#include "measure/traffic/steady_state.hpp"
#include "network/cycle_engine.hpp"

namespace weft::measure {

namespace {

using network::Cycle;

struct Cancelled {};

constexpr Cycle kShortestWindow = 200;
constexpr double kPacketsInWindow = 10'000;
constexpr unsigned kWindowsBeforeLonger = 8, kMostWindows = 24;
constexpr unsigned kFewestBatches = 8, kMostBatches = 32, kSamplesPerBatch = 4;
constexpr double kWantedHalfWidth = 0.01;  // of the mean latency
constexpr double kBehind = 0.02;           // of what is made, where it counts as saturated
constexpr double kRefused = 0.002;         // the same, of what sources with a full queue refuse
// A window must be so many times as long as packets take through the network, for latency and for throughput.
constexpr double kTransitsForLatency = 4, kTransitsForThroughput = 0.25;
// Past saturation a network's buffers fill, for 50,000 cycles on a large machine. Unless asked for, that is
// waited for only until so many flits have crossed a cable: some seconds.
constexpr std::uint64_t kHopsToFill = 30'000'000;
constexpr Cycle kAfterFaults = 30'000;  // at least so long after the last fault of a script
constexpr unsigned kFaultSlices = 100;
constexpr std::size_t kPairsNamed = 20;
constexpr unsigned kMostDoublings = 4;  // of the window, for want of a steady state
// Packets that may wait at all sources together, and at each.
constexpr std::uint64_t kPacketsAtSources = 2'000'000, kShortestQueue = 16, kLongestQueue = 4096;
constexpr double kPacketsInStep = 4'000'000;  // made between two looks at how many there are

/// Packets that all buffers of the network and all queues of the sources can hold, and again as many that
/// wait to be used anew; at least what a run has by itself.
std::uint32_t most_packets(const Experiment& experiment, std::uint32_t least) {
  const topology::Graph& graph = *experiment.machine.graph;
  double flits = 0;
  for (topology::PortId p = 0; p < graph.ports(); ++p)
    if (graph.port_cable(p) != topology::kNone) flits += experiment.facts.buffer_flits[p];
  double packets = 2 * (flits / experiment.workload.sizes.mean() + static_cast<double>(kPacketsAtSources));
  packets =
      std::max(packets, 2.0 * static_cast<double>(experiment.workload.batch) * experiment.members.count());
  return static_cast<std::uint32_t>(std::clamp<double>(packets, least, kMostPackets * 4 / 3));
}

/// The options of an experiment, with finite queues at the sources where they never cease to send.
network::CycleOptions bounded(const Experiment& experiment) {
  network::CycleOptions options = experiment.options;
  options.most_packets = most_packets(experiment, options.most_packets);
  if (experiment.workload.batch == 0 && experiment.faults.empty())
    options.source_queue = static_cast<unsigned>(
        std::clamp(kPacketsAtSources / std::max<std::uint64_t>(1, experiment.members.count()), kShortestQueue,
                   kLongestQueue));
  options.faults.assign(experiment.faults.begin(), experiment.faults.end());
  return options;
}

class PointRun {
 public:
  PointRun(const Experiment& experiment, std::size_t index, double load,
           const std::function<bool()>& cancelled)
      : experiment_(experiment),
        index_(index),
        graph_(*experiment.machine.graph),
        cancelled_(cancelled),
        ranks_(experiment.options.ranks),
        made_(experiment.engine.make(experiment.machine, bounded(experiment))),
        engine_(*made_),
        traffic_(experiment.workload, experiment.members, experiment.pattern, load, experiment.options.ranks),
        recorders_(engine_.threads(), Recorder(graph_.endpoints())),
        links_(graph_, engine_, ranks_) {
    for (Recorder& recorder : recorders_) observers_.push_back(&recorder);
    for (network::EndpointId e = 0; e < graph_.endpoints(); ++e)
      packets_per_cycle_ += load / experiment.workload.sizes.mean() * traffic_.relative_rate(e);
    window_ = std::max(kShortestWindow, static_cast<Cycle>(kPacketsInWindow / packets_per_cycle_));
    point_.offered = load;
  }

  TrafficPoint run() {
    if (experiment_.workload.batch)
      run_batch();
    else if (!experiment_.faults.empty())
      run_script();
    else
      run_load();
    fill();
    return std::move(point_);
  }

 private:
  // --- running
  // -----------------------------------------------------------------------------------------------------

  void advance(Cycle cycles) {
    const Cycle until = engine_.now() + cycles;
    const Cycle step = std::max<Cycle>(1, static_cast<Cycle>(kPacketsInStep / packets_per_cycle_));
    for (Cycle next = engine_.now(); engine_.now() == next && next < until && !over();) {
      if (any(cancelled_())) throw Cancelled{};
      next = std::min(until, next + (experiment_.viewer ? std::min(step, watched_step_) : step));
      const Stopwatch step_time;
      engine_.run(traffic_, observers_, next);  // returns before that only where nothing will happen any more
      if (experiment_.viewer) be_seen(step_time.seconds());
      point_.stalled = engine_.stalled();
      if (engine_.counters().packets_in_network() > kMostPackets)
        point_.unmeasured = fmt::format(
            "{} million packets are under way or wait, which is as many as a run holds; ask for longer "
            "packets, "
            "smaller "
            "buffers or a part of the machine",
            engine_.counters().packets_in_network() / 1'000'000);
    }
  }

  /// Steps are as long as somebody who looks on can wait. How a run is cut into steps changes nothing of it.
  void be_seen(double step_seconds) {
    constexpr Cycle kLongest = Cycle{1} << 30;
    if (step_seconds < 0.02) watched_step_ = std::min(kLongest, watched_step_ * 2);
    if (step_seconds > 0.1) watched_step_ = std::max<Cycle>(1, watched_step_ / 2);
    if (!experiment_.viewer->wants(index_)) return;
    const Arrivals now = measures_ ? arrivals() - at_start_ : arrivals();
    const double cycles = static_cast<double>(engine_.now() - (measures_ ? measured_from_ : 0));
    experiment_.viewer->see(
        index_,
        {measures_ ? "is measured" : "warms up", engine_,
         cycles > 0 ? static_cast<double>(now.flits) / cycles / traffic_.senders() : 0, now.mean_packet()});
  }

  /// Nothing more can be measured.
  bool over() const { return point_.stalled || !point_.unmeasured.empty(); }

  Arrivals arrivals() const {
    Arrivals sum;
    for (const Recorder& recorder : recorders_) sum += recorder.arrivals();
    if (ranks_) ranks_->sum({&sum.packets, sizeof(Arrivals) / sizeof(std::uint64_t)});
    return sum;
  }

  std::uint64_t flits_made() const {
    std::uint64_t flits = traffic_.flits_made();
    if (ranks_) ranks_->sum({&flits, 1});
    return flits;
  }

  /// Whether it is so on any rank: then all do as if it were so on theirs.
  bool any(bool here) const {
    std::uint64_t there = here;
    if (ranks_) ranks_->most({&there, 1});
    return there;
  }

  std::uint64_t queued() const {
    network::CycleCounters c = engine_.counters();
    return flits_made() - c.flits_refused - c.flits_injected;
  }

  // --- open loop
  // ---------------------------------------------------------------------------------------------------

  void run_load() {
    while (!over()) {
      Warmth warmth = warm_up();
      if (over()) return;
      bool last = doublings_ == kMostDoublings;
      bool saturated = warmth == Warmth::Saturated;
      start_measuring();
      bool kept_still = measure(saturated);
      if (over()) return;
      std::uint64_t made = flits_made() - made_at_start_;
      bool behind = falls_behind(made, (arrivals() - at_start_).flits, kBehind) ||
                    falls_behind(made, made - refused(), kRefused);
      point_.steady = warmth != Warmth::Undecided && kept_still && saturated == behind;
      // Sources whose queues keep growing, however long the run, are past saturation even if only by a
      // little.
      point_.saturated = behind || (last && !point_.steady && grows());
      if (point_.steady || last) break;
      double_window();
    }
    check_length();
  }

  /// A figure is one only where packets crossed the network within the time it was measured in.
  void check_length() {
    Arrivals measured = arrivals() - at_start_;
    Cycle cycles = engine_.now() - measured_from_;
    if (measured.packets == 0)
      point_.unmeasured = fmt::format("no packet arrived in {} cycles; ask for a higher load", cycles);
    else if (static_cast<double>(cycles) < measured.mean_network())
      point_.unmeasured = fmt::format("packets take {:.0f} cycles, and only {} could be measured",
                                      measured.mean_network(), cycles);
  }

  void double_window() {
    ++doublings_;
    window_ *= 2;
  }

  Warmth warm_up() {
    measures_ = false;
    WarmUpTest test;
    Warmth warmth = Warmth::Undecided;
    for (unsigned i = 1; i <= kMostWindows && warmth == Warmth::Undecided; ++i) {
      Arrivals before = arrivals();
      std::uint64_t made_before = flits_made(), injected_before = engine_.counters().flits_injected;
      const Cycle cycles = window_;
      advance(cycles);
      if (over()) return Warmth::Undecided;
      Arrivals in_window = arrivals() - before;
      std::uint64_t made = flits_made() - made_before;
      std::uint64_t injected = engine_.counters().flits_injected - injected_before;
      const bool behind = falls_behind(made, in_window.flits, kBehind);
      const bool may_fill = !experiment_.until_full && engine_.counters().flit_hops > kHopsToFill;
      if (behind && fills(injected, in_window.flits) && !may_fill) i = std::min(i, kMostWindows / 2);
      // Windows short against the time a packet is under way say little: take longer ones, and start the test
      // again. That the sources' queues grow can be seen sooner than that latency keeps still.
      auto wanted = static_cast<Cycle>((behind ? kTransitsForThroughput : kTransitsForLatency) *
                                       in_window.mean_network());
      bool in_vain = test.windows() == kWindowsBeforeLonger && !test.behind() && doublings_ < kMostDoublings;
      if (in_window.packets == 0) {
        window_ *= 2;
        test = {};
      } else if (window_ < wanted && !behind) {
        window_ = wanted;
        test = {};
      } else if (window_ >= wanted && in_vain) {
        double_window();
        test = {};
      } else {
        window_ = std::max(window_, wanted);
        warmth = test.add({in_window.mean_packet(), made, in_window.flits, injected, cycles}, may_fill);
      }
    }
    return warmth == Warmth::Undecided && test.behind() ? Warmth::Saturated : warmth;
  }

  void start_measuring() {
    measures_ = true;
    measured_from_ = engine_.now();
    at_start_ = arrivals();
    made_at_start_ = flits_made();
    hops_at_start_ = engine_.counters().flit_hops;
    refused_at_start_ = engine_.counters().flits_refused;
    injected_at_start_ = engine_.counters().flits_injected;
    for (Recorder& recorder : recorders_) recorder.start_afresh();
    links_.start();
    batch_means_.clear();
    batch_flits_.clear();
  }

  /// Of what was made since the start.
  std::uint64_t refused() const { return engine_.counters().flits_refused - refused_at_start_; }

  /// Whether the mean latency kept still. Past saturation it cannot: then throughput must, and the fewest
  /// batches do.
  bool measure(bool saturated) {
    const Cycle batch = saturated ? std::max<Cycle>(kSamplesPerBatch, window_ * 3 / 4) : window_;
    while (batch_means_.size() < kMostBatches) {
      Arrivals before = arrivals();
      for (unsigned i = 1; i <= kSamplesPerBatch; ++i) {
        advance(batch * i / kSamplesPerBatch - batch * (i - 1) / kSamplesPerBatch);
        if (over()) return false;
        links_.sample(queued());
      }
      links_.end_slice(batch);
      batch_means_.push_back((arrivals() - before).mean_packet());
      batch_flits_.push_back(static_cast<double>((arrivals() - before).flits));
      std::size_t batches = batch_means_.size();
      if (batches < kFewestBatches || (batches & (batches - 1)) != 0) continue;
      if (saturated) return !drifts(batch_flits_);
      if (drifts(batch_means_)) return false;
      if (half_width_95(batch_means_) < kWantedHalfWidth * (arrivals() - at_start_).mean_packet())
        return true;
    }
    return true;
  }

  bool grows() const { return batch_means_.size() > 1 && batch_means_.back() > batch_means_.front(); }

  // --- closed loop
  // -------------------------------------------------------------------------------------------------

  void run_batch() {
    start_measuring();
    std::uint64_t packets = experiment_.workload.batch * traffic_.senders();
    while (!over() && settled() < packets) {
      advance(window_);
      links_.sample(queued());
      links_.end_slice(window_);
    }
    std::uint64_t last = 0;
    for (const Recorder& recorder : recorders_) last = std::max<std::uint64_t>(last, recorder.last() + 1);
    if (ranks_) ranks_->most({&last, 1});
    point_.completion_cycles = last;
  }

  /// Packets that have arrived, or will never.
  std::uint64_t settled() const {
    network::CycleCounters c = engine_.counters();
    return c.packets_delivered + c.packets_lost;
  }

  // --- faults by script
  // --------------------------------------------------------------------------------------------

  /// A run with faults is no steady state: it is measured from its start until well after the last of them.
  void run_script() {
    Cycle last = engine_.facts().cycle.cycles(experiment_.faults.back().at);
    Cycle slice = (last + std::max(last / 2, kAfterFaults)) / kFaultSlices + 1;
    start_measuring();
    for (unsigned i = 0; i < kFaultSlices && !over(); ++i) {
      Arrivals before = arrivals();
      advance(slice);
      links_.sample(queued());
      links_.end_slice(slice);
      Arrivals now = arrivals() - before;
      point_.faults.slices.push_back(
          {engine_.now(), static_cast<double>(now.flits) / static_cast<double>(slice * traffic_.senders()),
           now.mean_packet()});
    }
  }

  /// Of all ranks.
  Recorder::Pairs lost_pairs() const {
    Recorder::Pairs pairs;
    for (const Recorder& recorder : recorders_)
      for (const auto& [pair, packets] : recorder.lost_pairs()) pairs[pair] += packets;
    if (!ranks_) return pairs;
    struct Lost {
      network::EndpointId from, to;
      std::uint64_t packets;
    };
    network::Ranks::Bytes mine;
    for (const auto& [pair, packets] : pairs) network::put(mine, Lost{pair.first, pair.second, packets});
    pairs.clear();
    network::each_rank(*ranks_, mine, [&](const network::Ranks::Bytes& theirs) {
      for (network::RankReader reader(theirs); reader.more();) {
        const Lost lost = reader.take<Lost>();
        pairs[{lost.from, lost.to}] += lost.packets;
      }
    });
    return pairs;
  }

  void fill_faults() {
    FaultOutcome& out = point_.faults;
    const network::LinkReport report = engine_.link_report();
    out.link_layer = report.there;
    if (!report.there) return;
    for (const auto& entry : report.timeline) out.timeline.push_back({entry.at, entry.what});
    for (const auto& record : report.cables) {
      const network::link::LinkCounters& c = record.counters;
      auto sent = static_cast<double>(c.sent), again = static_cast<double>(c.sent_again);
      double fresh = c.sent + c.sent_again ? sent / (sent + again) : 1;
      out.cables.push_back({graph_.cable_ends(record.cable).a, record.bits_damaged, c.refused, c.sent,
                            c.sent_again, c.timeouts, c.trainings, c.deaths, record.lanes_up, record.fullest,
                            record.ill, fresh * record.rate_share});
    }
    out.taken_back = report.taken_back;
    out.routing = report.routing;
    for (const Recorder& recorder : recorders_)
      out.undeliverable += recorder.lost(), out.damaged += recorder.damaged();
    if (ranks_) ranks_->sum({&out.undeliverable, 1}), ranks_->sum({&out.damaged, 1});
    const Recorder::Pairs pairs = lost_pairs();
    for (const auto& [pair, packets] : pairs) {
      if (out.cut_off.size() == kPairsNamed) {
        out.cut_off.push_back(fmt::format("and {}", count_of(pairs.size() - kPairsNamed, "more pair")));
        break;
      }
      out.cut_off.push_back(
          fmt::format("e{} -> e{}: {}", pair.first, pair.second, count_of(packets, "packet")));
    }
  }

  // --- figures
  // -----------------------------------------------------------------------------------------------------

  void fill() {
    point_.warmup_cycles = measured_from_;
    point_.measured_cycles =
        point_.completion_cycles ? point_.completion_cycles : engine_.now() - measured_from_;
    Arrivals measured = arrivals() - at_start_;
    auto cycles = static_cast<double>(std::max<Cycle>(1, point_.measured_cycles));
    double sender_cycles = cycles * traffic_.senders();
    point_.generated = static_cast<double>(flits_made() - made_at_start_) / sender_cycles;
    point_.accepted = static_cast<double>(measured.flits) / sender_cycles;
    point_.refused = static_cast<double>(refused()) / sender_cycles;
    const std::uint64_t injected = engine_.counters().flits_injected - injected_at_start_;
    point_.injected = static_cast<double>(injected) / sender_cycles;
    point_.filling = point_.saturated && fills(injected, measured.flits);
    point_.mean_routers =
        measured.packets ? static_cast<double>(measured.routers) / static_cast<double>(measured.packets) : 0;
    point_.flit_hops = engine_.counters().flit_hops - hops_at_start_;
    Histogram packet, network;
    for (const Recorder& recorder : recorders_)
      packet.merge(recorder.packet()), network.merge(recorder.network());
    if (ranks_) packet.merge_over(*ranks_), network.merge_over(*ranks_);
    point_.packet = packet.summary();
    point_.packet.growing = point_.saturated;
    point_.network = network.summary();
    point_.mean_half_width = half_width_95(batch_means_);
    links_.tell(point_.measured_cycles, point_);
    fill_fairness(cycles);
    fill_faults();
    if (point_.stalled) explain_stall();
  }

  /// Jain's index over the flits of each source, each compared with what the pattern lets it send.
  void fill_fairness(double cycles) {
    std::vector<std::uint64_t> flits_of(graph_.endpoints(), 0);
    for (const Recorder& recorder : recorders_)
      for (network::EndpointId e = 0; e < graph_.endpoints(); ++e) flits_of[e] += recorder.source_flits()[e];
    if (ranks_) ranks_->sum(flits_of);
    double sum = 0, squares = 0, least = std::numeric_limits<double>::infinity(), most = 0;
    for (network::EndpointId e = 0; e < graph_.endpoints(); ++e) {
      if (traffic_.relative_rate(e) == 0) continue;
      double share = static_cast<double>(flits_of[e]) / traffic_.relative_rate(e) / cycles;
      least = std::min(least, share);
      most = std::max(most, share);
      sum += share;
      squares += share * share;
    }
    point_.fairness = squares > 0 ? sum * sum / (squares * traffic_.senders()) : 1;
    point_.least_source = least;
    point_.most_source = most;
  }

  void explain_stall() {
    for (const network::Waiting& hop : engine_.explain_stall())
      point_.stall.push_back(fmt::format("{}, channel {}: packet e{} -> e{}, made in cycle {}, {}", hop.place,
                                         hop.channel, hop.source, hop.destination, hop.created, hop.reason));
    if (point_.stall.empty())
      point_.stall.emplace_back(
          "this engine does not see who waits for whom; the flit engine does, in one process");
  }

  const Experiment& experiment_;
  std::size_t index_;
  const topology::Graph& graph_;
  const std::function<bool()>& cancelled_;
  network::Ranks* const ranks_;  // who run the machine together, each with a part of its sources
  std::unique_ptr<network::CycleEngine> made_;
  network::CycleEngine& engine_;
  workload::SyntheticTraffic traffic_;
  std::vector<Recorder> recorders_;
  std::vector<network::Observer*> observers_;
  LinkWatch links_;
  TrafficPoint point_;
  Cycle window_ = 0, watched_step_ = kShortestWindow;
  bool measures_ = false;
  unsigned doublings_ = 0;
  double packets_per_cycle_ = 0;  // made by all sources
  // When the measured time began:
  Cycle measured_from_ = 0;
  Arrivals at_start_;
  std::uint64_t made_at_start_ = 0, hops_at_start_ = 0, refused_at_start_ = 0, injected_at_start_ = 0;
  std::vector<double> batch_means_;  // mean packet latency
  std::vector<double> batch_flits_;  // that arrived
};

}  // namespace

std::optional<TrafficPoint> run_point(const Experiment& experiment, double load,
                                      const std::function<bool()>& cancelled, std::size_t index) {
  if (!experiment.options.ranks && cancelled()) return std::nullopt;
  const Stopwatch start;
  try {
    TrafficPoint point = PointRun(experiment, index, load, cancelled).run();
    point.seconds = start.seconds();
    return point;
  } catch (const Cancelled&) {
    return std::nullopt;
  }
}

}  // namespace weft::measure
