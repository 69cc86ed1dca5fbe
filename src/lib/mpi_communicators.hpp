// What a communicator is: how many processes, and a number that all its members give it.
#pragma once

#include <cstdint>

#include "lib/mpi_library.hpp"

namespace weft::lib {

struct Communicator {
  std::uint64_t number = 0;   // 0: not known
  std::uint32_t members = 0;  // of its own side, where it has two
  Word group = 0;             // whose ranks peers are given in; 0: as in the world
};

Communicator communicator(Word handle);
int rank_in_world(const Communicator& communicator, int rank);
/// Handles are used again: called with the address of one that is about to be freed.
void forget_communicator(Word address_of_handle);

/// MPI_Comm_split_type. MPI libraries are told that every rank has a node of its own, or they would use shared
/// memory around the simulated network; so they do not know which ranks are on one.
Word split_by_node(Word communicator, Word type, Word key, Word info, Word out);

/// Bytes of one element; 0 where that is not known.
std::uint64_t type_bytes(Word datatype);

}  // namespace weft::lib
