// What keeps a rank's processor from its work: a slower clock, and interruptions by others.
#pragma once

#include <cstdint>

#include "abi/port_layout.hpp"

namespace weft::lib {

/// How long something takes that would take `picoseconds` on an undisturbed processor, from now on.
std::int64_t disturbed(const abi::Thread& thread, std::int64_t picoseconds);

/// The thread has waited since `from`. An interruption that began meanwhile may not be over yet.
void waited_since(abi::Thread& thread, std::int64_t from);

}  // namespace weft::lib
