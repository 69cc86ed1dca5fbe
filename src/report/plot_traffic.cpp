#include "report/plot_traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "measure/traffic/histogram.hpp"
#include "report/plot_chart.hpp"
#include "report/traffic_findings.hpp"

namespace weft::report {

using measure::Latency;
using measure::TrafficPoint;
using measure::TrafficResult;

namespace {

constexpr double kWidth = 520, kHeight = 360;
constexpr std::string_view kMean = "#0072b2", kTail = "#d55e00", kNetwork = "#56a0cc", kJam = "#b3122a";

Range load_range(const TrafficResult& result) {
  double highest = 0;
  for (const TrafficPoint& point : result.points) highest = std::max(highest, point.offered);
  return range_to(highest * 1.02, 6);
}

AxisText load_axis(const TrafficResult& result) {
  return {"offered load, flits per endpoint and cycle", 6, "offered load, GB/s per endpoint",
          units_of(result).gigabytes(1)};
}

/// Cycles, and time in the unit that keeps its numbers short.
AxisText latency_axis(const Units& units, double highest, unsigned ticks) {
  bool micro = highest * units.cycle_ns >= 20'000;
  return {"latency, cycles", ticks, micro ? "latency, \u00b5s" : "latency, ns",
          units.cycle_ns / (micro ? 1000 : 1)};
}

/// The half of the gap before the first load that is too much: saturation lies somewhere in it.
void shade_saturated(Chart& chart, const TrafficResult& result) {
  Findings f = find(result);
  if (!f.too_much) return;
  double from = f.last_taken ? (f.last_taken->offered + f.too_much->offered) / 2 : 0;
  chart.shade_from(from, "saturated");
}

/// Latency past saturation depends on how long one looks, and would flatten all the rest: the axis ends above
/// the loads the network takes, and what lies beyond is marked at its edge.
double highest_latency(const TrafficResult& result) {
  double taken = 0, all = 0, first = result.points.front().packet.mean;
  for (const TrafficPoint& point : result.points) {
    all = std::max(all, point.packet.growing ? point.network.p99 : point.packet.p99);
    if (!point.saturated && !point.stalled) taken = std::max(taken, point.packet.p99);
  }
  return taken > 0 ? std::min(all * 1.05, std::max(taken * 1.25, first * 4)) : all * 1.05;
}

std::string latency_note(const TrafficPoint& p, const char* what, double cycles, const Units& units) {
  return fmt::format("load {}: {} {} cycles, {}{}", units.load(p.offered), what, units.cycles(cycles),
                     units.time(cycles), p.saturated ? ", saturated" : "");
}

/// Edges of bars in equal steps of the logarithm, on whole cycles.
std::vector<double> histogram_edges(const Range& range, unsigned bars) {
  std::vector<double> out;
  for (unsigned i = 0; i <= bars; ++i) {
    double edge = std::round(range.low * std::pow(range.high / range.low, static_cast<double>(i) / bars));
    if (out.empty() || edge > out.back()) out.push_back(edge);
  }
  return out;
}

/// Shares of packets between edges. A bucket that lies across an edge is divided in proportion; without that,
/// bars no wider than buckets would alternate between one and two of them.
std::vector<double> shares(const Latency& latency, const std::vector<double>& edges) {
  std::vector<double> out(edges.size() - 1);
  for (std::size_t i = 0; i < latency.histogram.size(); ++i) {
    if (latency.histogram[i] == 0) continue;
    auto from = static_cast<double>(measure::bucket_start(i)),
         to = static_cast<double>(measure::bucket_start(i + 1));
    double share = static_cast<double>(latency.histogram[i]) / static_cast<double>(latency.packets);
    auto after = std::upper_bound(edges.begin(), edges.end(), from);
    for (auto bin = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, after - edges.begin() - 1));
         bin < out.size() && edges[bin] < to; ++bin)
      out[bin] +=
          share * std::max(0.0, std::min(to, edges[bin + 1]) - std::max(from, edges[bin])) / (to - from);
  }
  return out;
}

double shortest(const Latency& latency) {
  auto first = std::find_if(latency.histogram.begin(), latency.histogram.end(), [](auto n) { return n > 0; });
  return static_cast<double>(
      measure::bucket_start(static_cast<std::size_t>(first - latency.histogram.begin())));
}

}  // namespace

std::string latency_chart(const TrafficResult& result) {
  Units units = units_of(result);
  Chart chart(kWidth, kHeight, "latency over offered load", load_range(result), load_axis(result),
              range_to(highest_latency(result), 6), latency_axis(units, highest_latency(result), 6));
  shade_saturated(chart, result);
  std::vector<Point> mean, tail, network;
  bool beyond = false;
  for (const TrafficPoint& p : result.points) {
    if (p.packet.packets == 0 || !p.unmeasured.empty()) continue;
    network.push_back({p.offered, p.network.mean});
    beyond |= p.packet.growing || p.packet.p99 > chart.y().high;
    if (p.packet.growing) continue;
    mean.push_back({p.offered, p.packet.mean});
    tail.push_back({p.offered, p.packet.p99});
  }
  chart.line(network, {kNetwork, 1.6, true});
  chart.line(tail, {kTail});
  chart.line(mean, {kMean});
  for (const TrafficPoint& p : result.points) {
    if (p.packet.packets == 0 || !p.unmeasured.empty()) continue;
    if (p.packet.growing) {
      chart.mark({p.offered, 2 * chart.y().high}, Mark::Ring, kJam,
                 fmt::format("load {}: latency grows as long as sources send", units.load(p.offered)));
      continue;
    }
    Mark mark = p.saturated || p.stalled ? Mark::Ring : Mark::Dot;
    if (p.packet.mean <= chart.y().high || p.packet.p99 <= chart.y().high)
      chart.mark({p.offered, p.packet.p99}, mark, kTail, latency_note(p, "p99", p.packet.p99, units));
    chart.mark({p.offered, p.packet.mean}, mark, p.packet.mean > chart.y().high ? kJam : kMean,
               latency_note(p, "mean", p.packet.mean, units));
  }
  std::string legend = legend_key(kMean, false, "mean") + legend_key(kTail, false, "p99") +
                       legend_key(kNetwork, true, "mean in the network");
  if (find(result).too_much) legend += legend_mark(Mark::Ring, kMean, "saturated");
  if (beyond) legend += legend_mark(Mark::Arrow, kJam, "beyond the scale");
  return fmt::format("<p class=\"legend\">{}</p>\n{}", legend, chart.svg());
}

std::string throughput_chart(const TrafficResult& result) {
  Units units = units_of(result);
  Range load = load_range(result);
  Chart chart(
      kWidth, kHeight, "accepted over offered load", load, load_axis(result), load,
      {"accepted, flits per endpoint and cycle", 6, "accepted, GB/s per endpoint", units.gigabytes(1)});
  shade_saturated(chart, result);
  std::vector<Point> accepted;
  for (const TrafficPoint& p : result.points)
    if (p.unmeasured.empty()) accepted.push_back({p.offered, p.accepted});
  chart.line({{0, 0}, {load.high, load.high}}, {"#7b8895", 1.4, true});
  chart.line(accepted, {"#009e73"});
  for (const TrafficPoint& p : result.points)
    if (p.unmeasured.empty())
      chart.mark({p.offered, p.accepted}, p.saturated || p.stalled ? Mark::Ring : Mark::Dot, "#009e73",
                 fmt::format("load {}: accepted {}, {}", units.load(p.offered), units.load(p.accepted),
                             units.rate(p.accepted)));
  std::string legend =
      legend_key("#009e73", false, "accepted") + legend_key("#7b8895", true, "all that is offered");
  if (find(result).too_much) legend += legend_mark(Mark::Ring, "#009e73", "saturated");
  return fmt::format("<p class=\"legend\">{}</p>\n{}", legend, chart.svg());
}

std::string histogram_chart(const TrafficResult& result, const TrafficPoint& point,
                            const TrafficPoint& lower) {
  constexpr unsigned kBars = 80;
  Units units = units_of(result);
  if (point.packet.packets == 0) return "<p>No packet arrived.</p>\n";
  Range range = log_range(std::min(shortest(point.packet), shortest(lower.packet)), point.packet.max + 1);
  auto edges = histogram_edges(range, kBars);
  auto now = shares(point.packet, edges), before = shares(lower.packet, edges);
  // Edges on whole cycles make bars of uneven width: their height is that of a bar of the even width.
  double even = std::log(range.high / range.low) / kBars;
  auto height = [&](const std::vector<double>& of, std::size_t i) {
    return 100 * of[i] * even / std::log(edges[i + 1] / edges[i]);
  };
  double most = 0;
  for (std::size_t i = 0; i < now.size(); ++i) most = std::max({most, height(now, i), height(before, i)});
  Chart chart(1004, 300, "packets by latency", range, latency_axis(units, range.high, 9),
              range_to(most * 1.22, 5), {"packets per bar, %", 5});
  std::vector<Point> outline{{edges.front(), 0}};
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i] > 0)
      chart.bar(edges[i], edges[i + 1], height(now, i), "#8fbfdd",
                fmt::format("{} of packets take {:.0f} to {:.0f} cycles", percent(now[i]), edges[i],
                            edges[i + 1] - 1));
    outline.push_back({edges[i], height(before, i)});
    outline.push_back({edges[i + 1], height(before, i)});
  }
  if (&lower != &point) chart.line(outline, {"#5f6f7e", 1.3});
  const std::pair<const char*, double> marks[] = {{"median", point.packet.p50},
                                                  {"p99", point.packet.p99},
                                                  {"p99.9", point.packet.p999},
                                                  {"max", point.packet.max}};
  unsigned row = 0;
  for (auto [word, cycles] : marks)
    chart.upright(std::max(cycles, range.low), fmt::format("{} {}", word, units.cycles(cycles)),
                  row == 0   ? kMean
                  : row == 3 ? kFaintInk
                             : kTail,
                  row),
        ++row;
  std::string legend = legend_key("#8fbfdd", false, fmt::format("load {}", units.load(point.offered)));
  if (&lower != &point)
    legend += legend_key("#5f6f7e", false, fmt::format("outline: load {}", units.load(lower.offered)));
  return fmt::format("<p class=\"legend\">{}</p>\n{}", legend, chart.svg());
}

std::string fairness_chart(const TrafficResult& result) {
  Units units = units_of(result);
  double most = 0;
  for (const TrafficPoint& p : result.points) most = std::max(most, p.most_source);
  Chart chart(kWidth, 300, "what the best and the worst source got through", load_range(result),
              {"offered load, flits per endpoint and cycle", 6}, range_to(most * 1.05, 5),
              {"accepted of a source, flits per cycle", 5});
  shade_saturated(chart, result);
  for (const TrafficPoint& p : result.points) {
    chart.line({{p.offered, p.least_source}, {p.offered, p.most_source}}, {"#9fb4c6", 5});
    chart.mark({p.offered, p.accepted}, Mark::Dot, kMean,
               fmt::format("load {}: worst source {}, mean {}, best {}", units.load(p.offered),
                           units.load(p.least_source), units.load(p.accepted), units.load(p.most_source)));
  }
  return fmt::format("<p class=\"legend\">{}{}</p>\n{}", legend_key("#9fb4c6", false, "worst to best source"),
                     legend_mark(Mark::Dot, kMean, "mean"), chart.svg());
}

}  // namespace weft::report
