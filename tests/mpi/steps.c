/* Steps of an ordinary program: everybody computes, talks to its neighbours, and all agree on a sum. Without an
 * argument they go on for ever. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  long steps = argc > 1 ? atol(argv[1]) : -1;
  static double out[2048], in[2048];
  for (long i = 0; i != steps; ++i) {
    struct timespec compute = {0, 5000};
    nanosleep(&compute, NULL);
    MPI_Sendrecv(out, 2048, MPI_DOUBLE, (rank + 1) % ranks, 0, in, 2048, MPI_DOUBLE, (rank + ranks - 1) % ranks, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double one = 1, sum;
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (sum != ranks) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
