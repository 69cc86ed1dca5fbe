/* An ordinary MPI program that shows a network: how long a small message takes to each rank, how fast long
 * ones move, what an all-reduce costs, and a halo exchange. It knows nothing of where it runs.
 *
 *   mpicc.openmpi -O2 -o mpi_tour mpi_tour.c
 *   weft run tianhe2 -n 16 -- ./mpi_tour
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, size;

/* Half of a round trip between the first rank and another, in microseconds. */
static double half_round_trip(int other, char* data, int bytes, int rounds) {
  double start = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) {
    if (rank == 0) {
      MPI_Send(data, bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD);
      MPI_Recv(data, bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == other) {
      MPI_Recv(data, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(data, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
  }
  return (MPI_Wtime() - start) / rounds / 2 * 1e6;
}

static void latency(void) {
  char data[8] = {0}, name[MPI_MAX_PROCESSOR_NAME] = "", all[64][MPI_MAX_PROCESSOR_NAME];
  int length;
  MPI_Get_processor_name(name, &length);
  MPI_Gather(name, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, all, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, 0,
             MPI_COMM_WORLD);
  if (rank == 0) printf("8 bytes from rank 0 (%s) to\n", name);
  for (int other = 1; other < size; ++other) {
    half_round_trip(other, data, 8, 1); /* both are there now */
    double us = half_round_trip(other, data, 8, 10);
    if (rank == 0) printf("  rank %-3d %-12s %9.3f us\n", other, all[other], us);
  }
}

static void bandwidth(char* data) {
  enum { WINDOW = 8 };
  int last = size - 1;
  if (rank == 0) printf("%d messages at a time from rank 0 to rank %d\n", WINDOW, last);
  for (int bytes = 1024; bytes <= 1 << 18; bytes *= 16) {
    MPI_Request requests[WINDOW];
    char answer = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    if (rank == 0 || rank == last) {
      for (int i = 0; i < WINDOW; ++i) {
        if (rank == 0) MPI_Isend(data, bytes, MPI_CHAR, last, i, MPI_COMM_WORLD, &requests[i]);
        if (rank == last) MPI_Irecv(data, bytes, MPI_CHAR, 0, i, MPI_COMM_WORLD, &requests[i]);
      }
      MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
      if (rank == 0) MPI_Recv(&answer, 1, MPI_CHAR, last, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank == last) MPI_Send(&answer, 1, MPI_CHAR, 0, 99, MPI_COMM_WORLD);
    }
    if (rank == 0)
      printf("  %7d bytes %12.1f MB/s\n", bytes, (double)WINDOW * bytes / (MPI_Wtime() - start) / 1e6);
  }
}

static void all_reduce(double* in, double* out) {
  if (rank == 0) printf("all-reduce over %d ranks\n", size);
  for (int count = 1; count <= 4096; count *= 64) {
    for (int i = 0; i < count; ++i) in[i] = rank;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < 5; ++i) MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double mine = (MPI_Wtime() - start) / 5 * 1e6, longest;
    MPI_Reduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (out[count - 1] != size * (size - 1) / 2.0) MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0) printf("  %7zu bytes %12.3f us\n", count * sizeof(double), longest);
  }
}

/* Each rank owns a block of a periodic grid and exchanges its four rims in every step. Work on the block is
 * stood for by a pause, a little longer on every fourth rank. */
static void halo(double* out, double* in) {
  enum { STEPS = 20, RIM = 512 };
  int dims[2] = {0, 0}, periods[2] = {1, 1}, to[4];
  MPI_Comm grid;
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Cart_shift(grid, 0, 1, &to[0], &to[1]);
  MPI_Cart_shift(grid, 1, 1, &to[2], &to[3]);
  struct timespec work = {0, rank % 4 == 3 ? 12000 : 10000};
  double start = MPI_Wtime(), exchange = 0, all[2], most[2];
  for (int step = 0; step < STEPS; ++step) {
    MPI_Request requests[8];
    double begin = MPI_Wtime();
    for (int side = 0; side < 4; ++side) {
      MPI_Irecv(in + side * RIM, RIM, MPI_DOUBLE, to[side], side ^ 1, grid, &requests[side]);
      MPI_Isend(out + side * RIM, RIM, MPI_DOUBLE, to[side], side, grid, &requests[4 + side]);
    }
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    exchange += MPI_Wtime() - begin;
    nanosleep(&work, NULL);
  }
  all[0] = (MPI_Wtime() - start) / STEPS * 1e6;
  all[1] = exchange / STEPS * 1e6;
  MPI_Reduce(all, most, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf(
        "halo exchange, %d x %d blocks, rims of %zu bytes\n  %9.3f us for each step, %.3f us of it "
        "exchanging\n",
        dims[0], dims[1], RIM * sizeof(double), most[0], most[1]);
  MPI_Comm_free(&grid);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size < 2 || size > 64) {
    if (rank == 0) fprintf(stderr, "mpi_tour: 2 to 64 ranks\n");
    MPI_Finalize();
    return 2;
  }
  char* data = calloc(1, 1 << 18);
  latency();
  bandwidth(data);
  all_reduce((double*)data, (double*)data + 4096);
  halo((double*)data, (double*)data + 4096);
  free(data);
  MPI_Finalize();
  return 0;
}
