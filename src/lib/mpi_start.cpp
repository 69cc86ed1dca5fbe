// MPI_Init and MPI_Finalize, wrapped.
//
// While an MPI library starts or ends, it talks to its launcher over sockets, for as long as that takes. None
// of it may be seen in virtual time: the rank is outside meanwhile, its clock stands still, and all ranks go
// on together when the last of them is done. Fortran's entry points call PMPI_Init and PMPI_Finalize, so they
// come here too; a call within a call is passed through.
#include "lib/mpi_start.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/lane.hpp"
#include "lib/launcher_libraries.hpp"
#include "lib/mpi_library.hpp"
#include "lib/threads.hpp"

namespace host = weft::host;
namespace lib = weft::lib;

namespace {

weft_port* port = nullptr;
void (*serve_others)() = nullptr;
int depth = 0;

/// MPI libraries that do not use the simulated network would run around it.
void refuse_others() {
  void* ucx_only = dlopen("libmpich.so.12", RTLD_LAZY | RTLD_NOLOAD);
  if (!ucx_only) return;
  auto version = reinterpret_cast<int (*)(char*, int*)>(dlsym(ucx_only, "MPI_Get_library_version"));
  static char text[8192];
  int length = 0;
  if (!version || version(text, &length) != 0 || !strstr(text, "ch4:ucx")) return;
  fprintf(stderr,
          "weft: this program uses an MPICH built for UCX (ch4:ucx), which cannot use the simulated network. "
          "Compile it with mpicc.openmpi, or put an MPICH built with --with-device=ch4:ofi first on "
          "LD_LIBRARY_PATH\n");
  exit(2);
}

/// PMIx closes its connection while libevent still watches it; whether libevent sees that, and complains on
/// standard error, is a matter of luck.
void silence_libevent() {
  using Log = void (*)(int, const char*);
  for (const char* name : {"libevent_core-2.1.so.7", "libevent-2.1.so.7"}) {
    void* library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    auto set = library ? reinterpret_cast<void (*)(Log)>(dlsym(library, "event_set_log_callback")) : nullptr;
    if (set) set([](int, const char*) {});
  }
}

bool begin(host::Lane*& lane) {
  if (depth++ || !lib::take_over()) return false;
  lane = lib::lane();
  if (!lane) return false;
  refuse_others();
  if (weft_open_for_mpi(&port) != 0) {
    fprintf(stderr, "weft: rank %d: its node's interface has no port left\n", weft_rank());
    exit(2);
  }
  lib::segment()->phase.store(host::MpiPhase::Starting);
  weft_outside_begin();
  return true;
}

int end(host::Lane* lane, int result) {
  --depth;
  if (!lane) return result;
  lib::find_launcher_libraries();
  lib::segment()->phase.store(host::MpiPhase::Running);
  lib::meet(*lane);
  lib::leave();
  return result;
}

template <class Call>
int start(Call call) {
  host::Lane* lane = nullptr;
  begin(lane);
  return end(lane, call());
}

int started_with(int result, const int* level) {
  constexpr int kMultiple = 3;  // MPI_THREAD_MULTIPLE, in Open MPI and in MPICH
  if (result == 0 && level && *level == kMultiple) lib::expect_threads();
  return result;
}

template <class Call>
int finish(Call call) {
  host::Header* header = lib::segment();
  host::Lane* lane = lib::lane_if_any();
  if (depth || !header || !lane || header->phase.load() != host::MpiPhase::Running) return call();
  ++depth;
  lib::enter(*lane);
  // Others may still need this rank: it serves them until all have come.
  do
    if (serve_others) serve_others();
  while (lib::meet_or_event(*lane) == -EAGAIN);
  silence_libevent();
  header->phase.store(host::MpiPhase::Ending);
  weft_outside_begin();
  int result = call();
  header->phase.store(host::MpiPhase::Ended);
  lib::meet(*lane);
  lib::leave();
  --depth;
  return result;
}

}  // namespace

namespace weft::lib {

weft_port* mpi_port() { return port; }
void set_mpi_service(void (*serve)()) { serve_others = serve; }

}  // namespace weft::lib

extern "C" {

using Init = int (*)(int*, char***);
using InitThread = int (*)(int*, char***, int, int*);
using Finalize = int (*)();

#define WEFT_WRAP_MPI(prefix)                                                                            \
  int prefix##_Init(int* count, char*** arguments) {                                                     \
    return start(                                                                                        \
        [&] { return reinterpret_cast<Init>(lib::mpi_function(#prefix "_Init"))(count, arguments); });   \
  }                                                                                                      \
  int prefix##_Init_thread(int* count, char*** arguments, int wanted, int* given) {                      \
    return start([&] {                                                                                   \
      return started_with(reinterpret_cast<InitThread>(lib::mpi_function(#prefix "_Init_thread"))(       \
                              count, arguments, wanted, given),                                          \
                          given);                                                                        \
    });                                                                                                  \
  }                                                                                                      \
  int prefix##_Finalize() {                                                                              \
    return finish([&] { return reinterpret_cast<Finalize>(lib::mpi_function(#prefix "_Finalize"))(); }); \
  }

WEFT_WRAP_MPI(MPI)
WEFT_WRAP_MPI(PMPI)
}
