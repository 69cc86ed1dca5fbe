// Programs with a cause of waiting planted in them, and healthy ones, on other machines and with other numbers of ranks
// than those of planted.c and held_out.c: `fresh_causes NAME`. The test says on what machine.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, ranks;
enum { kMost = 1 << 20, kTag = 5 };
static char *out, *in;

static void compute(long microseconds) {
  struct timespec time = {0, microseconds * 1000};
  nanosleep(&time, NULL);
}
static void send(int bytes, int to) { MPI_Send(out, bytes, MPI_BYTE, to, kTag, MPI_COMM_WORLD); }
static void receive(int bytes, int from) { MPI_Recv(in, bytes, MPI_BYTE, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }
static void exchange(int bytes, int to, int from) {
  MPI_Sendrecv(out, bytes, MPI_BYTE, to, kTag, in, bytes, MPI_BYTE, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void sum(void) {
  double mine = rank, all;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
/// Rims with the four neighbours in a square of ranks.
static void halo(int side, int bytes) {
  const int row = rank / side * side, x = rank % side;
  exchange(bytes, row + (x + 1) % side, row + (x + side - 1) % side);
  exchange(bytes, row + (x + side - 1) % side, row + (x + 1) % side);
  exchange(bytes, (rank + side) % ranks, (rank + ranks - side) % ranks);
  exchange(bytes, (rank + ranks - side) % ranks, (rank + side) % ranks);
}

// Late ranks.
static void late_at_scan(int step) {
  double mine = step, all;
  compute(rank == 7 ? 170 : 30);
  MPI_Scan(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}
static void later_each_step(int step) {
  char all[64 * 64];
  compute(rank == 2 ? 50 + 40 * step : 50);
  MPI_Allgather(out, 64, MPI_BYTE, all, 64, MPI_BYTE, MPI_COMM_WORLD);
}
static void two_late(int step) {
  (void)step;
  compute(rank == 3 ? 220 : 20), sum();
  compute(rank == 11 ? 140 : 20), MPI_Barrier(MPI_COMM_WORLD);
}
static void slow_stage(int step) {  // of a pipeline
  (void)step;
  for (int item = 0; item < 4; ++item) {
    if (rank > 0) receive(512, rank - 1);
    compute(rank == 3 ? 120 : 30);
    if (rank < ranks - 1) send(512, rank + 1);
  }
}
static void slow_halo(int step) { (void)step, compute(80), halo(4, 2048), sum(); }  // with --slow

// Chains: a sweep over a square of ranks, from one corner to the other.
static void sweep(int step) {
  (void)step;
  const int side = 3, x = rank % side, y = rank / side;
  if (x > 0) receive(256, rank - 1);
  if (y > 0) receive(256, rank - side);
  compute(70);
  if (x < side - 1) send(256, rank + 1);
  if (y < side - 1) send(256, rank + side);
  MPI_Barrier(MPI_COMM_WORLD);
}

// Contention: everybody at one node's cable; two groups with one cable between them; neighbours far apart.
static void towards_one(int step) {
  (void)step;
  MPI_Request all[64];
  int count = 0;
  if (rank == 2)
    for (int r = 0; r < ranks; ++r)
      if (r != 2) MPI_Irecv(in + (r << 16), 1 << 16, MPI_BYTE, r, kTag, MPI_COMM_WORLD, &all[count++]);
  if (rank != 2) MPI_Isend(out, 1 << 16, MPI_BYTE, 2, kTag, MPI_COMM_WORLD, &all[count++]);
  MPI_Waitall(count, all, MPI_STATUSES_IGNORE);
  compute(20);
}
static void between_groups(int step) {
  (void)step;
  compute(10);
  exchange(1 << 16, (rank + ranks / 2) % ranks, (rank + ranks / 2) % ranks);
}
static void scattered_halo(int step) { (void)step, compute(15), halo(4, 1 << 16); }

// Noise, by --noise. Two at once: a late rank, and one that gathers by hand.
static void noisy(int step) { (void)step, compute(200), sum(); }
static void late_and_gathered(int step) {
  (void)step;
  compute(rank == 5 ? 160 : 20), sum();
  if (rank > 0) MPI_Ssend(out, 16384, MPI_BYTE, 0, kTag, MPI_COMM_WORLD);
  for (int r = 1; rank == 0 && r < ranks; ++r) receive(16384, r);
}
static void chain_and_crowd(int step) {
  (void)step;
  if (rank > 0) receive(128, rank - 1);
  compute(40);
  if (rank < ranks - 1) send(128, rank + 1);
  MPI_Barrier(MPI_COMM_WORLD);
  exchange(1 << 17, (rank + ranks / 2) % ranks, (rank + ranks / 2) % ranks);
}

// Healthy ones.
static void even_halo(int step) { (void)step, compute(150), halo(4, 4096), sum(); }
static void jittery(int step) { compute(200 + (rank * 7 + step * 13) % 9), halo(4, 1024); }
static void even_reduce(int step) {
  double mine = step, all;
  compute(90);
  MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  compute(90);
}
static void full_pipeline(int step) {  // all stages alike, filled long before it ends
  (void)step;
  for (int item = 0; item < 20; ++item) {
    if (rank > 0) receive(64, rank - 1);
    compute(40);
    if (rank < ranks - 1) send(64, rank + 1);
  }
}
static void early_sends(int step) {  // messages are there before anybody waits for them
  (void)step;
  send(512, (rank + 1) % ranks);
  compute(120);
  receive(512, (rank + ranks - 1) % ranks);
}

#define CASE(name) \
  { #name, name }
static const struct {
  const char* name;
  void (*step)(int);
} cases[] = {CASE(late_at_scan), CASE(later_each_step), CASE(two_late), CASE(slow_stage), CASE(slow_halo), CASE(sweep),
             CASE(towards_one), CASE(between_groups), CASE(scattered_halo), CASE(noisy), CASE(late_and_gathered),
             CASE(chain_and_crowd), CASE(even_halo), CASE(jittery), CASE(even_reduce), CASE(full_pipeline),
             CASE(early_sends)};

int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  out = calloc(1, kMost), in = calloc(1, kMost);
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; ++i)
    if (count > 1 && strcmp(words[1], cases[i].name) == 0) {
      for (int step = 0; step < 10; ++step) cases[i].step(step);
      MPI_Finalize();
      return 0;
    }
  fprintf(stderr, "there is no such case\n");
  MPI_Abort(MPI_COMM_WORLD, 2);
}
