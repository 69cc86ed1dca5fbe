#include "lib/mpi_shared_windows.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "lib/rank_thread.hpp"

namespace weft::lib {

namespace {

template <class... Words>
int call(const char* name, Words... words) {
  auto function = reinterpret_cast<Word (*)(Words...)>(mpi_function(name));
  return static_cast<int>(function(words...));
}

/// What a member gives, and what all know of it.
struct Part {
  std::uint64_t bytes;
  std::uint32_t node, unit;
};

struct Window {
  Window* next;
  Word handle;
  char* memory;
  std::uint64_t bytes;
  int members;
  Part parts[];
};
Window* windows = nullptr;  // MPI calls that make and free windows are not made at once by threads of a rank

constexpr int kFlavorShared = 4;  // MPI_WIN_FLAVOR_SHARED, in both libraries

Word handle_of(Word word) { return mpi_handle(word); }

Window* find(Word handle) {
  Window* w = windows;
  while (w && w->handle != handle_of(handle)) w = w->next;
  return w;
}

/// A word that a handle is read from, or written to, by its address.
Word handle_at(Word address) {
  return is_mpich() ? handle_of(*reinterpret_cast<std::int32_t*>(address))
                    : *reinterpret_cast<Word*>(address);
}

std::uint64_t offset_of(const Window& w, int rank) {
  std::uint64_t offset = 0;
  for (int i = 0; i < rank; ++i) offset += w.parts[i].bytes;
  return offset;
}

/// Members on several nodes share no memory: as MPI says, an error of the communicator.
int refuse(const Window& w, Word communicator, int me) {
  const int kRmaShared = is_mpich() ? 57 : 71;  // MPI_ERR_RMA_SHARED
  int other = 1;
  while (w.parts[other].node == w.parts[0].node) ++other;
  if (me == 0)
    fprintf(
        stderr,
        "weft: rank %u: MPI_Win_allocate_shared: members 0 and %d of its communicator are on nodes %u and "
        "%u, which share no memory; MPI_Comm_split_type with MPI_COMM_TYPE_SHARED makes a communicator of "
        "the ranks of a node, and --per-node puts several there\n",
        run()->rank, other, w.parts[0].node, w.parts[other].node);
  call("PMPI_Comm_call_errhandler", communicator, Word{kRmaShared});
  return kRmaShared;
}

/// Memory of the first member, which the others map by its number; nothing has a name, so nothing is left.
bool map_memory(Window& w, Word communicator, int me) {
  struct {
    std::int32_t process, file;
  } where{getpid(), -1};
  auto bytes = static_cast<off_t>(std::max<std::uint64_t>(w.bytes, 1));
  if (me == 0) {
    where.file = memfd_create("weft-window", MFD_CLOEXEC);
    if (where.file >= 0 && ftruncate(where.file, bytes) != 0) {
      close(where.file);
      where.file = -1;
    }
  }
  int file = where.file;
  call("PMPI_Bcast", &where, Word{sizeof where}, mpi_byte(), Word{0}, communicator);
  if (me != 0 && where.file >= 0) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", where.process, where.file);
    file = open(path, O_RDWR | O_CLOEXEC);
  }
  void* at =
      file < 0 ? MAP_FAILED
               : mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  w.memory = static_cast<char*>(at);
  call("PMPI_Barrier", communicator);  // all have it open
  if (file >= 0) close(file);
  return at != MAP_FAILED;
}

}  // namespace

Word allocate_shared_window(Word bytes, Word unit, Word info, Word communicator, Word base, Word window) {
  int members = 0, me = 0;
  call("PMPI_Comm_size", communicator, &members);
  call("PMPI_Comm_rank", communicator, &me);
  auto* w = static_cast<Window*>(malloc(sizeof(Window) + sizeof(Part) * static_cast<std::size_t>(members)));
  if (!w) abort();
  w->members = members;
  Part mine{static_cast<std::uint64_t>(bytes), run()->node, static_cast<std::uint32_t>(unit)};
  if (int result = call("PMPI_Allgather", &mine, Word{sizeof mine}, mpi_byte(), &w->parts[0],
                        Word{sizeof mine}, mpi_byte(), communicator)) {
    free(w);
    return result;
  }
  w->bytes = offset_of(*w, members);
  if (std::any_of(w->parts, w->parts + members, [&](const Part& p) { return p.node != w->parts[0].node; })) {
    int result = refuse(*w, communicator, me);
    free(w);
    return result;
  }
  if (!map_memory(*w, communicator, me)) {
    fprintf(stderr, "weft: rank %u: MPI_Win_allocate_shared: no memory of %llu bytes can be shared\n",
            run()->rank, static_cast<unsigned long long>(w->bytes));
    abort();
  }
  char* part = w->memory + offset_of(*w, me);
  int result = call("PMPI_Win_create", part, bytes, unit, info, communicator, window);
  if (result != 0) {
    munmap(w->memory, w->bytes);
    free(w);
    return result;
  }
  *reinterpret_cast<char**>(base) = part;
  w->handle = handle_at(window);
  w->next = windows;
  windows = w;
  return 0;
}

Word query_shared_window(Word window, Word rank, Word bytes, Word unit, Word base) {
  Window* w = find(window);
  if (!w) return call("PMPI_Win_shared_query", window, rank, bytes, unit, base);
  auto member = static_cast<int>(rank);
  if (member < 0 || member >= w->members) {  // MPI_PROC_NULL: the first that has memory
    member = 0;
    while (member < w->members - 1 && !w->parts[member].bytes) ++member;
  }
  *reinterpret_cast<std::int64_t*>(bytes) = static_cast<std::int64_t>(w->parts[member].bytes);
  *reinterpret_cast<int*>(unit) = static_cast<int>(w->parts[member].unit);
  *reinterpret_cast<char**>(base) = w->memory + offset_of(*w, member);
  return 0;
}

Word window_attribute(Word window, Word key, Word value, Word found) {
  const int kFlavor = is_mpich() ? 0x66000007 : 10, kModel = is_mpich() ? 0x66000009 : 11;
  static int flavor = kFlavorShared, model = is_mpich() ? 2 : 0;  // MPI_WIN_UNIFIED
  auto wanted = static_cast<int>(key);
  if ((wanted != kFlavor && wanted != kModel) || !find(window))
    return call("PMPI_Win_get_attr", window, key, value, found);
  *reinterpret_cast<int**>(value) = wanted == kFlavor ? &flavor : &model;
  *reinterpret_cast<int*>(found) = 1;
  return 0;
}

Word free_window(Word address_of_window) {
  Window** at = &windows;
  Word handle = handle_at(address_of_window);
  while (*at && (*at)->handle != handle) at = &(*at)->next;
  int result = call("PMPI_Win_free", address_of_window);
  if (Window* gone = *at; gone && result == 0) {
    munmap(gone->memory, gone->bytes);
    *at = gone->next;
    free(gone);
  }
  return result;
}

}  // namespace weft::lib
