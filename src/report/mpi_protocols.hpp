// Which protocol carried the messages of a run, and what that cost its processors.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "host/mpi_layout.hpp"

namespace weft::report {

nlohmann::ordered_json protocols_json(const host::MpiSums& sums);
/// A section of the report; empty where nothing was carried.
std::string protocols_section(const host::MpiSums& sums);

}  // namespace weft::report
