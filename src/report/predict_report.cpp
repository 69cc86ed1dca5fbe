#include "report/predict_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "base/version.hpp"
#include "report/html_page.hpp"
#include "report/plot_chart.hpp"

namespace weft::report {

using measure::Extrapolation;
using measure::Prediction;
using measure::WorkloadPrediction;

namespace {

std::string performance_text(const WorkloadPrediction& w, double relative) {
  if (relative <= 0) return "-";
  return w.unit.empty() ? fmt::format("{:.5g} s", w.base / relative)
                        : fmt::format("{:.5g} {}", w.base * relative, w.unit);
}

std::string share(double factor) { return fmt::format("{:.2f}%", 100 * factor); }

std::string departure(const WorkloadPrediction& w) {
  if (w.beyond.empty()) return "";
  const Extrapolation& far = w.beyond.back();
  double against = far.simulated > 0 ? far.simulated : far.mechanistic;
  return fmt::format(
      "At {:.0f}% the exponential fit says {:.2f} times the performance, {} says {:.2f}.", 100 * far.factor,
      far.exponential,
      far.simulated > 0 ? "the machine run so, its hosts as they are," : "the fit with a meaning", against);
}

}  // namespace

std::string prediction_text(const Prediction& p) {
  std::string out = fmt::format("machine    {}\nvaried     {}\n", p.machine, p.variation.name());
  if (!p.benchmarks.empty()) {
    out += fmt::format(
        "\nbenchmarks, compared with the machine as it is and averaged over message sizes\n  {:>12} {:>13} "
        "{:>10} {:>10}\n",
        p.variation.name(), "message rate", "bandwidth", "latency");
    for (const auto& row : p.benchmarks)
      out += fmt::format("  {:>12} {:>13} {:>10} {:>10}\n", share(row.factor), share(row.rate),
                         share(row.bandwidth), share(row.latency));
    out += fmt::format("  {:>12} {:>13.2f} {:>10.2f} {:>10.2f}  of the time follows it\n", "", p.shares[0],
                       p.shares[1], p.shares[2]);
  }
  for (const WorkloadPrediction& w : p.workloads) {
    out += fmt::format("\n{}: {} as it is, {:.1f}% of the time spent communicating\n  {:>12} {:>13} {:>14}\n",
                       w.name, performance_text(w, 1), 100 * w.library_share, p.variation.name(),
                       "performance", "communicating");
    for (const auto& point : w.points)
      out += fmt::format("  {:>12} {:>13} {:>14}\n", share(point.factor), share(point.relative),
                         share(point.library_share));
    out +=
        fmt::format("  fit          {:.2f} of the time follows it, to {:.1f}%\n", w.share, 100 * w.residual);
    if (w.beyond.empty()) continue;
    out += fmt::format("  {:>12} {:>16} {:>16} {:>16}\n", "beyond", "that fit", "exponential fit", "run so");
    for (const Extrapolation& e : w.beyond)
      out += fmt::format("  {:>12} {:>16} {:>16} {:>16}\n", fmt::format("{:.0f}%", 100 * e.factor),
                         performance_text(w, e.mechanistic), performance_text(w, e.exponential),
                         performance_text(w, e.simulated));
    out += fmt::format("  bound        {} where communicating takes no time (Amdahl)\n",
                       performance_text(w, w.bound));
    out += fmt::format("  {}\n", departure(w));
  }
  return out;
}

Json prediction_json(const Prediction& p) {
  Json benchmarks = Json::array(), workloads = Json::array();
  for (const auto& row : p.benchmarks)
    benchmarks.push_back({{"factor", row.factor},
                          {"message_rate", row.rate},
                          {"bandwidth", row.bandwidth},
                          {"latency", row.latency}});
  for (const WorkloadPrediction& w : p.workloads) {
    Json points = Json::array(), beyond = Json::array();
    for (const auto& point : w.points)
      points.push_back({{"factor", point.factor},
                        {"performance", point.relative},
                        {"communicating", point.library_share}});
    for (const Extrapolation& e : w.beyond) {
      Json one{{"factor", e.factor}, {"mechanistic", e.mechanistic}, {"exponential", e.exponential}};
      if (e.simulated > 0) one["simulated"] = e.simulated;
      beyond.push_back(std::move(one));
    }
    workloads.push_back({{"name", w.name},
                         {"unit", w.unit.empty() ? "s" : w.unit},
                         {"base", w.base},
                         {"communicating", w.library_share},
                         {"points", points},
                         {"share_that_follows", w.share},
                         {"fit_residual", w.residual},
                         {"exponent", w.exponent},
                         {"amdahl_bound", w.bound},
                         {"beyond", beyond}});
  }
  return {{"machine", p.machine},
          {"vary", p.variation.name()},
          {"benchmarks", benchmarks},
          {"benchmark_shares",
           {{"message_rate", p.shares[0]}, {"bandwidth", p.shares[1]}, {"latency", p.shares[2]}}},
          {"workloads", workloads},
          {"version", version()}};
}

namespace {

std::string benchmark_chart(const Prediction& p) {
  double low = 1, high = 1;
  for (const auto& row : p.benchmarks) {
    low = std::min({low, row.factor, row.rate, row.bandwidth, row.latency});
    high = std::max({high, row.factor, row.rate, row.bandwidth, row.latency});
  }
  Range both{std::floor(low * 20) * 5, std::ceil(high * 20) * 5};
  Chart chart(520, 320, "benchmarks", both, {p.variation.name() + ", %", 6}, both,
              {"% of the machine as it is", 6});
  std::string legend;
  const std::pair<const char*, double measure::BenchmarkRow::*> lines[] = {
      {"message rate", &measure::BenchmarkRow::rate},
      {"bandwidth", &measure::BenchmarkRow::bandwidth},
      {"latency (its inverse)", &measure::BenchmarkRow::latency}};
  for (std::size_t i = 0; i < 3; ++i) {
    std::vector<Point> points;
    for (const auto& row : p.benchmarks) points.push_back({100 * row.factor, 100 * (row.*lines[i].second)});
    std::string_view colour = colour_of(kCableColours, i);
    chart.line(points, {colour});
    for (Point at : points)
      chart.mark(at, Mark::Dot, colour, fmt::format("{}: {:.2f}%", lines[i].first, at.y));
    legend +=
        legend_key(colour, false, fmt::format("{}, {:.2f} of the time follows", lines[i].first, p.shares[i]));
  }
  return fmt::format("<section><h3>Benchmarks</h3><p class=\"legend\">{}</p>{}</section>\n", legend,
                     chart.svg());
}

std::string workload_chart(const Prediction& p, const WorkloadPrediction& w) {
  bool more = p.variation.more_is_better();
  double low = w.points.front().factor, high = w.points.back().factor, top = 1;
  for (const auto& point : w.points) top = std::max(top, point.relative);
  for (const Extrapolation& e : w.beyond) {
    low = std::min(low, e.factor);
    high = std::max(high, e.factor);
    top = std::max({top, e.mechanistic, e.exponential, e.simulated});
  }
  if (w.bound > 0 && w.bound < 50) top = std::max(top, w.bound);
  Chart chart(520, 320, w.name, Range{100 * low, 100 * high, high > 4 * low}, {p.variation.name() + ", %", 5},
              range_to(1.05 * top, 6), {"performance, 1: as it is", 6});
  std::vector<Point> fit, exponential, measured, simulated, bound;
  constexpr int kSteps = 60;
  for (int i = 0; i <= kSteps; ++i) {
    double x = low * std::pow(high / low, static_cast<double>(i) / kSteps);
    fit.push_back({100 * x, 1 / (1 - w.share + w.share * (more ? 1 / x : x))});
    exponential.push_back(
        {100 * x, 1 / (1 - w.library_share + w.library_share * std::exp(-w.exponent * (x - 1)))});
    bound.push_back({100 * x, w.bound});
  }
  for (const auto& point : w.points) measured.push_back({100 * point.factor, point.relative});
  simulated.push_back({100, 1});
  for (const Extrapolation& e : w.beyond)
    if (e.simulated > 0) simulated.push_back({100 * e.factor, e.simulated});
  std::sort(simulated.begin(), simulated.end(), [](Point a, Point b) { return a.x < b.x; });
  std::string legend;
  auto line = [&](const std::vector<Point>& points, LineLook look, const std::string& name) {
    chart.line(points, look);
    legend += legend_key(look.colour, look.dashed, name);
  };
  if (w.bound > 0 && w.bound < 50) line(bound, {kFaintInk, 1.4, true}, "bound: no time spent communicating");
  line(exponential, {kCableColours[1], 2, true}, "exponential fit of the time communicating");
  line(fit, {kCableColours[0]}, fmt::format("fit: {:.2f} of the time follows", w.share));
  if (simulated.size() > 1) line(simulated, {kCableColours[2], 2}, "the machine run so");
  for (Point at : simulated) chart.mark(at, Mark::Ring, kCableColours[2], fmt::format("run: {:.3f}", at.y));
  for (Point at : measured)
    chart.mark(at, Mark::Dot, kCableColours[0], fmt::format("measured: {:.4f}", at.y));
  return fmt::format(
      "<section><h3>{}: {} as it is, {:.0f}% communicating</h3><p class=\"legend\">{}</p>{}<p "
      "class=\"small\">{}</p></section>\n",
      escape_xml(w.name), escape_xml(performance_text(w, 1)), 100 * w.library_share, legend, chart.svg(),
      escape_xml(departure(w)));
}

std::string workload_table(const WorkloadPrediction& w) {
  std::vector<std::vector<std::string>> rows;
  for (const Extrapolation& e : w.beyond)
    rows.push_back({fmt::format("{:.0f}%", 100 * e.factor), performance_text(w, e.mechanistic),
                    performance_text(w, e.exponential), performance_text(w, e.simulated),
                    performance_text(w, w.bound)});
  return html_table(
      {{"beyond", true}, {"fit", true}, {"exponential fit", true}, {"run so", true}, {"bound", true}}, rows);
}

}  // namespace

std::string prediction_page(const Prediction& p, const std::string& command) {
  std::string body = fmt::format(
      "<header><p class=\"eyebrow\">Weft prediction</p><h1>What {} buys on {}</h1><p "
      "class=\"about\">Measured where the "
      "points are; beyond them a fit whose share of the time follows the property, the exponential fit of "
      "the EXTOLL "
      "paper, the machine run with the better value, and the bound where communicating takes no "
      "time.</p></header>\n",
      escape_xml(p.variation.name()), escape_xml(p.machine));
  std::string charts;
  if (!p.benchmarks.empty()) charts += benchmark_chart(p);
  for (const WorkloadPrediction& w : p.workloads) charts += workload_chart(p, w);
  body += fmt::format("<div class=\"pair\">{}</div>\n", charts);
  for (const WorkloadPrediction& w : p.workloads)
    if (!w.beyond.empty()) body += html_section(w.name, w.name, "", workload_table(w));
  body += fmt::format("<footer>weft {}<pre>{}</pre></footer>\n", version(), escape_xml(command));
  return html_page(fmt::format("{} varied on {}", p.variation.name(), p.machine), body);
}

}  // namespace weft::report
