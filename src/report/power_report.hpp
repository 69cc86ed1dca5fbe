// The report of a machine's operation: JSON, a table of samples, and a page with plots; and how it is packed.
#pragma once

#include <string>

#include "base/json.hpp"
#include "machine/description.hpp"
#include "power/operate/operation.hpp"

namespace weft::report {

Json power_json(const power::operate::OperationResult& result, const machine::Description& machine,
                const std::string& command);
/// A line for each sample.
std::string power_csv(const power::operate::OperationResult& result);
std::string power_page(const power::operate::OperationResult& result, const machine::Description& machine,
                       const std::string& command);
/// A few lines for a terminal.
std::string power_text(const power::operate::OperationResult& result, const machine::Description& machine);

/// "1 h 20 min", "35 s".
std::string hours_text(double seconds);

/// What a machine's outermost level is, in figures.
struct RackFigures {
  unsigned nodes = 0;
  double tflops = 0, litres = 0, height_units = 0, mass_kg = 0;
  double part_watts = 0, supply_watts = 0;  // at full load: of parts, and into the supplies
  double gflops_per_watt() const { return supply_watts > 0 ? 1e3 * tflops / supply_watts : 0; }
};
RackFigures rack_figures(const machine::Description& machine);
/// The tree of levels with what is on a node, and the figures.
std::string rack_text(const machine::Description& machine);
Json rack_json(const machine::Description& machine);

}  // namespace weft::report
