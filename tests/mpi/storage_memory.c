// What memory of nodes keeps of a file, seen by two ranks on two nodes: how long each call takes, and what is
// read. Rank 0 writes, rank 1 reads before and after it is closed.
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char data[65536];
static int rank, file = -1;

#define STEP(who, name, call)                                                                       \
  do {                                                                                              \
    MPI_Barrier(MPI_COMM_WORLD);                                                                    \
    if (rank != (who)) break;                                                                       \
    const double begin = MPI_Wtime();                                                               \
    const long result = (long)(call);                                                               \
    printf("%s %.0f %ld %c\n", name, (MPI_Wtime() - begin) * 1e9, result, data[0] ? data[0] : '0'); \
    fflush(stdout);                                                                                 \
  } while (0)

int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) memset(data, 'a', sizeof data);
  STEP(0, "create", file = open("/weft/x", O_CREAT | O_RDWR, 0644));
  STEP(0, "write", pwrite(file, data, sizeof data, 0));
  STEP(0, "close", close(file));
  STEP(1, "open", file = open("/weft/x", O_RDONLY));
  STEP(1, "cold", pread(file, data, 4096, 0));
  STEP(1, "cached", pread(file, data, 4096, 0));
  STEP(0, "open-again", file = open("/weft/x", O_RDWR));
  if (rank == 0) memset(data, 'b', sizeof data);
  STEP(0, "write-again", pwrite(file, data, 4096, 0));
  STEP(0, "own", pread(file, data, 4096, 0));
  STEP(1, "before-close", pread(file, data, 4096, 0));
  STEP(0, "close-again", close(file));
  STEP(1, "after-close", pread(file, data, 4096, 0));
  STEP(1, "close-reader", close(file));
  STEP(1, "reopen", file = open("/weft/x", O_RDONLY));
  STEP(1, "after-open", pread(file, data, 4096, 0));
  MPI_Finalize();
  return 0;
}
