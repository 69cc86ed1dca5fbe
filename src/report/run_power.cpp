#include "report/run_power.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/html_page.hpp"
#include "report/plot_chart.hpp"

namespace weft::report {

using measure::RunPower;

namespace {

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

}  // namespace

Json run_power_json(const RunPower& p) {
  Json parts = Json::object(), slices = Json::array();
  for (std::size_t i = 0; i < power::kRoles; ++i)
    if (p.joules[i] > 0) parts[power::kRoleNames[i]] = p.joules[i];
  for (const RunPower::Slice& slice : p.slices) {
    double watts = 0;
    for (double w : slice.watts) watts += w;
    slices.push_back({{"seconds", slice.seconds}, {"watts", watts}});
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
  return out;
}

std::string run_power_section(const RunPower& p) {
  const auto [unit, factor] = unit_for(p.seconds);
  double highest = 1e-9;
  std::vector<std::vector<Point>> tops;
  std::vector<Point> below;
  for (const RunPower::Slice& slice : p.slices) below.push_back({slice.seconds * factor, 0});
  const std::vector<Point> floor = below;
  for (std::size_t role = 0; role < power::kRoles; ++role) {
    for (std::size_t i = 0; i < below.size(); ++i) {
      below[i].y += p.slices[i].watts[role];
      highest = std::max(highest, below[i].y);
    }
    tops.push_back(below);
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
  rows.push_back({"lost in conversion", energy_text(p.conversion),
                  html_bar(p.conversion / std::max(p.total(), 1e-12), "#b9c3cd")});
  return html_section("power", "Power and energy",
                      fmt::format("{} on {} nodes of the job, {:.0f} W on average; processors and "
                                  "accelerators busy for {:.0f}% of the time. With "
                                  "all nodes under this load for an hour the hottest chip has {:.0f} C "
                                  "(limit {:g} C) and runs at {:.0f}% of its "
                                  "speed.",
                                  energy_text(p.total()), p.nodes, p.watts(), 100 * p.busy_share,
                                  p.steady_chip_c, p.chip_limit_c, 100 * p.steady_speed),
                      legend + chart.svg() + html_table({{"Part"}, {"Energy", true}, {"Share"}}, rows));
}

std::string run_power_text(const RunPower& p) {
  return fmt::format(
      "{} on {} nodes, {:.0f} W on average; steady at this load: chips at {:.0f} C of {:g}, {:.0f}% of full "
      "speed",
      energy_text(p.total()), p.nodes, p.watts(), p.steady_chip_c, p.chip_limit_c, 100 * p.steady_speed);
}

}  // namespace weft::report
