/* Memory of others without their help: put, get, accumulate and its relatives under every kind of epoch. */
#include "check.h"

enum { WORDS = 3000 };
static long* memory;
static MPI_Win window;

static void put_get(void) {
  static long in[WORDS];
  static const int counts[] = {1, 17, 1000, WORDS};
  for (int k = 0; k < 4; ++k) {
    int right = (rank + 1 + k) % size, left = (rank + size * 4 - 1 - k) % size, n = counts[k];
    static long out[WORDS];
    for (int i = 0; i < n; ++i) out[i] = pattern(rank, right, k, i);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
    MPI_Put(out, n, MPI_LONG, right, 0, n, MPI_LONG, window);
    MPI_Win_fence(0, window);
    int same = 1;
    for (int i = 0; i < n; ++i) same &= memory[i] == pattern(left, rank, k, i);
    CHECK(same);
    MPI_Win_fence(0, window);
    MPI_Get(in, n, MPI_LONG, right, 0, n, MPI_LONG, window);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    same = 1;
    for (int i = 0; i < n; ++i) same &= in[i] == pattern(rank, right, k, i);
    CHECK(same);
  }
}

static void accumulate(void) {
  static long ones[500];
  for (int i = 0; i < 500; ++i) ones[i] = rank + 1, memory[i] = 0;
  MPI_Win_fence(0, window);
  for (int target = 0; target < size; ++target)
    MPI_Accumulate(ones, 500, MPI_LONG, target, 0, 500, MPI_LONG, MPI_SUM, window);
  MPI_Win_fence(0, window);
  int same = 1;
  for (int i = 0; i < 500; ++i) same &= memory[i] == (long)size * (size + 1) / 2;
  CHECK(same);
  MPI_Win_fence(0, window);
  long old[4] = {0}, add[4] = {1, 2, 3, 4};
  MPI_Get_accumulate(add, 4, MPI_LONG, old, 4, MPI_LONG, (rank + 1) % size, 0, 4, MPI_LONG, MPI_SUM, window);
  MPI_Win_fence(0, window);
  for (int i = 0; i < 4; ++i) {
    CHECK(old[i] == (long)size * (size + 1) / 2);
    CHECK(memory[i] == (long)size * (size + 1) / 2 + i + 1);
  }
  MPI_Win_fence(0, window);
}

/* A counter that everybody draws numbers from, and a lock made of compare-and-swap, both at rank 0. */
static void atomics(void) {
  enum { DRAWS = 10 };
  long one = 1, drawn, sum = 0, all = 0, n = (long)DRAWS * size;
  memory[0] = memory[1] = memory[2] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  for (int i = 0; i < DRAWS; ++i) {
    MPI_Fetch_and_op(&one, &drawn, MPI_LONG, 0, 0, MPI_SUM, window);
    MPI_Win_flush(0, window);
    sum += drawn;
  }
  MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  CHECK(all == n * (n - 1) / 2);
  for (int i = 0; i < 3; ++i) {
    long mine = rank + 1, is_free = 0, found = -1, value, next;
    do {
      MPI_Compare_and_swap(&mine, &is_free, &found, MPI_LONG, 0, 1, window);
      MPI_Win_flush(0, window);
    } while (found != 0);
    MPI_Get(&value, 1, MPI_LONG, 0, 2, 1, MPI_LONG, window);
    MPI_Win_flush(0, window);
    next = value + 1;
    MPI_Put(&next, 1, MPI_LONG, 0, 2, 1, MPI_LONG, window);
    MPI_Win_flush(0, window);
    MPI_Compare_and_swap(&is_free, &mine, &found, MPI_LONG, 0, 1, window);
    MPI_Win_flush(0, window);
    CHECK(found == mine);
  }
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
  long total = 0;
  MPI_Get(&total, 1, MPI_LONG, 0, 2, 1, MPI_LONG, window);
  MPI_Win_unlock(0, window);
  CHECK(total == 3L * size);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void locks(void) {
  memory[5] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 4; ++i) { /* read, add one, write: only right if nobody comes between */
    long value = -1;
    int target = i % size;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window);
    MPI_Get(&value, 1, MPI_LONG, target, 5, 1, MPI_LONG, window);
    MPI_Win_flush(target, window);
    ++value;
    MPI_Put(&value, 1, MPI_LONG, target, 5, 1, MPI_LONG, window);
    MPI_Win_unlock(target, window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
  long expected = 0;
  for (int i = 0; i < 4; ++i) expected += i % size == rank ? size : 0;
  CHECK(memory[5] == expected);
  MPI_Win_unlock(rank, window);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Post, start, complete, wait: even ranks offer their memory to the odd ones after them. */
static void start_complete(void) {
  int other = rank ^ 1;
  if (other >= size) return;
  MPI_Group all, one;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 1, &other, &one);
  for (int round = 0; round < 3; ++round) {
    if (rank % 2) {
      long values[10];
      for (int i = 0; i < 10; ++i) values[i] = pattern(rank, other, round, i);
      MPI_Win_start(one, 0, window);
      MPI_Put(values, 10, MPI_LONG, other, 100, 10, MPI_LONG, window);
      MPI_Win_complete(window);
    } else {
      MPI_Win_post(one, 0, window);
      MPI_Win_wait(window);
      for (int i = 0; i < 10; ++i) CHECK(memory[100 + i] == pattern(other, rank, round, i));
    }
  }
  MPI_Group_free(&one);
  MPI_Group_free(&all);
}

static void requests(void) {
  long out = rank * 7 + 1, in = 0;
  int right = (rank + 1) % size;
  MPI_Request request;
  MPI_Win_lock_all(0, window);
  MPI_Rput(&out, 1, MPI_LONG, right, 200, 1, MPI_LONG, window, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_flush_all(window);
  MPI_Rget(&in, 1, MPI_LONG, right, 200, 1, MPI_LONG, window, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_unlock_all(window);
  CHECK(in == out);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  memory = calloc(WORDS, sizeof *memory);
  MPI_Win_create(memory, WORDS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  put_get();
  accumulate();
  atomics();
  locks();
  start_complete();
  requests();
  MPI_Win_free(&window);
  free(memory);
  /* Memory that MPI gives, and a window that memory is attached to later. */
  MPI_Win_allocate(10 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  memory[0] = -1;
  MPI_Win_fence(0, window);
  long value = rank;
  MPI_Put(&value, 1, MPI_LONG, (rank + 1) % size, 0, 1, MPI_LONG, window);
  MPI_Win_fence(0, window);
  CHECK(memory[0] == (rank + size - 1) % size);
  MPI_Win_free(&window);
  return end("one-sided");
}
