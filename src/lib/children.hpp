// Processes that a rank has started.
#pragma once

#include "lib/rank_thread.hpp"

namespace weft::lib {

/// Has a rank started this process, which is none itself?
bool is_child();

/// Has this process started others that it has not waited for yet?
bool has_children();

/// Sleeps for so long of the rank's virtual time, where it waits for this process. False where this is no
/// rank's.
bool sleep_as_child(std::int64_t picoseconds);

}  // namespace weft::lib
