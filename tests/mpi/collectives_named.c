/* Collectives for recordings that name them. Arguments: what, and how many or which seed.
 *   barriers N   nothing else
 *   mixed N      N rounds of barriers, all-reduces, broadcasts and reduces from and to several roots, short and long,
 *                with an operation of the program's own, and messages under way meanwhile
 *   splits SEED  collectives of random communicators
 *   open N       a barrier, N beside one that does not wait, and N after that
 * The first rank prints how many collectives there were, how many of them interfaces could run up to 256 bytes, and the sum
 * of all results. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, ranks;
static long called, fit;
static double sum;
enum { kMost = 1024, kFits = 256 };
static double from[kMost], to[kMost];

static void fill(int seed) {
  for (int i = 0; i < kMost; ++i) from[i] = (me * 13 + i + seed) % 17;
}

/* Counted once for each collective, by its first member. */
static void count(MPI_Comm group, int fits) {
  int rank, size;
  MPI_Comm_rank(group, &rank);
  MPI_Comm_size(group, &size);
  if (rank || size < 2) return;
  ++called;
  fit += fits;
}

static void barrier(MPI_Comm group) {
  MPI_Barrier(group);
  count(group, 1);
}

static void all_reduce(MPI_Comm group, int doubles, MPI_Op operation) {
  fill(doubles);
  MPI_Allreduce(from, to, doubles, MPI_DOUBLE, operation, group);
  sum += to[0] + to[doubles - 1];
  count(group, doubles * 8 <= kFits && operation == MPI_SUM);
}

static void broadcast(MPI_Comm group, int doubles, int root) {
  fill(root);
  MPI_Bcast(from, doubles, MPI_DOUBLE, root, group);
  sum += from[doubles - 1];
  count(group, doubles * 8 <= kFits);
}

static void reduce(MPI_Comm group, int doubles, int root) {
  fill(root);
  memset(to, 0, sizeof to);
  MPI_Reduce(from, to, doubles, MPI_DOUBLE, MPI_SUM, root, group);
  sum += to[0];
  count(group, doubles * 8 <= kFits);
}

static void own(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *n; ++i) ((double*)inout)[i] += ((double*)in)[i];
}

static void mixed(int rounds) {
  MPI_Op mine;
  MPI_Op_create(own, 1, &mine);
  static char away[70000], here[70000];
  for (int round = 0; round < rounds; ++round) {
    /* A short and a long message are under way while collectives run. */
    MPI_Request requests[4];
    int next = (me + 1) % ranks, last = (me + ranks - 1) % ranks;
    memset(away, me + round, sizeof away);
    MPI_Irecv(here, 100, MPI_CHAR, last, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(here + 200, 60000, MPI_CHAR, last, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(away, 100, MPI_CHAR, next, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(away + 200, 60000, MPI_CHAR, next, 2, MPI_COMM_WORLD, &requests[3]);
    barrier(MPI_COMM_WORLD);
    all_reduce(MPI_COMM_WORLD, 1, MPI_SUM);
    all_reduce(MPI_COMM_WORLD, 16, MPI_SUM);
    all_reduce(MPI_COMM_WORLD, 1024, MPI_SUM); /* too long */
    all_reduce(MPI_COMM_WORLD, 2, mine);
    broadcast(MPI_COMM_WORLD, 12, round % ranks);
    broadcast(MPI_COMM_WORLD, 12, (round + ranks / 2) % ranks);
    reduce(MPI_COMM_WORLD, 4, (3 * round + 1) % ranks);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    if (here[0] != (char)(last + round) || here[60199] != (char)(last + round)) MPI_Abort(MPI_COMM_WORLD, 1);
    barrier(MPI_COMM_WORLD);
  }
  MPI_Op_free(&mine);
}

static uint64_t state;
static uint32_t draw(uint32_t below) { /* the same in all ranks */
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)(state >> 33) % below;
}

static void splits(void) {
  MPI_Comm parent = MPI_COMM_WORLD;
  for (int number = 0; number < 12; ++number) {
    MPI_Comm group;
    uint32_t parts = 1 + draw(5), salt = draw(1000), turned = draw(2);
    MPI_Comm_split(parent, (int)(((uint32_t)me * 2654435761u + salt * 40503u) >> 7) % (int)parts, turned ? -me : me, &group);
    int size;
    MPI_Comm_size(group, &size);
    for (int i = 0; i < 6; ++i) {
      uint32_t what = draw(4), root = draw(1000), doubles = 1 + draw(40);
      if (what == 0) barrier(group);
      if (what == 1) all_reduce(group, (int)doubles, MPI_SUM);
      if (what == 2) broadcast(group, (int)doubles, (int)root % size);
      if (what == 3) reduce(group, (int)doubles, (int)root % size);
    }
    MPI_Comm_free(&group);
  }
}

int main(int arguments_given, char** arguments) {
  MPI_Init(&arguments_given, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* what = arguments_given > 1 ? arguments[1] : "barriers";
  int n = arguments_given > 2 ? atoi(arguments[2]) : 10;
  state = (uint64_t)n;
  if (!strcmp(what, "mixed")) mixed(n);
  if (!strcmp(what, "splits")) splits();
  if (!strcmp(what, "open")) {
    MPI_Request open;
    barrier(MPI_COMM_WORLD);
    MPI_Ibarrier(MPI_COMM_WORLD, &open);
    for (int i = 0; i < n; ++i) barrier(MPI_COMM_WORLD);
    MPI_Wait(&open, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; ++i) barrier(MPI_COMM_WORLD);
  }
  if (!strcmp(what, "barriers"))
    for (int i = 0; i < n; ++i) barrier(MPI_COMM_WORLD);
  long mine[2] = {called, fit}, all[2];
  double result;
  const int alone = !strcmp(what, "barriers"); /* the first rank has counted them all */
  if (me && !alone) {
    MPI_Send(mine, 2, MPI_LONG, 0, 9, MPI_COMM_WORLD);
    MPI_Send(&sum, 1, MPI_DOUBLE, 0, 9, MPI_COMM_WORLD);
  }
  for (int i = 1; !me && !alone && i < ranks; ++i) {
    MPI_Recv(all, 2, MPI_LONG, i, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&result, 1, MPI_DOUBLE, i, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    called += all[0];
    fit += all[1];
    sum += result;
  }
  if (!me) printf("%ld %ld %.0f\n", called, fit, sum);
  MPI_Finalize();
  return 0;
}
