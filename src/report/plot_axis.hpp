// Axes of plots: from values to pixels, and ticks at round numbers.
#pragma once

#include <string>
#include <vector>

namespace weft::report {

/// The values an axis spans.
struct Range {
  double low = 0, high = 1;
  bool logarithmic = false;
  /// Where a value lies along the axis: 0 at `low`, 1 at `high`.
  double place(double value) const;
};

/// Multiples of 1, 2 or 5 times a power of ten within the range; about as many as wanted. On a logarithmic
/// axis 1, 2 and 5 of each power of ten, or the powers alone where those would be too many, and even steps
/// where they would be too few.
std::vector<double> round_ticks(const Range& range, unsigned wanted);

/// From 0 to the first round tick at or above a value.
Range range_to(double value, unsigned ticks);

/// The logarithmic range between round numbers that holds both.
Range log_range(double low, double high);

/// 12,000 and 0.25: no more digits than a tick needs.
std::string number_text(double value);

/// 0.333 as "33%", 0.0333 as "3.3%".
std::string percent(double share);

}  // namespace weft::report
