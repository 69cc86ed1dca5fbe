/* What computing costs between calls of MPI, and what MPI's own work costs.
 *   compute [MILLISECONDS [ROUNDS]]
 * Each round every rank works for so much processor time of the real machine, then all meet. With 0 there are
 * only calls of MPI. Prints the processor time worked and the time that MPI_Wtime saw pass. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

/* The real machine's, whatever clock_gettime says here. */
static double processor_seconds(void) {
  struct timespec t;
  syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static volatile unsigned sink;

static double work(double seconds) {
  double begin = processor_seconds(), now = begin;
  while (now - begin < seconds) {
    for (unsigned i = 0; i < 20000; ++i) sink = sink * 69069u + i;
    now = processor_seconds();
  }
  return now - begin;
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  double milliseconds = argc > 1 ? atof(argv[1]) : 50, worked = 0;
  int rounds = argc > 2 ? atoi(argv[2]) : 2;
  static char big[100000], there[100000];
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) {
    if (milliseconds > 0) {
      worked += work(milliseconds * 1e-3);
      MPI_Barrier(MPI_COMM_WORLD);
      continue;
    }
    /* Everything a library has work with: matching, packing, collectives, long messages. */
    int right = (rank + 1) % size, left = (rank + size - 1) % size, sum = 0;
    MPI_Request requests[2];
    MPI_Irecv(there, sizeof there, MPI_CHAR, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(big, sizeof big, MPI_CHAR, right, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == i * size);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(big, 8, MPI_CHAR, right, 1, there, 8, MPI_CHAR, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  double passed = MPI_Wtime() - start, most = 0;
  MPI_Reduce(&worked, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("worked %.9f s, passed %.9f s\n", most, passed);
  return end("compute");
}
