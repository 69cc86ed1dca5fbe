#include "report/plot_axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"

namespace weft::report {

namespace {

constexpr double kSlack = 1e-9;  // a tick that misses the end of its range by rounding still belongs to it
constexpr std::size_t kFewestTicks = 4;

double round_step(double rough) {
  double power = std::pow(10, std::floor(std::log10(rough)));
  for (double digit : {1.0, 2.0, 5.0})
    if (rough <= digit * power * (1 + kSlack)) return digit * power;
  return 10 * power;
}

std::vector<double> log_ticks(const Range& range, unsigned wanted) {
  std::vector<double> all, powers;
  for (double power = std::pow(10, std::floor(std::log10(range.low))); power <= range.high; power *= 10)
    for (double digit : {1.0, 2.0, 5.0}) {
      double tick = digit * power;
      if (tick < range.low * (1 - kSlack) || tick > range.high * (1 + kSlack)) continue;
      all.push_back(tick);
      if (digit == 1) powers.push_back(tick);
    }
  if (all.size() < kFewestTicks) return round_ticks({range.low, range.high}, wanted);
  return all.size() > 2 * wanted && powers.size() > 1 ? powers : all;
}

}  // namespace

double Range::place(double value) const {
  return logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
}

std::vector<double> round_ticks(const Range& range, unsigned wanted) {
  if (range.logarithmic) return log_ticks(range, wanted);
  double step = round_step((range.high - range.low) / wanted);
  std::vector<double> out;
  for (double n = std::ceil(range.low / step - kSlack); n * step <= range.high + step * kSlack; ++n)
    out.push_back(n * step + 0.0);  // never -0
  return out;
}

Range range_to(double value, unsigned ticks) {
  if (!(value > 0)) return {0, 1};
  double step = round_step(value / ticks);
  return {0, std::ceil(value / step - kSlack) * step};
}

Range log_range(double low, double high) {
  low = std::max(low, 1.0);
  high = std::max(high, low * 1.2);
  double below = std::pow(10, std::floor(std::log10(low))),
         above = std::pow(10, std::floor(std::log10(high)));
  return {std::floor(low / below * 2) / 2 * below, std::ceil(high / above * 2) / 2 * above, true};
}

std::string number_text(double value) {
  if (value >= 1000 && value == std::floor(value) && value < 1e15)
    return with_commas(static_cast<std::uint64_t>(value));
  return fmt::format("{:.6g}", value);
}

std::string percent(double share) {
  double value = 100 * share;
  return value > 0 && value < 9.95 ? fmt::format("{:.1f}%", value) : fmt::format("{:.0f}%", value);
}

}  // namespace weft::report
