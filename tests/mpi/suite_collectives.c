/* Blocking collectives on all ranks and on parts of them: every kind, with every root, uneven, in place
 * and with types of our own. */
#include <unistd.h>

#include "suite.h"

static const int kCounts[] = {0, 1, 7, 300, 20000};

/* Nobody leaves a barrier before the last has come. */
static void barrier(void) {
  for (int late = 0; late < size; ++late) {
    if (rank == late) usleep(50);
    double came = MPI_Wtime(), last;
    MPI_Barrier(MPI_COMM_WORLD);
    double left = MPI_Wtime();
    MPI_Allreduce(&came, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    CHECK(left >= last);
  }
}

static void bcast(void) {
  for (int c = 0; c < COUNT_OF(kCounts); ++c)
    for (int root = 0; root < size; ++root) {
      int count = kCounts[c], *data = rank == root ? filled(count, root, c, 1) : ints(count);
      MPI_Bcast(data, count, MPI_INT, root, MPI_COMM_WORLD);
      CHECK(holds(data, count, root, c, 1));
      free(data);
    }
}

/* The root sends every second of its numbers; the others receive them side by side. */
static void bcast_typed(void) {
  MPI_Datatype every_second;
  MPI_Type_vector(100, 1, 2, MPI_INT, &every_second);
  MPI_Type_commit(&every_second);
  int* data = filled(200, 3, 3, 3);
  if (rank != 0) memset(data, 0, 200 * sizeof(int));
  MPI_Bcast(data, rank == 0 ? 1 : 100, rank == 0 ? every_second : MPI_INT, 0, MPI_COMM_WORLD);
  if (rank != 0)
    for (int i = 0; i < 200; ++i) CHECK(data[i] == (i < 100 ? pattern(3, 3, 3, 2 * i) : 0));
  MPI_Type_free(&every_second);
  free(data);
}

static void gather_scatter(void) {
  for (int c = 0; c < COUNT_OF(kCounts); ++c)
    for (int root = 0; root < size; root += 2) {
      int n = kCounts[c], *mine = filled(n, rank, root, c), *all = ints(n * size), *back = ints(n);
      MPI_Gather(mine, n, MPI_INT, all, n, MPI_INT, root, MPI_COMM_WORLD);
      if (rank == root)
        for (int r = 0; r < size; ++r) CHECK(holds(all + r * n, n, r, root, c));
      MPI_Scatter(all, n, MPI_INT, back, n, MPI_INT, root, MPI_COMM_WORLD);
      CHECK(holds(back, n, rank, root, c));
      free(mine), free(all), free(back);
    }
}

static void gather_scatter_in_place(void) {
  const int n = 40, root = size - 1;
  int *mine = filled(n, rank, 5, 0), *all = ints(n * size);
  if (rank == root) memcpy(all + root * n, mine, n * sizeof(int));
  MPI_Gather(rank == root ? MPI_IN_PLACE : mine, n, MPI_INT, all, n, MPI_INT, root, MPI_COMM_WORLD);
  if (rank == root)
    for (int r = 0; r < size; ++r) CHECK(holds(all + r * n, n, r, 5, 0));
  memset(mine, 0, n * sizeof(int));
  MPI_Scatter(all, n, MPI_INT, rank == root ? MPI_IN_PLACE : mine, n, MPI_INT, root, MPI_COMM_WORLD);
  CHECK(holds(rank == root ? all + root * n : mine, n, rank, 5, 0));
  free(mine), free(all);
}

/* Rank r has r numbers, the first therefore none; they lie in reverse order, with gaps. */
static void gatherv_scatterv(void) {
  int *counts = ints(size), *places = ints(size), total = 0;
  for (int r = size - 1; r >= 0; --r) {
    counts[r] = r;
    places[r] = total;
    total += r + 2;
  }
  int *mine = filled(rank, rank, 6, 0), *all = ints(total), *back = ints(rank);
  MPI_Gatherv(mine, rank, MPI_INT, all, counts, places, MPI_INT, 1, MPI_COMM_WORLD);
  if (rank == 1)
    for (int r = 0; r < size; ++r) {
      CHECK(holds(all + places[r], r, r, 6, 0));
      CHECK(all[places[r] + r] == 0 && all[places[r] + r + 1] == 0);
    }
  MPI_Scatterv(all, counts, places, MPI_INT, back, rank, MPI_INT, 1, MPI_COMM_WORLD);
  CHECK(holds(back, rank, rank, 6, 0));
  free(counts), free(places), free(mine), free(all), free(back);
}

static void allgather(void) {
  for (int c = 0; c < COUNT_OF(kCounts); ++c)
    for (int in_place = 0; in_place < 2; ++in_place) {
      int n = kCounts[c], *mine = filled(n, rank, 7, c), *all = ints(n * size);
      if (in_place) memcpy(all + rank * n, mine, (size_t)n * sizeof(int));
      MPI_Allgather(in_place ? MPI_IN_PLACE : mine, n, MPI_INT, all, n, MPI_INT, MPI_COMM_WORLD);
      for (int r = 0; r < size; ++r) CHECK(holds(all + r * n, n, r, 7, c));
      free(mine), free(all);
    }
}

static void allgatherv(void) {
  int *counts = ints(size), *places = ints(size), total = 0;
  for (int r = 0; r < size; ++r) {
    counts[r] = 10 * ((r * 3) % size);
    places[r] = total;
    total += counts[r] + r;
  }
  for (int in_place = 0; in_place < 2; ++in_place) {
    int n = counts[rank], *mine = filled(n, rank, 8, 0), *all = ints(total);
    if (in_place) memcpy(all + places[rank], mine, (size_t)n * sizeof(int));
    MPI_Allgatherv(in_place ? MPI_IN_PLACE : mine, n, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r) CHECK(holds(all + places[r], counts[r], r, 8, 0));
    free(mine), free(all);
  }
  free(counts), free(places);
}

/* Each rank has a column of a matrix whose rows are the ranks' numbers. */
static void allgather_columns(void) {
  enum { ROWS = 50 };
  MPI_Datatype column, narrow;
  MPI_Type_vector(ROWS, 1, size, MPI_INT, &column);
  MPI_Type_create_resized(column, 0, sizeof(int), &narrow);
  MPI_Type_commit(&narrow);
  int *mine = filled(ROWS, rank, 9, 0), *matrix = ints(ROWS * size);
  MPI_Allgather(mine, ROWS, MPI_INT, matrix, 1, narrow, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < ROWS; ++i) CHECK(matrix[i * size + r] == pattern(r, 9, 0, i));
  MPI_Type_free(&column), MPI_Type_free(&narrow);
  free(mine), free(matrix);
}

static void alltoall(void) {
  static const int counts[] = {0, 1, 60, 6000};
  for (int c = 0; c < COUNT_OF(counts); ++c)
    for (int in_place = 0; in_place < 2; ++in_place) {
      int n = counts[c], *out = ints(n * size), *in = ints(n * size);
      for (int i = 0; i < n * size; ++i) out[i] = pattern(rank, i / n, c, i % n);
      if (in_place) memcpy(in, out, (size_t)(n * size) * sizeof(int));
      MPI_Alltoall(in_place ? MPI_IN_PLACE : out, n, MPI_INT, in, n, MPI_INT, MPI_COMM_WORLD);
      for (int r = 0; r < size; ++r) CHECK(holds(in + r * n, n, r, rank, c));
      free(out), free(in);
    }
}

/* From r to s go r + s numbers where s is not before r, and none otherwise. */
static void alltoallv(void) {
  int *sent = ints(size), *got = ints(size), *from = ints(size), *to = ints(size), total = 0, room = 0;
  for (int r = 0; r < size; ++r) {
    sent[r] = r >= rank ? rank + r : 0;
    got[r] = r <= rank ? rank + r : 0;
    from[r] = total, to[r] = room;
    total += sent[r], room += got[r] + 1;
  }
  int *out = ints(total), *in = ints(room);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < sent[r]; ++i) out[from[r] + i] = pattern(rank, r, 2, i);
  MPI_Alltoallv(out, sent, from, MPI_INT, in, got, to, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r) CHECK(holds(in + to[r], got[r], r, rank, 2) && in[to[r] + got[r]] == 0);
  free(sent), free(got), free(from), free(to), free(out), free(in);
}

/* Another type for each pair: numbers go out with gaps as wide as the peer's number. */
static void alltoallw(void) {
  enum { N = 12 };
  int *one = ints(size), *n = ints(size), *from = ints(size), *to = ints(size);
  MPI_Datatype* out_types = malloc(sizeof(MPI_Datatype) * (size_t)size);
  MPI_Datatype* in_types = malloc(sizeof(MPI_Datatype) * (size_t)size);
  int *out = ints(size * N * (size + 1)), *in = ints(size * N);
  for (int r = 0; r < size; ++r) {
    MPI_Type_vector(N, 1, r + 1, MPI_INT, &out_types[r]);
    MPI_Type_commit(&out_types[r]);
    in_types[r] = MPI_INT;
    one[r] = 1, n[r] = N;
    from[r] = r * N * (size + 1) * (int)sizeof(int), to[r] = r * N * (int)sizeof(int);
    for (int i = 0; i < N; ++i) out[r * N * (size + 1) + i * (r + 1)] = pattern(rank, r, 4, i);
  }
  MPI_Alltoallw(out, one, from, out_types, in, n, to, in_types, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r) {
    CHECK(holds(in + r * N, N, r, rank, 4));
    MPI_Type_free(&out_types[r]);
  }
  free(one), free(n), free(from), free(to), free(out_types), free(in_types), free(out), free(in);
}

/* Rows and columns of a grid of ranks work at the same time. */
static void rows_and_columns(void) {
  MPI_Comm row, column;
  int sums[2], people[2];
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &row);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &column);
  MPI_Comm_size(row, &people[0]), MPI_Comm_size(column, &people[1]);
  for (int step = 0; step < 5; ++step) {
    MPI_Allreduce(&rank, &sums[0], 1, MPI_INT, MPI_SUM, row);
    MPI_Allreduce(&rank, &sums[1], 1, MPI_INT, MPI_SUM, column);
    int expected[2] = {0, 0};
    for (int r = 0; r < size; ++r) {
      if (r / 2 == rank / 2) expected[0] += r;
      if (r % 2 == rank % 2) expected[1] += r;
    }
    CHECK(sums[0] == expected[0] && sums[1] == expected[1]);
  }
  int first = rank;
  MPI_Bcast(&first, 1, MPI_INT, 0, column); /* whose first is the last of all, by its key */
  CHECK(first == 2 * (people[1] - 1) + rank % 2);
  MPI_Comm_free(&row), MPI_Comm_free(&column);
}

int main(int argc, char** argv) {
  static const struct Case cases[] = {{"barrier", barrier},
                                      {"bcast", bcast},
                                      {"bcast_typed", bcast_typed},
                                      {"gather_scatter", gather_scatter},
                                      {"gather_scatter_in_place", gather_scatter_in_place},
                                      {"gatherv_scatterv", gatherv_scatterv},
                                      {"allgather", allgather},
                                      {"allgatherv", allgatherv},
                                      {"allgather_columns", allgather_columns},
                                      {"alltoall", alltoall},
                                      {"alltoallv", alltoallv},
                                      {"alltoallw", alltoallw},
                                      {"rows_and_columns", rows_and_columns}};
  return suite(argc, argv, MPI_THREAD_SINGLE, "suite_collectives", cases, COUNT_OF(cases));
}
