// Time as a clocked engine counts it.
#pragma once

#include <cstdint>

namespace weft {

using Cycle = std::uint64_t;
inline constexpr Cycle kNever = ~Cycle{0};

/// A time shorter than a cycle, or what is missing of one: so many of the parts that a cycle has.
using Remainder = std::int32_t;
inline constexpr unsigned kCyclePartBits = 20;
inline constexpr Remainder kCycleParts = 1 << kCyclePartBits;

}  // namespace weft
