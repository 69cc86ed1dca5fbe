// Waiting for files in virtual time.
#pragma once

#include <poll.h>

#include "lib/lane.hpp"

namespace weft::lib {

/// Waits until one of the files is ready, or the deadline. Returns what poll does, and sets errno as it does.
int wait_for_files(host::Lane& lane, pollfd* files, nfds_t count, std::int64_t deadline, long call);

}  // namespace weft::lib
