/* Grids and graphs of ranks, and collectives among neighbours. */
#include "suite.h"

static void dims(void) {
  int two[2] = {0, 0}, three[3] = {0, 0, 0}, given[2] = {0, 3};
  MPI_Dims_create(24, 2, two);
  CHECK(two[0] == 6 && two[1] == 4);
  MPI_Dims_create(64, 3, three);
  CHECK(three[0] == 4 && three[1] == 4 && three[2] == 4);
  MPI_Dims_create(12, 2, given);
  CHECK(given[0] == 4 && given[1] == 3);
}

/* A grid of all ranks in two dimensions, the first of which is a ring. */
static MPI_Comm grid(int* shape) {
  int rings[2] = {1, 0};
  MPI_Comm comm;
  shape[0] = shape[1] = 0;
  MPI_Dims_create(size, 2, shape);
  MPI_Cart_create(MPI_COMM_WORLD, 2, shape, rings, 0, &comm);
  return comm;
}

static void cart_places(void) {
  int shape[2], place[2], ring[2], n, me, kind;
  MPI_Comm comm = grid(shape);
  MPI_Topo_test(comm, &kind);
  CHECK(kind == MPI_CART);
  MPI_Topo_test(MPI_COMM_WORLD, &kind);
  CHECK(kind == MPI_UNDEFINED);
  MPI_Cartdim_get(comm, &n);
  CHECK(n == 2);
  for (int r = 0; r < size; ++r) {
    MPI_Cart_coords(comm, r, 2, place);
    CHECK(place[0] == r / shape[1] && place[1] == r % shape[1]);
    place[0] += shape[0]; /* round the ring */
    MPI_Cart_rank(comm, place, &me);
    CHECK(me == r);
  }
  int again[2];
  MPI_Cart_get(comm, 2, again, ring, place);
  CHECK(again[0] == shape[0] && again[1] == shape[1] && ring[0] && !ring[1] && place[1] == rank % shape[1]);
  MPI_Comm_free(&comm);
}

static void cart_shift(void) {
  int shape[2], from, to, got = -1;
  MPI_Comm comm = grid(shape);
  MPI_Cart_shift(comm, 0, 1, &from, &to);
  MPI_Sendrecv(&rank, 1, MPI_INT, to, 0, &got, 1, MPI_INT, from, 0, comm, MPI_STATUS_IGNORE);
  CHECK(got == from && from == (rank + size - shape[1]) % size && to == (rank + shape[1]) % size);
  got = -1;
  MPI_Cart_shift(comm, 1, 1, &from, &to);
  CHECK((from == MPI_PROC_NULL) == (rank % shape[1] == 0));
  CHECK((to == MPI_PROC_NULL) == (rank % shape[1] == shape[1] - 1));
  MPI_Sendrecv(&rank, 1, MPI_INT, to, 0, &got, 1, MPI_INT, from, 0, comm, MPI_STATUS_IGNORE);
  CHECK(got == (from == MPI_PROC_NULL ? -1 : rank - 1));
  MPI_Comm_free(&comm);
}

static void cart_parts(void) {
  int shape[2], keep[2] = {0, 1}, sum, members, row;
  MPI_Comm comm = grid(shape), part;
  MPI_Cart_sub(comm, keep, &part);
  MPI_Comm_size(part, &members);
  CHECK(members == shape[1]);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, part);
  row = rank / shape[1];
  CHECK(sum == shape[1] * row * shape[1] + shape[1] * (shape[1] - 1) / 2);
  MPI_Comm_free(&part);
  MPI_Comm_free(&comm);
}

/* A grid smaller than the ranks there are leaves some out. */
static void cart_left_out(void) {
  int shape[1] = {size - 1}, ring[1] = {1}, sum;
  MPI_Comm comm;
  MPI_Cart_create(MPI_COMM_WORLD, 1, shape, ring, 0, &comm);
  CHECK((comm == MPI_COMM_NULL) == (rank == size - 1));
  if (comm != MPI_COMM_NULL) {
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == (size - 1) * (size - 2) / 2);
    MPI_Comm_free(&comm);
  }
}

static void grid_neighbours(MPI_Comm comm, int near[4]) {
  MPI_Cart_shift(comm, 0, 1, &near[0], &near[1]);
  MPI_Cart_shift(comm, 1, 1, &near[2], &near[3]);
}

static void cart_allgather(void) {
  enum { N = 100 };
  int shape[2], near[4];
  MPI_Comm comm = grid(shape);
  grid_neighbours(comm, near);
  for (int nonblocking = 0; nonblocking < 2; ++nonblocking) {
    int *mine = filled(N, rank, 1, 1), *all = ints(4 * N);
    MPI_Request request;
    if (nonblocking) {
      MPI_Ineighbor_allgather(mine, N, MPI_INT, all, N, MPI_INT, comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      MPI_Neighbor_allgather(mine, N, MPI_INT, all, N, MPI_INT, comm);
    }
    for (int i = 0; i < 4; ++i)
      CHECK(near[i] == MPI_PROC_NULL ? all[i * N] == 0 : holds(all + i * N, N, near[i], 1, 1));
    free(mine), free(all);
  }
  MPI_Comm_free(&comm);
}

/* Along a line, so that what goes to one side and comes from the other is told apart. */
static void cart_alltoall(void) {
  int shape[1] = {size}, line[1] = {0}, out[2] = {rank * 10, rank * 10 + 1}, in[2] = {-1, -1};
  MPI_Comm comm;
  MPI_Cart_create(MPI_COMM_WORLD, 1, shape, line, 0, &comm);
  MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm);
  CHECK(in[0] == (rank == 0 ? -1 : (rank - 1) * 10 + 1));
  CHECK(in[1] == (rank == size - 1 ? -1 : (rank + 1) * 10));
  MPI_Comm_free(&comm);
}

/* A halo of four sides of a field, each with a type of its own and without copies. */
static void cart_halo(void) {
  enum { N = 12, WIDE = N + 2 };
  static int field[WIDE][WIDE];
  int shape[2], near[4], counts[4] = {1, 1, 1, 1};
  MPI_Comm comm = grid(shape);
  grid_neighbours(comm, near);
  for (int i = 0; i < WIDE; ++i)
    for (int j = 0; j < WIDE; ++j)
      field[i][j] = i > 0 && j > 0 && i <= N && j <= N ? pattern(rank, i, 2, j) : -1;
  MPI_Datatype row, column;
  MPI_Type_contiguous(N, MPI_INT, &row);
  MPI_Type_vector(N, 1, WIDE, MPI_INT, &column);
  MPI_Type_commit(&row), MPI_Type_commit(&column);
  MPI_Datatype types[4] = {row, row, column, column};
  MPI_Aint from[4] = {0, (N - 1) * WIDE * sizeof(int), 0,
                      (N - 1) * sizeof(int)}; /* behind the first corner */
  MPI_Aint to[4] = {1 * sizeof(int), ((N + 1) * WIDE + 1) * sizeof(int), 1 * WIDE * sizeof(int),
                    (1 * WIDE + N + 1) * sizeof(int)};
  MPI_Neighbor_alltoallw(&field[1][1], counts, from, types, field, counts, to, types, comm);
  for (int i = 1; i <= N; ++i) {
    CHECK(shape[0] <= 2 || field[0][i] == pattern(near[0], N, 2, i));
    CHECK(shape[0] <= 2 || field[N + 1][i] == pattern(near[1], 1, 2, i));
    CHECK(field[i][0] == (near[2] == MPI_PROC_NULL ? -1 : pattern(near[2], i, 2, N)));
    CHECK(field[i][N + 1] == (near[3] == MPI_PROC_NULL ? -1 : pattern(near[3], i, 2, 1)));
  }
  MPI_Type_free(&row), MPI_Type_free(&column);
  MPI_Comm_free(&comm);
}

/* A star: everybody is a neighbour of rank 0. */
static MPI_Comm star(void) {
  int *ends = ints(size), *edges = ints(2 * size), n = 0;
  for (int r = 1; r < size; ++r) edges[n++] = r;
  ends[0] = n;
  for (int r = 1; r < size; ++r) {
    edges[n++] = 0;
    ends[r] = n;
  }
  MPI_Comm comm;
  MPI_Graph_create(MPI_COMM_WORLD, size, ends, edges, 0, &comm);
  free(ends), free(edges);
  return comm;
}

static void graph(void) {
  MPI_Comm comm = star();
  int nodes, edges, n, near[64], kind, *all, *ends = ints(size), *list = ints(2 * size);
  MPI_Topo_test(comm, &kind);
  CHECK(kind == MPI_GRAPH);
  MPI_Graphdims_get(comm, &nodes, &edges);
  CHECK(nodes == size && edges == 2 * (size - 1));
  MPI_Graph_get(comm, size, edges, ends, list);
  CHECK(ends[0] == size - 1 && ends[size - 1] == edges && list[size - 1] == 0);
  MPI_Graph_neighbors_count(comm, rank, &n);
  CHECK(n == (rank == 0 ? size - 1 : 1));
  MPI_Graph_neighbors(comm, rank, n, near);
  for (int i = 0; i < n; ++i) CHECK(near[i] == (rank == 0 ? i + 1 : 0));
  all = ints(n);
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, comm);
  for (int i = 0; i < n; ++i) CHECK(all[i] == near[i]);
  free(all), free(ends), free(list);
  MPI_Comm_free(&comm);
}

/* Each rank sends to the next and to the one after it: told by those concerned. */
static MPI_Comm ring_of_two(int in[2], int out[2]) {
  MPI_Comm comm;
  int weights[2] = {3, 4};
  for (int i = 0; i < 2; ++i) in[i] = (rank + size - 1 - i) % size, out[i] = (rank + 1 + i) % size;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, in, weights, 2, out, weights, MPI_INFO_NULL, 0, &comm);
  return comm;
}

static void dist_graph_adjacent(void) {
  int in[2], out[2], kind, ins, outs, weighted, got_in[2], got_out[2], w_in[2], w_out[2];
  MPI_Comm comm = ring_of_two(in, out);
  MPI_Topo_test(comm, &kind);
  CHECK(kind == MPI_DIST_GRAPH);
  MPI_Dist_graph_neighbors_count(comm, &ins, &outs, &weighted);
  CHECK(ins == 2 && outs == 2 && weighted);
  MPI_Dist_graph_neighbors(comm, 2, got_in, w_in, 2, got_out, w_out);
  for (int i = 0; i < 2; ++i)
    CHECK(got_in[i] == in[i] && got_out[i] == out[i] && w_in[i] == 3 + i && w_out[i] == 3 + i);
  MPI_Comm_free(&comm);
}

/* Rank 0 alone tells of all edges, with their weights. */
static void dist_graph(void) {
  int n = rank == 0 ? size : 0, *sources = ints(size), *ones = ints(size), *targets = ints(size);
  int *weights = ints(size), ins, outs, weighted, from, to, came, went, got = -1;
  for (int r = 0; r < size; ++r) sources[r] = r, ones[r] = 1, targets[r] = (r + 3) % size, weights[r] = 7 * r;
  MPI_Comm comm;
  MPI_Dist_graph_create(MPI_COMM_WORLD, n, sources, ones, targets, weights, MPI_INFO_NULL, 0, &comm);
  MPI_Dist_graph_neighbors_count(comm, &ins, &outs, &weighted);
  CHECK(ins == 1 && outs == 1 && weighted);
  MPI_Dist_graph_neighbors(comm, 1, &from, &came, 1, &to, &went);
  CHECK(from == (rank + 2 * size - 3) % size && came == 7 * from && to == (rank + 3) % size &&
        went == 7 * rank);
  MPI_Neighbor_alltoall(&rank, 1, MPI_INT, &got, 1, MPI_INT, comm);
  CHECK(got == from);
  MPI_Comm_free(&comm);
  free(sources), free(ones), free(targets), free(weights);
}

static void dist_graph_uneven(void) {
  int in[2], out[2];
  MPI_Comm comm = ring_of_two(in, out);
  /* The nearer neighbour gets as many numbers as the sender's rank, the farther one ten more. */
  int counts[2] = {rank, rank + 10}, places[2] = {0, rank}, in_counts[2] = {in[0], in[1] + 10};
  int in_places[2] = {0, in[0] + 1}, *data = ints(2 * rank + 10), *got = ints(in[0] + in[1] + 11);
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < counts[i]; ++k) data[places[i] + k] = pattern(rank, out[i], 3, k);
  MPI_Neighbor_alltoallv(data, counts, places, MPI_INT, got, in_counts, in_places, MPI_INT, comm);
  for (int i = 0; i < 2; ++i) CHECK(holds(got + in_places[i], in_counts[i], in[i], rank, 3));
  CHECK(got[in[0]] == 0);
  int near_counts[2] = {in[0] + 1, in[1] + 1}, near_places[2] = {0, in[0] + 1};
  int *mine = filled(rank + 1, rank, 4, 4), *all = ints(in[0] + in[1] + 2);
  MPI_Neighbor_allgatherv(mine, rank + 1, MPI_INT, all, near_counts, near_places, MPI_INT, comm);
  for (int i = 0; i < 2; ++i) CHECK(holds(all + near_places[i], near_counts[i], in[i], 4, 4));
  free(data), free(got), free(mine), free(all);
  MPI_Comm_free(&comm);
}

static void dist_graph_nonblocking(void) {
  int in[2], out[2], data[2], got[2] = {-1, -1}, near[2] = {-1, -1};
  MPI_Comm comm = ring_of_two(in, out);
  MPI_Request requests[2];
  for (int i = 0; i < 2; ++i) data[i] = rank * 100 + out[i];
  MPI_Ineighbor_alltoall(data, 1, MPI_INT, got, 1, MPI_INT, comm, &requests[0]);
  MPI_Ineighbor_allgather(&rank, 1, MPI_INT, near, 1, MPI_INT, comm, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 2; ++i) CHECK(got[i] == in[i] * 100 + rank && near[i] == in[i]);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  static const struct Case cases[] = {{"dims", dims},
                                      {"cart_places", cart_places},
                                      {"cart_shift", cart_shift},
                                      {"cart_parts", cart_parts},
                                      {"cart_left_out", cart_left_out},
                                      {"cart_allgather", cart_allgather},
                                      {"cart_alltoall", cart_alltoall},
                                      {"cart_halo", cart_halo},
                                      {"graph", graph},
                                      {"dist_graph_adjacent", dist_graph_adjacent},
                                      {"dist_graph", dist_graph},
                                      {"dist_graph_uneven", dist_graph_uneven},
                                      {"dist_graph_nonblocking", dist_graph_nonblocking}};
  return suite(argc, argv, MPI_THREAD_SINGLE, "suite_topology", cases, COUNT_OF(cases));
}
