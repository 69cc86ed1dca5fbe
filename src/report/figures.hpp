// Quantities as people read them: rounded, in the largest unit that leaves at least 1.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "base/quantity.hpp"
#include "base/text.hpp"

namespace weft::report {

/// Four digits are enough for a table: 108.606Gbps prints as "108.6Gbps".
template <class Q>
std::string rounded(double base_units) {
  if (base_units == 0) return "0";
  const Unit* best = &quantity_kind<Q>().units.front();
  for (const Unit& unit : quantity_kind<Q>().units)
    if (std::abs(base_units) >= static_cast<double>(unit.factor)) best = &unit;
  double value = base_units / static_cast<double>(best->factor);
  if (value >= 1e4) return with_commas(static_cast<std::uint64_t>(value)) + std::string(best->name);
  return fmt::format("{:.4g}{}", value, best->name);
}

template <class Q>
std::string rounded(Q quantity) {
  return rounded<Q>(static_cast<double>(quantity.value));
}

/// "2m", "1m to 3m"; empty for wires on a board, whose length nobody gives.
inline std::string length_range(Length shortest, Length longest) {
  if (longest.value == 0) return "";
  return shortest == longest ? to_text(longest)
                             : fmt::format("{} to {}", to_text(shortest), to_text(longest));
}

/// "18,432 optical cables"; the default type needs no name.
inline std::string cable_count(std::uint64_t cables, const std::string& type) {
  return count_of(cables, type == "default" ? "cable" : type + " cable");
}

}  // namespace weft::report
