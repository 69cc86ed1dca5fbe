/* MPI_THREAD_MULTIPLE: several threads of each rank send and receive at once, each in a communicator of its
 * own or told apart by tags, in every mode MPI has and at every length, while the first thread does
 * collectives. Prints when each thread was done, so that two runs can be compared.
 *
 *   threads [LONGEST [ROUNDS]]     LONGEST in bytes */
#include <pthread.h>
#include <string.h>

#include "check.h"

enum { THREADS = 3, MODES = 8, MOST = 1 << 20 };
static MPI_Comm own[THREADS];
static int wrong[THREADS], rounds = 24, longest = 10000;
static double done_at[THREADS];
static int out[THREADS][MOST / 4], in[THREADS][MOST / 4];

/* Sends to the right and receives from the left, in one of the ways there are. */
static void exchange(int t, int round, int count, int right, int left) {
  MPI_Comm comm = own[t];
  MPI_Request requests[2];
  MPI_Status status;
  int flag = 0;
  switch (round % MODES) {
    case 0: /* a blocking send, the receive posted before */
      MPI_Irecv(in[t], count, MPI_INT, left, round, comm, &requests[0]);
      MPI_Send(out[t], count, MPI_INT, right, round, comm);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      break;
    case 1: /* both at once */
      MPI_Sendrecv(out[t], count, MPI_INT, right, round, in[t], count, MPI_INT, left, round, comm, &status);
      break;
    case 2: /* a synchronous send */
      MPI_Irecv(in[t], count, MPI_INT, left, round, comm, &requests[0]);
      MPI_Ssend(out[t], count, MPI_INT, right, round, comm);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      break;
    case 3: /* looked for, then received */
      MPI_Isend(out[t], count, MPI_INT, right, round, comm, &requests[0]);
      MPI_Probe(left, round, comm, &status);
      MPI_Get_count(&status, MPI_INT, &flag);
      wrong[t] += flag != count;
      MPI_Recv(in[t], count, MPI_INT, left, round, comm, MPI_STATUS_IGNORE);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      break;
    case 4: /* tested until it is there */
      MPI_Irecv(in[t], count, MPI_INT, left, round, comm, &requests[0]);
      MPI_Issend(out[t], count, MPI_INT, right, round, comm, &requests[1]);
      while (!flag) MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
      break;
    case 5: /* from anybody, polled for */
      MPI_Isend(out[t], count, MPI_INT, right, round, comm, &requests[0]);
      while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, round, comm, &flag, &status);
      wrong[t] += status.MPI_SOURCE != left;
      MPI_Recv(in[t], count, MPI_INT, status.MPI_SOURCE, round, comm, MPI_STATUS_IGNORE);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      break;
    case 6: /* with a barrier of this thread's communicator, and all of a thread's requests at once */
      MPI_Barrier(comm);
      MPI_Irecv(in[t], count, MPI_INT, left, round, comm, &requests[0]);
      MPI_Isend(out[t], count, MPI_INT, right, round, comm, &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      break;
    default: { /* a sum over all ranks, of each thread in its communicator, then as the first way */
      int sum[4] = {0}, part[4] = {rank, t, round, 1};
      MPI_Allreduce(part, sum, 4, MPI_INT, MPI_SUM, comm);
      wrong[t] += sum[0] != size * (size - 1) / 2 || sum[1] != t * size || sum[3] != size;
      MPI_Irecv(in[t], count, MPI_INT, left, round, comm, &requests[0]);
      MPI_Send(out[t], count, MPI_INT, right, round, comm);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
  }
}

static void* work(void* p) {
  int t = (int)(long)p, right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int round = 0; round < rounds; ++round) {
    int most = longest / 4, count = round % 3 == 2 ? most : round % 3 == 1 ? 1 + most / 50 : 1 + round;
    for (int i = 0; i < count; ++i) out[t][i] = pattern(rank, t, round, i);
    memset(in[t], 0, (size_t)count * 4);
    exchange(t, round, count, right, left);
    for (int i = 0; i < count; ++i) wrong[t] += in[t][i] != pattern(left, t, round, i);
    /* The same through one communicator, by tags. */
    int token = rank * 100 + t, got = -1;
    MPI_Sendrecv(&token, 1, MPI_INT, right, 1000 + t, &got, 1, MPI_INT, left, 1000 + t, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    wrong[t] += got != left * 100 + t;
  }
  done_at[t] = MPI_Wtime();
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  if (argc > 1) longest = atoi(argv[1]);
  if (argc > 2) rounds = atoi(argv[2]);
  CHECK(longest <= MOST);
  pthread_t threads[THREADS];
  for (int t = 0; t < THREADS; ++t) MPI_Comm_dup(MPI_COMM_WORLD, &own[t]);
  MPI_Comm mine;
  MPI_Comm_dup(MPI_COMM_WORLD, &mine);
  double begun = MPI_Wtime();
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
  printf("rank %d: threads were done after %.9f %.9f %.9f s\n", rank, done_at[0] - begun, done_at[1] - begun,
         done_at[2] - begun);
  for (int t = 0; t < THREADS; ++t) MPI_Comm_free(&own[t]);
  MPI_Comm_free(&mine);
  return end("threads");
}
