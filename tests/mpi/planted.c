// Programs with a cause of waiting planted in them, and healthy ones: `planted NAME`. Times pass by sleeping, which takes
// as long in virtual time as it says.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, ranks;
static char small[64], other[64];
static char *large, *large_too;
enum { kLarge = 1 << 16, kTag = 7 };

static void compute(long microseconds) {
  struct timespec time = {0, microseconds * 1000};
  nanosleep(&time, NULL);
}

static void sum(void) {
  double mine = rank, all;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void send(void* what, int bytes, int to) { MPI_Send(what, bytes, MPI_BYTE, to, kTag, MPI_COMM_WORLD); }
static void receive(void* what, int bytes, int from) {
  MPI_Recv(what, bytes, MPI_BYTE, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/// A neighbour each way round.
static void ring(int bytes) {
  MPI_Sendrecv(bytes > 64 ? large : small, bytes, MPI_BYTE, (rank + 1) % ranks, kTag, bytes > 64 ? large_too : other, bytes,
               MPI_BYTE, (rank + ranks - 1) % ranks, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Late ranks.
static void late_at_allreduce(int step) { (void)step, compute(rank == 5 ? 300 : 20), sum(); }
static void late_at_barrier(int step) { (void)step, compute(rank == 2 ? 200 : 20), MPI_Barrier(MPI_COMM_WORLD); }
static void late_root(int step) {
  (void)step, compute(rank == 0 ? 250 : 10);
  MPI_Bcast(small, 64, MPI_BYTE, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}
static void late_in_ring(int step) { (void)step, compute(rank == 3 ? 150 : 10), ring(64), sum(); }
static void late_sender(int step) {
  (void)step;
  if (rank == 1) compute(200), send(small, 64, 0);
  if (rank == 0) compute(10), receive(small, 64, 1);
}
static void late_receiver(int step) {
  (void)step;
  if (rank == 1) compute(10), send(large, kLarge, 0);
  if (rank == 0) compute(200), receive(large, kLarge, 1);
}
static void late_wait(int step) {
  (void)step;
  MPI_Request request;
  if (rank == 0) MPI_Irecv(small, 64, MPI_BYTE, 4, kTag, MPI_COMM_WORLD, &request);
  compute(rank == 4 ? 180 : 15);
  if (rank == 4) send(small, 64, 0);
  if (rank == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
}
static void late_gather(int step) {
  (void)step, compute(rank == 6 ? 220 : 20);
  char all[64 * 64];
  MPI_Gather(small, 64, MPI_BYTE, all, 64, MPI_BYTE, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}
static void late_alltoall(int step) {
  (void)step, compute(rank == 7 ? 240 : 20);
  char from[64 * 8], to[64 * 8];
  memset(from, 1, sizeof from);
  MPI_Alltoall(from, 8, MPI_BYTE, to, 8, MPI_BYTE, MPI_COMM_WORLD);
}
static void late_once(int step) { compute(rank == 4 && step == 3 ? 3000 : 30), sum(); }
static void late_in_half(int step) {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  compute(rank == 3 ? 260 : 20);
  MPI_Barrier(half);
  (void)step;
  MPI_Comm_free(&half);
}
static void serial_part(int step) {
  (void)step, compute(20);
  sum();
  if (rank == 0) compute(200);
  MPI_Barrier(MPI_COMM_WORLD);
}

// Imbalance, noise, chains.
static void imbalance(int step) { (void)step, compute(10 + 30 * rank), sum(); }
static void half_loaded(int step) { (void)step, compute(rank < ranks - 1 ? 30 : 150), MPI_Barrier(MPI_COMM_WORLD); }
static void noise(int step) { compute(rank == step * 5 % ranks ? 300 : 20), sum(); }
static void noise_at_barrier(int step) { compute(rank == step * 3 % ranks ? 200 : 25), MPI_Barrier(MPI_COMM_WORLD); }
static void noise_in_ring(int step) { compute(rank == (step * 7 + 1) % ranks ? 250 : 20), ring(64), sum(); }
static void chain(int step) {
  (void)step;
  if (rank > 0) receive(small, 64, rank - 1);
  compute(60);
  if (rank < ranks - 1) send(small, 64, rank + 1);
  MPI_Barrier(MPI_COMM_WORLD);
}
static void token(int step) {
  if (step > 0 || rank > 0) receive(small, 64, (rank + ranks - 1) % ranks);
  compute(50);
  if (step < 9 || rank < ranks - 1) send(small, 64, (rank + 1) % ranks);
}

// Serialised sends and receives, crowded links.
static void master_sends(int step) {
  (void)step;
  for (int r = 1; rank == 0 && r < ranks; ++r) send(large, 1024, r);
  if (rank > 0) receive(large, 1024, 0);
}
static void master_waits(int step) {
  (void)step;
  for (int r = 1; rank == 0 && r < ranks; ++r) MPI_Ssend(small, 64, MPI_BYTE, r, kTag, MPI_COMM_WORLD);
  if (rank > 0) receive(small, 64, 0);
}
static void hot_node(int step) {
  (void)step;
  for (int r = 1; rank == 0 && r < ranks; ++r)
    MPI_Recv(large, kLarge, MPI_BYTE, MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank > 0) send(large_too, kLarge, 0);
}
static void hot_link(int step) {
  (void)step;
  MPI_Request request[2];
  const int half = ranks / 2, peer = (rank + half) % ranks;
  MPI_Irecv(large, kLarge, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, &request[0]);
  MPI_Isend(large_too, kLarge, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, &request[1]);
  MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
}

// Two at once.
static void two(int step) {
  compute(rank == 5 ? 200 : 20), sum();
  chain(step);
}

// Healthy ones.
static void even(int step) { (void)step, compute(100), sum(); }
static void even_barrier(int step) { (void)step, compute(50), MPI_Barrier(MPI_COMM_WORLD); }
static void even_ring(int step) { (void)step, compute(80), ring(64); }
static void even_long_ring(int step) { (void)step, compute(200), ring(kLarge); }
static void even_bcast(int step) { (void)step, compute(60), MPI_Bcast(small, 64, MPI_BYTE, 0, MPI_COMM_WORLD); }
static void nearly_even(int step) { compute(100 + (rank + step) % 3), sum(); }
static void overlap(int step) {
  (void)step;
  MPI_Request request[2];
  MPI_Irecv(large, kLarge, MPI_BYTE, (rank + 1) % ranks, kTag, MPI_COMM_WORLD, &request[0]);
  MPI_Isend(large_too, kLarge, MPI_BYTE, (rank + ranks - 1) % ranks, kTag, MPI_COMM_WORLD, &request[1]);
  compute(300);
  MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
}
static void only_talk(int step) { (void)step, ring(64); }
static void pairs(int step) {
  (void)step;
  const int peer = rank ^ 1;
  compute(40);
  MPI_Sendrecv(small, 64, MPI_BYTE, peer, kTag, other, 64, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void only_sums(int step) { (void)step, sum(); }
static void alone(int step) { (void)step, compute(100); }
static void even_alltoall(int step) {
  (void)step, compute(120);
  char from[64 * 8], to[64 * 8];
  memset(from, 1, sizeof from);
  MPI_Alltoall(from, 8, MPI_BYTE, to, 8, MPI_BYTE, MPI_COMM_WORLD);
}

#define CASE(name) \
  { #name, name }
static const struct {
  const char* name;
  void (*step)(int);
} cases[] = {CASE(late_at_allreduce), CASE(late_at_barrier), CASE(late_root), CASE(late_in_ring), CASE(late_sender),
             CASE(late_receiver), CASE(late_wait), CASE(late_gather), CASE(late_alltoall), CASE(late_once),
             CASE(late_in_half), CASE(serial_part), CASE(imbalance), CASE(half_loaded), CASE(noise), CASE(noise_at_barrier),
             CASE(noise_in_ring), CASE(chain), CASE(token), CASE(master_sends), CASE(master_waits), CASE(hot_node),
             CASE(hot_link), CASE(two), CASE(even), CASE(even_barrier), CASE(even_ring), CASE(even_long_ring),
             CASE(even_bcast), CASE(nearly_even), CASE(overlap), CASE(only_talk), CASE(pairs), CASE(only_sums),
             CASE(alone), CASE(even_alltoall)};

int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  large = calloc(1, kLarge), large_too = calloc(1, kLarge);
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; ++i)
    if (count > 1 && strcmp(words[1], cases[i].name) == 0) {
      for (int step = 0; step < 10; ++step) cases[i].step(step);
      MPI_Finalize();
      return 0;
    }
  fprintf(stderr, "there is no such case\n");
  MPI_Abort(MPI_COMM_WORLD, 2);
}
