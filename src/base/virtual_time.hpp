// The end of virtual time, and sums of times that no run can overflow.
//
// Picoseconds in 63 bits last 106 days. Virtual time ends before that, at a limit that is told; what is left
// above it is room for what is added without a look: the costs of single operations. Times that a user or a
// program can make as long as it likes (sleeps, computing, the transfer of a message) enter through later()
// or transfer_time(), which stop at kPastTheEnd; whoever moves the clock on refuses to go there.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "base/quantity.hpp"

namespace weft {

inline constexpr Time kEndOfTime{100 * 86'400'000'000'000'000};  // 100 days
inline constexpr Time kPastTheEnd{kEndOfTime.value + 1};

/// `by` after `at`; neither is negative.
constexpr Time later(Time at, Time by) {
  return by.value > kEndOfTime.value - at.value ? kPastTheEnd : at + by;
}

/// How long so many bytes take at a rate, rounded up.
constexpr Time transfer_time(std::uint64_t bytes, std::int64_t bits_per_second) {
  auto rate = static_cast<unsigned __int128>(bits_per_second);
  unsigned __int128 time = (static_cast<unsigned __int128>(bytes) * 8 * 1'000'000'000'000u + rate - 1) / rate;
  return {static_cast<std::int64_t>(
      std::min(time, static_cast<unsigned __int128>(static_cast<std::uint64_t>(kPastTheEnd.value))))};
}

/// A time so many times as long.
constexpr Time scaled(Time t, double factor) {
  double value = static_cast<double>(t.value) * factor;
  return value < static_cast<double>(kEndOfTime.value) ? Time{static_cast<std::int64_t>(value)} : kPastTheEnd;
}

/// Virtual time has passed its end.
class OutOfTime : public std::runtime_error {
 public:
  OutOfTime()
      : std::runtime_error(
            "virtual time passed 100 days, and that is the limit: times are whole picoseconds in 64 bits") {}
};

inline void check_time(Time now) {
  if (now > kEndOfTime) [[unlikely]]
    throw OutOfTime();
}

/// Times added up over any number of operations and ranks.
struct TimeSum {
  __int128 value = 0;  // picoseconds
  TimeSum& operator+=(Time t) {
    value += t.value;
    return *this;
  }
  double picoseconds() const { return static_cast<double>(value); }
  /// Of so many; 0 where there are none.
  Time mean(std::uint64_t count) const {
    return {count ? static_cast<std::int64_t>(value / static_cast<__int128>(count)) : 0};
  }
  friend constexpr auto operator<=>(const TimeSum&, const TimeSum&) = default;
};

}  // namespace weft
