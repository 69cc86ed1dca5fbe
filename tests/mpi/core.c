/* An MPI program with nothing special in it; its first argument says what it does. Times are printed in nanoseconds, as
 * MPI_Wtime shows them. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks;

static double ns(double seconds) { return seconds * 1e9; }

/* Round trips between the first and the last rank. */
static void pingpong(int bytes, int turns) {
  char* b = calloc(1, (size_t)bytes + 1);
  double t = MPI_Wtime();
  for (int i = 0; i < turns; ++i) {
    if (rank == 0) {
      MPI_Send(b, bytes, MPI_CHAR, ranks - 1, 0, MPI_COMM_WORLD);
      MPI_Recv(b, bytes, MPI_CHAR, ranks - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == ranks - 1) {
      MPI_Recv(b, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(b, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
  }
  if (rank == 0) printf("%.0f\n", ns(MPI_Wtime() - t));
  free(b);
}

/* A window of messages, then a short answer. */
static void window(int bytes, int count) {
  char* b = calloc((size_t)count, (size_t)bytes);
  MPI_Request* q = malloc(sizeof(MPI_Request) * (size_t)count);
  double t = MPI_Wtime();
  for (int i = 0; i < count; ++i)
    if (rank == 0)
      MPI_Isend(b + i * bytes, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &q[i]);
    else
      MPI_Irecv(b + i * bytes, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &q[i]);
  MPI_Waitall(count, q, MPI_STATUSES_IGNORE);
  if (rank == 0) {
    MPI_Recv(b, 4, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("%.0f\n", ns(MPI_Wtime() - t));
  } else {
    MPI_Send(b, 4, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
  }
}

static void allreduce(void) {
  double mine = rank, sum = 0, t = MPI_Wtime();
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  t = MPI_Wtime() - t;
  if (sum != ranks * (ranks - 1) / 2) exit(4);
  if (rank == 0) printf("%.0f\n", ns(t));
}

/* Every rank sends each length to every rank, itself too; all of it is checked. */
static void everywhere(void) {
  static const int lengths[] = {0, 1, 7, 48, 100, 104, 105, 1000, 2048, 2049, 10000, 100000};
  long bad = 0, all = 0;
  for (unsigned k = 0; k < sizeof lengths / sizeof *lengths; ++k) {
    int n = lengths[k];
    char* out = malloc((size_t)(n * ranks) + 1);
    char* in = malloc((size_t)(n * ranks) + 1);
    MPI_Request* q = malloc(sizeof(MPI_Request) * 2 * (size_t)ranks);
    for (int r = 0; r < ranks; ++r) {
      for (int i = 0; i < n; ++i) out[r * n + i] = (char)(i * 7 + rank * 3 + r);
      MPI_Irecv(in + r * n, n, MPI_CHAR, r, n, MPI_COMM_WORLD, &q[r]);
    }
    for (int r = 0; r < ranks; ++r) MPI_Isend(out + r * n, n, MPI_CHAR, r, n, MPI_COMM_WORLD, &q[ranks + r]);
    MPI_Waitall(2 * ranks, q, MPI_STATUSES_IGNORE);
    for (int r = 0; r < ranks; ++r)
      for (int i = 0; i < n; ++i) bad += in[r * n + i] != (char)(i * 7 + r * 3 + rank);
    free(out);
    free(in);
    free(q);
  }
  MPI_Reduce(&bad, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%ld bytes differ, %.0f ns\n", all, ns(MPI_Wtime()));
}

static void where(void) {
  char name[MPI_MAX_PROCESSOR_NAME];
  int length, peers, place;
  MPI_Comm node;
  MPI_Get_processor_name(name, &length);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &peers);
  MPI_Comm_rank(node, &place);
  for (int i = 0; i < ranks; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (i == rank) printf("rank %d on %s, %d of %d there\n", rank, name, place, peers);
  }
}

static void* exchange(void* argument) {
  int thread = (int)(size_t)argument, got = -1, peer = rank ^ 1;
  for (int i = 0; i < 20; ++i) {
    if (rank < peer) {
      MPI_Send(&i, 1, MPI_INT, peer, thread, MPI_COMM_WORLD);
      MPI_Recv(&got, 1, MPI_INT, peer, thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(&got, 1, MPI_INT, peer, thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(&got, 1, MPI_INT, peer, thread, MPI_COMM_WORLD);
    }
    if (got != i) exit(5);
  }
  return NULL;
}

static void threads(void) {
  pthread_t others[3];
  for (size_t i = 0; i < 3; ++i) pthread_create(&others[i], NULL, exchange, (void*)(i + 1));
  exchange(NULL);
  for (int i = 0; i < 3; ++i) pthread_join(others[i], NULL);
  if (rank == 0) printf("%.0f\n", ns(MPI_Wtime()));
}

/* What goes wrong, in rank 1. */
static void fail(const char* how) {
  int x = 0;
  if (rank != 1) return;
  if (!strcmp(how, "abort")) MPI_Abort(MPI_COMM_WORLD, 7);
  if (!strcmp(how, "exit")) exit(0);
  if (!strcmp(how, "exit-3")) exit(3);
  if (!strcmp(how, "crash")) abort();
  if (!strcmp(how, "wait")) MPI_Recv(&x, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (!strcmp(how, "compute"))
    for (volatile int stop = 0; !stop;) continue;
}

int main(int count, char** argument) {
  int given;
  const char* what = count > 1 ? argument[1] : "";
  int a = count > 2 ? atoi(argument[2]) : 0, b = count > 3 ? atoi(argument[3]) : 0;
  if (!strcmp(what, "leave-before") && atoi(getenv("WEFT_RANK")) == 1) return 0;
  if (!strcmp(what, "threads"))
    MPI_Init_thread(&count, &argument, MPI_THREAD_MULTIPLE, &given);
  else
    MPI_Init(&count, &argument);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Wtime(); /* the first call is time 0 */
  if (!strcmp(what, "pingpong")) pingpong(a, b);
  if (!strcmp(what, "window")) window(a, b);
  if (!strcmp(what, "allreduce")) allreduce();
  if (!strcmp(what, "everywhere")) everywhere();
  if (!strcmp(what, "where")) where();
  if (!strcmp(what, "threads")) threads();
  if (!strcmp(what, "fail")) {
    fail(argument[2]);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
