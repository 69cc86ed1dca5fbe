// What a communicator is: how many processes, and a number that all its members give it.
#pragma once

#include <cstdint>

#include "lib/mpi_library.hpp"

namespace weft::lib {

struct Communicator {
  std::uint64_t number = 0;   // 0: not known
  std::uint32_t members = 0;  // of its own side, where it has two
  std::int32_t rank = -1;     // of this process; -1: it has two sides
  std::uint32_t peers = 0;    // of the other side, where it has two
  Word group = 0;             // whose ranks peers are given in; 0: as in the world
};

Communicator communicator(Word handle);
/// -1: there is no such rank.
int rank_in_world(const Communicator& communicator, int rank);
/// Handles are used again: called with the address of one that is about to be freed.
void forget_communicator(Word address_of_handle);

/// MPI_Comm_split_type. MPI libraries are told that every rank has a node of its own, or they would use
/// shared memory around the simulated network; so they do not know which ranks are on one.
Word split_by_node(Word communicator, Word type, Word key, Word info, Word out);

// MPI_Comm_spawn and MPI_Comm_spawn_multiple: a run has the ranks it was started with.
Word refuse_spawn(Word command, Word arguments, Word most, Word info, Word root, Word communicator, Word out,
                  Word codes);
Word refuse_spawn_multiple(Word count, Word commands, Word arguments, Word most, Word infos, Word root,
                           Word communicator, Word out, Word codes);

/// Makes a buffer begin where the first byte of its data is. Returns the type made for that, to be freed
/// after the call that it is for, or 0 where it was so.
Word begin_with_first_byte(Word& buffer, Word& datatype);
void free_type(Word datatype);

/// Bytes of one element; 0 where that is not known.
std::uint64_t type_bytes(Word datatype);

}  // namespace weft::lib
