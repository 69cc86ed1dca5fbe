// Physical quantities as integers with a unit in the type: times are exact picoseconds, never doubles.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

template <class Tag>
struct Quantity {
  std::int64_t value = 0;  // in the tag's base unit
  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return {a.value + b.value}; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return {a.value - b.value}; }
  friend constexpr Quantity operator*(Quantity a, std::int64_t n) { return {a.value * n}; }
};

using Time = Quantity<struct TimeTag>;            // picoseconds
using Length = Quantity<struct LengthTag>;        // millimetres
using DataRate = Quantity<struct DataRateTag>;    // bits per second
using DataSize = Quantity<struct DataSizeTag>;    // bytes
using Frequency = Quantity<struct FrequencyTag>;  // hertz

struct Unit {
  std::string_view name;
  std::int64_t factor;  // base units in one of these
};

/// What the text of a quantity may look like, for parsing, printing and error messages.
struct QuantityKind {
  std::string_view noun;     // "a time"
  std::string_view example;  // "98.6ns"
  std::vector<Unit> units;   // ascending factor
};

template <class Q>
const QuantityKind& quantity_kind();
template <>
const QuantityKind& quantity_kind<Time>();
template <>
const QuantityKind& quantity_kind<Length>();
template <>
const QuantityKind& quantity_kind<DataRate>();
template <>
const QuantityKind& quantity_kind<DataSize>();
template <>
const QuantityKind& quantity_kind<Frequency>();

/// The value in base units, or nothing with a reason in `error`. A bare "0" needs no unit.
/// Values finer than the base unit are refused rather than rounded.
std::optional<std::int64_t> parse_quantity(const QuantityKind& kind, std::string_view text,
                                           std::string& error);

/// The shortest exact text: 98600 ps prints as "98.6ns".
std::string format_quantity(const QuantityKind& kind, std::int64_t value);

template <class Q>
std::string to_text(Q q) {
  return format_quantity(quantity_kind<Q>(), q.value);
}

}  // namespace weft
