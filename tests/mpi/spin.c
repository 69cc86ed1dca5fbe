/* Threads and ranks that wait in loops without any call, as barriers of test suites do. The argument says
 * how. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define ROUNDS 5

static volatile int arrived[2 * ROUNDS + 2], go, count_up;
static int rank, size;
static double start;
static volatile int lock_word;
static int guarded;

/* The barrier of many suites: count, then look. */
static void barrier(int round) {
  __sync_fetch_and_add(&arrived[round], 1);
  while (arrived[round] < THREADS) {
  }
}

static void lock(void) {
  while (__sync_lock_test_and_set(&lock_word, 1)) {
  }
}

static void* worker(void* argument) {
  long me = (long)argument;
  for (int round = 0; round < ROUNDS; ++round) {
    int got = -1, to = (rank + 1) % size, from = (rank + size - 1) % size, value = (int)(me * 100 + round);
    MPI_Sendrecv(&value, 1, MPI_INT, to, (int)me, &got, 1, MPI_INT, from, (int)me, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (got != value) printf("rank %d thread %ld: %d instead of %d\n", rank, me, got, value);
    lock();
    ++guarded;
    __sync_lock_release(&lock_word);
    barrier(2 * round);
    barrier(2 * round + 1);
  }
  return NULL;
}

static void barriers(void) {
  pthread_t threads[THREADS];
  for (long i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, worker, (void*)i);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  printf("rank %d: %d rounds of %d threads, %d in the lock, %.0f ns\n", rank, ROUNDS, THREADS, guarded,
         (MPI_Wtime() - start) * 1e9);
}

static void* teller(void* how) {
  (void)how;
  int got;
  MPI_Recv(&got, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  go = 1;
  return NULL;
}

/* One thread receives, the other looks whether it has: with PAUSE, and counting its rounds. */
static void flags(const char* how) {
  pthread_t thread;
  pthread_create(&thread, NULL, teller, NULL);
  MPI_Request request;
  MPI_Isend(&rank, 1, MPI_INT, (rank + size - 1) % size, 7, MPI_COMM_WORLD, &request);
  long rounds = 0;
  if (strcmp(how, "late") == 0) { /* what it goes by was read a while ago */
    int seen;
    do {
      seen = go;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    } while (!seen);
  } else if (strcmp(how, "pause") == 0) {
    while (!go) {
      ++rounds;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  } else {
    while (!go) count_up = count_up + 1;
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  pthread_join(thread, NULL);
  printf("rank %d was told, %.0f ns\n", rank, (MPI_Wtime() - start) * 1e9);
}

/* Long work of one thread is no waiting: the result and the time are what they are without it. */
static void* work(void* argument) {
  unsigned long x = (unsigned long)argument;
  for (long i = 0; i < 600 * 1000 * 1000L; ++i) x = x * 6364136223846793005ul + 1442695040888963407ul;
  int got = (int)(x >> 40);
  MPI_Send(&got, 1, MPI_INT, (rank + 1) % size, 9, MPI_COMM_WORLD);
  return NULL;
}

static void long_work(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, work, (void*)(long)(rank + 1));
  int got = 0;
  MPI_Recv(&got, 1, MPI_INT, (rank + size - 1) % size, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  pthread_join(thread, NULL);
  printf("rank %d got %d, %.0f ns\n", rank, got, (MPI_Wtime() - start) * 1e9);
}

/* A loop that counts its rounds and ends by that count is no waiting, although it looks at the same place. */
static void counted_work(void) {
  static volatile int step = 4;
  long sum = 0;
  for (long i = 0; i < 800 * 1000 * 1000L; ++i) sum += step;
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d counted to %ld, %.0f ns\n", rank, sum, (MPI_Wtime() - start) * 1e9);
}

int main(int argc, char** argv) {
  int given;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  start = MPI_Wtime();
  const char* how = argc > 1 ? argv[1] : "barrier";
  if (strcmp(how, "barrier") == 0) barriers();
  if (strcmp(how, "pause") == 0 || strcmp(how, "count") == 0 || strcmp(how, "late") == 0) flags(how);
  if (strcmp(how, "work") == 0) long_work();
  if (strcmp(how, "rounds") == 0) counted_work();
  MPI_Finalize();
  return 0;
}
