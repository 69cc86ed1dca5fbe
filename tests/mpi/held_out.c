// Programs with a cause of waiting planted in them, written after those of planted.c and without a look at how
// causes are found: `held_out NAME`. Some need a machine that is short of something; the test says which.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, ranks;
enum { kMost = 1 << 20, kTag = 3 };
static char *out, *in;

static void compute(long microseconds) {
  struct timespec time = {0, microseconds * 1000};
  nanosleep(&time, NULL);
}

static void exchange(int bytes, int with) {
  MPI_Sendrecv(out, bytes, MPI_BYTE, with, kTag, in, bytes, MPI_BYTE, with, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// A late rank, where another call than a barrier waits for it.
static void late_at_reduce(int step) {
  double mine = step, all;
  compute(rank == 6 ? 240 : 30);
  MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, 2, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}
static void late_root_scatters(int step) {
  (void)step;
  if (rank == 0) compute(280);
  MPI_Scatter(out, 128, MPI_BYTE, in, 128, MPI_BYTE, 0, MPI_COMM_WORLD);
  compute(20);
  MPI_Barrier(MPI_COMM_WORLD);
}
static void late_every_other_step(int step) {
  compute(rank == 1 && step % 2 ? 500 : 25);
  MPI_Barrier(MPI_COMM_WORLD);
}

// Chains, backwards and in blocks.
static void chain_backwards(int step) {
  (void)step;
  if (rank < ranks - 1) MPI_Recv(in, 256, MPI_BYTE, rank + 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  compute(70);
  if (rank > 0) MPI_Ssend(out, 256, MPI_BYTE, rank - 1, kTag, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}

// A sender that waits for a receiver which is busy, though both have as much to do.
static void rendezvous(int step) {
  (void)step;
  const int with = rank ^ 1;
  if (rank % 2 == 0) {
    MPI_Send(out, 8192, MPI_BYTE, with, kTag, MPI_COMM_WORLD);
    compute(150);
  } else {
    compute(150);
    MPI_Recv(in, 8192, MPI_BYTE, with, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);  // else they are out of step once, and never again
}

// Neighbours of the program that are far apart on the machine.
static void far_neighbours(int step) {
  (void)step;
  compute(10);
  exchange(1 << 17, rank ^ 1);
}

// Short of something.
static void many_small(int step) {
  (void)step;
  MPI_Request all[128];
  const int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
  for (int i = 0; i < 64; ++i) MPI_Irecv(in + 64 * i, 64, MPI_BYTE, from, kTag, MPI_COMM_WORLD, &all[i]);
  for (int i = 0; i < 64; ++i) MPI_Isend(out + 64 * i, 64, MPI_BYTE, to, kTag, MPI_COMM_WORLD, &all[64 + i]);
  MPI_Waitall(128, all, MPI_STATUSES_IGNORE);
}
static void many_pages(int step) {
  (void)step;
  for (int i = 0; i < 8; ++i)
    MPI_Sendrecv(out + (i * 37 % 8) * 131072, 98304, MPI_BYTE, rank ^ 1, kTag, in + (i * 53 % 8) * 131072, 98304,
                 MPI_BYTE, rank ^ 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void unexpected(int step) {
  (void)step;
  if (rank > 0)
    for (int i = 0; i < 40; ++i) MPI_Send(out, 512, MPI_BYTE, 0, kTag, MPI_COMM_WORLD);
  if (rank == 0) {
    compute(400);
    for (int i = 0; i < 40 * (ranks - 1); ++i)
      MPI_Recv(in, 512, MPI_BYTE, MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

// Noise that hits at random, and two causes at once.
static void noise_at_reduce(int step) {
  double mine = step, all;
  compute((rank * 2654435761u + (unsigned)step * 40503u) % 7 == 0 ? 260 : 30);
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void late_and_serial(int step) {
  (void)step;
  compute(rank == 3 ? 180 : 20);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int r = 1; rank == 0 && r < ranks; ++r) MPI_Ssend(out, 32768, MPI_BYTE, r, kTag, MPI_COMM_WORLD);
  if (rank > 0) MPI_Recv(in, 32768, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void late_and_crowded(int step) {
  (void)step;
  compute(rank == 2 ? 400 : 20);
  MPI_Barrier(MPI_COMM_WORLD);
  exchange(1 << 17, (rank + ranks / 2) % ranks);
}

#define CASE(name) \
  { #name, name }
static const struct {
  const char* name;
  void (*step)(int);
} cases[] = {CASE(late_at_reduce), CASE(late_root_scatters), CASE(late_every_other_step), CASE(chain_backwards),
             CASE(rendezvous), CASE(far_neighbours), CASE(many_small), CASE(many_pages), CASE(unexpected),
             CASE(noise_at_reduce), CASE(late_and_serial), CASE(late_and_crowded)};

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
