/* MPI within OpenMP, MPI_THREAD_MULTIPLE: threads of each rank send and receive at once and wait for each
 * other at barriers, locks and the ends of regions, which are OpenMP's own and no calls of MPI. Prints when
 * each rank was done, so that two runs can be compared.
 *
 *   openmp [fixed | dynamic | deadlock]
 *
 * dynamic: which thread does what is left to OpenMP; deadlock: one thread waits for a message nobody sends,
 * the others for it. */
#include <omp.h>
#include <pthread.h>

#include "check.h"

enum { THREADS = 4, ROUNDS = 6, LONGEST = 6000 };
static int out[THREADS][LONGEST], in[THREADS][LONGEST];

/* A ring of the threads of the same number. */
static void exchange(int thread, int round) {
  int right = (rank + 1) % size, left = (rank + size - 1) % size, tag = thread * ROUNDS + round;
  int count = round % 2 ? LONGEST : 1 + thread;
  for (int i = 0; i < count; ++i) out[thread][i] = pattern(rank, thread, round, i);
  MPI_Sendrecv(out[thread], count, MPI_INT, right, tag, in[thread], count, MPI_INT, left, tag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  int wrong = 0;
  for (int i = 0; i < count; ++i) wrong += in[thread][i] != pattern(left, thread, round, i);
#pragma omp critical
  CHECK(wrong == 0);
}

/* All exchange, then one of them sums over all ranks what all have counted, then all look at it. */
static void rounds_with_barriers(void) {
  static int counted, sum;
#pragma omp parallel num_threads(THREADS)
  for (int round = 0; round < ROUNDS; ++round) {
    exchange(omp_get_thread_num(), round);
#pragma omp atomic
    counted += round;
#pragma omp barrier
#pragma omp master
    MPI_Allreduce(&counted, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
#pragma omp barrier
#pragma omp critical
    CHECK(sum == size * THREADS * round * (round + 1) / 2);
  }
}

/* Regions that begin and end, with a loop whose parts are shared out. */
static void loops(int dynamic) {
  for (int region = 0; region < 3; ++region) {
    omp_set_schedule(dynamic ? omp_sched_dynamic : omp_sched_static, 1);
#pragma omp parallel for num_threads(THREADS) schedule(runtime)
    for (int part = 0; part < 2 * THREADS; ++part) {
      int number = pattern(rank, part, region, 0), got = -1;
      int right = (rank + 1) % size, left = (rank + size - 1) % size;
      MPI_Request requests[2];
      MPI_Irecv(&got, 1, MPI_INT, left, 1000 + part, MPI_COMM_WORLD, &requests[0]);
      MPI_Isend(&number, 1, MPI_INT, right, 1000 + part, MPI_COMM_WORLD, &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
#pragma omp critical
      CHECK(got == pattern(left, part, region, 0));
    }
    int mine = 1, all = 0; /* outside of regions, only the first thread is there */
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == size);
  }
}

/* A lock that is held while MPI waits. */
static void turns(void) {
  omp_lock_t lock;
  omp_init_lock(&lock);
#pragma omp parallel num_threads(THREADS)
  {
    omp_set_lock(&lock);
    int thread = omp_get_thread_num(), got = -1;
    MPI_Sendrecv(&thread, 1, MPI_INT, rank, 2000 + thread, &got, 1, MPI_INT, rank, 2000 + thread,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(got == thread);
    omp_unset_lock(&lock);
  }
  omp_destroy_lock(&lock);
}

/* Threads of POSIX that meet at a barrier of POSIX. */
static pthread_barrier_t barrier;
static double entered[THREADS], left_at[THREADS];

static void* meet(void* p) {
  int thread = (int)(long)p;
  exchange(thread, thread); /* of different lengths */
  entered[thread] = MPI_Wtime();
  pthread_barrier_wait(&barrier);
  left_at[thread] = MPI_Wtime();
  exchange(thread, 0);
  return NULL;
}

static void posix_barrier(void) {
  pthread_t threads[THREADS];
  pthread_barrier_init(&barrier, NULL, THREADS);
  for (long i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, meet, (void*)i);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; ++i)
    for (int k = 0; k < THREADS; ++k) CHECK(left_at[i] >= entered[k]);
  pthread_barrier_destroy(&barrier);
}

static void deadlock(void) {
#pragma omp parallel num_threads(THREADS)
  {
    int got, thread = omp_get_thread_num();
    exchange(thread, 0);
    if (thread == 1) MPI_Recv(&got, 1, MPI_INT, 0, 9999, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#pragma omp barrier
  }
}

int main(int argc, char** argv) {
  int provided, dynamic = argc > 1 && strcmp(argv[1], "dynamic") == 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  if (argc > 1 && strcmp(argv[1], "deadlock") == 0) deadlock();
  rounds_with_barriers();
  loops(dynamic);
  turns();
  posix_barrier();
  if (!dynamic) printf("rank %d: done at %.9f\n", rank, MPI_Wtime());
  return end("openmp");
}
