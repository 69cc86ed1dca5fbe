// What a machine's operation came to, for programs and terminals.
#include <fmt/format.h>

#include <cmath>

#include "base/version.hpp"
#include "power/body.hpp"
#include "report/power_report.hpp"

namespace weft::report {

using power::operate::OperationResult;
using power::operate::Sample;

namespace {

Json energy_json(const power::thermal::Accounts& a) {
  Json roles = Json::object();
  for (std::size_t i = 0; i < power::kRoles; ++i)
    if (a.roles[i] > 0) roles[power::kRoleNames[i]] = a.roles[i];
  Json out = Json::object();
  out["parts"] = roles;
  out["conversion"] = a.conversion;
  out["controller"] = a.controller;
  out["pump"] = a.pump;
  out["facility"] = a.facility;
  out["equipment"] = a.equipment();
  out["total"] = a.total();
  out["to_stream"] = a.stream;
  out["to_room"] = a.room;
  out["lost_with_coolant"] = a.lost;
  return out;
}

}  // namespace

std::string hours_text(double seconds) {
  const auto whole = static_cast<long>(std::lround(seconds));
  if (whole >= 3600) return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
  if (whole >= 60) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{:.3g} s", seconds);
}

Json power_json(const OperationResult& r, const machine::Description& machine, const std::string& command) {
  Json out = Json::object();
  out["command"] = command;
  out["version"] = version();
  out["machine"] = machine.identity.name;
  out["seconds"] = r.seconds;
  out["pue"] = r.pue;
  out["energy_balance_error"] = r.balance_error;
  out["shutdown"] = r.shutdown;
  if (r.shutdown) {
    out["shutdown_seconds"] = r.shutdown_seconds;
    out["shutdown_cause"] = r.shutdown_cause;
  }
  out["hottest_chip_c"] = r.hottest_c;
  out["hottest_chip"] = r.hottest_part;
  out["hottest_seconds"] = r.hottest_seconds;
  out["chip_limit_c"] = r.chip_limit_c;
  out["over_limit"] = r.over_limit;
  out["least_speed"] = r.least_speed;
  out["heat_flux"] = r.highest_flux;
  out["critical_heat_flux"] = r.critical_flux;
  out["highest_overpressure_mbar"] = r.highest_overpressure_mbar;
  if (r.least_speed < 1) out["throttled_seconds"] = r.throttled_seconds;
  out["coolant_lost_litres"] = r.coolant_lost_litres;
  out["energy_joules"] = energy_json(r.energy);
  Json log = Json::array(), sensors = Json::array(), samples = Json::array();
  for (const auto& entry : r.log)
    log.push_back({{"seconds", static_cast<double>(entry.at.value) * 1e-12},
                   {"severity", power::bmc::severity_name(entry.severity)},
                   {"source", entry.source},
                   {"text", entry.text}});
  for (const auto& sensor : r.sensors)
    sensors.push_back({{"name", sensor.name},
                       {"value", sensor.value},
                       {"unit", sensor.unit},
                       {"critical", sensor.critical()}});
  for (const Sample& s : r.samples) {
    double parts = 0;
    for (double watts : s.role_watts) parts += watts;
    samples.push_back({{"seconds", s.seconds},
                       {"part_watts", parts},
                       {"conversion_watts", s.conversion_watts},
                       {"pump_watts", s.pump_watts},
                       {"hottest_c", s.hottest_c},
                       {"liquid_c", s.liquid_c},
                       {"outlet_c", s.outlet_c},
                       {"overpressure_mbar", s.overpressure_mbar},
                       {"level", s.level},
                       {"speed", s.speed}});
  }
  out["log"] = log;
  out["sensors"] = sensors;
  out["samples"] = samples;
  return out;
}

std::string power_csv(const OperationResult& r) {
  std::string out = "seconds";
  for (const char* role : power::kRoleNames) out += fmt::format(",{}_watts", role);
  out +=
      ",conversion_watts,pump_watts,facility_watts,hottest_c,liquid_c,vapour_c,inlet_c,outlet_c,overpressure_"
      "mbar,"
      "level,coolant_litres,vapour_share,flow_lpm,speed\n";
  for (const Sample& s : r.samples) {
    out += fmt::format("{:.3f}", s.seconds);
    for (double watts : s.role_watts) out += fmt::format(",{:.3f}", watts);
    for (double value :
         {s.conversion_watts, s.pump_watts, s.facility_watts, s.hottest_c, s.liquid_c, s.vapour_c, s.inlet_c,
          s.outlet_c, s.overpressure_mbar, s.level, s.coolant_litres, s.vapour_share, s.flow_lpm, s.speed})
      out += fmt::format(",{:.4f}", value);
    out += "\n";
  }
  return out;
}

std::string power_text(const OperationResult& r, const machine::Description& machine) {
  const power::thermal::Accounts& a = r.energy;
  auto kwh = [](double joules) { return joules / 3.6e6; };
  std::string out = fmt::format("{}: {} of operation\n\n", machine.identity.name, hours_text(r.seconds));
  for (const auto& entry : r.log)
    out += fmt::format("  {:>14}  {:<11}  {}: {}\n", hours_text(static_cast<double>(entry.at.value) * 1e-12),
                       power::bmc::severity_name(entry.severity), entry.source, entry.text);
  out += fmt::format("\n  energy       {:.2f} kWh of equipment ({:.0f} W on average), {:.3f} kWh of pumps",
                     kwh(a.equipment()), r.seconds > 0 ? a.equipment() / r.seconds : 0, kwh(a.pump));
  if (a.facility > 0) out += fmt::format(", {:.2f} kWh of the building's cooling", kwh(a.facility));
  out += fmt::format("; PUE {:.3f}\n", r.pue);
  out += fmt::format("  heat         {:.2f} kWh with the stream, {:.3f} kWh to the room", kwh(a.stream),
                     kwh(a.room));
  if (a.lost != 0) out += fmt::format(", {:.3f} kWh with coolant that left", kwh(a.lost));
  out += fmt::format("; balance to {:.1e}\n", std::abs(r.balance_error));
  out += fmt::format("  hottest      {} at {:.1f} C after {}, limit {:g} C{}\n", r.hottest_part, r.hottest_c,
                     hours_text(r.hottest_seconds), r.chip_limit_c, r.over_limit ? ": PASSED" : "");
  if (r.least_speed < 1)
    out += fmt::format("  throttled    from {} on, down to {:.0f}% of full speed\n",
                       hours_text(r.throttled_seconds), 100 * r.least_speed);
  if (r.critical_flux > 0)
    out += fmt::format(
        "  boiling      {:.1f} kW/m2 at the end, critical {:.0f} kW/m2 on a bare surface; {:.2f} l of "
        "coolant lost\n",
        r.highest_flux * 1e-3, r.critical_flux * 1e-3,
        std::max(0.0, r.coolant_lost_litres));  // what the solver's tolerance makes less than nothing is none
  out += r.shutdown
             ? fmt::format("  shut down    after {}: {}\n", hours_text(r.shutdown_seconds), r.shutdown_cause)
             : std::string("  no shutdown\n");
  return out;
}

}  // namespace weft::report
