// A run's state in the text format of OpenMetrics, which Prometheus and its like read.
#pragma once

#include <string>

namespace weft::live {

inline constexpr const char* kMetricsType = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// `state`: what a board says of itself (JSON).
std::string metrics(const std::string& state);

}  // namespace weft::live
