#include "app/load_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/diagnostics.hpp"
#include "base/text.hpp"

namespace weft::app {

namespace {

constexpr std::size_t kMostLoads = 1000;

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw UserError(fmt::format("--load {}: {}", text, why));
}

double parse_number(const std::string& text, const std::string& word) {
  double value = 0;
  auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failed != std::errc() || end != word.data() + word.size() || !std::isfinite(value))
    refuse(text,
           fmt::format(
               "expected a load such as 0.3, a range such as 0.1:0.6:0.1 or a list such as 0.1,0.3, got '{}'",
               word));
  return value;
}

double checked_load(const std::string& text, double load) {
  if (load <= 0 || load > 1)
    refuse(text,
           fmt::format(
               "{} is no load; 1 is a flit per endpoint in every cycle, and loads are above 0 and at most 1",
               load));
  return load;
}

/// Steps in decimal fractions add up to values such as 0.30000000000000004; a load has nine digits at most.
double nine_digits(double load) { return std::round(load * 1e9) / 1e9; }

}  // namespace

std::vector<double> parse_loads(const std::string& text) {
  std::vector<double> out;
  for (const std::string& part : split(text, ',')) {
    std::vector<std::string> words = split(part, ':');
    if (words.size() == 1) {
      out.push_back(checked_load(text, parse_number(text, words[0])));
      continue;
    }
    if (words.size() != 3) refuse(text, fmt::format("expected first:last:step, got '{}'", part));
    double first = checked_load(text, parse_number(text, words[0]));
    double last = checked_load(text, parse_number(text, words[1]));
    double step = parse_number(text, words[2]);
    if (step <= 0) refuse(text, fmt::format("the step must be above 0, got {}", step));
    if (last < first) refuse(text, fmt::format("the range ends at {}, before it starts at {}", last, first));
    double steps = std::floor((last - first) / step + 1e-6);
    if (steps >= kMostLoads) refuse(text, fmt::format("more than {} loads", kMostLoads));
    for (unsigned i = 0; i <= steps; ++i) out.push_back(nine_digits(first + i * step));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace weft::app
