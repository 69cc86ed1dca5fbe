/* Windows to which memory is attached while they are there. Run with `multiple` as its first argument, the
 * program asks for MPI_THREAD_MULTIPLE, with which Open MPI carries windows by puts of the interface. */
#include "suite.h"

enum { MOST = 8 };

static MPI_Win dynamic_window(void) {
  MPI_Win window;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  return window;
}

/* Tells everybody where everybody's memory is. */
static void exchange(const void* mine, MPI_Aint* all) {
  MPI_Aint at;
  MPI_Get_address(mine, &at);
  MPI_Allgather(&at, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD);
}

/* What is put is there, and nothing beside it; what is got is what is there. */
static void put_and_get(void) {
  MPI_Aint all[64];
  MPI_Win window = dynamic_window();
  for (int n = 1; n <= 10000; n *= 10) {
    int *memory = filled(3 * n, rank, 1, n), *out = filled(n, rank, 2, n), *in = ints(3 * n);
    MPI_Win_attach(window, memory, 3 * n * (MPI_Aint)sizeof(int));
    exchange(memory, all);
    MPI_Win_lock(MPI_LOCK_SHARED, right_of(), 0, window);
    MPI_Put(out, n, MPI_INT, right_of(), MPI_Aint_add(all[right_of()], n * (MPI_Aint)sizeof(int)), n, MPI_INT,
            window);
    MPI_Win_flush(right_of(), window);
    MPI_Get(in, 3 * n, MPI_INT, right_of(), all[right_of()], 3 * n, MPI_INT, window);
    MPI_Win_unlock(right_of(), window);
    CHECK(holds(in, n, right_of(), 1, n) && holds(in + n, n, rank, 2, n));
    CHECK(in[2 * n] == pattern(right_of(), 1, n, 2 * n) &&
          in[3 * n - 1] == pattern(right_of(), 1, n, 3 * n - 1));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(holds(memory, n, rank, 1, n) && holds(memory + n, n, left_of(), 2, n));
    MPI_Win_detach(window, memory);
    free(memory), free(out), free(in);
  }
  MPI_Win_free(&window);
}

/* Several pieces at once, far from each other and beside each other, given up in another order. */
static void many_pieces(void) {
  enum { N = 50 };
  MPI_Win window = dynamic_window();
  MPI_Aint all[MOST][64];
  int *pieces[MOST], *block = ints(MOST * N);
  for (int p = 0; p < MOST; ++p) {
    pieces[p] = p % 2 ? block + p * N : ints(N);
    MPI_Win_attach(window, pieces[p], N * sizeof(int));
    exchange(pieces[p], all[p]);
  }
  for (int p = 0; p < MOST; ++p) {
    int* out = filled(N, rank, p, 3);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, left_of(), 0, window);
    MPI_Put(out, N, MPI_INT, left_of(), all[p][left_of()], N, MPI_INT, window);
    MPI_Win_unlock(left_of(), window);
    free(out);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int p = 0; p < MOST; ++p) CHECK(holds(pieces[p], N, right_of(), p, 3));
  for (int i = 0; i < MOST; ++i) {
    int p = (3 * i + 1) % MOST;
    MPI_Win_detach(window, pieces[p]);
    if (p % 2 == 0) free(pieces[p]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
  free(block);
}

/* One rank attaches and gives up while the others use what it had before: they must see what is new. */
static void changes_under_way(void) {
  enum { N = 20 };
  MPI_Win window = dynamic_window();
  int *memory[MOST], *in = ints(N);
  MPI_Win_lock_all(0, window);
  for (int turn = 0; turn < MOST; ++turn) {
    MPI_Aint at = 0;
    if (rank == 0) {
      memory[turn] = filled(N, 7, turn, 4);
      MPI_Win_attach(window, memory[turn], N * sizeof(int));
      MPI_Get_address(memory[turn], &at);
      if (turn >= 2) MPI_Win_detach(window, memory[turn - 2]), free(memory[turn - 2]);
    }
    MPI_Bcast(&at, 1, MPI_AINT, 0, MPI_COMM_WORLD);
    memset(in, 0, N * sizeof(int));
    MPI_Get(in, N, MPI_INT, 0, at, N, MPI_INT, window);
    MPI_Win_flush(0, window);
    CHECK(holds(in, N, 7, turn, 4));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Win_unlock_all(window);
  if (rank == 0)
    for (int turn = MOST - 2; turn < MOST; ++turn) MPI_Win_detach(window, memory[turn]), free(memory[turn]);
  MPI_Win_free(&window);
  free(in);
}

/* All add to the same numbers, and draw tickets. */
static void sums(void) {
  enum { N = 12 };
  long memory[N + 1] = {0}, mine[N], one = 1, ticket = -1, seen = 0, all_seen;
  MPI_Aint all[64];
  MPI_Win window = dynamic_window();
  for (int i = 0; i < N; ++i) mine[i] = 10 * rank + i;
  MPI_Win_attach(window, memory, sizeof memory);
  exchange(memory, all);
  MPI_Win_lock_all(0, window);
  for (int r = 0; r < size; ++r) MPI_Accumulate(mine, N, MPI_LONG, r, all[r], N, MPI_LONG, MPI_SUM, window);
  for (int i = 0; i < 3; ++i) {
    MPI_Fetch_and_op(&one, &ticket, MPI_LONG, 0, MPI_Aint_add(all[0], N * sizeof(long)), MPI_SUM, window);
    MPI_Win_flush(0, window);
    seen += ticket;
  }
  MPI_Win_unlock_all(window);
  MPI_Allreduce(&seen, &all_seen, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  CHECK(all_seen == 3l * size * (3 * size - 1) / 2);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
  for (int i = 0; i < N; ++i) CHECK(memory[i] == 10l * size * (size - 1) / 2 + (long)size * i);
  CHECK(memory[N] == (rank == 0 ? 3 * size : 0));
  MPI_Win_unlock(rank, window);
  MPI_Win_detach(window, memory);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
}

static void fences(void) {
  enum { N = 200 };
  MPI_Aint all[64];
  MPI_Win window = dynamic_window();
  int *memory = ints(N), *out = filled(N, rank, 8, 8), *in = ints(N);
  MPI_Win_attach(window, memory, N * sizeof(int));
  exchange(memory, all);
  MPI_Win_fence(0, window);
  MPI_Put(out, N, MPI_INT, left_of(), all[left_of()], N, MPI_INT, window);
  MPI_Win_fence(0, window);
  MPI_Get(in, N, MPI_INT, right_of(), all[right_of()], N, MPI_INT, window);
  MPI_Win_fence(0, window);
  CHECK(holds(memory, N, right_of(), 8, 8) && holds(in, N, (rank + 2) % size, 8, 8));
  MPI_Win_detach(window, memory);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
  free(memory), free(out), free(in);
}

int main(int argc, char** argv) {
  static const struct Case cases[] = {{"put_and_get", put_and_get},
                                      {"many_pieces", many_pieces},
                                      {"changes_under_way", changes_under_way},
                                      {"sums", sums},
                                      {"fences", fences}};
  int multiple = argc > 1 && !strcmp(argv[1], "multiple");
  for (int i = 1; multiple && i < argc; ++i) argv[i] = argv[i + 1];
  return suite(argc - multiple, argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, "suite_dynamic",
               cases, COUNT_OF(cases));
}
