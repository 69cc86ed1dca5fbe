/* Times of collectives, in nanoseconds, each with a barrier behind it: a line for each collective and size.
 * Arguments: sizes in bytes, multiples of eight. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRounds = 10, kMost = 1 << 20 };
static char from[kMost], to[kMost];

static void once(int what, int bytes) {
  int words = bytes / 8;
  if (what == 1) MPI_Bcast(to, words, MPI_INT64_T, 0, MPI_COMM_WORLD);
  if (what == 2) MPI_Reduce(from, to, words, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (what == 3) MPI_Allreduce(from, to, words, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (what == 4) MPI_Gather(from, words, MPI_INT64_T, to, words, MPI_INT64_T, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  static const char* const names[] = {"barrier", "broadcast", "reduce", "all-reduce", "gather"};
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int what = 0; what < 5; ++what)
    for (int i = 1; i < count; ++i) {
      int bytes = what ? atoi(arguments[i]) : 0;
      if ((what == 0 && i > 1) || (long)bytes * ranks > kMost) continue;
      once(what, bytes);
      once(what, bytes);
      double begin = MPI_Wtime();
      for (int k = 0; k < kRounds; ++k) once(what, bytes);
      if (rank == 0) printf("%s %d %.3f\n", names[what], bytes, (MPI_Wtime() - begin) / kRounds * 1e9);
    }
  MPI_Finalize();
  return 0;
}
