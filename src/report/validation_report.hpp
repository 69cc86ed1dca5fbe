// Published figures beside ours: a table for the terminal, rows for programs, a page with plots.
#pragma once

#include <string>

#include "base/json.hpp"
#include "measure/validate/figure.hpp"
#include "measure/validate/paper.hpp"

namespace weft::report {

std::string validation_text(const measure::ValidateResult& result);

/// A list with an object for each figure; `error` and `tolerance` are in the same unit, `error_unit`.
Json validation_json(const measure::ValidateResult& result);

/// The table for a document.
std::string validation_markdown(const measure::ValidateResult& result);

std::string validation_page(const measure::ValidateResult& result);

/// The figures and tables of a paper by their numbers.
std::string paper_page(const measure::Paper& paper, const measure::ValidateResult& result);

}  // namespace weft::report
