// Waiting for files in virtual time.
#pragma once

#include <poll.h>

#include "lib/rank_thread.hpp"

namespace weft::lib {

/// Waits until one of the files is ready, or the deadline. Returns what poll does, and sets errno as it does.
int wait_for_files(abi::Thread& thread, pollfd* files, nfds_t count, std::int64_t deadline, long call);

/// Some files of the process are ready when something has arrived in virtual time. Who has such makes them
/// so, or not, before files are looked at; the answer says where to wait for more: at ports where nothing is
/// yet.
void set_refresh(std::uint32_t (*refresh)(const abi::Thread& thread));

}  // namespace weft::lib
