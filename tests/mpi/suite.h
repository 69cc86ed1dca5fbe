/* A program of many small tests. Each has a name, checks its own results on every rank, and gives one line:
 * whether all was right, the virtual time of the rank that took longest and that of all ranks together. So
 * two runs that print the same took the same time in each of them. Arguments name the tests to run; without
 * any, all of them run. */
#ifndef WEFT_TESTS_MPI_SUITE_H
#define WEFT_TESTS_MPI_SUITE_H

#include <stdint.h>

#include "check.h"

struct Case {
  const char* name;
  void (*run)(void);
};

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof(*(array))))

static inline void run_case(const struct Case* one) {
  MPI_Barrier(MPI_COMM_WORLD);
  long before = checks_failed;
  double begun = MPI_Wtime();
  one->run();
  long mine[2] = {checks_failed - before, (long)((MPI_Wtime() - begun) * 1e9 + 0.5)}, sum[2], most;
  MPI_Reduce(mine, sum, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&mine[1], &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%s %s: %ld ns, %ld ns\n", sum[0] ? "WRONG" : "ok", one->name, most, sum[1]);
}

/* The whole program, with this level of threads. Returns its exit code. */
static inline int suite(int argc, char** argv, int level, const char* what, const struct Case* cases,
                        int count) {
  int provided, known = 0;
  MPI_Init_thread(&argc, &argv, level, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(provided >= level);
  for (int i = 0; i < count; ++i) {
    int wanted = argc < 2;
    for (int a = 1; a < argc; ++a) wanted |= !strcmp(argv[a], cases[i].name);
    known += wanted;
    if (wanted) run_case(&cases[i]);
  }
  CHECK(argc < 2 || known == argc - 1); /* every name given is one of ours */
  return end(what);
}

/* Neighbours in a ring of all ranks. */
static inline int right_of(void) { return (rank + 1) % size; }
static inline int left_of(void) { return (rank + size - 1) % size; }

static inline int* ints(int count) { return calloc((size_t)(count > 0 ? count : 1), sizeof(int)); }

/* The numbers that `from` has for `to`. */
static inline int* filled(int count, int from, int to, int step) {
  int* out = ints(count);
  for (int i = 0; i < count; ++i) out[i] = pattern(from, to, step, i);
  return out;
}

static inline int holds(const int* in, int count, int from, int to, int step) {
  for (int i = 0; i < count; ++i)
    if (in[i] != pattern(from, to, step, i)) return 0;
  return 1;
}

/* Operations on integers that MPI has, and what each of them does. */
#define EVERY_OPERATION \
  { MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR }

static inline long applied(int op, long a, long b) {
  switch (op) {
    case 0:
      return a + b;
    case 1:
      return a * b;
    case 2:
      return a > b ? a : b;
    case 3:
      return a < b ? a : b;
    case 4:
      return a && b;
    case 5:
      return a || b;
    case 6:
      return !a != !b;
    case 7:
      return a & b;
    case 8:
      return a | b;
    default:
      return a ^ b;
  }
}

#endif
