/* The time of an all-reduce over all ranks, for sizes that grow eightfold.
 *   allreduce [largest count [rounds]]
 */
#include "check.h"

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int largest = argc > 1 ? atoi(argv[1]) : 4096, rounds = argc > 2 ? atoi(argv[2]) : 10;
  double* in = malloc(sizeof(double) * (size_t)largest);
  double* out = malloc(sizeof(double) * (size_t)largest);
  if (rank == 0) printf("%10s %14s\n", "doubles", "us");
  for (int count = 1; count <= largest; count *= 8) {
    for (int i = 0; i < count; ++i) in[i] = rank + i;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < rounds; ++i) MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double mine = (MPI_Wtime() - start) / rounds * 1e6, longest;
    for (int i = 0; i < count; ++i) CHECK(out[i] == size * (size - 1) / 2.0 + (double)size * i);
    MPI_Reduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%10d %14.6f\n", count, longest);
  }
  free(in);
  free(out);
  return end("all-reduce");
}
