/* Reductions: every kind, in place, with every operation and type MPI names and with an operation and a type
 * of our own. */
#include <complex.h>

#include "suite.h"

static void every_operation(void) {
  MPI_Op ops[] = EVERY_OPERATION;
  enum { N = 33 };
  for (int op = 0; op < COUNT_OF(ops); ++op) {
    unsigned mine[N], root_has[N], all_have[N], expected[N];
    for (int i = 0; i < N; ++i) {
      mine[i] = (unsigned)pattern(rank, op, 0, i) % (i % 3 ? 1000 : 2);
      expected[i] = (unsigned)pattern(0, op, 0, i) % (i % 3 ? 1000 : 2);
      for (int r = 1; r < size; ++r)
        expected[i] = (unsigned)applied(op, expected[i], pattern(r, op, 0, i) % (i % 3 ? 1000 : 2));
    }
    MPI_Reduce(mine, root_has, N, MPI_UNSIGNED, ops[op], op % size, MPI_COMM_WORLD);
    CHECK(rank != op % size || !memcmp(root_has, expected, sizeof expected));
    MPI_Allreduce(mine, all_have, N, MPI_UNSIGNED, ops[op], MPI_COMM_WORLD);
    CHECK(!memcmp(all_have, expected, sizeof expected));
  }
}

/* The sum of rank + 1 over all ranks, in this type. */
#define SUM_OF(type, name)                                      \
  do {                                                          \
    type mine[3] = {(type)(rank + 1), 1, 2}, all[3];            \
    MPI_Allreduce(mine, all, 3, name, MPI_SUM, MPI_COMM_WORLD); \
    CHECK(all[0] == (type)(size * (size + 1) / 2));             \
    CHECK(all[1] == (type)size && all[2] == (type)(2 * size));  \
  } while (0)

static void every_type(void) {
  SUM_OF(signed char, MPI_SIGNED_CHAR);
  SUM_OF(unsigned char, MPI_UNSIGNED_CHAR);
  SUM_OF(short, MPI_SHORT);
  SUM_OF(unsigned short, MPI_UNSIGNED_SHORT);
  SUM_OF(int, MPI_INT);
  SUM_OF(unsigned, MPI_UNSIGNED);
  SUM_OF(long, MPI_LONG);
  SUM_OF(unsigned long, MPI_UNSIGNED_LONG);
  SUM_OF(long long, MPI_LONG_LONG);
  SUM_OF(unsigned long long, MPI_UNSIGNED_LONG_LONG);
  SUM_OF(int8_t, MPI_INT8_T);
  SUM_OF(uint16_t, MPI_UINT16_T);
  SUM_OF(int32_t, MPI_INT32_T);
  SUM_OF(uint64_t, MPI_UINT64_T);
  SUM_OF(float, MPI_FLOAT);
  SUM_OF(double, MPI_DOUBLE);
  SUM_OF(long double, MPI_LONG_DOUBLE);
  SUM_OF(float _Complex, MPI_C_FLOAT_COMPLEX);
  SUM_OF(double _Complex, MPI_C_DOUBLE_COMPLEX);
  SUM_OF(MPI_Aint, MPI_AINT);
  SUM_OF(MPI_Offset, MPI_OFFSET);
}

static void places_of_extremes(void) {
  struct {
    double value;
    int place;
  } mine = {(rank * 5) % size, rank}, most, least;
  struct {
    int value, place;
  } small = {(rank * 7) % 3, rank}, first;
  MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
  MPI_Allreduce(&mine, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
  MPI_Allreduce(&small, &first, 1, MPI_2INT, MPI_MAXLOC, MPI_COMM_WORLD);
  int top = 0, bottom = 0, same = 0;
  for (int r = 1; r < size; ++r) {
    if ((r * 5) % size > (top * 5) % size) top = r;
    if ((r * 5) % size < (bottom * 5) % size) bottom = r;
    if ((r * 7) % 3 > (same * 7) % 3) same = r; /* among equals the first */
  }
  CHECK(most.place == top && most.value == (top * 5) % size);
  CHECK(least.place == bottom && least.value == (bottom * 5) % size);
  CHECK(first.place == same && first.value == (same * 7) % 3);
}

/* Products of matrices, which depend on the order. */
struct Matrix {
  unsigned a, b, c, d;
};

static struct Matrix times(struct Matrix x, struct Matrix y) {
  struct Matrix z = {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c,
                     x.c * y.b + x.d * y.d};
  return z;
}

static void multiply(void* left, void* right, int* count, MPI_Datatype* type) {
  (void)type;
  struct Matrix *x = left, *y = right;
  for (int i = 0; i < *count; ++i) y[i] = times(x[i], y[i]);
}

static struct Matrix matrix_of(int r, int i) {
  struct Matrix m = {(unsigned)r + 1, (unsigned)i + 2, 3, (unsigned)(r * i) + 1};
  return m;
}

static void operation_of_ones_own(void) {
  enum { N = 500 };
  MPI_Datatype type;
  MPI_Op op;
  int commutes = 1;
  MPI_Type_contiguous(4, MPI_UNSIGNED, &type);
  MPI_Type_commit(&type);
  MPI_Op_create(multiply, 0, &op);
  MPI_Op_commutative(op, &commutes);
  CHECK(!commutes);
  static struct Matrix mine[N], got[N];
  for (int count = 1; count <= N; count += N - 1)
    for (int way = 0; way < 4; ++way) {
      for (int i = 0; i < count; ++i) mine[i] = matrix_of(rank, i);
      if (way == 0) MPI_Reduce(mine, got, count, type, op, size - 1, MPI_COMM_WORLD);
      if (way == 1) MPI_Allreduce(mine, got, count, type, op, MPI_COMM_WORLD);
      if (way == 2) MPI_Scan(mine, got, count, type, op, MPI_COMM_WORLD);
      if (way == 3) MPI_Exscan(mine, got, count, type, op, MPI_COMM_WORLD);
      int last = way < 2 ? size - 1 : way == 2 ? rank : rank - 1;
      if ((way == 0 && rank != size - 1) || last < 0) continue;
      for (int i = 0; i < count; ++i) {
        struct Matrix m = matrix_of(0, i);
        for (int r = 1; r <= last; ++r) m = times(m, matrix_of(r, i));
        CHECK(!memcmp(&m, &got[i], sizeof m));
      }
    }
  MPI_Op_free(&op);
  MPI_Type_free(&type);
}

static void allreduce_in_place(void) {
  for (int n = 1; n <= 100000; n *= 10) {
    int *data = ints(n), right = 1;
    for (int i = 0; i < n; ++i) data[i] = rank + i;
    MPI_Allreduce(MPI_IN_PLACE, data, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < n; ++i) right &= data[i] == size * (size - 1) / 2 + size * i;
    CHECK(right);
    free(data);
  }
}

static void reduce_in_place(void) {
  int data[4] = {rank, 2 * rank, -rank, 1}, sum = size * (size - 1) / 2;
  for (int root = 0; root < size; ++root) {
    int copy[4];
    memcpy(copy, data, sizeof copy);
    MPI_Reduce(rank == root ? MPI_IN_PLACE : copy, copy, 4, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    if (rank == root) CHECK(copy[0] == sum && copy[1] == 2 * sum && copy[2] == -sum && copy[3] == size);
  }
}

static void reduce_scatter(void) {
  int *counts = ints(size), total = 0, first = 0;
  for (int r = 0; r < size; ++r) {
    counts[r] = r % 3 * 20;
    if (r < rank) first += counts[r];
    total += counts[r];
  }
  for (int in_place = 0; in_place < 2; ++in_place) {
    int *data = ints(total), *part = ints(total);
    for (int i = 0; i < total; ++i) data[i] = rank * i;
    MPI_Reduce_scatter(in_place ? MPI_IN_PLACE : data, in_place ? data : part, counts, MPI_INT, MPI_SUM,
                       MPI_COMM_WORLD);
    for (int i = 0; i < counts[rank]; ++i)
      CHECK((in_place ? data : part)[i] == size * (size - 1) / 2 * (first + i));
    free(data), free(part);
  }
  free(counts);
}

static void reduce_scatter_block(void) {
  enum { N = 70 };
  for (int in_place = 0; in_place < 2; ++in_place) {
    int *data = ints(N * size), part[N];
    for (int i = 0; i < N * size; ++i) data[i] = (rank + 1) ^ i;
    MPI_Reduce_scatter_block(in_place ? MPI_IN_PLACE : data, in_place ? data : part, N, MPI_INT, MPI_MAX,
                             MPI_COMM_WORLD);
    for (int i = 0; i < N; ++i) {
      int most = 0;
      for (int r = 0; r < size; ++r)
        most = ((r + 1) ^ (rank * N + i)) > most ? (r + 1) ^ (rank * N + i) : most;
      CHECK((in_place ? data : part)[i] == most);
    }
    free(data);
  }
}

static void scan_exscan(void) {
  for (int in_place = 0; in_place < 2; ++in_place) {
    long mine[2] = {rank + 1, 1L << (rank % 30)}, up_to[2] = {rank + 1, 1L << (rank % 30)};
    MPI_Scan(in_place ? MPI_IN_PLACE : mine, up_to, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(up_to[0] == (rank + 1L) * (rank + 2) / 2 && up_to[1] == (2L << rank) - 1);
    long before[2] = {rank + 1, 7};
    MPI_Exscan(in_place ? MPI_IN_PLACE : mine, before, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(rank == 0 || before[0] == (long)rank * (rank + 1) / 2);
  }
}

static void reduce_local(void) {
  int a[5] = {1, 2, 3, 4, 5}, b[5] = {5, 5, 5, 5, 5};
  MPI_Reduce_local(a, b, 5, MPI_INT, MPI_PROD);
  for (int i = 0; i < 5; ++i) CHECK(b[i] == 5 * (i + 1));
}

int main(int argc, char** argv) {
  static const struct Case cases[] = {{"every_operation", every_operation},
                                      {"every_type", every_type},
                                      {"places_of_extremes", places_of_extremes},
                                      {"operation_of_ones_own", operation_of_ones_own},
                                      {"allreduce_in_place", allreduce_in_place},
                                      {"reduce_in_place", reduce_in_place},
                                      {"reduce_scatter", reduce_scatter},
                                      {"reduce_scatter_block", reduce_scatter_block},
                                      {"scan_exscan", scan_exscan},
                                      {"reduce_local", reduce_local}};
  return suite(argc, argv, MPI_THREAD_SINGLE, "suite_reductions", cases, COUNT_OF(cases));
}
