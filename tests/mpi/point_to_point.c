/* Every mode of sending and receiving, from nothing to a few hundred kilobytes, so that eager and rendezvous
 * protocols both take part. */
#include "check.h"

enum { MOST = 300000 };
static const int counts[] = {0, 1, 7, 64, 511, 512, 513, 4096, 50000, MOST / 4};
enum { COUNTS = sizeof counts / sizeof *counts };

static void fill(int* data, int count, int from, int to, int step) {
  for (int i = 0; i < count; ++i) data[i] = pattern(from, to, step, i);
}

static int same(const int* data, int count, int from, int to, int step) {
  for (int i = 0; i < count; ++i)
    if (data[i] != pattern(from, to, step, i)) return 0;
  return 1;
}

typedef int (*Send)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
typedef int (*Start)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

/* Pairs of ranks; the last of an odd number talks to itself in the tests that allow it. */
static int partner(void) { return (rank ^ 1) < size ? rank ^ 1 : MPI_PROC_NULL; }

static void blocking(Send send, int first_posts, const char* name) {
  int* out = malloc(MOST);
  int* in = malloc(MOST);
  int other = partner();
  if (other == MPI_PROC_NULL) other = rank;
  for (int k = 0; k < COUNTS; ++k) {
    int n = counts[k];
    MPI_Status status;
    MPI_Request request;
    memset(in, -1, MOST);
    fill(out, n, rank, other, k);
    if (first_posts) { /* a ready send needs its receive before; so does a rank that sends to itself */
      MPI_Irecv(in, n, MPI_INT, other, k, MPI_COMM_WORLD, &request);
      MPI_Barrier(MPI_COMM_WORLD);
      send(out, n, MPI_INT, other, k, MPI_COMM_WORLD);
      MPI_Wait(&request, &status);
    } else if (other == rank) {
      MPI_Irecv(in, n, MPI_INT, other, k, MPI_COMM_WORLD, &request);
      send(out, n, MPI_INT, other, k, MPI_COMM_WORLD);
      MPI_Wait(&request, &status);
    } else if (rank < other) {
      send(out, n, MPI_INT, other, k, MPI_COMM_WORLD);
      MPI_Recv(in, n, MPI_INT, other, k, MPI_COMM_WORLD, &status);
    } else {
      MPI_Recv(in, n, MPI_INT, other, k, MPI_COMM_WORLD, &status);
      send(out, n, MPI_INT, other, k, MPI_COMM_WORLD);
    }
    int got;
    MPI_Get_count(&status, MPI_INT, &got);
    CHECK(got == n && status.MPI_SOURCE == other && status.MPI_TAG == k);
    CHECK(same(in, n, other, rank, k));
  }
  if (rank == 0) printf("%s ok\n", name);
  free(out);
  free(in);
}

/* Many at once in both directions, finished in every way there is. */
static void nonblocking(Start start, int finish) {
  enum { WINDOW = 24 };
  int other = partner();
  static int out[WINDOW][700], in[WINDOW][700];
  MPI_Request requests[2 * WINDOW];
  MPI_Status statuses[2 * WINDOW];
  for (int i = 0; i < WINDOW; ++i) {
    fill(out[i], 30 * i, rank, other, i);
    MPI_Irecv(in[i], 700, MPI_INT, other, i, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < WINDOW; ++i)
    start(out[i], 30 * i, MPI_INT, other, i, MPI_COMM_WORLD, &requests[WINDOW + i]);
  int left = 2 * WINDOW, flag = 0, index, some[2 * WINDOW], count;
  switch (finish) {
    case 0:
      MPI_Waitall(2 * WINDOW, requests, statuses);
      break;
    case 1:
      for (; left; --left) MPI_Waitany(2 * WINDOW, requests, &index, statuses);
      break;
    case 2:
      for (; left > 0; left -= count) MPI_Waitsome(2 * WINDOW, requests, &count, some, statuses);
      break;
    case 3:
      while (!flag) MPI_Testall(2 * WINDOW, requests, &flag, statuses);
      break;
    case 4:
      while (left > 0) {
        MPI_Testany(2 * WINDOW, requests, &index, &flag, statuses);
        if (flag && index != MPI_UNDEFINED) --left;
      }
      break;
    default:
      while (left > 0) {
        MPI_Testsome(2 * WINDOW, requests, &count, some, statuses);
        if (count != MPI_UNDEFINED) left -= count;
      }
  }
  if (other == MPI_PROC_NULL) return;
  for (int i = 0; i < WINDOW; ++i) CHECK(same(in[i], 30 * i, other, rank, i));
}

/* Messages of one pair and tag do not overtake each other, whatever their sizes. */
static void order(void) {
  static int big[40000];
  int other = partner();
  if (other == MPI_PROC_NULL) return;
  for (int i = 0; i < 40; ++i) {
    int n = i % 5 == 3 ? 40000 : 1 + i;
    if (rank < other) {
      big[0] = i;
      MPI_Send(big, n, MPI_INT, other, 5, MPI_COMM_WORLD);
    } else {
      MPI_Status status;
      int got;
      MPI_Recv(big, 40000, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, MPI_INT, &got);
      CHECK(big[0] == i && got == n && status.MPI_TAG == 5);
    }
  }
}

/* Everybody sends to rank 0, which takes whoever comes. */
static void any_source(void) {
  if (rank) {
    int value = pattern(rank, 0, 1, 0);
    MPI_Send(&value, 1, MPI_INT, 0, rank, MPI_COMM_WORLD);
    return;
  }
  char seen[4096] = {0};
  for (int i = 1; i < size; ++i) {
    int value;
    MPI_Status status;
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    CHECK(status.MPI_SOURCE == status.MPI_TAG && !seen[status.MPI_SOURCE]);
    CHECK(value == pattern(status.MPI_SOURCE, 0, 1, 0));
    seen[status.MPI_SOURCE] = 1;
  }
}

static void sendrecv(void) {
  int right = (rank + 1) % size, left = (rank + size - 1) % size, out = rank, in = -1;
  MPI_Sendrecv(&out, 1, MPI_INT, right, 3, &in, 1, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in == left);
  MPI_Sendrecv_replace(&out, 1, MPI_INT, right, 4, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(out == left);
}

/* A receive that is too small is an error, and says so. */
static void truncation(void) {
  int other = partner(), data[8] = {0};
  if (other == MPI_PROC_NULL) return;
  if (rank < other) {
    MPI_Send(data, 8, MPI_INT, other, 9, MPI_COMM_WORLD);
    return;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int error = MPI_Recv(data, 4, MPI_INT, other, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE), class;
  MPI_Error_class(error, &class);
  CHECK(class == MPI_ERR_TRUNCATE);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int overhead;
  MPI_Pack_size(2 * MOST / 4, MPI_INT, MPI_COMM_WORLD,
                &overhead); /* all sizes together are less than twice the largest */
  overhead += 50 * MPI_BSEND_OVERHEAD + 24 * 4 * 700;
  char* buffer = malloc((size_t)overhead);
  MPI_Buffer_attach(buffer, overhead);
  blocking(MPI_Send, 0, "send");
  blocking(MPI_Bsend, 0, "bsend");
  blocking(MPI_Ssend, 0, "ssend");
  blocking(MPI_Rsend, 1, "rsend");
  for (int finish = 0; finish < 6; ++finish) nonblocking(MPI_Isend, finish);
  nonblocking(MPI_Ibsend, 0);
  nonblocking(MPI_Issend, 1);
  nonblocking(MPI_Irsend, 0);
  order();
  any_source();
  MPI_Barrier(MPI_COMM_WORLD);
  sendrecv();
  truncation();
  void* detached;
  int bytes;
  MPI_Buffer_detach(&detached, &bytes);
  CHECK(detached == buffer && bytes == overhead);
  free(buffer);
  return end("point-to-point");
}
