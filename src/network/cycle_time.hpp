// How long a cycle is, and times as whole cycles and what is left of one.
#pragma once

#include <cstdint>

#include "base/cycle.hpp"
#include "base/quantity.hpp"

namespace weft::network {

/// How long a cycle is: `picoseconds / over`, exactly.
struct CycleTime {
  std::int64_t picoseconds = 1000, over = 1;
  /// Whole cycles that cover a time.
  std::uint64_t cycles(Time t) const {
    return static_cast<std::uint64_t>((static_cast<__int128>(t.value) * over + picoseconds - 1) /
                                      picoseconds);
  }
  /// Whole cycles within a time, and what is left of it.
  std::uint64_t whole_cycles(Time t) const {
    return static_cast<std::uint64_t>(static_cast<__int128>(t.value) * over / picoseconds);
  }
  Remainder remainder(Time t, std::uint64_t less_cycles) const {
    __int128 rest = static_cast<__int128>(t.value) * over - static_cast<__int128>(less_cycles) * picoseconds;
    return static_cast<Remainder>(rest * kCycleParts / picoseconds);
  }
  /// When a cycle ends or begins, to the picosecond.
  Time time(std::uint64_t cycles, Remainder parts = 0) const {
    __int128 all = static_cast<__int128>(cycles) * kCycleParts + parts;
    return {static_cast<std::int64_t>(all * picoseconds / over / kCycleParts)};
  }
  double nanoseconds(double cycles) const {
    return cycles * static_cast<double>(picoseconds) / static_cast<double>(over) / 1000;
  }
};

}  // namespace weft::network
