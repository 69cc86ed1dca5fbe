// The charts of a traffic report.
#pragma once

#include <string>

#include "measure/traffic/result.hpp"

namespace weft::report {

/// Latency over offered load: mean and 99th percentile. Legend and SVG, as HTML.
std::string latency_chart(const measure::TrafficResult& result);

/// Accepted over offered load, beside the diagonal of a network that takes everything.
std::string throughput_chart(const measure::TrafficResult& result);

/// Packets by latency at one load, over those of a lower one.
std::string histogram_chart(const measure::TrafficResult& result, const measure::TrafficPoint& point,
                            const measure::TrafficPoint& lower);

/// What the best and the worst source got through, by offered load.
std::string fairness_chart(const measure::TrafficResult& result);

}  // namespace weft::report
