/* One-sided operations of several threads at once, as programs have them that ask for MPI_THREAD_MULTIPLE. */
#include <pthread.h>

#include "check.h"

enum { THREADS = 3, WORDS = 600, ROUNDS = 4 };
static MPI_Win window, counters;
static long *memory, *counter;

static void* thread(void* p) {
  int t = *(int*)p;
  static long out[THREADS][WORDS], in[THREADS][WORDS];
  for (int round = 0; round < ROUNDS; ++round) {
    int target = (rank + 1 + t + round) % size;
    for (int i = 0; i < WORDS; ++i) out[t][i] = pattern(rank, t, round, i);
    /* Each thread of each rank has a place of its own in every window. */
    MPI_Aint at = (MPI_Aint)(rank * THREADS + t) * WORDS;
    MPI_Put(out[t], WORDS, MPI_LONG, target, at, WORDS, MPI_LONG, window);
    MPI_Win_flush(target, window);
    MPI_Get(in[t], WORDS, MPI_LONG, target, at, WORDS, MPI_LONG, window);
    MPI_Win_flush(target, window);
    CHECK(memcmp(in[t], out[t], sizeof in[t]) == 0);
    long one = 1, old;
    MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, counters);
    MPI_Win_flush(0, counters);
    long two[2] = {1, 2};
    MPI_Accumulate(two, 2, MPI_LONG, target, 1, 2, MPI_LONG, MPI_SUM, counters);
    MPI_Win_flush(target, counters);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int given;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(given == MPI_THREAD_MULTIPLE);
  MPI_Win_allocate((MPI_Aint)sizeof(long) * size * THREADS * WORDS, sizeof(long), MPI_INFO_NULL,
                   MPI_COMM_WORLD, &memory, &window);
  MPI_Win_allocate(3 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &counter, &counters);
  memset(counter, 0, 3 * sizeof(long));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  MPI_Win_lock_all(0, counters);
  double start = MPI_Wtime();
  pthread_t threads[THREADS];
  int numbers[THREADS];
  for (int t = 0; t < THREADS; ++t) {
    numbers[t] = t;
    pthread_create(&threads[t], NULL, thread, &numbers[t]);
  }
  for (int t = 0; t < THREADS; ++t) pthread_join(threads[t], NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  double passed = MPI_Wtime() - start;
  MPI_Win_unlock_all(counters);
  MPI_Win_unlock_all(window);
  long all[3], total = (long)size * THREADS * ROUNDS;
  MPI_Reduce(counter, all, 3, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    CHECK(counter[0] == total);
    CHECK(all[1] == total && all[2] == 2 * total);
    printf("%.9f\n", passed);
  }
  MPI_Win_free(&counters);
  MPI_Win_free(&window);
  return end("window_threads");
}
