// A prediction as text, as JSON and as a page with plots.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "measure/predict/predict.hpp"

namespace weft::report {

std::string prediction_text(const measure::Prediction& prediction);
nlohmann::ordered_json prediction_json(const measure::Prediction& prediction);
std::string prediction_page(const measure::Prediction& prediction, const std::string& command);

}  // namespace weft::report
