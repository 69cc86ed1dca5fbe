/* What the MPI programs of the tests share: checks that count, and one line at the end that says how they
 * went. */
#ifndef WEFT_TESTS_MPI_CHECK_H
#define WEFT_TESTS_MPI_CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static long checks_done, checks_failed;

#define CHECK(condition)                                                                       \
  do {                                                                                         \
    ++checks_done;                                                                             \
    if (!(condition) && ++checks_failed <= 10)                                                 \
      fprintf(stderr, "rank %d: %s:%d: not true: %s\n", rank, __FILE__, __LINE__, #condition); \
  } while (0)

static inline void begin(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
}

/* The exit code of the program: 0 where every check of every rank held. */
static inline int end(const char* what) {
  long mine[2] = {checks_done, checks_failed}, all[2] = {0, 0};
  MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%s: %d ranks, %ld checks, %ld failed\n", what, size, all[0], all[1]);
  MPI_Finalize();
  return all[1] ? 1 : 0;
}

/* A number that depends on everything it is made of, so that data in the wrong place is noticed. */
static inline int pattern(int from, int to, int step, int i) {
  unsigned x =
      (unsigned)from * 2654435761u ^ (unsigned)to * 40503u ^ (unsigned)step * 69069u ^ (unsigned)i * 362437u;
  return (int)(x >> 3 & 0xffffff);
}

#endif
