/* Everybody sends to everybody, in sizes drawn at random, and takes whoever comes. A buffer is overwritten as
 * soon as MPI says that it is free, and every number of every message is checked. scramble [messages of each
 * rank [most numbers in one]]
 */
#include "check.h"

enum { POSTED = 4, UNDER_WAY = 3, FINISHED = 1, DATA = 2 };

static unsigned long long state;
static unsigned draw(unsigned below) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (unsigned)(state >> 33) % below;
}

static int *in[POSTED], most, finished;
static int taken[4096]; /* by source: messages */
static MPI_Request receives[POSTED];

static void post(int i) {
  MPI_Irecv(in[i], most, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &receives[i]);
}

/* The receives are taken in the order they were posted, or two messages of one sender could be looked at in
 * the wrong order. Returns whether one was done. */
static int receive(int wait) {
  static int next;
  int flag = 1, count, same = 1;
  MPI_Status status;
  if (wait) {
    MPI_Wait(&receives[next], &status);
  } else {
    MPI_Test(&receives[next], &flag, &status);
  }
  if (!flag) return 0;
  MPI_Get_count(&status, MPI_INT, &count);
  if (status.MPI_TAG == FINISHED) {
    ++finished;
    CHECK(count == 1 && in[next][0] == taken[status.MPI_SOURCE]);
  } else {
    int step = taken[status.MPI_SOURCE]++;
    for (int i = 0; i < count; ++i) same &= in[next][i] == pattern(status.MPI_SOURCE, rank, step, i);
    CHECK(same);
  }
  post(next);
  next = (next + 1) % POSTED;
  return 1;
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int messages = argc > 1 ? atoi(argv[1]) : 100;
  most = argc > 2 ? atoi(argv[2]) : 5000;
  state = 12345 + (unsigned long long)rank;
  int* out[UNDER_WAY];
  MPI_Request sends[UNDER_WAY];
  int* sent = calloc((size_t)size, sizeof(int));
  for (int i = 0; i < POSTED; ++i) {
    in[i] = malloc(sizeof(int) * (size_t)most);
    post(i);
  }
  for (int i = 0; i < UNDER_WAY; ++i) {
    out[i] = malloc(sizeof(int) * (size_t)most);
    sends[i] = MPI_REQUEST_NULL;
  }
  for (int m = 0; m < messages;) {
    int free_one = -1, flag;
    MPI_Testany(UNDER_WAY, sends, &free_one, &flag, MPI_STATUS_IGNORE);
    if (flag) {
      if (free_one == MPI_UNDEFINED) free_one = 0; /* all of them */
      int to = (rank + 1 + (int)draw((unsigned)size - 1)) % size;
      int kind = (int)draw(4), count = (int)draw(kind == 0                 ? 4u
                                                 : kind == 1 && most > 100 ? 100u
                                                                           : (unsigned)most);
      for (int i = 0; i < count; ++i) out[free_one][i] = pattern(rank, to, sent[to], i);
      MPI_Isend(out[free_one], count, MPI_INT, to, DATA, MPI_COMM_WORLD, &sends[free_one]);
      ++sent[to];
      ++m;
    }
    while (receive(0)) continue;
  }
  for (int left = 1; left;) {
    MPI_Testall(UNDER_WAY, sends, &left, MPI_STATUSES_IGNORE);
    left = !left;
    while (receive(0)) continue;
  }
  for (int to = 0; to < size; ++to)
    if (to != rank)
      MPI_Isend(&sent[to], 1, MPI_INT, to, FINISHED, MPI_COMM_WORLD, &sends[0]), MPI_Request_free(&sends[0]);
  while (finished < size - 1) receive(1);
  for (int i = 0; i < POSTED; ++i) {
    MPI_Cancel(&receives[i]);
    MPI_Wait(&receives[i], MPI_STATUS_IGNORE);
  }
  return end("scramble");
}
