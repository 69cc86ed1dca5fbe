/* How much of a non-blocking collective is hidden behind computing, as the OSU benchmarks measure it: the
 * time of the collective alone; then the collective with as much computing, by the clock, before it is waited
 * for. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIM 25
#define ROUNDS 4

float a[DIM][DIM], x[DIM], y[DIM]; /* for all to see: the work is done */

static void work(void) {
  for (int i = 0; i < DIM; i++)
    for (int j = 0; j < DIM; j++) x[i] = x[i] + a[i][j] * a[j][i] + y[j];
}

static void compute_for(double seconds) {
  double done = 0;
  while (done < seconds) {
    double begin = MPI_Wtime();
    work();
    done += MPI_Wtime() - begin;
  }
}

static void start(const char* what, void* in, void* out, int count, MPI_Request* request) {
  if (strcmp(what, "alltoall") == 0)
    MPI_Ialltoall(in, count, MPI_CHAR, out, count, MPI_CHAR, MPI_COMM_WORLD, request);
  else if (strcmp(what, "allgather") == 0)
    MPI_Iallgather(in, count, MPI_CHAR, out, count, MPI_CHAR, MPI_COMM_WORLD, request);
  else
    MPI_Ibcast(in, count, MPI_CHAR, 0, MPI_COMM_WORLD, request);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* what = argc > 1 ? argv[1] : "alltoall";
  int count = argc > 2 ? atoi(argv[2]) : 65536;
  char *in = malloc((size_t)count * (size_t)size), *out = calloc((size_t)size, (size_t)count);
  memset(in, rank + 1, (size_t)count * (size_t)size);
  MPI_Request request;
  double alone = 0, both = 0, computed = 0;
  for (int i = 0; i < ROUNDS; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    start(what, in, out, count, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (i) alone += (MPI_Wtime() - begin) / (ROUNDS - 1);
  }
  for (int i = 0; i < ROUNDS; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    start(what, in, out, count, &request);
    double compute = MPI_Wtime();
    compute_for(alone);
    compute = MPI_Wtime() - compute;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (i) both += (MPI_Wtime() - begin) / (ROUNDS - 1), computed += compute / (ROUNDS - 1);
  }
  double sums[3] = {alone, both, computed}, all[3];
  MPI_Reduce(sums, all, 3, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  int wrong = 0;
  for (int i = 0; i < size; ++i)
    if (strcmp(what, "bcast") != 0 && out[(size_t)i * (size_t)count] != i + 1) ++wrong;
  if (rank == 0) {
    double hidden = 100 - (all[1] - all[2]) / all[0] * 100;
    printf("%s of %d bytes: alone %.2f us, computed %.2f us, both %.2f us, overlap %.1f%%, %d wrong\n", what,
           count, all[0] / size * 1e6, all[2] / size * 1e6, all[1] / size * 1e6, hidden < 0 ? 0 : hidden,
           wrong);
  }
  MPI_Finalize();
  return wrong != 0;
}
