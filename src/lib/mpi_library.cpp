#include "lib/mpi_library.hpp"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "abi/mpi_calls.hpp"

namespace weft::lib {

void* mpi_function(const char* name) {
  if (void* found = dlsym(RTLD_NEXT, name)) return found;
  // Where a program loaded its MPI later, the library is not among those searched.
  for (const char* library : {"libmpi.so.40", "libmpich.so.12", "libmpi.so.12"})
    if (void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD))
      if (void* found = dlsym(handle, name)) return found;
  fprintf(stderr, "weft: %s: no MPI library has it\n", name);
  abort();
}

namespace {

void* open_mpi_world() {
  static void* world = [] {
    void* found = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");
    void* later = found ? nullptr : dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD);
    return later ? dlsym(later, "ompi_mpi_comm_world") : found;
  }();
  return world;
}

}  // namespace

bool is_mpich() { return !open_mpi_world(); }

Word mpi_handle(Word word) {
  return open_mpi_world() ? word : static_cast<Word>(static_cast<std::uint32_t>(word));
}

Word mpi_world() {
  constexpr Word kMpichWorld = 0x44000000;  // the same in all versions, by its ABI
  return open_mpi_world() ? reinterpret_cast<Word>(open_mpi_world()) : kMpichWorld;
}

Word mpi_byte() {
  constexpr Word kMpichByte = 0x4c00010d;
  static void* found = open_mpi_world() ? dlsym(RTLD_DEFAULT, "ompi_mpi_byte") : nullptr;
  static void* library =
      open_mpi_world() && !found ? dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  if (library) found = dlsym(library, "ompi_mpi_byte");
  return open_mpi_world() ? reinterpret_cast<Word>(found) : kMpichByte;
}

bool mpi_null(Word word) {
  Word handle = mpi_handle(word);
  if (!open_mpi_world()) {
    constexpr Word kMpichNull = 0x04000000, kMpichNullType = 0x0c000000;
    return handle == kMpichNull || handle == kMpichNullType;
  }
  static void* communicator = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_null");
  static void* type = dlsym(RTLD_DEFAULT, "ompi_mpi_datatype_null");
  return handle == 0 || handle == reinterpret_cast<Word>(communicator) ||
         handle == reinterpret_cast<Word>(type);
}

int mpi_peer(int peer) {
  if (peer >= 0) return peer;
  constexpr int kOpenMpiAny = -1, kMpichAny = -2;
  return peer == (open_mpi_world() ? kOpenMpiAny : kMpichAny) ? abi::kAnyPeer : abi::kNullPeer;
}

}  // namespace weft::lib
