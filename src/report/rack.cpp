// How a machine is packed and what it draws, level by level.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "power/body.hpp"
#include "report/power_report.hpp"

namespace weft::report {

using power::Body;
using power::Level;
using power::Part;

namespace {

double mass_of(const Body& body, const Level& level) {
  const Level* inner = body.level(level.holds);
  return level.mass_kg + (inner ? level.count * mass_of(body, *inner) : 0);
}

/// Into the supplies, with all nodes at a load.
double supply_watts(const Body& body, double load) {
  const double output = body.nodes() * body.node_watts(load);
  return output / body.supply.efficiency_at(output / (body.supply.count * body.supply.watts));
}

std::string size_text(const Level& level) {
  std::vector<std::string> parts;
  if (level.litres() > 0)
    parts.push_back(fmt::format("{} x {} x {} mm, {:.0f} l", level.width.value, level.depth.value,
                                level.height.value, level.litres()));
  if (level.height_units > 0) parts.push_back(fmt::format("{:g} U", level.height_units));
  return join(parts, ", ");
}

std::string part_line(const Part& part) {
  std::string out =
      fmt::format("{:g} {} ({}): {:g} W idle, {:g} W busy", part.per_node, part.name,
                  power::kRoleNames[static_cast<std::size_t>(part.role)], part.idle_watts, part.full_watts());
  if (part.pj_per_bit > 0) out += fmt::format(", {:g} pJ/bit", part.pj_per_bit);
  return out + fmt::format("; slows at {:g} C, limit {:g} C", part.throttle_c, part.limit_c);
}

}  // namespace

RackFigures rack_figures(const machine::Description& machine) {
  const Body& body = *machine.body;
  RackFigures out;
  const Level* root = body.root();
  if (!root) return out;
  out.nodes = body.nodes();
  out.tflops = out.nodes * machine.processor.peak_gflops() * 1e-3;
  for (const machine::NodeProcessor& one : machine.node_processors)
    out.tflops += static_cast<double>(one.nodes.size()) *
                  (one.processor.peak_gflops() - machine.processor.peak_gflops()) * 1e-3;
  out.litres = root->litres();
  out.height_units = root->height_units;
  out.mass_kg = mass_of(body, *root);
  for (const Part& part : body.parts) out.part_watts += out.nodes * part.per_node * part.full_watts();
  if (!body.parts.empty()) out.supply_watts = supply_watts(body, 1);
  return out;
}

std::string rack_text(const machine::Description& machine) {
  const Body& body = *machine.body;
  const Level* root = body.root();
  if (!root) return "";
  std::string out = machine.identity.name + ", as it is packed\n\n";
  std::string indent = "  ";
  auto watts = [&](unsigned nodes) { return fmt::format("{:.0f} W", nodes * body.node_watts(1)); };
  out += fmt::format("{}{}: {}; {}\n", indent, root->name, root->about, size_text(*root));
  out += fmt::format("{}|  {} supplies of {:g} W, {:g} V, {}; {} cooling\n", indent, body.supply.count,
                     body.supply.watts, body.supply.volts,
                     body.supply.shared ? "feeding all nodes together" : "each feeding its own nodes",
                     body.cooling ? body.cooling->name : "no");
  const Level* level = root;
  for (const Level* inner = body.level(level->holds); inner;
       level = inner, inner = body.level(inner->holds)) {
    out += fmt::format("{}+- {} x {}: {}; {}; {}\n", indent, level->count, inner->name, inner->about,
                       size_text(*inner), watts(body.nodes_in(*inner)));
    indent += "   ";
  }
  out += fmt::format("{}+- {} x node: {} at full load\n", indent, level->count, watts(1));
  for (const Part& part : body.parts) out += fmt::format("{}   +- {}\n", indent, part_line(part));
  const RackFigures f = rack_figures(machine);
  out += fmt::format(
      "\n  {} nodes, {:.1f} TFLOP/s, {:.2f} kW of parts, {:.2f} kW from the mains ({:.2f} idle)\n", f.nodes,
      f.tflops, f.part_watts * 1e-3, f.supply_watts * 1e-3, supply_watts(body, 0) * 1e-3);
  out += fmt::format("  {:.2f} GFLOP/s per W", f.gflops_per_watt());
  if (f.litres > 0)
    out += fmt::format(", {:.1f} GFLOP/s and {:.1f} W per litre", 1e3 * f.tflops / f.litres,
                       f.supply_watts / f.litres);
  if (f.height_units > 0)
    out += fmt::format(", {:.2f} TFLOP/s and {:.2f} kW per U", f.tflops / f.height_units,
                       f.supply_watts * 1e-3 / f.height_units);
  if (f.mass_kg > 0) out += fmt::format(", {:.0f} kg", f.mass_kg);
  return out + "\n";
}

Json rack_json(const machine::Description& machine) {
  const Body& body = *machine.body;
  Json levels = Json::array();
  for (const Level* level = body.root(); level; level = body.level(level->holds))
    levels.push_back({{"name", level->name},
                      {"holds", level->holds},
                      {"count", level->count},
                      {"nodes", body.nodes_in(*level)},
                      {"litres", level->litres()},
                      {"height_units", level->height_units},
                      {"watts", body.nodes_in(*level) * body.node_watts(1)}});
  Json parts = Json::array();
  for (const Part& part : body.parts)
    parts.push_back({{"name", part.name},
                     {"role", power::kRoleNames[static_cast<std::size_t>(part.role)]},
                     {"per_node", part.per_node},
                     {"idle_watts", part.idle_watts},
                     {"full_watts", part.full_watts()},
                     {"limit_c", part.limit_c}});
  const RackFigures f = rack_figures(machine);
  Json out = Json::object();
  out["machine"] = machine.identity.name;
  out["levels"] = levels;
  out["parts"] = parts;
  out["nodes"] = f.nodes;
  out["tflops"] = f.tflops;
  out["part_watts"] = f.part_watts;
  out["supply_watts"] = f.supply_watts;
  out["gflops_per_watt"] = f.gflops_per_watt();
  out["litres"] = f.litres;
  out["height_units"] = f.height_units;
  out["mass_kg"] = f.mass_kg;
  return out;
}

}  // namespace weft::report
