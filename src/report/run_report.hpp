// The report of a run of programs: JSON, CSV tables and a page of HTML.
#pragma once

#include <string>

#include "base/json.hpp"
#include "measure/run/run_details.hpp"
#include "measure/run/run_stats.hpp"

namespace weft::report {

Json run_json(const measure::ProgramResult& result, const measure::RunStats& stats,
              const measure::RunDetails& details, const machine::Machine& machine);
/// `more`: sections that belong to some runs only, as HTML.
std::string run_page(const measure::ProgramResult& result, const measure::RunStats& stats,
                     const measure::RunDetails& details, const machine::Machine& machine,
                     const std::string& more = "");
/// from,to,operations,bytes
std::string matrix_csv(const measure::RunStats& stats);
/// operation,count,bytes,parts...
std::string breakdown_csv(const measure::RunStats& stats);

}  // namespace weft::report
