// MPI_Init and MPI_Finalize, wrapped.
//
// While an MPI library starts or ends, it talks to its launcher over sockets, for as long as that takes. None
// of it may be seen in virtual time: the clock stands still, and all ranks go on together when the last of
// them is done. Fortran's entry points call PMPI_Init and PMPI_Finalize, so they
// come here too; a call within a call is passed through.
#include "lib/mpi_start.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/libevent.hpp"
#include "lib/launcher_libraries.hpp"
#include "lib/mpi_collectives.hpp"
#include "lib/mpi_library.hpp"
#include "lib/rank_thread.hpp"
#include "lib/threads.hpp"

namespace abi = weft::abi;
namespace lib = weft::lib;

namespace {

weft_port* port = nullptr;
void (*serve_others)() = nullptr;
int depth = 0;

/// MPI libraries that do not use the simulated network would run around it.
void refuse_others() {
  for (const char* name : {"libmpich.so.12", "libmpi.so.12"}) {
    void* mpich = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (!mpich) continue;
    auto version = reinterpret_cast<int (*)(char*, int*)>(dlsym(mpich, "MPI_Get_library_version"));
    static char text[8192];
    int length = 0;
    if (!version || version(text, &length) != 0 || !strstr(text, "MPICH Device:") || strstr(text, "ch4:ofi"))
      continue;
    const char* why = strstr(text, "ch4:ucx") ? "built for UCX (ch4:ucx)" : "not built for libfabric";
    fprintf(stderr,
            "weft: this program uses an MPICH %s, which cannot use the simulated network. Compile it with "
            "mpicc.openmpi, or put an MPICH built with --with-device=ch4:ofi (tools/build-mpich makes one) "
            "first on LD_LIBRARY_PATH\n",
            why);
    exit(2);
  }
}

/// A process somewhere below a rank, which is not the rank: it would run around the simulated network.
void refuse_strangers() {
  if (!getenv(abi::kSegmentVariable)) return;
  fprintf(
      stderr,
      "weft: MPI_Init in a process that is no rank of this run. `weft run` starts the ranks, and a rank is "
      "one MPI program: leave out mpirun, mpiexec or srun, and give a second program a run of its own\n");
  exit(2);
}

/// Open MPI starts and ends outside of virtual time. An MPICH sends messages meanwhile, so it stays inside:
/// all begin together, and while one reads an answer of the launcher, virtual time waits for it.
void leave_time(abi::Thread& thread) {
  if (!lib::is_mpich()) return weft_outside_begin();
  lib::enter(thread);
  lib::meet(thread);
}

bool begin(abi::Thread*& thread) {
  if (depth++) return false;
  if (!lib::take_over()) {
    refuse_strangers();
    return false;
  }
  thread = lib::this_thread();
  if (!thread) return false;
  refuse_others();
  if (weft_open_for_mpi(&port) != 0) {
    fprintf(stderr, "weft: rank %d: its node's interface has no port left\n", weft_rank());
    exit(2);
  }
  lib::segment()->phase.store(abi::MpiPhase::Starting);
  leave_time(*thread);
  return true;
}

int end(abi::Thread* thread, int result) {
  --depth;
  if (!thread) return result;
  lib::find_launcher_libraries();
  lib::segment()->phase.store(abi::MpiPhase::Running);
  lib::meet(*thread);
  if (result == 0 && lib::collective_service.made) {
    lib::collective_service.made(lib::mpi_world());
    lib::meet(*thread);
  }
  lib::leave();
  return result;
}

template <class Call>
int start(Call call) {
  abi::Thread* thread = nullptr;
  begin(thread);
  return end(thread, call());
}

constexpr int kMultiple = 3;  // MPI_THREAD_MULTIPLE, in Open MPI and in MPICH

/// Windows that Open MPI carries by its own messages cannot be used by several threads at once.
void choose_windows(int level) {
  if (level != kMultiple || !getenv(abi::kWindowsVariable)) return;
  setenv("OMPI_MCA_btl", abi::kRdmaWindows.btl, 1);
  setenv("OMPI_MCA_osc", abi::kRdmaWindows.osc, 1);
}

int started_with(int result, const int* level) {
  if (result == 0 && level && *level == kMultiple) lib::expect_threads();
  return result;
}

template <class Call>
int finish(Call call) {
  abi::Header* header = lib::segment();
  abi::Thread* thread = lib::thread_if_any();
  if (depth || !header || !thread || header->phase.load() != abi::MpiPhase::Running) return call();
  ++depth;
  lib::enter(*thread);
  // Others may still need this rank: it serves them until all have come.
  do
    if (serve_others) serve_others();
  while (lib::meet_or_event(*thread) == -EAGAIN);
  abi::silence_libevent();
  header->phase.store(abi::MpiPhase::Ending);
  leave_time(*thread);
  int result = call();
  header->phase.store(abi::MpiPhase::Ended);
  lib::meet(*thread);
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
      choose_windows(wanted);                                                                            \
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
