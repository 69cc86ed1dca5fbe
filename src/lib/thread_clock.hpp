// The clock of a thread in virtual time.
#pragma once

#include "abi/port_layout.hpp"

namespace weft::lib {

inline std::int64_t now(const abi::Thread& thread) { return thread.clock.load(std::memory_order_relaxed); }

/// It never goes back.
inline void jump_to(abi::Thread& thread, std::int64_t time) {
  if (time > now(thread)) thread.clock.store(time, std::memory_order_relaxed);
}

}  // namespace weft::lib
