/* A barrier that does not wait, beside computing by the clock: what is left to wait for when the computing is done, in
 * microseconds, of the rank that waits longest. Argument: microseconds of computing. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static volatile float work;

static void compute_for(double seconds) {
  double done = 0;
  while (done < seconds) {
    double begin = MPI_Wtime();
    for (int i = 0; i < 100; ++i) work = work * 0.5f + 1;
    done += MPI_Wtime() - begin;
  }
}

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  double seconds = atof(arguments[1]) * 1e-6, alone = 0, left = 0, most[2];
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  enum { kTimes = 10 };
  for (int i = 0; i < kTimes; ++i) {
    MPI_Request request;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    alone += MPI_Wtime() - begin;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    compute_for(seconds);
    begin = MPI_Wtime();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    left += MPI_Wtime() - begin;
  }
  double mine[2] = {alone / kTimes * 1e6, left / kTimes * 1e6};
  MPI_Reduce(mine, most, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%.6f %.6f\n", most[0], most[1]);
  MPI_Finalize();
  return 0;
}
