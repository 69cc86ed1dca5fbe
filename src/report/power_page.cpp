// The page of a machine's operation: power stacked by part, temperatures with their limits, level and
// pressure, and what happened, as marks on all of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "base/version.hpp"
#include "power/body.hpp"
#include "report/html_page.hpp"
#include "report/plot_chart.hpp"
#include "report/power_report.hpp"

namespace weft::report {

using power::operate::OperationResult;
using power::operate::Sample;

namespace {

constexpr double kWidth = 860;
/// Of accelerators, processors and so on, by role; then conversion, pumps and the building.
constexpr std::string_view kRoleColours[power::kRoles] = {"#0072b2", "#56b4e9", "#e69f00", "#f0c75e",
                                                          "#cc79a7", "#009e73", "#8797a6"};
constexpr std::string_view kConversionColour = "#b9c3cd", kPumpColour = "#22313f",
                           kFacilityColour = "#8c564b";

class Page {
 public:
  Page(const OperationResult& result, const machine::Description& machine, std::string command)
      : r_(result), machine_(machine), command_(std::move(command)) {
    longest_ = r_.samples.empty() ? 1 : std::max(1.0, r_.samples.back().seconds);
    in_minutes_ = longest_ > 300 && longest_ <= 6 * 3600;
    in_hours_ = longest_ > 6 * 3600;
  }

  std::string html() const {
    return html_page(
        machine_.identity.name + " in operation",
        head() + verdict() + power() + temperatures() + tank() + events() + energy() + sensors() + made_by());
  }

 private:
  double x_of(double seconds) const {
    return in_hours_ ? seconds / 3600 : in_minutes_ ? seconds / 60 : seconds;
  }
  AxisText time_axis() const { return {in_hours_ ? "hours" : in_minutes_ ? "minutes" : "seconds", 8}; }
  Range time_range() const { return {0, x_of(longest_), false}; }

  template <class Get>
  std::vector<Point> series(Get get) const {
    std::vector<Point> out;
    for (const Sample& s : r_.samples) out.push_back({x_of(s.seconds), get(s)});
    return out;
  }

  /// What the script did and what was critical; one line for those that come together.
  void mark_events(Chart& chart) const {
    double last = -1e9;
    unsigned row = 0;
    for (const auto& entry : r_.log) {
      const bool critical = entry.severity == power::bmc::LogEntry::Severity::Critical;
      if (!critical && entry.source != "script") continue;
      const double x = x_of(static_cast<double>(entry.at.value) * 1e-12);
      row = x - last < 0.18 * x_of(longest_) ? row + 1 : 0;
      last = x;
      if (row > 4) continue;  // the table below has all of them
      chart.upright(x, critical ? "critical: " + entry.source : entry.text,
                    critical ? kDeadColour : kFaintInk, row);
    }
  }

  std::string head() const {
    return fmt::format(
        "<header>\n<p class=\"eyebrow\">Weft power report</p>\n<h1>{} in operation</h1>\n<p "
        "class=\"about\">{}"
        "</p>\n<p class=\"about\">{} from cold: {:.2f} kWh, PUE {:.3f}, energy balance to "
        "{:.0e}</p>\n</header>\n",
        escape_xml(machine_.identity.name), escape_xml(machine_.identity.about), hours_text(r_.seconds),
        r_.energy.total() / 3.6e6, r_.pue, std::abs(r_.balance_error));
  }

  std::string verdict() const {
    std::string text = r_.shutdown ? fmt::format("Shut down after {}: {}.", hours_text(r_.shutdown_seconds),
                                                 r_.shutdown_cause)
                                   : "No shutdown.";
    text += fmt::format(" The hottest chip was {} at {:.1f} C; its limit is {:g} C.", r_.hottest_part,
                        r_.hottest_c, r_.chip_limit_c);
    if (r_.least_speed < 1)
      text += fmt::format(" From {} on chips slowed down, to {:.0f}% at the least.",
                          hours_text(r_.throttled_seconds), 100 * r_.least_speed);
    return fmt::format("<div class=\"notice{}\"><b>{}</b></div>\n", r_.over_limit ? " bad" : "",
                       escape_xml(text));
  }

  std::string power() const {
    struct Layer {
      std::string name;
      std::string_view colour;
      std::vector<Point> values;
    };
    std::vector<Layer> layers;
    for (std::size_t role = 0; role < power::kRoles; ++role)
      if (r_.energy.roles[role] > 0)
        layers.push_back({power::kRoleNames[role], kRoleColours[role],
                          series([role](const Sample& s) { return s.role_watts[role] * 1e-3; })});
    layers.push_back({"lost in conversion", kConversionColour,
                      series([](const Sample& s) { return s.conversion_watts * 1e-3; })});
    if (r_.energy.pump > 0)
      layers.push_back(
          {"pumps and fans", kPumpColour, series([](const Sample& s) { return s.pump_watts * 1e-3; })});
    if (r_.energy.facility > 0)
      layers.push_back({"cooling of the building", kFacilityColour,
                        series([](const Sample& s) { return s.facility_watts * 1e-3; })});
    std::vector<Point> below = series([](const Sample&) { return 0.0; });
    double highest = 0.001;
    std::vector<std::vector<Point>> tops;
    for (const Layer& layer : layers) {
      std::vector<Point> top = below;
      for (std::size_t i = 0; i < top.size(); ++i) {
        top[i].y += layer.values[i].y;
        highest = std::max(highest, top[i].y);
      }
      tops.push_back(top);
      below = top;
    }
    Chart chart(kWidth, 320, "power over time, stacked by part", time_range(), time_axis(),
                range_to(highest * 1.12, 6), {"kW", 6});
    std::string legend;
    below = series([](const Sample&) { return 0.0; });
    for (std::size_t i = 0; i < layers.size(); ++i) {
      chart.area(below, tops[i], layers[i].colour, layers[i].name);
      below = tops[i];
      legend += legend_key(layers[i].colour, false, layers[i].name);
    }
    mark_events(chart);
    return html_section("power", "Power", "What is drawn from the mains, stacked by the part that draws it.",
                        chart_with_legend(legend, chart.svg()));
  }

  std::string temperatures() const {
    struct Line {
      const char* name;
      std::string_view colour;
      std::vector<Point> values;
    };
    const bool tank = r_.critical_flux > 0;
    std::vector<Line> lines{
        {"hottest chip", kDeadColour, series([](const Sample& s) { return s.hottest_c; })}};
    if (tank) {
      lines.push_back({"liquid", "#0072b2", series([](const Sample& s) { return s.liquid_c; })});
      lines.push_back({"vapour and air", "#56b4e9", series([](const Sample& s) { return s.vapour_c; })});
    }
    lines.push_back({"outlet", "#009e73", series([](const Sample& s) { return s.outlet_c; })});
    lines.push_back({"inlet", "#8797a6", series([](const Sample& s) { return s.inlet_c; })});
    const double top = std::max(r_.chip_limit_c, std::min(r_.hottest_c, r_.chip_limit_c + 60));
    Chart chart(kWidth, 320, "temperatures over time", time_range(), time_axis(), range_to(top * 1.15, 6),
                {"degrees Celsius", 6});
    std::string legend;
    for (const Line& line : lines) {
      chart.line(line.values, {line.colour, 2.2, false});
      legend += legend_key(line.colour, false, line.name);
    }
    double throttle = 1e9;
    for (const power::Part& part : machine_.body->parts) throttle = std::min(throttle, part.throttle_c);
    chart.line({{0, r_.chip_limit_c}, {x_of(longest_), r_.chip_limit_c}}, {kDeadColour, 1.4, true});
    chart.line({{0, throttle}, {x_of(longest_), throttle}}, {"#e69f00", 1.4, true});
    legend += legend_key(kDeadColour, true, fmt::format("limit, {:g} C", r_.chip_limit_c)) +
              legend_key("#e69f00", true, fmt::format("chips slow down, {:g} C", throttle));
    mark_events(chart);
    return html_section("temperatures", "Temperatures", "", chart_with_legend(legend, chart.svg()));
  }

  std::string tank() const {
    if (!(r_.critical_flux > 0)) return "";
    const power::ControllerParameters& limits = machine_.body->controller;
    double low = -50, high = limits.overpressure_mbar;
    for (const Sample& s : r_.samples) {
      low = std::min(low, s.overpressure_mbar);
      high = std::max(high, s.overpressure_mbar);
    }
    Chart pressure(kWidth, 260, "pressure over the room's", time_range(), time_axis(),
                   Range{low * 1.05, high * 1.15, false}, {"mbar over the room", 6});
    pressure.line(series([](const Sample& s) { return s.overpressure_mbar; }), {"#0072b2", 2.2, false});
    pressure.line({{0, limits.overpressure_mbar}, {x_of(longest_), limits.overpressure_mbar}},
                  {kDeadColour, 1.4, true});
    mark_events(pressure);
    Chart level(kWidth, 260, "level of the liquid", time_range(), time_axis(), Range{0, 120, false},
                {"percent", 6});
    level.line(series([](const Sample& s) { return 100 * s.level; }), {"#0072b2", 2.2, false});
    level.line(series([](const Sample& s) { return 100 * s.vapour_share; }), {"#56b4e9", 2.2, false});
    const double critical = 100 * power::bmc::barrier_height(std::max(1u, limits.level_barriers) - 1);
    level.line({{0, critical}, {x_of(longest_), critical}}, {kDeadColour, 1.4, true});
    mark_events(level);
    return html_section(
               "pressure", "Pressure of the tank",
               "Air over the vapour is compressed and let out as the tank warms up; then the pressure stays.",
               chart_with_legend(
                   legend_key("#0072b2", false, "pressure") + legend_key(kDeadColour, true, "shutdown above"),
                   pressure.svg())) +
           html_section("level", "Level of the liquid",
                        "Of the cold level; and how much of the condenser's height vapour reaches.",
                        chart_with_legend(legend_key("#0072b2", false, "liquid") +
                                              legend_key("#56b4e9", false, "vapour at the condenser") +
                                              legend_key(kDeadColour, true, "shutdown below"),
                                          level.svg()));
  }

  std::string events() const {
    std::vector<std::vector<std::string>> rows;
    for (const auto& entry : r_.log)
      rows.push_back({fmt::format("<span class=\"when\">{}</span>",
                                  hours_text(static_cast<double>(entry.at.value) * 1e-12)),
                      power::bmc::severity_name(entry.severity), escape_xml(entry.source),
                      escape_xml(entry.text)});
    return html_section("events", "Events", "The script's, and the log of the controller and the watchdog.",
                        html_table({{"After", true}, {"Severity"}, {"Source"}, {"What"}}, rows));
  }

  std::string energy() const {
    const power::thermal::Accounts& a = r_.energy;
    std::vector<std::vector<std::string>> rows;
    auto row = [&](const std::string& name, double joules, std::string_view colour) {
      if (joules != 0)
        rows.push_back({name, fmt::format("{:.3f}", joules / 3.6e6),
                        fmt::format("{:.1f}", joules / std::max(r_.seconds, 1e-9)),
                        html_bar(std::clamp(joules / std::max(a.total(), 1e-9), 0.0, 1.0), colour)});
    };
    for (std::size_t i = 0; i < power::kRoles; ++i) row(power::kRoleNames[i], a.roles[i], kRoleColours[i]);
    row("lost in conversion", a.conversion, kConversionColour);
    row("controller", a.controller, kInk);
    row("pumps and fans", a.pump, kPumpColour);
    row("cooling of the building", a.facility, kFacilityColour);
    row("heat: with the stream", a.stream, "#009e73");
    row("heat: to the room", a.room, "#8797a6");
    row("heat: with coolant that left", a.lost, "#56b4e9");
    return html_section("energy", "Where the energy went",
                        "What came in as electricity, and how it left as heat; the rest is stored.",
                        html_table({{"Part"}, {"kWh", true}, {"W on average", true}, {"Share"}}, rows));
  }

  std::string sensors() const {
    // Of zones there are many, which all have the same sensors: they are the rows of a table of their own.
    std::vector<std::vector<std::string>> rows, zones;
    double critical = 0;
    for (const auto& sensor : r_.sensors) {
      const auto digit = sensor.name.find_first_of("0123456789");
      if (digit == std::string::npos) {
        rows.push_back({escape_xml(sensor.name), fmt::format("{:.2f}", sensor.value), escape_xml(sensor.unit),
                        sensor.critical_low > -1e29 ? fmt::format("{:.1f}", sensor.critical_low) : "",
                        sensor.critical_high < 1e29 ? fmt::format("{:.1f}", sensor.critical_high) : ""});
        continue;
      }
      const std::string zone = sensor.name.substr(digit);
      if (zones.empty() || zones.back().front() != zone) zones.push_back({zone});
      zones.back().push_back(fmt::format("{:.2f}", sensor.value));
      if (sensor.name.starts_with("chips")) critical = sensor.critical_high;
    }
    return html_section("sensors", "Sensors", "As the controller read them last, over I2C.",
                        html_table({{"Sensor"},
                                    {"Value", true},
                                    {"Unit"},
                                    {"Critical below", true},
                                    {"Critical above", true}},
                                   rows)) +
           html_section(
               "zones", "Zones",
               fmt::format("Nodes behind one supply, or all that supplies feed together: the hottest "
                           "chip, critical above {:.1f} C, and what the supply delivers.",
                           critical),
               html_table({{"Zone"}, {"Chips, C", true}, {"V", true}, {"A", true}}, zones));
  }

  std::string made_by() const {
    return html_section("made-by", "Made by", "",
                        fmt::format("<p><code>{}</code>, version {}</p>\n", escape_xml(command_), version()));
  }

  const OperationResult& r_;
  const machine::Description& machine_;
  std::string command_;
  double longest_ = 1;
  bool in_minutes_ = false, in_hours_ = false;
};

}  // namespace

std::string power_page(const OperationResult& result, const machine::Description& machine,
                       const std::string& command) {
  return Page(result, machine, command).html();
}

}  // namespace weft::report
