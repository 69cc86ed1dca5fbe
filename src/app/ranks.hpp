// Processes started together by mpirun, for verbs that share a machine among them.
#pragma once

#include "network/ranks.hpp"

namespace weft::app {

/// Joins the others that mpirun started; does nothing where this process was started alone. From here on only
/// rank 0 is heard. Throws UserError where there are others and this build cannot reach them.
void join_ranks();

/// All that were joined; nullptr where this process is alone.
network::Ranks* ranks();

/// True for the process that writes what all of them found.
bool speaks();

/// Before the process ends with `code`: the last thing all ranks do together. One that fails alone says so,
/// and ends the others.
void leave_ranks(int code);

}  // namespace weft::app
