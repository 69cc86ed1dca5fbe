// The tables of a traffic run, for spreadsheets and scripts: a header line, then rows separated by commas.
#pragma once

#include <string>

#include "machine/machine.hpp"
#include "measure/traffic/result.hpp"

namespace weft::report {

/// A row for each load.
std::string points_csv(const measure::TrafficResult& result);
/// A row for each load and link between routers.
std::string links_csv(const measure::TrafficResult& result, const machine::Machine& machine);
/// A row for each load and range of times in which packets arrived.
std::string histogram_csv(const measure::TrafficResult& result);

}  // namespace weft::report
