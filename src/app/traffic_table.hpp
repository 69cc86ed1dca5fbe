// What `weft traffic` tells people: a table of the loads and what it means.
#pragma once

#include <string>

#include "machine/machine.hpp"
#include "measure/traffic/result.hpp"

namespace weft::app {

std::string traffic_table(const measure::TrafficResult& result, const machine::Machine& machine);

}  // namespace weft::app
