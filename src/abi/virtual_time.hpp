// Virtual time as ranks and simulator tell it to each other: picoseconds since the start of the run.
#pragma once

#include <cstdint>

namespace weft::abi {

inline constexpr std::int64_t kSecond = 1'000'000'000'000;
inline constexpr std::int64_t kNoDeadline = INT64_MAX;
inline constexpr std::int64_t kLastClock = 100 * 86'400 * kSecond;  // virtual time ends after 100 days

/// A cost that was multiplied out: at most as much as virtual time lasts.
inline std::int64_t bounded(__int128 picoseconds) {
  return picoseconds < kLastClock ? static_cast<std::int64_t>(picoseconds) : kLastClock;
}

}  // namespace weft::abi
