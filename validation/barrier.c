/* Mean time of a barrier over all ranks, in nanoseconds, after some to get going. Argument: how many are measured. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  int rank, rounds = count > 1 ? atoi(arguments[1]) : 20;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 4; ++i) MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) MPI_Barrier(MPI_COMM_WORLD);
  double took = (MPI_Wtime() - begin) / rounds;
  if (rank == 0) printf("%d %.3f\n", rounds, took * 1e9);
  MPI_Finalize();
  return 0;
}
