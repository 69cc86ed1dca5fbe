/* Operations on memory of others that read, compute and write as one; and types with gaps on both sides. */
#include "suite.h"

static MPI_Win window_on(void* memory, int bytes) {
  MPI_Win window;
  MPI_Win_create(memory, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  return window;
}

/* All ranks fetch and add at once; every value is handed out once. */
static void tickets(void) {
  enum { EACH = 8 };
  long counter = 0, one = 1, got[EACH], *all = calloc((size_t)(EACH * size), sizeof(long));
  MPI_Win window = window_on(&counter, sizeof counter);
  MPI_Win_lock_all(0, window);
  for (int i = 0; i < EACH; ++i) {
    MPI_Fetch_and_op(&one, &got[i], MPI_LONG, 0, 0, MPI_SUM, window);
    MPI_Win_flush(0, window);
    CHECK(i == 0 || got[i] > got[i - 1]);
  }
  MPI_Win_unlock_all(window);
  MPI_Allgather(got, EACH, MPI_LONG, all, EACH, MPI_LONG, MPI_COMM_WORLD);
  long seen = 0;
  for (int i = 0; i < EACH * size; ++i) seen += all[i];
  CHECK(seen == (long)EACH * size * (EACH * size - 1) / 2);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(rank != 0 || counter == EACH * size);
  MPI_Win_free(&window);
  free(all);
}

/* Every rank gives its numbers to every other with each operation: what is there depends on no order. */
static void accumulate_every_operation(void) {
  MPI_Op ops[] = EVERY_OPERATION;
  enum { N = 20 };
  for (int op = 0; op < COUNT_OF(ops); ++op) {
    long memory[N], mine[N], expected[N];
    for (int i = 0; i < N; ++i) {
      memory[i] = expected[i] = 3 + i % 2;
      mine[i] = (rank + i) % 5;
      for (int r = 0; r < size; ++r) expected[i] = applied(op, expected[i], (r + i) % 5);
    }
    MPI_Win window = window_on(memory, sizeof memory);
    MPI_Win_fence(0, window);
    for (int r = 0; r < size; ++r) MPI_Accumulate(mine, N, MPI_LONG, r, 0, N, MPI_LONG, ops[op], window);
    MPI_Win_fence(0, window);
    CHECK(!memcmp(memory, expected, sizeof memory));
    MPI_Win_free(&window);
  }
}

static void accumulate_doubles(void) {
  enum { N = 3000 };
  static double memory[N], mine[N];
  for (int i = 0; i < N; ++i) memory[i] = 0.5, mine[i] = rank + i * 0.25;
  MPI_Win window = window_on(memory, sizeof memory);
  for (int r = 0; r < size; ++r) {
    MPI_Win_lock(MPI_LOCK_SHARED, r, 0, window);
    MPI_Accumulate(mine, N, MPI_DOUBLE, r, 0, N, MPI_DOUBLE, MPI_SUM, window);
    MPI_Win_unlock(r, window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  int right = 1;
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
  for (int i = 0; i < N; ++i) right &= memory[i] == 0.5 + size * (size - 1) / 2 + size * i * 0.25;
  MPI_Win_unlock(rank, window);
  CHECK(right);
  MPI_Win_free(&window);
}

/* Reads by no operation, exchanges by replacement. */
static void get_accumulate(void) {
  enum { N = 30 };
  int memory[N], old[N], mine[N];
  for (int i = 0; i < N; ++i) memory[i] = pattern(rank, 1, 1, i), mine[i] = pattern(rank, 2, 2, i);
  MPI_Win window = window_on(memory, sizeof memory);
  MPI_Win_fence(0, window);
  MPI_Get_accumulate(NULL, 0, MPI_INT, old, N, MPI_INT, right_of(), 0, N, MPI_INT, MPI_NO_OP, window);
  MPI_Win_fence(0, window);
  CHECK(holds(old, N, right_of(), 1, 1) && holds(memory, N, rank, 1, 1));
  MPI_Get_accumulate(mine, N, MPI_INT, old, N, MPI_INT, right_of(), 0, N, MPI_INT, MPI_REPLACE, window);
  MPI_Win_fence(0, window);
  CHECK(holds(old, N, right_of(), 1, 1) && holds(memory, N, left_of(), 2, 2));
  MPI_Win_free(&window);
}

/* A lock out of compare and swap, and a counter that only its holder changes. */
static void compare_and_swap(void) {
  enum { TURNS = 3 };
  int memory[2] = {-1, 0}, nobody = -1, seen, value;
  MPI_Win window = window_on(memory, sizeof memory);
  MPI_Win_lock_all(0, window);
  for (int turn = 0; turn < TURNS; ++turn) {
    do {
      MPI_Compare_and_swap(&rank, &nobody, &seen, MPI_INT, 0, 0, window);
      MPI_Win_flush(0, window);
    } while (seen != nobody);
    MPI_Get(&value, 1, MPI_INT, 0, sizeof(int), 1, MPI_INT, window);
    MPI_Win_flush(0, window);
    ++value;
    MPI_Put(&value, 1, MPI_INT, 0, sizeof(int), 1, MPI_INT, window);
    MPI_Win_flush(0, window);
    MPI_Compare_and_swap(&nobody, &rank, &seen, MPI_INT, 0, 0, window);
    MPI_Win_flush(0, window);
    CHECK(seen == rank);
  }
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(rank != 0 || (memory[0] == -1 && memory[1] == TURNS * size));
  MPI_Win_free(&window);
}

static void fetch_every_operation(void) {
  int memory[1] = {rank + 1}, value = 6, old = 0;
  MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_BXOR, MPI_REPLACE, MPI_NO_OP};
  MPI_Win window = window_on(memory, sizeof memory);
  int expected = right_of() + 1;
  for (int op = 0; op < COUNT_OF(ops); ++op) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right_of(), 0, window);
    MPI_Fetch_and_op(&value, &old, MPI_INT, right_of(), 0, ops[op], window);
    MPI_Win_unlock(right_of(), window);
    CHECK(old == expected);
    if (op == 0) expected += 6;
    if (op == 1) expected *= 6;
    if (op == 2) expected = expected < 6 ? expected : 6;
    if (op == 3) expected = expected > 6 ? expected : 6;
    if (op == 4) expected ^= 6;
    if (op == 5) expected = 6;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
}

/* A column here becomes a row there, and the other way round. */
static void strided(void) {
  enum { N = 40 };
  static int matrix[N][N], mine[N][N];
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j) matrix[i][j] = 0, mine[i][j] = pattern(rank, i, 3, j);
  MPI_Datatype column;
  MPI_Type_vector(N, 1, N, MPI_INT, &column);
  MPI_Type_commit(&column);
  MPI_Win window = window_on(matrix, sizeof matrix);
  MPI_Win_fence(0, window);
  MPI_Put(&mine[0][3], 1, column, right_of(), 5 * N * sizeof(int), N, MPI_INT, window);
  MPI_Put(&mine[7][0], N, MPI_INT, right_of(), 8 * sizeof(int), 1, column, window);
  MPI_Win_fence(0, window);
  for (int i = 0; i < N; ++i) {
    if (i != 8) CHECK(matrix[5][i] == pattern(left_of(), i, 3, 3));
    if (i != 5) CHECK(matrix[i][8] == pattern(left_of(), 7, 3, i));
    CHECK(matrix[i][11] == (i == 5 ? pattern(left_of(), 11, 3, 3) : 0));
  }
  static int in[N][N];
  MPI_Win_fence(0, window);
  MPI_Get(&in[0][2], 1, column, right_of(), 8 * sizeof(int), 1, column, window);
  MPI_Win_fence(0, window);
  for (int i = 0; i < N; ++i)
    if (i != 5) CHECK(in[i][2] == pattern(rank, 7, 3, i));
  MPI_Win_free(&window);
  MPI_Type_free(&column);
}

/* The origin is told by addresses of its own alone. */
static void from_bottom(void) {
  int a[6], b[6], memory[12] = {0};
  for (int i = 0; i < 6; ++i) a[i] = pattern(rank, 4, 4, i), b[i] = pattern(rank, 4, 4, 6 + i);
  MPI_Aint places[2];
  int lengths[2] = {6, 6};
  MPI_Get_address(a, &places[0]), MPI_Get_address(b, &places[1]);
  MPI_Datatype both;
  MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &both);
  MPI_Type_commit(&both);
  MPI_Win window = window_on(memory, sizeof memory);
  MPI_Win_fence(0, window);
  MPI_Put(MPI_BOTTOM, 1, both, right_of(), 0, 12, MPI_INT, window);
  MPI_Win_fence(0, window);
  CHECK(holds(memory, 12, left_of(), 4, 4));
  memset(a, 0, sizeof a), memset(b, 0, sizeof b);
  MPI_Get(MPI_BOTTOM, 1, both, right_of(), 0, 12, MPI_INT, window);
  MPI_Win_fence(0, window);
  CHECK(holds(a, 6, rank, 4, 4) && b[0] == pattern(rank, 4, 4, 6) && b[5] == pattern(rank, 4, 4, 11));
  MPI_Win_free(&window);
  MPI_Type_free(&both);
}

/* Sums into every third number of the target. */
static void accumulate_strided(void) {
  enum { N = 25 };
  int memory[3 * N], mine[N];
  for (int i = 0; i < 3 * N; ++i) memory[i] = 1;
  for (int i = 0; i < N; ++i) mine[i] = rank + i;
  MPI_Datatype third;
  MPI_Type_vector(N, 1, 3, MPI_INT, &third);
  MPI_Type_commit(&third);
  MPI_Win window = window_on(memory, sizeof memory);
  MPI_Win_fence(0, window);
  for (int r = 0; r < size; ++r) MPI_Accumulate(mine, N, MPI_INT, r, 0, 1, third, MPI_SUM, window);
  MPI_Win_fence(0, window);
  for (int i = 0; i < 3 * N; ++i)
    CHECK(memory[i] == 1 + (i % 3 ? 0 : size * (size - 1) / 2 + size * (i / 3)));
  MPI_Win_free(&window);
  MPI_Type_free(&third);
}

/* Who waits spins on a word of its own; who leaves tells the next (the queue of Mellor-Crummey and Scott). */
static void queue_lock(void) {
  enum { TAIL, NEXT, BLOCKED, COUNTER, WORDS };
  int nobody = -1, zero = 0, one = 1, before, next, old, *memory;
  MPI_Win window;
  MPI_Win_allocate(WORDS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_lock_all(0, window);
  memory[TAIL] = memory[NEXT] = -1, memory[BLOCKED] = memory[COUNTER] = 0;
  MPI_Win_sync(window);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int turn = 0; turn < 2; ++turn) {
    MPI_Fetch_and_op(&nobody, &old, MPI_INT, rank, NEXT, MPI_REPLACE, window);
    MPI_Fetch_and_op(&one, &old, MPI_INT, rank, BLOCKED, MPI_REPLACE, window);
    MPI_Win_flush(rank, window);
    MPI_Fetch_and_op(&rank, &before, MPI_INT, 0, TAIL, MPI_REPLACE, window);
    MPI_Win_flush(0, window);
    if (before != nobody) {
      MPI_Accumulate(&rank, 1, MPI_INT, before, NEXT, 1, MPI_INT, MPI_REPLACE, window);
      MPI_Win_flush(before, window);
      do {
        MPI_Fetch_and_op(NULL, &old, MPI_INT, rank, BLOCKED, MPI_NO_OP, window);
        MPI_Win_flush(rank, window);
      } while (old);
    }
    MPI_Get(&old, 1, MPI_INT, 0, COUNTER, 1, MPI_INT, window);
    MPI_Win_flush(0, window);
    ++old;
    MPI_Put(&old, 1, MPI_INT, 0, COUNTER, 1, MPI_INT, window);
    MPI_Win_flush(0, window);
    MPI_Compare_and_swap(&nobody, &rank, &old, MPI_INT, 0, TAIL, window);
    MPI_Win_flush(0, window);
    if (old == rank) continue;
    do {
      MPI_Fetch_and_op(NULL, &next, MPI_INT, rank, NEXT, MPI_NO_OP, window);
      MPI_Win_flush(rank, window);
    } while (next == nobody);
    MPI_Accumulate(&zero, 1, MPI_INT, next, BLOCKED, 1, MPI_INT, MPI_REPLACE, window);
    MPI_Win_flush(next, window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(window);
  CHECK(rank != 0 || memory[COUNTER] == 2 * size);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

int main(int argc, char** argv) {
  static const struct Case cases[] = {{"tickets", tickets},
                                      {"accumulate_every_operation", accumulate_every_operation},
                                      {"accumulate_doubles", accumulate_doubles},
                                      {"get_accumulate", get_accumulate},
                                      {"compare_and_swap", compare_and_swap},
                                      {"fetch_every_operation", fetch_every_operation},
                                      {"strided", strided},
                                      {"from_bottom", from_bottom},
                                      {"accumulate_strided", accumulate_strided},
                                      {"queue_lock", queue_lock}};
  return suite(argc, argv, MPI_THREAD_SINGLE, "suite_atomics", cases, COUNT_OF(cases));
}
