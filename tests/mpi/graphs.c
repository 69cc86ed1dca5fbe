/* Graph topologies, made in every way, with and without leave to give ranks other numbers; neighbourhood
 * collectives on them. */
#include "check.h"

/* The compiler looks for an array where MPI_UNWEIGHTED stands. */
#pragma GCC diagnostic ignored "-Wstringop-overread"

/* A ring with a chord: everybody sends to the next and to the one three further. */
static void neighbours(MPI_Comm graph) {
  int me, in, out, weighted;
  MPI_Comm_rank(graph, &me);
  MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
  CHECK(in == 2 && out == 2);
  int sources[2], targets[2], weights[4];
  MPI_Dist_graph_neighbors(graph, 2, sources, weighted ? weights : MPI_UNWEIGHTED, 2, targets,
                           weighted ? weights + 2 : MPI_UNWEIGHTED);
  int give[2], take[2] = {-1, -1};
  for (int i = 0; i < 2; ++i) give[i] = pattern(me, targets[i], 0, 0);
  MPI_Neighbor_alltoall(give, 1, MPI_INT, take, 1, MPI_INT, graph);
  for (int i = 0; i < 2; ++i) CHECK(take[i] == pattern(sources[i], me, 0, 0));
  int all[2] = {-1, -1};
  MPI_Neighbor_allgather(&me, 1, MPI_INT, all, 1, MPI_INT, graph);
  for (int i = 0; i < 2; ++i) CHECK(all[i] == sources[i]);
  int of_ring = 0, of_chord = 0;
  for (int i = 0; i < 2; ++i) {
    of_ring += targets[i] == (me + 1) % size;
    of_chord += targets[i] == (me + 3) % size;
  }
  CHECK(of_ring >= 1 && of_chord >= 1);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  for (int reorder = 0; reorder < 2; ++reorder) {
    for (int weighted = 0; weighted < 2; ++weighted) {
      int targets[2] = {(rank + 1) % size, (rank + 3) % size}, degree = 2;
      int sources[2] = {(rank + size - 1) % size, (rank + size - 3) % size}, weights[2] = {5, 1};
      MPI_Comm graph;
      MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &degree, targets, weighted ? weights : MPI_UNWEIGHTED,
                            MPI_INFO_NULL, reorder, &graph);
      neighbours(graph);
      MPI_Comm_free(&graph);
      MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, weighted ? weights : MPI_UNWEIGHTED, 2,
                                     targets, weighted ? weights : MPI_UNWEIGHTED, MPI_INFO_NULL, reorder,
                                     &graph);
      neighbours(graph);
      MPI_Comm_free(&graph);
    }
    /* The whole graph, told by one rank. */
    MPI_Comm graph;
    int *nodes = malloc(sizeof(int) * size), *degrees = malloc(sizeof(int) * size);
    int* to = malloc(2 * sizeof(int) * size);
    for (int i = 0; i < size; ++i) {
      nodes[i] = i;
      degrees[i] = 2;
      to[2 * i] = (i + 1) % size;
      to[2 * i + 1] = (i + 3) % size;
    }
    MPI_Dist_graph_create(MPI_COMM_WORLD, rank == 0 ? size : 0, nodes, degrees, to, MPI_UNWEIGHTED,
                          MPI_INFO_NULL, reorder, &graph);
    neighbours(graph);
    MPI_Comm_free(&graph);
    free(to);
    free(degrees);
    free(nodes);
  }
  return end("graphs");
}
