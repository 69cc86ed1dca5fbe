// The MPI library of a process, whichever it is, by words: nothing of its headers is needed.
#pragma once

#include <cstdint>

namespace weft::lib {

/// An argument of a function of MPI, whatever it is: integers and pointers travel in registers of this size.
using Word = std::intptr_t;

/// A function of the process's MPI library. Ends the process where no library has it.
void* mpi_function(const char* name);

/// Whether that library is an MPICH; if not, it is Open MPI.
bool is_mpich();

/// Handles are pointers in Open MPI and integers in MPICH, where the upper half of a word says nothing.
Word mpi_handle(Word word);
/// MPI_COMM_WORLD.
Word mpi_world();
/// MPI_BYTE.
Word mpi_byte();
/// MPI_COMM_NULL or MPI_DATATYPE_NULL.
bool mpi_null(Word handle);
/// A rank, or abi::kAnyPeer and the like for the library's own numbers for them.
int mpi_peer(int peer);

}  // namespace weft::lib
