/* What the papers measured between two nodes with MPI: latency, message rate and bandwidth of pairs of ranks, all
 * pairs at once. The lower half of the ranks stands on one node, the upper half on the other.
 *
 *   pairs latency ROUNDS BYTES...          mean half round trip of all pairs, in ns
 *   pairs rate WINDOW ROUNDS BYTES...      messages per second of all pairs together, one direction
 *   pairs both WINDOW ROUNDS BYTES...      the same, both directions at once
 *
 * Prints a line for each size: bytes, then the value.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, pairs, partner, lower;

static double latency(char* data, int bytes, int rounds) {
  double start = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) {
    if (lower) MPI_Send(data, bytes, MPI_CHAR, partner, 1, MPI_COMM_WORLD);
    MPI_Recv(data, bytes, MPI_CHAR, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!lower) MPI_Send(data, bytes, MPI_CHAR, partner, 1, MPI_COMM_WORLD);
  }
  double mine = (MPI_Wtime() - start) / rounds / 2 * 1e9, sum;
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum / (2 * pairs);
}

/* A window of messages, then a word back when all are there. */
static void send_window(char* data, int bytes, int window, MPI_Request* request) {
  for (int i = 0; i < window; ++i)
    MPI_Isend(data, bytes, MPI_CHAR, partner, 2, MPI_COMM_WORLD, &request[i]);
}

static void receive_window(char* data, int bytes, int window, MPI_Request* request) {
  for (int i = 0; i < window; ++i)
    MPI_Irecv(data, bytes, MPI_CHAR, partner, 2, MPI_COMM_WORLD, &request[i]);
}

static double rate(char* out, char* in, int bytes, int window, int rounds, int both) {
  MPI_Request* request = malloc(sizeof *request * 2 * (size_t)window);
  char word = 0;
  double start = MPI_Wtime();
  for (int round = 0; round < rounds; ++round) {
    int used = 0;
    if (!lower || both) receive_window(in, bytes, window, request), used = window;
    if (lower || both) send_window(out, bytes, window, request + used), used += window;
    MPI_Waitall(used, request, MPI_STATUSES_IGNORE);
    if (lower) MPI_Recv(&word, 1, MPI_CHAR, partner, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!lower) MPI_Send(&word, 1, MPI_CHAR, partner, 3, MPI_COMM_WORLD);
  }
  double mine = MPI_Wtime() - start, longest;
  MPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  free(request);
  return (both ? 2.0 : 1.0) * pairs * window * rounds / longest;
}

int main(int argc, char** argv) {
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int is_latency = argc > 1 && strcmp(argv[1], "latency") == 0, both = argc > 1 && strcmp(argv[1], "both") == 0;
  int first = is_latency ? 3 : 4;
  if (argc <= first || size % 2) {
    if (rank == 0) fprintf(stderr, "pairs latency ROUNDS BYTES... | rate|both WINDOW ROUNDS BYTES..., even ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  pairs = size / 2;
  lower = rank < pairs;
  partner = lower ? rank + pairs : rank - pairs;
  for (int i = first; i < argc; ++i) {
    int bytes = atoi(argv[i]), rounds = atoi(argv[is_latency ? 2 : 3]);
    char *out = calloc(1, (size_t)bytes + 1), *in = calloc(1, (size_t)bytes + 1);
    /* Once before it counts: connections are made, memory is registered, addresses have been translated. */
    if (is_latency) latency(out, bytes, rounds);
    else rate(out, in, bytes, atoi(argv[2]), 1, both);
    MPI_Barrier(MPI_COMM_WORLD);
    double value = is_latency ? latency(out, bytes, rounds) : rate(out, in, bytes, atoi(argv[2]), rounds, both);
    if (rank == 0) printf("%d %.9g\n", bytes, value);
    free(out), free(in);
  }
  MPI_Finalize();
  return 0;
}
