// What the machine's monitors said during a run, as JSON.
#pragma once

#include "base/json.hpp"
#include "measure/run/monitor.hpp"

namespace weft::report {

Json monitor_json(const measure::Monitor& monitor, const topology::Graph& graph);

}  // namespace weft::report
