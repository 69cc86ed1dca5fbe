#include "report/run_power.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "report/html_page.hpp"
#include "report/plot_chart.hpp"
#include "report/power_report.hpp"

namespace weft::report {

using measure::RunHeat;
using measure::RunPower;

namespace {

constexpr std::string_view kConversionColour = "#b9c3cd";
constexpr std::string_view kColours[power::kRoles] = {"#0072b2", "#56b4e9", "#e69f00", "#f0c75e",
                                                      "#cc79a7", "#009e73", "#8797a6"};

std::string energy_text(double joules) {
  if (joules < 1e-3) return fmt::format("{:.3g} uJ", joules * 1e6);
  if (joules < 1) return fmt::format("{:.3g} mJ", joules * 1e3);
  if (joules < 1e4) return fmt::format("{:.4g} J", joules);
  return fmt::format("{:.4g} kJ", joules * 1e-3);
}

/// The unit of time in which a run is a handy number, and what a second is in it.
std::pair<const char*, double> unit_for(double seconds) {
  if (seconds < 1e-3) return {"microseconds", 1e6};
  if (seconds < 1) return {"milliseconds", 1e3};
  return {"seconds", 1};
}

std::string time_in_words(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.4g} s", seconds);
}

/// By how much work took longer than at full speed, of 1.
double longer(const RunHeat& h) { return h.lost_seconds / std::max(h.work_seconds - h.lost_seconds, 1e-15); }

std::string heat_in_words(const RunHeat& h) {
  std::string out =
      fmt::format("the job's chips had {:.1f} C at its start and {:.1f} C at most (limit {:g} C)", h.start_c,
                  h.hottest_c, h.limit_c);
  if (!h.throttled()) return out + ", and ran at full speed";
  return out + fmt::format(
                   "; from {} to {} they slowed down on {}, to {:.0f}% at the least: computing took {:.1f}% "
                   "longer than at full speed, and rank {} lost the most, {}",
                   time_in_words(h.throttled_from), time_in_words(h.throttled_until),
                   count_of(h.throttled_nodes, "node"), 100 * h.least_speed, 100 * longer(h),
                   h.most_lost_rank, time_in_words(h.most_lost_seconds));
}

Json heat_json(const RunHeat& h) {
  Json moments = Json::array(), log = Json::array();
  for (const RunHeat::Moment& m : h.moments)
    moments.push_back({{"until_seconds", m.seconds},
                       {"hottest_chip_c", m.hottest_c},
                       {"least_speed", m.least_speed},
                       {"mean_speed", m.mean_speed}});
  for (const auto& entry : h.log)
    log.push_back({{"seconds", static_cast<double>(entry.at.value) * 1e-12},
                   {"severity", power::bmc::severity_name(entry.severity)},
                   {"source", entry.source},
                   {"text", entry.text}});
  Json out = Json::object();
  out["before_seconds"] = h.before_seconds;
  out["before_load"] = h.before_load;
  out["start_chip_c"] = h.start_c;
  out["hottest_chip_c"] = h.hottest_c;
  out["hottest_seconds"] = h.hottest_seconds;
  out["chip_limit_c"] = h.limit_c;
  out["throttled"] = h.throttled();
  if (h.throttled()) {
    out["throttled_from_seconds"] = h.throttled_from;
    out["throttled_until_seconds"] = h.throttled_until;
    out["throttled_nodes"] = h.throttled_nodes;
    out["most_lost_rank"] = h.most_lost_rank;
  }
  out["least_speed"] = h.least_speed;
  out["mean_speed"] = h.mean_speed;
  out["computing_seconds"] = h.work_seconds;
  out["lost_seconds"] = h.lost_seconds;
  out["most_lost_seconds"] = h.most_lost_seconds;
  out["longer_share"] = longer(h);
  out["log"] = log;
  out["over_time"] = moments;
  return out;
}

/// Temperature of the hottest chip and speed of the slowest, over the run.
std::string heat_chart(const RunHeat& h, double seconds) {
  const auto [unit, factor] = unit_for(seconds);
  std::vector<Point> warm{{0, h.start_c}}, speed;
  double begin = 0;
  for (const RunHeat::Moment& m : h.moments) {
    warm.push_back({m.seconds * factor, m.hottest_c});
    speed.push_back({begin * factor, 100 * m.least_speed});
    speed.push_back({m.seconds * factor, 100 * m.least_speed});
    begin = m.seconds;
  }
  const Range time{0, std::max(seconds * factor, 1e-9), false};
  Chart chart(760, 260, "hottest chip and slowest speed over the run", time, {unit, 8},
              range_to(std::max({h.limit_c, h.hottest_c, 100.0}) * 1.1, 6), {"C, and % of full speed", 6});
  for (const auto& entry : h.log)
    if (entry.severity == power::bmc::LogEntry::Severity::Critical || entry.source == "script")
      chart.upright(static_cast<double>(entry.at.value) * 1e-12 * factor, entry.text, kFaintInk, 0);
  chart.line({{0, h.limit_c}, {seconds * factor, h.limit_c}}, {kDeadColour, 1.4, true});
  chart.line(warm, {kDeadColour, 2.2, false});
  chart.line(speed, {"#0072b2", 2.2, false});
  return chart_with_legend(legend_key(kDeadColour, false, "hottest chip, C") +
                               legend_key(kDeadColour, true, fmt::format("its limit, {:g} C", h.limit_c)) +
                               legend_key("#0072b2", false, "slowest chip, % of full speed"),
                           chart.svg());
}

}  // namespace

Json run_power_json(const RunPower& p) {
  Json parts = Json::object(), slices = Json::array();
  for (std::size_t i = 0; i < power::kRoles; ++i)
    if (p.joules[i] > 0) parts[power::kRoleNames[i]] = p.joules[i];
  for (const RunPower::Slice& slice : p.slices) {
    double watts = 0;
    for (double w : slice.watts) watts += w;
    slices.push_back({{"seconds", slice.seconds}, {"watts", watts * (1 + p.conversion_share())}});
  }
  Json out = Json::object();
  out["nodes"] = p.nodes;
  out["joules"] = p.total();
  out["watts"] = p.watts();
  out["parts_joules"] = parts;
  out["conversion_joules"] = p.conversion;
  out["busy_share"] = p.busy_share;
  out["steady_chip_c"] = p.steady_chip_c;
  out["chip_limit_c"] = p.chip_limit_c;
  out["steady_speed"] = p.steady_speed;
  out["pue"] = p.pue;
  out["over_time"] = slices;
  out["heat"] = heat_json(p.heat);
  return out;
}

std::string run_power_section(const RunPower& p) {
  const auto [unit, factor] = unit_for(p.seconds);
  std::vector<RunPower::Slice> slices = p.slices;
  if (!slices.empty()) slices.push_back({p.seconds, slices.back().watts});  // to the end of the last one
  double highest = 1e-9;
  std::vector<std::vector<Point>> tops;
  std::vector<Point> below;
  for (const RunPower::Slice& slice : slices) below.push_back({slice.seconds * factor, 0});
  const std::vector<Point> floor = below;
  for (std::size_t role = 0; role < power::kRoles; ++role) {
    for (std::size_t i = 0; i < below.size(); ++i) below[i].y += slices[i].watts[role];
    tops.push_back(below);
  }
  for (Point& point : below) {
    point.y *= 1 + p.conversion_share();
    highest = std::max(highest, point.y);
  }
  Chart chart(760, 260, "power over the run, stacked by part",
              Range{0, std::max(p.seconds * factor, 1e-9), false}, {unit, 8}, range_to(highest * 1.05, 5),
              {"W", 5});
  std::string legend;
  std::vector<std::vector<std::string>> rows;
  for (std::size_t role = 0; role < power::kRoles; ++role) {
    if (p.joules[role] <= 0) continue;
    chart.area(role ? tops[role - 1] : floor, tops[role], kColours[role], power::kRoleNames[role]);
    legend += legend_key(kColours[role], false, power::kRoleNames[role]);
    rows.push_back({power::kRoleNames[role], energy_text(p.joules[role]),
                    html_bar(p.joules[role] / std::max(p.total(), 1e-12), kColours[role])});
  }
  chart.area(tops.back(), below, kConversionColour, "lost in conversion");
  legend += legend_key(kConversionColour, false, "lost in conversion");
  rows.push_back({"lost in conversion", energy_text(p.conversion),
                  html_bar(p.conversion / std::max(p.total(), 1e-12), kConversionColour)});
  return html_section("power", "Power and energy",
                      fmt::format("{} on {} nodes of the job, {:.0f} W on average; processors and "
                                  "accelerators busy for {:.0f}% of the time. With "
                                  "all nodes under this load for an hour the hottest chip has {:.0f} C "
                                  "(limit {:g} C) and runs at {:.0f}% of its "
                                  "speed.",
                                  energy_text(p.total()), p.nodes, p.watts(), 100 * p.busy_share,
                                  p.steady_chip_c, p.chip_limit_c, 100 * p.steady_speed),
                      chart_with_legend(legend, chart.svg()) +
                          html_table({{"Part"}, {"Energy", true}, {"Share"}}, rows)) +
         html_section(
             "heat", "Heat and speed",
             fmt::format("After {} in operation at {:.0f}% load {}.", hours_text(p.heat.before_seconds),
                         100 * p.heat.before_load, heat_in_words(p.heat)),
             heat_chart(p.heat, p.seconds));
}

std::string run_power_text(const RunPower& p) {
  return fmt::format(
             "{} on {} nodes, {:.0f} W on average; steady at this load: chips at {:.0f} C of {:g}, {:.0f}% "
             "of full "
             "speed",
             energy_text(p.total()), p.nodes, p.watts(), p.steady_chip_c, p.chip_limit_c,
             100 * p.steady_speed) +
         "\nweft: " + heat_in_words(p.heat);
}

}  // namespace weft::report
