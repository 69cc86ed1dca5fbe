// What a run's files cost: servers, the job's burst buffer, and how much of each link's load they were.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "measure/run/run_details.hpp"
#include "measure/run/run_stats.hpp"

namespace weft::report {

/// A few lines for the terminal; none where the job has no burst buffer.
std::vector<std::string> storage_lines(const storage::Figures& figures);
/// What each server has done.
Json servers_json(const storage::Figures& figures);
Json storage_json(const measure::ProgramResult& result, const measure::RunDetails& details,
                  const machine::Machine& machine);
/// HTML; empty where nobody has used the file system.
std::string storage_section(const measure::ProgramResult& result, const measure::RunDetails& details,
                            const machine::Machine& machine);

}  // namespace weft::report
