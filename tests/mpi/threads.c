/* MPI_THREAD_MULTIPLE: several threads of each rank send and receive at once, each in a communicator of its
 * own or told apart by tags, while the first thread does collectives. */
#include <pthread.h>

#include "check.h"

enum { THREADS = 3, ROUNDS = 20 };
static MPI_Comm own[THREADS];
static int wrong[THREADS];

static void* work(void* p) {
  int t = (int)(long)p, right = (rank + 1) % size, left = (rank + size - 1) % size;
  static int out[THREADS][2500], in[THREADS][2500];
  for (int round = 0; round < ROUNDS; ++round) {
    int count = round % 4 == 3 ? 2500 : 1 + round;
    for (int i = 0; i < count; ++i) out[t][i] = pattern(rank, t, round, i);
    MPI_Request request;
    MPI_Irecv(in[t], count, MPI_INT, left, round, own[t], &request);
    MPI_Send(out[t], count, MPI_INT, right, round, own[t]);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; ++i) wrong[t] += in[t][i] != pattern(left, t, round, i);
    /* The same through one communicator, by tags. */
    int token = rank * 100 + t, got = -1;
    MPI_Sendrecv(&token, 1, MPI_INT, right, 1000 + t, &got, 1, MPI_INT, left, 1000 + t, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    wrong[t] += got != left * 100 + t;
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  pthread_t threads[THREADS];
  for (int t = 0; t < THREADS; ++t) MPI_Comm_dup(MPI_COMM_WORLD, &own[t]);
  MPI_Comm mine;
  MPI_Comm_dup(MPI_COMM_WORLD, &mine);
  for (int t = 0; t < THREADS; ++t) pthread_create(&threads[t], NULL, work, (void*)(long)t);
  for (int i = 0; i < 5; ++i) {
    int sum;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, mine);
    CHECK(sum == size * (size - 1) / 2);
  }
  for (int t = 0; t < THREADS; ++t) {
    pthread_join(threads[t], NULL);
    CHECK(wrong[t] == 0);
  }
  for (int t = 0; t < THREADS; ++t) MPI_Comm_free(&own[t]);
  MPI_Comm_free(&mine);
  return end("threads");
}
