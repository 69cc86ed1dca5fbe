/* What goes wrong with programs. One rank, the second by default, does what the first argument says. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "check.h"

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const char* how = argc > 1 ? argv[1] : "nothing";
  int who = argc > 2 ? atoi(argv[2]) : 1, value = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (!strcmp(how, "wait-for-nobody")) { /* every rank waits for its neighbour, and nobody sends */
    MPI_Recv(&value, 1, MPI_INT, (rank + 1) % size, 42, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (!strcmp(how, "hide")) { /* the system lets nobody look into a process that says so */
    enum { kBytes = 1 << 20 };
    char* large = calloc(1, kBytes);
    if (rank == who) prctl(PR_SET_DUMPABLE, 0);
    if (rank == who) MPI_Send(large, kBytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    if (rank == 0) MPI_Recv(large, kBytes, MPI_CHAR, who, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == who) {
    if (!strcmp(how, "abort")) MPI_Abort(MPI_COMM_WORLD, 7);
    if (!strcmp(how, "exit")) exit(3);
    if (!strcmp(how, "quit")) _exit(0); /* as if all were well, but without MPI_Finalize */
    if (!strcmp(how, "segfault")) raise(11);
    if (!strcmp(how, "late")) MPI_Recv(&value, 1, MPI_INT, 0, 42, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(how, "test-for-ever")) {
      MPI_Request request;
      MPI_Irecv(&value, 1, MPI_INT, 0, 42, MPI_COMM_WORLD, &request);
      for (int flag = 0; !flag;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    }
  }
  if (!strcmp(how, "put-from-nowhere")) { /* memory that is gone: the interface finds out, nobody else */
    enum { BYTES = 65536 };
    char* memory;
    MPI_Win window;
    MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    void* gone = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(gone, BYTES);
    MPI_Win_fence(0, window);
    if (rank == who) MPI_Put(gone, BYTES, MPI_CHAR, (rank + 1) % size, 0, BYTES, MPI_CHAR, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("done\n");
  MPI_Finalize();
  return 0;
}
