// A traffic run as one JSON object.
#pragma once

#include "base/json.hpp"
#include "machine/machine.hpp"
#include "measure/traffic/result.hpp"

namespace weft::report {

/// Everything but how the run was made depends on machine, workload and seed alone; `run` holds the command,
/// the threads and the times, so that two results can be compared without it.
/// Refers to both of what it is given: write it while they are there.
Json traffic_json(const measure::TrafficResult& result, const machine::Machine& machine);

}  // namespace weft::report
