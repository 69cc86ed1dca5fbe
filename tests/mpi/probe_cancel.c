/* Probing, matched probing, cancelling, and requests that are started again and again. */
#include "check.h"

static void probe(int other) {
  static int data[20000];
  for (int k = 0; k < 12; ++k) {
    int n = k % 3 == 2 ? 20000 : k + 1;
    if (rank < other) {
      data[0] = k;
      MPI_Send(data, n, MPI_INT, other, 100 + k, MPI_COMM_WORLD);
      continue;
    }
    MPI_Status status;
    int got, flag = 0;
    MPI_Message message;
    switch (k % 4) {
      case 0:
        MPI_Probe(other, 100 + k, MPI_COMM_WORLD, &status);
        break;
      case 1:
        while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
        break;
      case 2:
        MPI_Mprobe(other, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
        break;
      default:
        while (!flag) MPI_Improbe(other, 100 + k, MPI_COMM_WORLD, &flag, &message, &status);
    }
    MPI_Get_count(&status, MPI_INT, &got);
    CHECK(got == n && status.MPI_TAG == 100 + k && status.MPI_SOURCE == other);
    data[0] = -1;
    if (k % 4 < 2) {
      MPI_Recv(data, got, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
    } else if (k % 4 == 2) {
      MPI_Mrecv(data, got, MPI_INT, &message, &status);
    } else {
      MPI_Request request;
      MPI_Imrecv(data, got, MPI_INT, &message, &request);
      MPI_Wait(&request, &status);
    }
    CHECK(data[0] == k);
  }
}

/* A matched message is out of reach for ordinary receives. */
static void matched_is_gone(int other) {
  int first = 1, second = 2, got = 0;
  if (rank < other) {
    MPI_Send(&first, 1, MPI_INT, other, 7, MPI_COMM_WORLD);
    MPI_Send(&second, 1, MPI_INT, other, 7, MPI_COMM_WORLD);
    return;
  }
  MPI_Message message;
  MPI_Mprobe(other, 7, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  MPI_Recv(&got, 1, MPI_INT, other, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(got == 2);
  MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  CHECK(got == 1);
}

static void cancel(int other) {
  int never = 0, real = -1, cancelled = 0;
  MPI_Request request, after;
  MPI_Status status;
  MPI_Irecv(&never, 1, MPI_INT, other, 4711, MPI_COMM_WORLD, &request);
  MPI_Irecv(&real, 1, MPI_INT, other, 4712, MPI_COMM_WORLD, &after);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &cancelled);
  CHECK(cancelled);
  MPI_Send(&rank, 1, MPI_INT, other, 4712, MPI_COMM_WORLD);
  MPI_Wait(&after, &status);
  MPI_Test_cancelled(&status, &cancelled);
  CHECK(real == other && !cancelled);
  /* One that has its message cannot be cancelled any more. */
  MPI_Irecv(&real, 1, MPI_INT, other, 4713, MPI_COMM_WORLD, &request);
  MPI_Sendrecv(&rank, 1, MPI_INT, other, 4713, &never, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Wait(&request, &status);
  CHECK(real == other);
}

static void persistent(int other) {
  int out[3][2000], in[3][2000];
  MPI_Request requests[6];
  static const int n[3] = {1, 100, 2000};
  for (int i = 0; i < 3; ++i) {
    MPI_Recv_init(in[i], n[i], MPI_INT, other, i, MPI_COMM_WORLD, &requests[i]);
    if (i == 0) MPI_Send_init(out[i], n[i], MPI_INT, other, i, MPI_COMM_WORLD, &requests[3 + i]);
    if (i == 1) MPI_Ssend_init(out[i], n[i], MPI_INT, other, i, MPI_COMM_WORLD, &requests[3 + i]);
    if (i == 2) MPI_Send_init(out[i], n[i], MPI_INT, other, i, MPI_COMM_WORLD, &requests[3 + i]);
  }
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < n[i]; ++k) out[i][k] = pattern(rank, other, round, k), in[i][k] = -1;
    if (round % 2) {
      for (int i = 0; i < 6; ++i) MPI_Start(&requests[i]);
    } else {
      MPI_Startall(6, requests);
    }
    MPI_Waitall(6, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < n[i]; k += 97) CHECK(in[i][k] == pattern(other, rank, round, k));
  }
  for (int i = 0; i < 6; ++i) {
    MPI_Request_free(&requests[i]);
    CHECK(requests[i] == MPI_REQUEST_NULL);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int other = rank ^ 1;
  if (other < size) {
    int flag = 1;
    MPI_Iprobe(other, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    probe(other);
    matched_is_gone(other);
    cancel(other);
    persistent(other);
  }
  return end("probe, cancel, persistent");
}
