/* Broadcasts of one size from every rank in turn, each checked; prints how long one takes, in microseconds: from
 * the root's call to the last member's return, members waiting for it. Arguments: bytes, rounds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  int rank, ranks, bytes = count > 1 ? atoi(arguments[1]) : 65536, rounds = count > 2 ? atoi(arguments[2]) : 4;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  unsigned char* block = malloc((size_t)bytes);
  double longest = 0;
  int wrong = 0;
  for (int turn = -ranks; turn < rounds; ++turn) { /* those below 0 are for caches */
    const int root = (turn + ranks) % ranks;
    for (int i = 0; i < bytes; ++i) block[i] = rank == root ? (unsigned char)(i * 7 + i / 251 + turn) : 0;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime(), end;
    MPI_Bcast(block, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    end = rank == root ? 0 : MPI_Wtime(); /* the root also waits for the others' word */
    if (rank != root) begin = 0;
    for (int i = 0; i < bytes; ++i) wrong |= block[i] != (unsigned char)(i * 7 + i / 251 + turn);
    double first, last;
    MPI_Allreduce(&begin, &first, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (turn >= 0 && last - first > longest) longest = last - first;
  }
  if (wrong) printf("rank %d: wrong\n", rank);
  if (rank == 0) printf("%.3f\n", longest * 1e6);
  free(block);
  MPI_Finalize();
  return wrong;
}
