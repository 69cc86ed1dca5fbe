#include "measure/traffic/steady_state.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace weft::measure {

namespace {

struct Estimate {
  double mean = 0;
  double variance_of_mean = 0;
};

Estimate estimate(std::span<const double> values) {
  auto n = static_cast<double>(values.size());
  Estimate out;
  for (double v : values) out.mean += v / n;
  for (double v : values) out.variance_of_mean += (v - out.mean) * (v - out.mean) / (n - 1) / n;
  return out;
}

/// The 97.5% point of Student's t, from the expansion of Cornish and Fisher (Abramowitz and Stegun 26.7.5);
/// its first three terms are within 1% from 4 degrees of freedom on.
double student(double degrees) {
  constexpr double z = 1.959964;
  double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  return z + (z3 + z) / (4 * degrees) + (5 * z5 + 16 * z3 + 3 * z) / (96 * degrees * degrees) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * degrees * degrees * degrees);
}

bool within(double value, double reference, double share) {
  return std::abs(value - reference) <= share * reference;
}

double per_cycle(const Window& window) {
  return static_cast<double>(window.delivered) / static_cast<double>(window.cycles);
}

}  // namespace

bool falls_behind(std::uint64_t made, std::uint64_t delivered, double share) {
  return static_cast<double>(delivered) < (1 - share) * static_cast<double>(made);
}

bool fills(std::uint64_t injected, std::uint64_t delivered) {
  constexpr double kFilling = 0.03;
  return static_cast<double>(injected) > (1 + kFilling) * static_cast<double>(delivered);
}

Warmth WarmUpTest::add(const Window& window, bool may_fill) {
  constexpr double kAlikeLatency = 0.015, kAlikeDelivered = 0.03, kBehind = 0.03;
  bool first = windows_++ == 0;  // fills the network, so it is always behind
  bool behind = !first && falls_behind(window.made, window.delivered, kBehind);
  bool latency_alike = within(window.mean_latency, before_.mean_latency, kAlikeLatency);
  bool delivered_alike = within(per_cycle(window), per_cycle(before_), kAlikeDelivered);
  bool full = may_fill || !fills(window.injected, window.delivered);
  alike_ = !first && !behind && latency_alike ? alike_ + 1 : 0;
  behind_ = !behind ? 0 : delivered_alike ? behind_ + 1 : 1;
  full_ = behind && full ? full_ + 1 : 0;
  before_ = window;
  if (alike_ >= 2) return Warmth::Steady;
  return behind_ >= 4 && full_ >= 4 ? Warmth::Saturated : Warmth::Undecided;
}

double half_width_95(const std::vector<double>& batch_means) {
  if (batch_means.size() < 2) return 0;
  return student(static_cast<double>(batch_means.size() - 1)) *
         std::sqrt(estimate(batch_means).variance_of_mean);
}

bool drifts(const std::vector<double>& batch_means) {
  if (batch_means.size() < 4) return false;
  std::span<const double> all(batch_means);
  Estimate early = estimate(all.first(all.size() / 2)), late = estimate(all.last(all.size() / 2));
  double chance = 3 * std::sqrt(early.variance_of_mean + late.variance_of_mean);
  return std::abs(late.mean - early.mean) > std::max(chance, 0.01 * early.mean);
}

}  // namespace weft::measure
