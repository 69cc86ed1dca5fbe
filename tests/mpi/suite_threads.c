/* MPI_THREAD_MULTIPLE: several threads of each rank use MPI at once, and wait for each other in every way. */
#include <pthread.h>
#include <unistd.h>

#include "suite.h"

enum { THREADS = 3, ROUNDS = 6 };

struct Thread {
  int number, wrong;
  MPI_Comm comm;
};

/* Runs it in THREADS threads, each with a communicator of its own; nothing may be wrong in any. */
static void in_threads(void* (*work)(void*)) {
  pthread_t threads[THREADS];
  struct Thread facts[THREADS];
  for (int t = 0; t < THREADS; ++t) {
    facts[t].number = t, facts[t].wrong = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &facts[t].comm);
  }
  for (int t = 0; t < THREADS; ++t) pthread_create(&threads[t], NULL, work, &facts[t]);
  for (int t = 0; t < THREADS; ++t) {
    pthread_join(threads[t], NULL);
    CHECK(facts[t].wrong == 0);
    MPI_Comm_free(&facts[t].comm);
  }
}

static void* asks_for_level(void* p) {
  struct Thread* me = p;
  int flag = 1, level = -1;
  MPI_Is_thread_main(&flag);
  MPI_Query_thread(&level);
  me->wrong += flag || level != MPI_THREAD_MULTIPLE;
  return NULL;
}

static void levels(void) {
  int flag = 0;
  MPI_Is_thread_main(&flag);
  CHECK(flag);
  in_threads(asks_for_level);
}

static void* rings(void* p) {
  struct Thread* me = p;
  for (int round = 0; round < ROUNDS; ++round) {
    int n = round % 2 ? 6000 : 5, *out = filled(n, rank, me->number, round), *in = ints(n);
    MPI_Sendrecv(out, n, MPI_INT, right_of(), 0, in, n, MPI_INT, left_of(), 0, me->comm, MPI_STATUS_IGNORE);
    me->wrong += !holds(in, n, left_of(), me->number, round);
    free(out), free(in);
  }
  return NULL;
}

static void own_communicators(void) { in_threads(rings); }

/* One communicator for all threads, told apart by tags. */
static void* tagged(void* p) {
  struct Thread* me = p;
  for (int round = 0; round < ROUNDS; ++round) {
    int out = pattern(rank, me->number, round, 0), in = -1;
    MPI_Request requests[2];
    MPI_Irecv(&in, 1, MPI_INT, left_of(), me->number, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&out, 1, MPI_INT, right_of(), me->number, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    me->wrong += in != pattern(left_of(), me->number, round, 0);
  }
  return NULL;
}

static void tags(void) { in_threads(tagged); }

static void* collects(void* p) {
  struct Thread* me = p;
  for (int round = 0; round < ROUNDS; ++round) {
    int mine = rank * 10 + me->number, sum = -1, all[64], root = (round + me->number) % size, value = -1;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, me->comm);
    me->wrong += sum != size * (size - 1) / 2 * 10 + size * me->number;
    MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, me->comm);
    for (int r = 0; r < size; ++r) me->wrong += all[r] != r * 10 + me->number;
    if (rank == root) value = round;
    MPI_Bcast(&value, 1, MPI_INT, root, me->comm);
    me->wrong += value != round;
    MPI_Barrier(me->comm);
  }
  return NULL;
}

static void collectives(void) { in_threads(collects); }

/* Threads take messages for all of them as they come: each once, by a matched probe. */
static int taken[THREADS * ROUNDS];

static void* takes(void* p) {
  struct Thread* me = p;
  for (int i = 0; i < ROUNDS; ++i) {
    int value = me->number * ROUNDS + i, got = -1;
    MPI_Request request;
    MPI_Message message;
    MPI_Isend(&value, 1, MPI_INT, right_of(), 80, MPI_COMM_WORLD, &request);
    MPI_Mprobe(left_of(), 80, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    if (got < 0 || got >= THREADS * ROUNDS)
      ++me->wrong;
    else
      __sync_fetch_and_add(&taken[got], 1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  return NULL;
}

static void matched(void) {
  memset(taken, 0, sizeof taken);
  in_threads(takes);
  for (int i = 0; i < THREADS * ROUNDS; ++i) CHECK(taken[i] == 1);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Each thread makes communicators and splits them while others do the same. */
static void* makes_communicators(void* p) {
  struct Thread* me = p;
  for (int round = 0; round < 2; ++round) {
    MPI_Comm copy, half;
    int n, sum, expected = 0;
    MPI_Comm_dup(me->comm, &copy);
    MPI_Comm_split(copy, (rank + me->number) % 2, rank, &half);
    MPI_Comm_size(half, &n);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half);
    for (int r = 0; r < size; ++r)
      if ((r + me->number) % 2 == (rank + me->number) % 2) expected += r, --n;
    me->wrong += sum != expected || n != 0;
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
  }
  return NULL;
}

static void communicators(void) { in_threads(makes_communicators); }

/* Each thread has a window of its own. */
static void* reaches(void* p) {
  struct Thread* me = p;
  int memory[8] = {0}, out[8];
  MPI_Win window;
  MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, me->comm, &window);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 8; ++i) out[i] = pattern(rank, me->number, round, i);
    MPI_Win_fence(0, window);
    MPI_Put(out, 8, MPI_INT, right_of(), 0, 8, MPI_INT, window);
    MPI_Win_fence(0, window);
    me->wrong += !holds(memory, 8, left_of(), me->number, round);
  }
  MPI_Win_free(&window);
  return NULL;
}

static void windows(void) { in_threads(reaches); }

/* All threads put into memory that they attach to one window. */
static MPI_Win shared_window;

static void* attaches(void* p) {
  enum { N = 30 };
  struct Thread* me = p;
  MPI_Aint mine, all[64];
  int *memory = ints(N), *out = ints(N);
  MPI_Win_attach(shared_window, memory, N * sizeof(int));
  MPI_Get_address(memory, &mine);
  MPI_Allgather(&mine, 1, MPI_AINT, all, 1, MPI_AINT, me->comm);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < N; ++i) out[i] = pattern(rank, me->number, round, i);
    MPI_Put(out, N, MPI_INT, right_of(), all[right_of()], N, MPI_INT, shared_window);
    MPI_Win_flush(right_of(), shared_window);
    MPI_Barrier(me->comm);
    me->wrong += !holds(memory, N, left_of(), me->number, round);
    MPI_Barrier(me->comm);
  }
  MPI_Win_detach(shared_window, memory);
  free(memory), free(out);
  return NULL;
}

static void dynamic_windows(void) {
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &shared_window);
  MPI_Win_lock_all(0, shared_window);
  in_threads(attaches);
  MPI_Win_unlock_all(shared_window);
  MPI_Win_free(&shared_window);
}

/* The barrier of many suites: count, then look at a volatile variable. */
static volatile int arrived[2 * ROUNDS];

static void* spins(void* p) {
  struct Thread* me = p;
  for (int round = 0; round < 2 * ROUNDS; ++round) {
    int out = round, in = -1;
    MPI_Sendrecv(&out, 1, MPI_INT, right_of(), me->number, &in, 1, MPI_INT, left_of(), me->number,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    me->wrong += in != round;
    __sync_fetch_and_add(&arrived[round], 1);
    while (arrived[round] < THREADS) {
    }
    me->wrong += arrived[round] != THREADS;
  }
  return NULL;
}

static void spin_barrier(void) {
  memset((void*)arrived, 0, sizeof arrived);
  in_threads(spins);
}

/* One thread receives what another works on. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int box, full;

static void* receives(void* p) {
  (void)p;
  for (int i = 0; i < ROUNDS; ++i) {
    int got;
    MPI_Recv(&got, 1, MPI_INT, left_of(), 90, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    pthread_mutex_lock(&mutex);
    while (full) pthread_cond_wait(&changed, &mutex);
    box = got, full = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
  }
  return NULL;
}

static void handed_over(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, receives, NULL);
  for (int i = 0; i < ROUNDS; ++i) {
    int value = pattern(rank, 1, 1, i);
    usleep(20);
    MPI_Send(&value, 1, MPI_INT, right_of(), 90, MPI_COMM_WORLD);
    pthread_mutex_lock(&mutex);
    while (!full) pthread_cond_wait(&changed, &mutex);
    CHECK(box == pattern(left_of(), 1, 1, i));
    full = 0;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
  }
  pthread_join(thread, NULL);
}

/* One thread waits for a request that another started. */
static MPI_Request started;

static void* waits(void* p) {
  (void)p;
  MPI_Wait(&started, MPI_STATUS_IGNORE);
  return NULL;
}

static void waited_elsewhere(void) {
  pthread_t thread;
  int in = -1;
  MPI_Irecv(&in, 1, MPI_INT, left_of(), 91, MPI_COMM_WORLD, &started);
  pthread_create(&thread, NULL, waits, NULL);
  usleep(30);
  MPI_Send(&rank, 1, MPI_INT, right_of(), 91, MPI_COMM_WORLD);
  pthread_join(thread, NULL);
  CHECK(in == left_of());
}

int main(int argc, char** argv) {
  static const struct Case cases[] = {{"levels", levels},
                                      {"own_communicators", own_communicators},
                                      {"tags", tags},
                                      {"collectives", collectives},
                                      {"matched", matched},
                                      {"communicators", communicators},
                                      {"windows", windows},
                                      {"dynamic_windows", dynamic_windows},
                                      {"spin_barrier", spin_barrier},
                                      {"handed_over", handed_over},
                                      {"waited_elsewhere", waited_elsewhere}};
  return suite(argc, argv, MPI_THREAD_MULTIPLE, "suite_threads", cases, COUNT_OF(cases));
}
