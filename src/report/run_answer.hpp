// Why a run took as long as it did, in a sentence or two; for the terminal, the page and result.json.
#pragma once

#include <string>

#include "base/json.hpp"
#include "machine/machine.hpp"
#include "measure/run/root_causes.hpp"

namespace weft::report {

/// Empty where nothing is known.
std::string answer_text(const measure::RunAnswer& answer, const machine::Machine& machine);
Json answer_json(const measure::RunAnswer& answer, const machine::Machine& machine);
/// Where waits come from, as a table.
std::string waits_section(const measure::RunAnswer& answer);

}  // namespace weft::report
