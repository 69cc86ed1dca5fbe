// What a run would gain, for the terminal, the page and result.json.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "measure/run/what_if.hpp"

namespace weft::report {

std::vector<std::string> what_if_lines(const measure::WhatIf& answer);
Json what_if_json(const measure::WhatIf& answer);
std::string what_if_section(const measure::WhatIf& answer);

}  // namespace weft::report
