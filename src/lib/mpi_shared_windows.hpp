// Windows in memory that ranks of a node share. MPI libraries think that every rank has a node of its own,
// so they have none; these are plain windows over memory that is mapped by all members.
#pragma once

#include "lib/mpi_library.hpp"

namespace weft::lib {

// The functions of MPI of these names.
Word allocate_shared_window(Word bytes, Word unit, Word info, Word communicator, Word base, Word window);
Word query_shared_window(Word window, Word rank, Word bytes, Word unit, Word base);
Word window_attribute(Word window, Word key, Word value, Word found);
Word free_window(Word address_of_window);

}  // namespace weft::lib
