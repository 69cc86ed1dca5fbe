// Writes and reads files with all ranks, in the manner of IOR, and says how fast it was and whether what was
// read is what was written.
//
//   mpicc.openmpi -O2 -o mpi_files examples/mpi_files.c
//   weft run exanest-track1 -n 8 -- ./mpi_files -b 16m -t 1m
//
//   -b SIZE    bytes of each rank [4m]       -t SIZE  bytes of one call [256k]
//   -F         a file for each rank, not one that all share
//   -z         calls in random order         -o NAME  the file [/weft/ior]
//   -W, -R     only write; only read (what an earlier run has kept)
//   -C         each rank reads what it wrote itself; by default what the next one wrote
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static long size_of(const char* text) {
  char* end;
  long value = strtol(text, &end, 10);
  return value << (*end == 'k' ? 10 : *end == 'm' ? 20 : *end == 'g' ? 30 : 0);
}

/// What belongs at a place of the file of a rank.
static void fill(unsigned long* words, long bytes, int rank, long offset) {
  for (long i = 0; i < bytes / 8; ++i)
    words[i] = (unsigned long)(offset / 8 + i) * 0x9e3779b97f4a7c15ul + (unsigned long)rank;
}

static void die(const char* what) {
  perror(what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank, ranks, each = 0, random = 0, only_write = 0, only_read = 0, same = 0, option;
  long block = 4l << 20, transfer = 256l << 10;
  const char* name = "/weft/ior";
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  while ((option = getopt(count, words, "b:t:o:FzWRC")) != -1) {
    if (option == 'b') block = size_of(optarg);
    else if (option == 't') transfer = size_of(optarg);
    else if (option == 'o') name = optarg;
    else if (option == 'F') each = 1;
    else if (option == 'z') random = 1;
    else if (option == 'W') only_write = 1;
    else if (option == 'R') only_read = 1;
    else if (option == 'C') same = 1;
    else MPI_Abort(MPI_COMM_WORLD, 2);
  }
  if (transfer <= 0 || transfer % 8 || block % transfer) die("a block must be whole calls of whole words");
  long calls = block / transfer, bad = 0;
  long* order = malloc(sizeof(long) * (size_t)calls);
  unsigned long *buffer = malloc((size_t)transfer), *expected = malloc((size_t)transfer);
  unsigned long state = (unsigned long)rank + 1;
  for (long i = 0; i < calls; ++i) {
    order[i] = i;
    if (!random) continue;
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    long other = (long)((state >> 33) % (unsigned long)(i + 1));
    order[i] = order[other];
    order[other] = i;
  }
  for (int pass = 0; pass < 2; ++pass) {
    if (pass == 0 ? only_read : only_write) continue;
    int whose = pass == 0 || same ? rank : (rank + 1) % ranks;
    char path[4096];
    snprintf(path, sizeof path, each ? "%s.%d" : "%s", name, whose);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    int file = open(path, pass == 0 ? O_CREAT | O_RDWR : O_RDONLY, 0644);
    if (file < 0) die(path);
    for (long i = 0; i < calls; ++i) {
      long offset = order[i] * transfer + (each ? 0 : whose * block);
      if (pass == 0) {
        fill(buffer, transfer, whose, offset);
        if (pwrite(file, buffer, (size_t)transfer, offset) != transfer) die("pwrite");
      } else {
        if (pread(file, buffer, (size_t)transfer, offset) != transfer) die("pread");
        fill(expected, transfer, whose, offset);
        bad += memcmp(buffer, expected, (size_t)transfer) != 0;
      }
    }
    if (pass == 0 && fsync(file)) die("fsync");
    close(file);
    MPI_Barrier(MPI_COMM_WORLD);
    double took = MPI_Wtime() - begin;
    long all = 0;
    MPI_Reduce(&bad, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
      printf("%-5s %s, %s: %ld bytes in %.9f s, %.1f MB/s%s\n", pass == 0 ? "write" : "read",
             each ? "file per process" : "shared file", random ? "random" : "sequential", block * ranks, took,
             (double)block * ranks / took / 1e6, pass == 0 ? "" : all ? ", WRONG" : ", all as written");
  }
  MPI_Finalize();
  return bad != 0;
}
