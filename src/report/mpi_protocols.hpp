// Which protocol carried the messages of a run, and what that cost its processors.
#pragma once

#include <string>

#include "base/json.hpp"
#include "host/simulation.hpp"

namespace weft::report {

Json protocols_json(const host::RunResult& run);
/// A section of the report; empty where nothing was carried.
std::string protocols_section(const host::RunResult& run);

}  // namespace weft::report
