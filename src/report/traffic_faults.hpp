// What faults did to a run of traffic: for the terminal and for the report.
#pragma once

#include <string>

#include "machine/machine.hpp"
#include "measure/traffic/result.hpp"

namespace weft::report {

/// The timeline, the cables that had errors, and who was cut off, as lines of text; empty where nothing could
/// fail.
std::string faults_text(const measure::TrafficResult& result, const machine::Machine& machine);

/// The same as sections of a page, with throughput over time.
std::string faults_html(const measure::TrafficResult& result, const machine::Machine& machine);

}  // namespace weft::report
