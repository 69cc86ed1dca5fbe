/* Communicators made of others: split, dup, groups, topologies, between two groups; tags do not cross them.
 */
#include "check.h"

static void split(void) {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  int r, n, sum = 0, expected = 0;
  MPI_Comm_rank(half, &r);
  MPI_Comm_size(half, &n);
  CHECK(n == (size + 1 - rank % 2) / 2 && r == n - 1 - rank / 2);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half);
  for (int i = rank % 2; i < size; i += 2) expected += i;
  CHECK(sum == expected);
  MPI_Comm_free(&half);
  MPI_Comm none;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, 0, &none);
  CHECK((none == MPI_COMM_NULL) == (rank == 0));
  if (none != MPI_COMM_NULL) MPI_Comm_free(&none);
}

/* The same tag and peer in two communicators are two different things. */
static void dup(void) {
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  int right = (rank + 1) % size, left = (rank + size - 1) % size, one = 1, two = 2, a = 0, b = 0;
  MPI_Request requests[4];
  MPI_Isend(&one, 1, MPI_INT, right, 5, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(&two, 1, MPI_INT, right, 5, other, &requests[1]);
  MPI_Irecv(&b, 1, MPI_INT, left, 5, other, &requests[2]);
  MPI_Irecv(&a, 1, MPI_INT, left, 5, MPI_COMM_WORLD, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  CHECK(a == 1 && b == 2);
  int result;
  MPI_Comm_compare(other, MPI_COMM_WORLD, &result);
  CHECK(result == MPI_CONGRUENT);
  MPI_Comm_free(&other);
}

static void groups(void) {
  MPI_Group all, some;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  int last = size - 1, wanted[2] = {last, 0};
  MPI_Group_incl(all, size > 1 ? 2 : 1, wanted, &some);
  MPI_Comm pair;
  MPI_Comm_create(MPI_COMM_WORLD, some, &pair);
  if (rank == 0 || rank == last) {
    int r, value = rank;
    MPI_Comm_rank(pair, &r);
    CHECK(size == 1 || r == (rank == last ? 0 : 1));
    MPI_Bcast(&value, 1, MPI_INT, 0, pair);
    CHECK(value == last);
    MPI_Comm_free(&pair);
  } else {
    CHECK(pair == MPI_COMM_NULL);
  }
  MPI_Group_free(&some);
  MPI_Group_free(&all);
}

static void nodes(void) {
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int n, nodes_here, first;
  MPI_Comm_size(node, &n);
  MPI_Comm_rank(node, &first);
  first = first == 0;
  MPI_Allreduce(&first, &nodes_here, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  char name[MPI_MAX_PROCESSOR_NAME];
  int length;
  MPI_Get_processor_name(name, &length);
  CHECK(length > 0);
  CHECK(n >= 1 && nodes_here >= 1);
  if (rank == 0 && getenv("MPI_TEST_NODES")) printf("%d nodes, %d ranks on the first\n", nodes_here, n);
  MPI_Comm_free(&node);
}

static void cartesian(void) {
  int dims[2] = {0, 0}, periods[2] = {1, 0}, place[2], from, to, r;
  MPI_Dims_create(size, 2, dims);
  MPI_Comm grid;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Cart_coords(grid, rank, 2, place);
  MPI_Cart_rank(grid, place, &r);
  CHECK(r == rank);
  for (int d = 0; d < 2; ++d) {
    int value = -1;
    MPI_Cart_shift(grid, d, 1, &from, &to);
    MPI_Sendrecv(&rank, 1, MPI_INT, to, d, &value, 1, MPI_INT, from, d, grid, MPI_STATUS_IGNORE);
    CHECK(value == (from == MPI_PROC_NULL ? -1 : from));
  }
  MPI_Comm row;
  int keep[2] = {0, 1}, sum, expected = 0;
  MPI_Cart_sub(grid, keep, &row);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, row);
  for (int i = 0; i < dims[1]; ++i) expected += place[0] * dims[1] + i;
  CHECK(sum == expected);
  MPI_Comm_free(&row);
  MPI_Comm_free(&grid);
}

/* Two groups that talk across: the lower and the upper half. */
static void between(void) {
  if (size < 2) return;
  MPI_Comm half, across, merged;
  int upper = rank >= size / 2;
  MPI_Comm_split(MPI_COMM_WORLD, upper, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : size / 2, 17, &across);
  int remote, sum = 0, expected = 0, n;
  MPI_Comm_remote_size(across, &remote);
  CHECK(remote == (upper ? size / 2 : size - size / 2));
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, across); /* the sum of the others */
  for (int i = upper ? 0 : size / 2; i < (upper ? size / 2 : size); ++i) expected += i;
  CHECK(sum == expected);
  MPI_Intercomm_merge(across, upper, &merged);
  MPI_Comm_size(merged, &n);
  CHECK(n == size);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&across);
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  split();
  dup();
  groups();
  nodes();
  cartesian();
  between();
  return end("communicators");
}
