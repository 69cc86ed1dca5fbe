/* Every collective, at several sizes, with every rank as root, in communicators of every size up to all
 * ranks; the results are computed again by hand. */
#include "check.h"

static MPI_Comm comm;
static int me, n; /* in comm */

static int* numbers(int count) { return calloc((size_t)(count > 0 ? count : 1), sizeof(int)); }

/* Blocking and nonblocking forms share one check: f(...) where nonblocking is wanted waits for its request.
 */
#define EITHER(blocking, nonblocking, ...)   \
  do {                                       \
    if (step % 2 == 0) {                     \
      blocking(__VA_ARGS__);                 \
    } else {                                 \
      MPI_Request request;                   \
      nonblocking(__VA_ARGS__, &request);    \
      MPI_Wait(&request, MPI_STATUS_IGNORE); \
    }                                        \
  } while (0)

static void rooted(int count, int root, int step) {
  int *one = numbers(count), *all = numbers(count * n), *back = numbers(count), same = 1;
  for (int i = 0; i < count; ++i) one[i] = me == root ? pattern(root, 0, step, i) : -1;
  EITHER(MPI_Bcast, MPI_Ibcast, one, count, MPI_INT, root, comm);
  for (int i = 0; i < count; ++i) same &= one[i] == pattern(root, 0, step, i);
  CHECK(same);
  for (int i = 0; i < count; ++i) one[i] = pattern(me, root, step, i);
  EITHER(MPI_Gather, MPI_Igather, one, count, MPI_INT, all, count, MPI_INT, root, comm);
  same = 1;
  if (me == root)
    for (int r = 0; r < n; ++r)
      for (int i = 0; i < count; ++i) same &= all[r * count + i] == pattern(r, root, step, i);
  CHECK(same);
  EITHER(MPI_Scatter, MPI_Iscatter, all, count, MPI_INT, back, count, MPI_INT, root, comm);
  CHECK(!memcmp(one, back, sizeof(int) * (size_t)count));
  for (int i = 0; i < count; ++i) one[i] = me + i;
  EITHER(MPI_Reduce, MPI_Ireduce, one, back, count, MPI_INT, MPI_SUM, root, comm);
  same = 1;
  if (me == root)
    for (int i = 0; i < count; ++i) same &= back[i] == n * (n - 1) / 2 + n * i;
  CHECK(same);
  free(one), free(all), free(back);
}

/* Rank r has r + 1 pieces, with a gap behind each rank's. */
static void rooted_uneven(int root, int step) {
  int *counts = numbers(n), *places = numbers(n), total = 0, same = 1;
  for (int r = 0; r < n; ++r) {
    counts[r] = r + 1;
    places[r] = total;
    total += r + 3;
  }
  int *one = numbers(me + 1), *all = numbers(total), *back = numbers(me + 1);
  for (int i = 0; i <= me; ++i) one[i] = pattern(me, root, step, i);
  for (int i = 0; i < total; ++i) all[i] = -7;
  EITHER(MPI_Gatherv, MPI_Igatherv, one, me + 1, MPI_INT, all, counts, places, MPI_INT, root, comm);
  if (me == root)
    for (int r = 0; r < n; ++r) {
      for (int i = 0; i <= r; ++i) same &= all[places[r] + i] == pattern(r, root, step, i);
      same &= all[places[r] + r + 1] == -7;
    }
  CHECK(same);
  EITHER(MPI_Scatterv, MPI_Iscatterv, all, counts, places, MPI_INT, back, me + 1, MPI_INT, root, comm);
  CHECK(!memcmp(one, back, sizeof(int) * (size_t)(me + 1)));
  EITHER(MPI_Allgatherv, MPI_Iallgatherv, one, me + 1, MPI_INT, all, counts, places, MPI_INT, comm);
  same = 1;
  for (int r = 0; r < n; ++r)
    for (int i = 0; i <= r; ++i) same &= all[places[r] + i] == pattern(r, root, step, i);
  CHECK(same);
  free(counts), free(places), free(one), free(all), free(back);
}

static void everybody(int count, int step) {
  int *one = numbers(count), *all = numbers(count * n), *out = numbers(count * n), *in = numbers(count * n),
      same = 1;
  for (int i = 0; i < count; ++i) one[i] = pattern(me, 0, step, i);
  EITHER(MPI_Allgather, MPI_Iallgather, one, count, MPI_INT, all, count, MPI_INT, comm);
  for (int r = 0; r < n; ++r)
    for (int i = 0; i < count; ++i) same &= all[r * count + i] == pattern(r, 0, step, i);
  CHECK(same);
  for (int r = 0; r < n; ++r)
    for (int i = 0; i < count; ++i) out[r * count + i] = pattern(me, r, step, i);
  EITHER(MPI_Alltoall, MPI_Ialltoall, out, count, MPI_INT, in, count, MPI_INT, comm);
  same = 1;
  for (int r = 0; r < n; ++r)
    for (int i = 0; i < count; ++i) same &= in[r * count + i] == pattern(r, me, step, i);
  CHECK(same);

  for (int i = 0; i < count; ++i) one[i] = me * 3 + i;
  int* sum = numbers(count);
  EITHER(MPI_Allreduce, MPI_Iallreduce, one, sum, count, MPI_INT, MPI_SUM, comm);
  same = 1;
  for (int i = 0; i < count; ++i) same &= sum[i] == 3 * n * (n - 1) / 2 + n * i;
  CHECK(same);
  memcpy(sum, one, sizeof(int) * (size_t)count);
  MPI_Allreduce(MPI_IN_PLACE, sum, count, MPI_INT, MPI_MAX, comm);
  same = 1;
  for (int i = 0; i < count; ++i) same &= sum[i] == 3 * (n - 1) + i;
  CHECK(same);
  EITHER(MPI_Scan, MPI_Iscan, one, sum, count, MPI_INT, MPI_SUM, comm);
  same = 1;
  for (int i = 0; i < count; ++i) same &= sum[i] == 3 * me * (me + 1) / 2 + (me + 1) * i;
  CHECK(same);
  EITHER(MPI_Exscan, MPI_Iexscan, one, sum, count, MPI_INT, MPI_SUM, comm);
  same = 1;
  if (me > 0)
    for (int i = 0; i < count; ++i) same &= sum[i] == 3 * me * (me - 1) / 2 + me * i;
  CHECK(same);
  for (int r = 0; r < n; ++r)
    for (int i = 0; i < count; ++i) out[r * count + i] = me + r * 10 + i;
  EITHER(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, out, sum, count, MPI_INT, MPI_SUM, comm);
  same = 1;
  for (int i = 0; i < count; ++i) same &= sum[i] == n * (n - 1) / 2 + n * (me * 10 + i);
  CHECK(same);
  free(one), free(all), free(out), free(in), free(sum);
}

/* Rank a sends a + b + 1 numbers to rank b. */
static void everybody_uneven(int step) {
  int *sends = numbers(n), *from = numbers(n), *receives = numbers(n), *to = numbers(n), out_total = 0,
      in_total = 0;
  for (int r = 0; r < n; ++r) {
    sends[r] = receives[r] = me + r + 1;
    from[r] = out_total;
    to[r] = in_total;
    out_total += sends[r];
    in_total += receives[r] + 1;
  }
  int *out = numbers(out_total), *in = numbers(in_total), same = 1;
  for (int r = 0; r < n; ++r)
    for (int i = 0; i < sends[r]; ++i) out[from[r] + i] = pattern(me, r, step, i);
  EITHER(MPI_Alltoallv, MPI_Ialltoallv, out, sends, from, MPI_INT, in, receives, to, MPI_INT, comm);
  for (int r = 0; r < n; ++r)
    for (int i = 0; i < receives[r]; ++i) same &= in[to[r] + i] == pattern(r, me, step, i);
  CHECK(same);
  MPI_Datatype* types = malloc(sizeof(MPI_Datatype) * (size_t)n);
  for (int r = 0; r < n; ++r) {
    types[r] = MPI_INT;
    from[r] *= (int)sizeof(int);
    to[r] *= (int)sizeof(int);
  }
  memset(in, 0, sizeof(int) * (size_t)in_total);
  EITHER(MPI_Alltoallw, MPI_Ialltoallw, out, sends, from, types, in, receives, to, types, comm);
  same = 1;
  for (int r = 0; r < n; ++r)
    for (int i = 0; i < receives[r]; ++i) same &= in[to[r] / (int)sizeof(int) + i] == pattern(r, me, step, i);
  CHECK(same);
  int total = 0;
  for (int r = 0; r < n; ++r) {
    receives[r] = r % 3;
    total += r % 3;
  }
  int *many = numbers(total), *mine = numbers(me % 3), at = 0;
  for (int i = 0; i < total; ++i) many[i] = me * 100 + i;
  EITHER(MPI_Reduce_scatter, MPI_Ireduce_scatter, many, mine, receives, MPI_INT, MPI_SUM, comm);
  for (int r = 0; r < me; ++r) at += receives[r];
  for (int i = 0; i < me % 3; ++i) CHECK(mine[i] == 100 * n * (n - 1) / 2 + n * (at + i));
  free(sends), free(from), free(receives), free(to), free(out), free(in), free(types), free(many), free(mine);
}

/* An operation of one's own that must not change the order of its arguments: 2 x 2 matrices. */
static void multiply(void* a, void* b, int* length, MPI_Datatype* type) {
  (void)type;
  unsigned(*x)[4] = a, (*y)[4] = b;
  for (int i = 0; i < *length; ++i) {
    unsigned r[4] = {x[i][0] * y[i][0] + x[i][1] * y[i][2], x[i][0] * y[i][1] + x[i][1] * y[i][3],
                     x[i][2] * y[i][0] + x[i][3] * y[i][2], x[i][2] * y[i][1] + x[i][3] * y[i][3]};
    memcpy(y[i], r, sizeof r);
  }
}

static void own_operation(void) {
  MPI_Datatype matrix;
  MPI_Op product;
  MPI_Type_contiguous(4, MPI_UNSIGNED, &matrix);
  MPI_Type_commit(&matrix);
  MPI_Op_create(multiply, 0, &product);
  unsigned mine[4] = {1, (unsigned)me + 1, 2, 3}, all[4], expected[4] = {1, 0, 0, 1};
  MPI_Allreduce(mine, all, 1, matrix, product, comm);
  for (int r = 0; r < n; ++r) {
    unsigned next[4] = {1, (unsigned)r + 1, 2, 3};
    int one = 1;
    multiply(expected, next, &one, NULL);
    memcpy(expected, next, sizeof next);
  }
  CHECK(!memcmp(all, expected, sizeof all));
  MPI_Op_free(&product);
  MPI_Type_free(&matrix);
  struct {
    double value;
    int where;
  } in = {me * 7 % n, me}, most;
  MPI_Allreduce(&in, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
  double best = -1;
  int where = -1;
  for (int r = 0; r < n; ++r)
    if (r * 7 % n > best) best = r * 7 % n, where = r;
  CHECK(most.value == best && most.where == where);
}

static void neighbours(void) {
  int dims[1] = {n}, periodic[1] = {1}, got[2] = {-1, -1}, out[2] = {me * 2, me * 2 + 1};
  MPI_Comm ring;
  MPI_Cart_create(comm, 1, dims, periodic, 0, &ring);
  int left = (me + n - 1) % n, right = (me + 1) % n;
  MPI_Neighbor_allgather(&me, 1, MPI_INT, got, 1, MPI_INT, ring);
  CHECK(got[0] == left && got[1] == right);
  MPI_Request request;
  MPI_Ineighbor_alltoall(out, 1, MPI_INT, got, 1, MPI_INT, ring, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (n > 2) CHECK(got[0] == left * 2 + 1 && got[1] == right * 2);
  MPI_Comm_free(&ring);
}

/* Nobody leaves a barrier before the last one has come. */
static void barrier(int step) {
  int token = 0, last = n - 1;
  if (n == 1) return;
  if (me == last) MPI_Send(&step, 1, MPI_INT, 0, 77, comm); /* sent before, so it must be there after */
  EITHER(MPI_Barrier, MPI_Ibarrier, comm);
  if (me == 0) {
    MPI_Recv(&token, 1, MPI_INT, last, 77, comm, MPI_STATUS_IGNORE);
    CHECK(token == step);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  static const int counts[] = {0, 1, 5, 333, 6000};
  int most = argc > 1 ? atoi(argv[1]) : 5, step = 0; /* counts to try */
  for (int members = size; members >= 1;
       members = members > 3 ? members - (members > 5 ? 3 : 1) : members - 1) {
    MPI_Comm_split(MPI_COMM_WORLD, rank < members ? 0 : MPI_UNDEFINED, rank, &comm);
    if (comm == MPI_COMM_NULL) continue;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    for (int k = 0; k < most && k < 5; ++k) {
      everybody(counts[k], step++);
      for (int root = 0; root<n; root += n> 4 ? 3 : 1) rooted(counts[k], root, step++);
    }
    rooted_uneven(0, step++);
    rooted_uneven(n - 1, step++);
    everybody_uneven(step++);
    everybody_uneven(step++);
    own_operation();
    neighbours();
    barrier(step++);
    barrier(step++);
    MPI_Comm_free(&comm);
  }
  return end("collectives");
}
