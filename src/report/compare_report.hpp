// The report of a comparison: one HTML file that needs nothing but itself, and its tables.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "measure/compare/compare.hpp"

namespace weft::report {

using CompareResults = std::vector<Json>;  // in the order of the points; an empty one is missing

std::string compare_report(const measure::CompareSpec& spec, const CompareResults& results,
                           const std::vector<std::string>& wrong, const std::string& command);
std::string compare_csv(const CompareResults& results);
/// For the terminal.
std::string compare_table(const measure::CompareSpec& spec, const CompareResults& results);

}  // namespace weft::report
