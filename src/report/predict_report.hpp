// A prediction as text, as JSON and as a page with plots.
#pragma once

#include <string>

#include "base/json.hpp"
#include "measure/predict/predict.hpp"

namespace weft::report {

std::string prediction_text(const measure::Prediction& prediction);
Json prediction_json(const measure::Prediction& prediction);
std::string prediction_page(const measure::Prediction& prediction, const std::string& command);

}  // namespace weft::report
