/* Halo exchange: every rank owns a block of a two-dimensional grid and puts its edges straight into its
 * neighbours' memory, step by step. The sum over the grid is checked against what one process would compute.
 *
 *   weft run torus -n 4 -- build/examples/halo [edge] [steps]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

enum { NORTH, SOUTH, WEST, EAST, SIDES };

static void check(int result, const char* what) {
  if (result < 0) {
    fprintf(stderr, "%s: %s\n", what, strerror(-result));
    exit(1);
  }
}

static int opposite(int side) { return side ^ 1; }

int main(int argc, char** argv) {
  int edge = argc > 1 ? atoi(argv[1]) : 32, steps = argc > 2 ? atoi(argv[2]) : 10;
  int rank = weft_rank(), size = weft_size();
  if (rank < 0) {
    fprintf(stderr, "start it with: weft run MACHINE -n 4 -- halo [edge] [steps]\n");
    return 2;
  }
  int rows = 1;
  while (rows * rows < size) ++rows;
  while (size % rows) --rows;
  int columns = size / rows, row = rank / columns, column = rank % columns;
  int neighbour[SIDES] = {(row + rows - 1) % rows * columns + column, (row + 1) % rows * columns + column,
                          row * columns + (column + columns - 1) % columns,
                          row * columns + (column + 1) % columns};

  weft_port* port;
  check(weft_open(&port), "open");
  /* Two sets of edges, for odd and even steps: [step % 2][out 4, in 4][edge]. */
  size_t bytes = sizeof(double) * (size_t)edge * 2 * 2 * SIDES;
  double* halo = calloc(1, bytes);
  weft_memory mine, theirs[SIDES];
  check(weft_register(port, halo, bytes, WEFT_REMOTE_WRITE, &mine), "register");
  for (int s = 0; s < SIDES; ++s) {
    weft_address to;
    check(weft_lookup(port, neighbour[s], 0, &to), "lookup");
    check(weft_send(port, to, &mine, sizeof mine, (uint32_t)opposite(s), 0, 0), "send");
  }
  for (int s = 0; s < SIDES; ++s) {
    weft_message m;
    weft_memory got;
    int result;
    while ((result = weft_receive(port, &got, sizeof got, &m)) == 0) check(weft_wait(port, -1), "wait");
    check(result, "receive");
    theirs[m.tag] = got;
  }

  double* grid = malloc(sizeof(double) * (size_t)(edge * edge));
  for (int i = 0; i < edge * edge; ++i) grid[i] = rank + 1;
  int arrived[2] = {0, 0};
  int64_t start = weft_now_ps();
  for (int step = 0; step < steps; ++step) {
    double* out = halo + (size_t)(step % 2 * 2 * SIDES * edge);
    double* in = out + SIDES * edge;
    for (int i = 0; i < edge; ++i) {
      out[NORTH * edge + i] = grid[i];
      out[SOUTH * edge + i] = grid[(edge - 1) * edge + i];
      out[WEST * edge + i] = grid[i * edge];
      out[EAST * edge + i] = grid[i * edge + edge - 1];
    }
    for (int s = 0; s < SIDES; ++s) {
      uint64_t from = (uint64_t)((char*)(out + s * edge) - (char*)halo);
      uint64_t to = (uint64_t)((char*)(in + opposite(s) * edge) - (char*)halo);
      check(weft_put(port, mine.key, from, theirs[s], to, sizeof(double) * (uint64_t)edge, (uint64_t)step,
                     WEFT_NOTIFY_REMOTE, 0),
            "put");
    }
    while (arrived[step % 2] < SIDES) {
      weft_event e;
      int got = weft_poll(port, &e);
      check(got, "poll");
      if (got == 0) {
        check(weft_wait(port, -1), "wait");
      } else if (e.kind == WEFT_EVENT_FAILED) {
        fprintf(stderr, "a put failed: %s\n", weft_status_text(e.status));
        return 1;
      } else if (e.kind == WEFT_EVENT_ARRIVED) {
        ++arrived[e.data % 2];
      }
    }
    arrived[step % 2] = 0;
    weft_compute(edge * edge);       /* a nanosecond for each cell */
    for (int i = 0; i < edge; ++i) { /* the rim takes the mean of itself and its neighbour's rim */
      grid[i] = (grid[i] + in[NORTH * edge + i]) / 2;
      grid[(edge - 1) * edge + i] = (grid[(edge - 1) * edge + i] + in[SOUTH * edge + i]) / 2;
      if (i == 0 || i == edge - 1) continue;
      grid[i * edge] = (grid[i * edge] + in[WEST * edge + i]) / 2;
      grid[i * edge + edge - 1] = (grid[i * edge + edge - 1] + in[EAST * edge + i]) / 2;
    }
  }
  double time = (double)(weft_now_ps() - start) / 1e6, sum = 0;
  for (int i = 0; i < edge * edge; ++i) sum += grid[i];
  printf("rank %d of %d x %d: sum %.12g, %.6f us per step\n", rank, rows, columns, sum, time / steps);
  free(grid);
  int result = weft_close(port);
  free(halo);
  return result;
}
