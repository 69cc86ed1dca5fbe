// What a run of programs drew, for its report.
#pragma once

#include <string>

#include "base/json.hpp"
#include "measure/run/run_power.hpp"

namespace weft::report {

Json run_power_json(const measure::RunPower& power);
/// A section of the page of a run: power over time, stacked by part, and the energy of each.
std::string run_power_section(const measure::RunPower& power);
/// One line for a terminal.
std::string run_power_text(const measure::RunPower& power);

}  // namespace weft::report
