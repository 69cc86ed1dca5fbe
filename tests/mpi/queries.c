/* Distributed queries: a master scatters sub-queries, workers scan their part of a table that lies in files, keep
 * what a query makes for itself in a file of their own, and answer; the master gathers and holds each answer against
 * the whole table. Prints each query's time. Arguments: folder of the table, folder of what is only a query's. */
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kQueries = 22, kRows = 4096, kBlock = 512 };

struct flight {
  uint32_t year, airport, carrier;
  int32_t delay;
};
struct question {
  uint32_t from_year, to_year, airport, carrier; /* an airport or carrier of ~0: any */
  uint32_t intermediates;                        /* rows that match are kept so many times */
};
struct answer {
  int64_t count, sum, worst, kept;
};

static uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

static struct flight row(int worker, int i) {
  const uint64_t r = mixed((uint64_t)worker << 32 | (unsigned)i);
  struct flight f = {1987 + r % 30, r >> 8 & 31, r >> 16 & 7, (int32_t)(r >> 24 & 255) - 60};
  return f;
}

static struct question query(int q) {
  struct question out = {1987 + q, 2000 + q % 17, q % 3 ? (uint32_t)q : ~0u, q % 2 ? (uint32_t)q % 8 : ~0u, 1};
  if (q == 7) out = (struct question){1987, 2017, ~0u, ~0u, 8}; /* the eighth makes a lot of them */
  return out;
}

static int matches(const struct question* q, const struct flight* f) {
  return f->year >= q->from_year && f->year <= q->to_year && (q->airport == ~0u || q->airport == f->airport) &&
         (q->carrier == ~0u || q->carrier == f->carrier);
}

static void take(struct answer* a, const struct flight* f) {
  a->count += 1;
  a->sum += f->delay;
  if (f->delay > a->worst) a->worst = f->delay;
}

static void need(int holds, const char* what) {
  if (holds) return;
  perror(what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static int part(const char* folder, const char* name, int rank, int flags) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s-%d", folder, name, rank);
  const int file = open(path, flags, 0644);
  need(file >= 0, path);
  return file;
}

/* Scans the table, keeps what matches in a file, and reads it again to make the answer. */
static struct answer scan(int table, int scratch, const struct question* q) {
  static struct flight block[kBlock], found[kBlock];
  struct answer a = {0, 0, -1000, 0};
  off_t kept = 0;
  for (int i = 0; i < kRows; i += kBlock) {
    need(pread(table, block, sizeof block, (off_t)i * (off_t)sizeof *block) == sizeof block, "scan");
    int n = 0;
    for (int k = 0; k < kBlock; ++k)
      if (matches(q, &block[k])) found[n++] = block[k];
    for (uint32_t copy = 0; n > 0 && copy < q->intermediates; ++copy) {
      const ssize_t bytes = (ssize_t)n * (ssize_t)sizeof *found;
      need(pwrite(scratch, found, (size_t)bytes, kept) == bytes, "keep");
      kept += bytes;
    }
  }
  need(fsync(scratch) == 0, "fsync");
  for (off_t at = 0; at < kept;) {
    const ssize_t got = pread(scratch, block, sizeof block, at);
    need(got > 0 && got % (ssize_t)sizeof *block == 0, "read again");
    for (int k = 0; k < got / (ssize_t)sizeof *block; ++k) take(&a, &block[k]);
    at += got;
  }
  a.kept = kept;
  a.count /= q->intermediates;
  a.sum /= q->intermediates;
  return a;
}

static void work(int rank, const char* data, const char* scratch_folder) {
  int file = part(data, "flights", rank, O_CREAT | O_RDWR | O_TRUNC);
  for (int i = 0; i < kRows; i += kBlock) {
    struct flight block[kBlock];
    for (int k = 0; k < kBlock; ++k) block[k] = row(rank, i + k);
    need(write(file, block, sizeof block) == sizeof block, "write");
  }
  need(fsync(file) == 0, "fsync");
  MPI_Barrier(MPI_COMM_WORLD);
  for (int q = 0; q < kQueries; ++q) {
    struct question asked;
    MPI_Recv(&asked, sizeof asked, MPI_BYTE, 0, q, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const int scratch = part(scratch_folder, "scratch", rank, O_CREAT | O_RDWR | O_TRUNC);
    const struct answer a = scan(file, scratch, &asked);
    close(scratch);
    MPI_Send(&a, sizeof a, MPI_BYTE, 0, q, MPI_COMM_WORLD);
  }
  close(file);
}

static int ask(int workers) {
  int wrong = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int q = 0; q < kQueries; ++q) {
    const struct question asked = query(q);
    struct answer all = {0, 0, -1000, 0}, expected = {0, 0, -1000, 0};
    const double begin = MPI_Wtime();
    for (int w = 1; w <= workers; ++w) MPI_Send(&asked, sizeof asked, MPI_BYTE, w, q, MPI_COMM_WORLD);
    for (int w = 1; w <= workers; ++w) {
      struct answer a;
      MPI_Recv(&a, sizeof a, MPI_BYTE, w, q, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      all.count += a.count;
      all.sum += a.sum;
      if (a.worst > all.worst) all.worst = a.worst;
    }
    const double end = MPI_Wtime();
    for (int w = 1; w <= workers; ++w)
      for (int i = 0; i < kRows; ++i) {
        const struct flight f = row(w, i);
        if (matches(&asked, &f)) take(&expected, &f);
      }
    const int right = all.count == expected.count && all.sum == expected.sum && all.worst == expected.worst;
    wrong += !right;
    printf("q%02d %.3f us, %lld flights, mean delay %.2f%s\n", q + 1, (end - begin) * 1e6, (long long)all.count,
           all.count ? (double)all.sum / (double)all.count : 0.0, right ? "" : " WRONG");
  }
  return wrong;
}

int main(int argc, char** argv) {
  int rank, ranks, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* data = argc > 1 ? argv[1] : "/weft";
  const char* scratch = argc > 2 ? argv[2] : data;
  if (rank == 0)
    wrong = ask(ranks - 1);
  else
    work(rank, data, scratch);
  MPI_Finalize();
  if (rank == 0) printf("%d of %d queries answered right\n", kQueries - wrong, kQueries);
  return wrong != 0;
}
