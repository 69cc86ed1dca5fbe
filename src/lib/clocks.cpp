#include "lib/clocks.hpp"

#include "abi/port_layout.hpp"
#include "lib/segment.hpp"

namespace weft::lib {

bool is_processor_time(clockid_t clock) {
  bool asked = clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID;
  return asked && segment() && segment()->phase.load() != abi::MpiPhase::None;
}

bool is_virtual(clockid_t clock) {
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_BOOTTIME:
      return true;
    default:
      return false;
  }
}

std::int64_t base_seconds(clockid_t clock) {
  bool calendar = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  return calendar ? segment()->epoch : 1;
}

std::int64_t saturated(std::int64_t from, std::int64_t seconds, std::int64_t picoseconds) {
  constexpr std::int64_t kMost = abi::kLastClock / kSecond;
  if (seconds < 0) return from;
  std::int64_t by = seconds < kMost ? seconds * kSecond + picoseconds : abi::kLastClock;
  return by <= abi::kLastClock - from ? from + by : abi::kLastClock + 1;
}

std::int64_t time_on_clock(clockid_t clock, const timespec& shown) {
  return saturated(0, shown.tv_sec - base_seconds(clock), shown.tv_nsec * 1000);
}

}  // namespace weft::lib
