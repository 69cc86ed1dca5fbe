/* A stencil on a periodic grid, cut into blocks: the four rims go to the neighbours in every step. The sum
 * over the grid stays, whatever the number of ranks. halo [edge of a block [steps]]
 */
#include <math.h>

#include "check.h"

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int edge = argc > 1 ? atoi(argv[1]) : 48, steps = argc > 2 ? atoi(argv[2]) : 10;
  int dims[2] = {0, 0}, periods[2] = {1, 1}, north, south, west, east;
  MPI_Dims_create(size, 2, dims);
  MPI_Comm grid;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Cart_shift(grid, 0, 1, &north, &south);
  MPI_Cart_shift(grid, 1, 1, &west, &east);
  int width = edge + 2;
  double* now = calloc((size_t)width * (size_t)width, sizeof(double));
  double* next = calloc((size_t)width * (size_t)width, sizeof(double));
  MPI_Datatype column;
  MPI_Type_vector(edge, 1, width, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  for (int i = 1; i <= edge; ++i)
    for (int j = 1; j <= edge; ++j) now[i * width + j] = rank * 10 + i + j * 0.5;
  double before = 0, after = 0, mine = 0;
  for (int i = 1; i <= edge; ++i)
    for (int j = 1; j <= edge; ++j) mine += now[i * width + j];
  MPI_Allreduce(&mine, &before, 1, MPI_DOUBLE, MPI_SUM, grid);
  double start = MPI_Wtime();
  for (int step = 0; step < steps; ++step) {
    MPI_Request r[8];
    MPI_Irecv(&now[1], edge, MPI_DOUBLE, north, 0, grid, &r[0]);
    MPI_Irecv(&now[(edge + 1) * width + 1], edge, MPI_DOUBLE, south, 1, grid, &r[1]);
    MPI_Irecv(&now[width], 1, column, west, 2, grid, &r[2]);
    MPI_Irecv(&now[width + edge + 1], 1, column, east, 3, grid, &r[3]);
    MPI_Isend(&now[edge * width + 1], edge, MPI_DOUBLE, south, 0, grid, &r[4]);
    MPI_Isend(&now[width + 1], edge, MPI_DOUBLE, north, 1, grid, &r[5]);
    MPI_Isend(&now[width + edge], 1, column, east, 2, grid, &r[6]);
    MPI_Isend(&now[width + 1], 1, column, west, 3, grid, &r[7]);
    MPI_Waitall(8, r, MPI_STATUSES_IGNORE);
    for (int i = 1; i <= edge; ++i)
      for (int j = 1; j <= edge; ++j)
        next[i * width + j] =
            0.2 * (now[i * width + j] + now[(i - 1) * width + j] + now[(i + 1) * width + j] +
                   now[i * width + j - 1] + now[i * width + j + 1]);
    double* swap = now;
    now = next;
    next = swap;
  }
  double time = (MPI_Wtime() - start) / steps * 1e6, longest;
  mine = 0;
  for (int i = 1; i <= edge; ++i)
    for (int j = 1; j <= edge; ++j) mine += now[i * width + j];
  MPI_Allreduce(&mine, &after, 1, MPI_DOUBLE, MPI_SUM, grid);
  CHECK(fabs(after - before) < 1e-9 * before);
  MPI_Reduce(&time, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, grid);
  if (rank == 0)
    printf("%d x %d blocks of %d x %d: %.6f us per step\n", dims[0], dims[1], edge, edge, longest);
  MPI_Type_free(&column);
  MPI_Comm_free(&grid);
  free(now);
  free(next);
  return end("halo");
}
