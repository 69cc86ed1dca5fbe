// What the system's clocks show in virtual time.
#pragma once

#include <time.h>

#include <cstdint>

#include "abi/port_layout.hpp"

namespace weft::lib {

using abi::bounded;
using abi::kSecond;

/// A clock of the wall or of uptime.
bool is_virtual(clockid_t clock);
/// Processor time of MPI programs is the time they have lived: a rank that waits in MPI looks all the while.
/// For others it stays real.
bool is_processor_time(clockid_t clock);

/// Seconds a clock shows at virtual time 0: the calendar's, or one.
std::int64_t base_seconds(clockid_t clock);

/// So much after `from`; a length that does not fit is cut, one before it is none.
std::int64_t saturated(std::int64_t from, std::int64_t seconds, std::int64_t picoseconds);

/// The virtual time at which this clock shows that.
std::int64_t time_on_clock(clockid_t clock, const timespec& shown);

}  // namespace weft::lib
