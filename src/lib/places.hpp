// Simulated addresses: what the interface sees of a process's memory.
//
// Where the system puts memory differs from run to run, with process numbers, the environment and what
// threads of the MPI library do meanwhile. So the interface sees addresses of its own. Memory gets one when
// it is registered first, in that order, and begins with a page there; it keeps it until it is given back to
// the system or to the heap. What is allocated then is other memory, even at the same place; it takes the
// pages that memory of its length gave up last, as a heap would have it, or new ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi/registration_cache.hpp"

namespace weft::lib {

using mpi::Place;

Place place_of(const void* base, std::size_t length, std::uint64_t page);

/// The memory is given back: whatever lies there next is other memory.
void memory_gone(const void* base, std::size_t length);
/// False where nothing in this memory has a simulated address, as of nearly all that is freed.
bool may_have_places(const void* base, std::size_t length);
/// May any memory from this address on? To be asked before finding out how long it is.
bool may_have_places(const void* base);

/// A thread that starts has its stack to itself, whoever had it before.
void stack_is_new();

}  // namespace weft::lib
