// The report of a traffic run: one HTML file that needs nothing but itself, for the screen and for print.
#pragma once

#include <string>

#include "machine/machine.hpp"
#include "measure/traffic/result.hpp"

namespace weft::report {

/// The page; the same result gives the same bytes.
std::string traffic_report(const measure::TrafficResult& result, const machine::Machine& machine);

/// Writes it to a file. Throws UserError where the file cannot be written.
void write_traffic_report(const measure::TrafficResult& result, const machine::Machine& machine,
                          const std::string& path);

}  // namespace weft::report
