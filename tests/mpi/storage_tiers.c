/* Each rank reads /weft/in/RANK, writes 1 MiB of a file of its own, and reads its neighbour's. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { kBytes = 1 << 20, kStep = 65536 };

static int wrong(const char* data, long from, long bytes, int rank) {
  int count = 0;
  for (long i = 0; i < bytes; ++i) count += data[i] != (char)(rank + from + i);
  return count;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, bad = 0, all = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char* data = malloc(kBytes);
  char name[64];
  snprintf(name, sizeof name, "/weft/in/%d", rank);
  int file = open(name, O_RDONLY);
  for (long at = 0; at < kBytes; at += kStep) {
    bad += read(file, data, kStep) != kStep;
    bad += wrong(data, at, kStep, rank);
  }
  close(file);
  for (long i = 0; i < kBytes; ++i) data[i] = (char)(rank + i);
  snprintf(name, sizeof name, "/weft/out%d", rank);
  file = open(name, O_CREAT | O_RDWR | O_TRUNC, 0644);
  bad += file < 0 || pwrite(file, data, kBytes, 0) != kBytes || fsync(file) != 0;
  close(file);
  MPI_Barrier(MPI_COMM_WORLD);
  const int next = (rank + 1) % ranks;
  snprintf(name, sizeof name, "/weft/out%d", next);
  file = open(name, O_RDONLY);
  bad += pread(file, data, kBytes, 0) != kBytes;
  bad += wrong(data, 0, kBytes, next);
  close(file);
  MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d wrong\n", all);
  MPI_Finalize();
  return all != 0;
}
