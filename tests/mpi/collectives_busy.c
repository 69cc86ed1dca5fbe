/* How long a barrier takes, in microseconds: while nothing else is sent, and while all ranks send long
 * messages to all. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kBytes = 1 << 18, kTimes = 5 };

static double barriers(void) {
  double begin = MPI_Wtime();
  for (int i = 0; i < kTimes; ++i) MPI_Barrier(MPI_COMM_WORLD);
  return (MPI_Wtime() - begin) / kTimes * 1e6;
}

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char *from = malloc(kBytes), *to = malloc((size_t)kBytes * (size_t)ranks);
  MPI_Request* requests = malloc(sizeof(MPI_Request) * 2 * (size_t)ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  double quiet = barriers();
  int open = 0;
  for (int i = 1; i < ranks; ++i)
    MPI_Irecv(to + (size_t)kBytes * (size_t)i, kBytes, MPI_BYTE, (rank + i) % ranks, 0, MPI_COMM_WORLD,
              &requests[open++]);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 1; i < ranks; ++i)
    MPI_Isend(from, kBytes, MPI_BYTE, (rank + ranks - i) % ranks, 0, MPI_COMM_WORLD, &requests[open++]);
  MPI_Barrier(MPI_COMM_WORLD); /* all have begun */
  double busy = barriers();
  MPI_Waitall(open, requests, MPI_STATUSES_IGNORE);
  if (rank == 0) printf("%.3f %.3f\n", quiet, busy);
  MPI_Finalize();
  return 0;
}
