// How figures are written, in the table and on the page alike.
#pragma once

#include <string>

#include "measure/validate/figure.hpp"

namespace weft::report {

/// Five digits, and all of a whole number.
std::string value_text(double value);
std::string error_text(const measure::FigureResult& f);
std::string tolerance_text(const measure::FigureResult& f);
/// "22 structure, 19 calibrated, 6 derived, 24 predicted".
std::string bases_text(const measure::ValidateResult& result);

}  // namespace weft::report
