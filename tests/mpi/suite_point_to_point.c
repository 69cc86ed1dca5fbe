/* Messages between two ranks: every mode and form of sending, every way to wait and to look, and what MPI
 * promises about order, wildcards, lengths and errors. */
#include <unistd.h>

#include "suite.h"

typedef int (*Send)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
typedef int (*Isend)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

static void attach(int bytes) { MPI_Buffer_attach(malloc((size_t)bytes), bytes); }

static void detach(void) {
  void* buffer;
  int bytes;
  MPI_Buffer_detach(&buffer, &bytes);
  free(buffer);
}

/* Lengths on both sides of every change of protocol. */
static const int kLengths[] = {0, 1, 15, 16, 17, 250, 1000, 4100, 17000, 70000};

static void blocking_modes(void) {
  Send modes[] = {MPI_Send, MPI_Ssend, MPI_Bsend, MPI_Rsend};
  attach(70000 * (int)sizeof(int) + MPI_BSEND_OVERHEAD);
  for (int mode = 0; mode < 4; ++mode)
    for (int l = 0; l < COUNT_OF(kLengths); ++l) {
      int n = kLengths[l], *out = filled(n, rank, mode, l), *in = ints(n);
      MPI_Request request;
      MPI_Irecv(in, n, MPI_INT, left_of(), l, MPI_COMM_WORLD, &request);
      MPI_Barrier(MPI_COMM_WORLD); /* the receive is there, as the ready mode asks */
      modes[mode](out, n, MPI_INT, right_of(), l, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      CHECK(holds(in, n, left_of(), mode, l));
      MPI_Barrier(MPI_COMM_WORLD);
      free(out), free(in);
    }
  detach();
}

static void nonblocking_modes(void) {
  Isend modes[] = {MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};
  attach(4 * (4100 * (int)sizeof(int) + MPI_BSEND_OVERHEAD));
  int* data[8];
  MPI_Request requests[8];
  for (int mode = 0; mode < 4; ++mode) {
    data[mode] = ints(4100);
    data[4 + mode] = filled(4100, rank, mode, 1);
    MPI_Irecv(data[mode], 4100, MPI_INT, left_of(), mode, MPI_COMM_WORLD, &requests[mode]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int mode = 0; mode < 4; ++mode)
    modes[mode](data[4 + mode], 4100, MPI_INT, right_of(), mode, MPI_COMM_WORLD, &requests[4 + mode]);
  MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
  for (int mode = 0; mode < 4; ++mode) CHECK(holds(data[mode], 4100, left_of(), mode, 1));
  for (int i = 0; i < 8; ++i) free(data[i]);
  detach();
}

/* A synchronous send ends after its receive has begun, a buffered one before. */
static void synchronous_waits(void) {
  int value = rank, got, other = rank ^ 1;
  if (other < size) {
    if (rank % 2 == 0) {
      double begun = MPI_Wtime();
      MPI_Ssend(&value, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
      CHECK(MPI_Wtime() - begun >= 100e-6);
      attach(100 + MPI_BSEND_OVERHEAD);
      begun = MPI_Wtime();
      MPI_Bsend(&value, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
      CHECK(MPI_Wtime() - begun < 100e-6);
      detach();
    } else {
      for (int tag = 0; tag < 2; ++tag) {
        usleep(110);
        MPI_Recv(&got, 1, MPI_INT, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(got == other);
      }
    }
  }
}

/* What is sent is another in each round, but in the buffered mode: there Open MPI 4.1 sends what it found the
 * first time. */
static void persistent(void) {
  enum { N = 2000 };
  int *out = ints(N), *in[4], *buffered = filled(N, rank, 0, 0);
  MPI_Request requests[8];
  attach(N * (int)sizeof(int) + MPI_BSEND_OVERHEAD);
  for (int i = 0; i < 4; ++i) {
    in[i] = ints(N);
    MPI_Recv_init(in[i], N, MPI_INT, left_of(), i, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Send_init(out, N, MPI_INT, right_of(), 0, MPI_COMM_WORLD, &requests[4]);
  MPI_Ssend_init(out, N, MPI_INT, right_of(), 1, MPI_COMM_WORLD, &requests[5]);
  MPI_Bsend_init(buffered, N, MPI_INT, right_of(), 2, MPI_COMM_WORLD, &requests[6]);
  MPI_Rsend_init(out, N, MPI_INT, right_of(), 3, MPI_COMM_WORLD, &requests[7]);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < N; ++i) out[i] = pattern(rank, 0, round, i);
    MPI_Startall(4, requests);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 4; i < 8; ++i) MPI_Start(&requests[i]);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 4; ++i) CHECK(holds(in[i], N, left_of(), 0, i == 2 ? 0 : round));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  for (int i = 0; i < 8; ++i) MPI_Request_free(&requests[i]);
  detach();
  for (int i = 0; i < 4; ++i) free(in[i]);
  free(out), free(buffered);
}

/* Everybody sends to rank 0, which takes messages as they come in each of the ways there are. */
static void as_they_come(void) {
  enum { EACH = 4, MOST = 64 };
  for (int way = 0; way < 4; ++way) {
    if (rank != 0) {
      for (int i = 0; i < EACH; ++i) {
        int value = pattern(rank, way, 0, i);
        MPI_Send(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
      }
    } else {
      MPI_Request requests[MOST];
      int values[MOST], indices[MOST], total = (size - 1) * EACH, done = 0, n, flag;
      for (int i = 0; i < total; ++i)
        MPI_Irecv(&values[i], 1, MPI_INT, 1 + i / EACH, i % EACH, MPI_COMM_WORLD, &requests[i]);
      while (done < total) {
        n = 1, flag = 1;
        if (way == 0) MPI_Waitany(total, requests, indices, MPI_STATUS_IGNORE);
        if (way == 1) MPI_Waitsome(total, requests, &n, indices, MPI_STATUSES_IGNORE);
        if (way == 2) MPI_Testany(total, requests, indices, &flag, MPI_STATUS_IGNORE);
        if (way == 3) MPI_Testsome(total, requests, &n, indices, MPI_STATUSES_IGNORE);
        for (int i = 0; flag && i < n; ++i, ++done)
          CHECK(values[indices[i]] == pattern(1 + indices[i] / EACH, way, 0, indices[i] % EACH));
      }
      MPI_Waitany(total, requests, indices, MPI_STATUS_IGNORE);
      CHECK(indices[0] == MPI_UNDEFINED);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void probed(void) {
  int n = 10 + 5 * rank, *out = filled(n, rank, 1, 1), count = 0, flag = 0;
  MPI_Request request;
  MPI_Status status;
  for (int polled = 0; polled < 2; ++polled) {
    MPI_Isend(out, n, MPI_INT, right_of(), 40 + polled, MPI_COMM_WORLD, &request);
    if (polled)
      while (!flag) MPI_Iprobe(left_of(), MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
    else
      MPI_Probe(MPI_ANY_SOURCE, 40, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 10 + 5 * left_of() && status.MPI_SOURCE == left_of() && status.MPI_TAG == 40 + polled);
    int* in = ints(count);
    MPI_Recv(in, count, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(holds(in, count, left_of(), 1, 1));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    free(in);
  }
  free(out);
}

/* A matched message is no longer there for others. */
static void matched_probes(void) {
  int out[2] = {rank * 10, rank * 10 + 1}, in[2] = {-1, -1}, flag = 0, seen = 1;
  MPI_Request requests[3];
  MPI_Message first, second;
  MPI_Status status;
  for (int i = 0; i < 2; ++i) MPI_Isend(&out[i], 1, MPI_INT, right_of(), 50, MPI_COMM_WORLD, &requests[i]);
  MPI_Mprobe(left_of(), 50, MPI_COMM_WORLD, &first, &status);
  while (!flag) MPI_Improbe(left_of(), 50, MPI_COMM_WORLD, &flag, &second, &status);
  MPI_Iprobe(left_of(), 50, MPI_COMM_WORLD, &seen, MPI_STATUS_IGNORE);
  CHECK(!seen);
  MPI_Imrecv(&in[1], 1, MPI_INT, &second, &requests[2]); /* the second before the first */
  MPI_Mrecv(&in[0], 1, MPI_INT, &first, MPI_STATUS_IGNORE);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  CHECK(first == MPI_MESSAGE_NULL && second == MPI_MESSAGE_NULL);
  CHECK(in[0] == left_of() * 10 && in[1] == left_of() * 10 + 1);
  MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &first, &status);
  CHECK(first == MPI_MESSAGE_NO_PROC);
  MPI_Mrecv(in, 1, MPI_INT, &first, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
}

static void cancelled(void) {
  int never = 5, cancelled_too = 0, value = rank, got = -1;
  MPI_Request request, other;
  MPI_Status status;
  MPI_Irecv(&never, 1, MPI_INT, left_of(), 60, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &cancelled_too);
  CHECK(cancelled_too && never == 5);
  MPI_Irecv(&got, 1, MPI_INT, left_of(), 61, MPI_COMM_WORLD, &other);
  MPI_Send(&value, 1, MPI_INT, right_of(), 61, MPI_COMM_WORLD);
  MPI_Wait(&other, &status);
  MPI_Test_cancelled(&status, &cancelled_too);
  CHECK(!cancelled_too && got == left_of());
}

/* A message longer than its receive is an error of the receive, and the next one is not disturbed. */
static void truncated(void) {
  static int in[30000];
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int n = 20; n <= 20000; n *= 1000) {
    int *out = filled(n, rank, 2, 2), kind, code;
    MPI_Request request;
    MPI_Isend(out, n, MPI_INT, right_of(), 1, comm, &request);
    code = MPI_Recv(in, n / 2, MPI_INT, left_of(), 1, comm, MPI_STATUS_IGNORE);
    MPI_Error_class(code, &kind);
    CHECK(code != MPI_SUCCESS && kind == MPI_ERR_TRUNCATE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isend(out, n, MPI_INT, right_of(), 2, comm, &request);
    CHECK(MPI_Recv(in, n + 1, MPI_INT, left_of(), 2, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(holds(in, n, left_of(), 2, 2));
    free(out);
  }
  MPI_Comm_free(&comm);
}

/* Messages of a pair do not overtake each other, long or short; wildcards take them in order, too. */
static void in_order(void) {
  enum { N = 24 };
  static int out[N][3000], in[3000];
  MPI_Request requests[N];
  for (int i = 0; i < N; ++i) {
    out[i][0] = i;
    MPI_Isend(out[i], i % 3 == 2 ? 3000 : 1 + i, MPI_INT, right_of(), i % 2, MPI_COMM_WORLD, &requests[i]);
  }
  for (int i = 0; i < N / 2; ++i) {
    MPI_Status status;
    MPI_Recv(in, 3000, MPI_INT, i % 2 ? left_of() : MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
    CHECK(in[0] == 2 * i + 1 && status.MPI_SOURCE == left_of());
  }
  for (int i = 0; i < N / 2; ++i) {
    MPI_Recv(in, 3000, MPI_INT, left_of(), MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in[0] == 2 * i);
  }
  MPI_Waitall(N, requests, MPI_STATUSES_IGNORE);
}

/* Hundreds of messages under way at once, received in the reverse order. */
static void many_outstanding(void) {
  enum { N = 400 };
  static int out[N], in[N];
  static MPI_Request requests[2 * N];
  for (int i = 0; i < N; ++i) {
    out[i] = pattern(rank, 3, 0, i);
    MPI_Isend(&out[i], 1, MPI_INT, right_of(), i, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = N - 1; i >= 0; --i)
    MPI_Irecv(&in[i], 1, MPI_INT, left_of(), i, MPI_COMM_WORLD, &requests[N + i]);
  MPI_Waitall(2 * N, requests, MPI_STATUSES_IGNORE);
  CHECK(holds(in, N, left_of(), 3, 0));
}

static void nobody_and_oneself(void) {
  int value = 7, got = 9, count = -1;
  MPI_Status status;
  MPI_Request request;
  MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  MPI_Recv(&got, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(got == 9 && count == 0 && status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
  for (int n = 1; n <= 10000; n *= 100) {
    int *out = filled(n, rank, rank, n), *in = ints(n);
    MPI_Irecv(in, n, MPI_INT, rank, 3, MPI_COMM_WORLD, &request);
    MPI_Send(out, n, MPI_INT, rank, 3, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(holds(in, n, rank, rank, n));
    MPI_Sendrecv(out, n, MPI_INT, 0, 4, in, n, MPI_INT, 0, 4, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    CHECK(holds(in, n, rank, rank, n));
    free(out), free(in);
  }
}

static void sent_and_replaced(void) {
  for (int n = 1; n <= 40000; n *= 200) {
    int* data = filled(n, rank, 4, n);
    for (int step = 1; step <= size; ++step) {
      MPI_Sendrecv_replace(data, n, MPI_INT, right_of(), step, left_of(), step, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE);
      CHECK(holds(data, n, (rank + size - step) % size, 4, n));
    }
    free(data);
  }
}

static int query(void* state, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_INT, *(int*)state);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = 2, status->MPI_TAG = 3;
  return MPI_SUCCESS;
}
static int released;
static int release(void* state) { return (void)state, ++released, MPI_SUCCESS; }
static int cancel(void* state, int complete) { return (void)state, (void)complete, MPI_SUCCESS; }

/* Requests of one's own, and requests that are asked without ending them. */
static void requests_of_ones_own(void) {
  int elements = 13, count, flag = 1, value = rank, got = -1;
  MPI_Request request;
  MPI_Status status;
  MPI_Grequest_start(query, release, cancel, &elements, &request);
  MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  CHECK(!flag);
  MPI_Grequest_complete(request);
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == 13 && status.MPI_TAG == 3 && released == 1);
  MPI_Irecv(&got, 1, MPI_INT, left_of(), 70, MPI_COMM_WORLD, &request);
  MPI_Send(&value, 1, MPI_INT, right_of(), 70, MPI_COMM_WORLD);
  for (flag = 0; !flag;) MPI_Request_get_status(request, &flag, &status);
  CHECK(request != MPI_REQUEST_NULL && got == left_of() && status.MPI_TAG == 70);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(request == MPI_REQUEST_NULL);
}

int main(int argc, char** argv) {
  static const struct Case cases[] = {{"blocking_modes", blocking_modes},
                                      {"nonblocking_modes", nonblocking_modes},
                                      {"synchronous_waits", synchronous_waits},
                                      {"persistent", persistent},
                                      {"as_they_come", as_they_come},
                                      {"probed", probed},
                                      {"matched_probes", matched_probes},
                                      {"cancelled", cancelled},
                                      {"truncated", truncated},
                                      {"in_order", in_order},
                                      {"many_outstanding", many_outstanding},
                                      {"nobody_and_oneself", nobody_and_oneself},
                                      {"sent_and_replaced", sent_and_replaced},
                                      {"requests_of_ones_own", requests_of_ones_own}};
  return suite(argc, argv, MPI_THREAD_SINGLE, "suite_point_to_point", cases, COUNT_OF(cases));
}
