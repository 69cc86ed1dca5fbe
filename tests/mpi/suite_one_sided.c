/* Windows of memory that others reach, with every kind of window and of synchronisation. */
#include "suite.h"

static MPI_Win window_on(void* memory, int bytes) {
  MPI_Win window;
  MPI_Win_create(memory, bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  return window;
}

static void fence_put(void) {
  for (int n = 1; n <= 10000; n *= 10) {
    int *memory = ints(n), *out = filled(n, rank, 1, n);
    MPI_Win window = window_on(memory, n * (int)sizeof(int));
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
    MPI_Put(out, n, MPI_INT, right_of(), 0, n, MPI_INT, window);
    MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOSUCCEED, window);
    CHECK(holds(memory, n, left_of(), 1, n));
    MPI_Win_free(&window);
    free(memory), free(out);
  }
}

static void fence_get(void) {
  for (int n = 1; n <= 10000; n *= 10) {
    int *memory = filled(n, rank, 2, n), *in = ints(n);
    MPI_Win window = window_on(memory, n * (int)sizeof(int));
    MPI_Win_fence(0, window);
    MPI_Get(in, n, MPI_INT, right_of(), 0, n, MPI_INT, window);
    MPI_Win_fence(0, window);
    CHECK(holds(in, n, right_of(), 2, n));
    MPI_Win_free(&window);
    free(memory), free(in);
  }
}

/* Every rank puts into every other's window at once, in several turns. */
static void fence_everybody(void) {
  enum { N = 50 };
  int *memory = ints(N * size), *out = ints(N * size);
  MPI_Win window = window_on(memory, N * size * (int)sizeof(int));
  MPI_Win_fence(0, window);
  for (int turn = 0; turn < 4; ++turn) {
    for (int r = 0; r < size; ++r) {
      for (int i = 0; i < N; ++i) out[r * N + i] = pattern(rank, r, turn, i);
      MPI_Put(out + r * N, N, MPI_INT, r, rank * N, N, MPI_INT, window);
    }
    MPI_Win_fence(0, window);
    for (int r = 0; r < size; ++r) CHECK(holds(memory + r * N, N, r, rank, turn));
    MPI_Win_fence(0, window);
  }
  MPI_Win_free(&window);
  free(memory), free(out);
}

static MPI_Group group_of(int member) {
  MPI_Group all, one;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 1, &member, &one);
  MPI_Group_free(&all);
  return one;
}

/* Post, start, complete and wait round the ring; every second time the target asks instead of waiting. */
static void post_start_complete_wait(void) {
  enum { N = 300 };
  int *memory = ints(N), *out = ints(N), done;
  MPI_Win window = window_on(memory, N * (int)sizeof(int));
  MPI_Group to = group_of(right_of()), from = group_of(left_of());
  for (int turn = 0; turn < 4; ++turn) {
    for (int i = 0; i < N; ++i) out[i] = pattern(rank, 3, turn, i);
    MPI_Win_post(from, 0, window);
    MPI_Win_start(to, 0, window);
    MPI_Put(out, N, MPI_INT, right_of(), 0, N, MPI_INT, window);
    MPI_Win_complete(window);
    if (turn % 2)
      for (done = 0; !done;) MPI_Win_test(window, &done);
    else
      MPI_Win_wait(window);
    CHECK(holds(memory, N, left_of(), 3, turn));
  }
  MPI_Group_free(&to), MPI_Group_free(&from);
  MPI_Win_free(&window);
  free(memory), free(out);
}

/* One rank serves all the others; then the others serve the one. */
static void post_start_many(void) {
  int *memory = ints(size), first = 0, value = rank + 1, got[64] = {0};
  MPI_Win window = window_on(memory, size * (int)sizeof(int));
  MPI_Group all, others, root = group_of(0);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_excl(all, 1, &first, &others);
  if (rank == 0) {
    MPI_Win_post(others, 0, window);
    MPI_Win_wait(window);
    for (int r = 1; r < size; ++r) CHECK(memory[r] == r + 1);
    MPI_Win_start(others, 0, window);
    for (int r = 1; r < size; ++r) MPI_Get(&got[r], 1, MPI_INT, r, 0, 1, MPI_INT, window);
    MPI_Win_complete(window);
    for (int r = 1; r < size; ++r) CHECK(got[r] == 100 + r);
  } else {
    MPI_Win_start(root, 0, window);
    MPI_Put(&value, 1, MPI_INT, 0, rank, 1, MPI_INT, window);
    MPI_Win_complete(window);
    memory[0] = 100 + rank;
    MPI_Win_post(root, 0, window);
    MPI_Win_wait(window);
  }
  MPI_Group_free(&all), MPI_Group_free(&others), MPI_Group_free(&root);
  MPI_Win_free(&window);
  free(memory);
}

/* Read, add one and write back, in an exclusive lock: no increment is lost. */
static void lock_exclusive(void) {
  enum { TURNS = 5 };
  int* counter;
  MPI_Win window;
  MPI_Win_allocate(rank == 0 ? sizeof(int) : 0, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &counter,
                   &window);
  if (rank == 0) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    *counter = 1000;
    MPI_Win_unlock(0, window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int turn = 0; turn < TURNS; ++turn) {
    int value;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    MPI_Win_flush(0, window);
    ++value;
    MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    MPI_Win_unlock(0, window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    CHECK(*counter == 1000 + TURNS * size);
    MPI_Win_unlock(0, window);
  }
  MPI_Win_free(&window);
}

static void lock_shared(void) {
  enum { N = 800 };
  int *memory = filled(N, rank, 4, 0), *in = ints(N);
  MPI_Win window = window_on(memory, N * (int)sizeof(int));
  for (int r = 0; r < size; ++r) {
    MPI_Win_lock(MPI_LOCK_SHARED, r, r % 2 ? MPI_MODE_NOCHECK : 0, window);
    MPI_Get(in, N, MPI_INT, r, 0, N, MPI_INT, window);
    MPI_Win_unlock(r, window);
    CHECK(holds(in, N, r, 4, 0));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
  free(memory), free(in);
}

static void lock_all_flush(void) {
  int *memory = ints(size), value;
  MPI_Win window = window_on(memory, size * (int)sizeof(int));
  MPI_Win_lock_all(0, window);
  for (int r = 0; r < size; ++r) {
    value = rank * 100 + r;
    MPI_Put(&value, 1, MPI_INT, r, rank, 1, MPI_INT, window);
    MPI_Win_flush(r, window); /* so that the value may be another at once */
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(window);
  for (int r = 0; r < size; ++r) CHECK(memory[r] == r * 100 + rank);
  for (int r = 0; r < size; ++r) {
    int got = -1;
    MPI_Get(&got, 1, MPI_INT, r, (r + 1) % size, 1, MPI_INT, window);
    MPI_Win_flush_local(r, window);
    CHECK(got == (r + 1) % size * 100 + r);
  }
  MPI_Win_flush_all(window);
  MPI_Win_flush_local_all(window);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  free(memory);
}

static void by_requests(void) {
  enum { N = 400 };
  int *memory = ints(4 * N), *out = filled(N, rank, 5, 0), *in = ints(N), *old = ints(N);
  MPI_Win window = window_on(memory, 4 * N * (int)sizeof(int));
  MPI_Request requests[3];
  MPI_Win_lock_all(0, window);
  MPI_Rput(out, N, MPI_INT, right_of(), 0, N, MPI_INT, window, &requests[0]);
  MPI_Raccumulate(out, N, MPI_INT, right_of(), N, N, MPI_INT, MPI_SUM, window, &requests[1]);
  MPI_Rget_accumulate(out, N, MPI_INT, old, N, MPI_INT, right_of(), 2 * N, N, MPI_INT, MPI_REPLACE, window,
                      &requests[2]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  MPI_Win_flush_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int part = 0; part < 3; ++part) {
    MPI_Rget(in, N, MPI_INT, left_of(), part * N, N, MPI_INT, window, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    CHECK(holds(in, N, (rank + 2 * size - 2) % size, 5, 0));
  }
  for (int i = 0; i < N; ++i) CHECK(old[i] == 0);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  free(memory), free(out), free(in), free(old);
}

/* Memory that comes and goes while the window is there. */
static void dynamic(void) {
  enum { N = 64 };
  MPI_Win window;
  MPI_Aint mine, *all = malloc(sizeof(MPI_Aint) * (size_t)size);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  for (int turn = 0; turn < 3; ++turn) {
    int *memory = ints(N * (turn + 1)), *out = filled(N, rank, 6, turn);
    MPI_Win_attach(window, memory, N * (turn + 1) * (int)sizeof(int));
    MPI_Get_address(memory + N * turn, &mine);
    MPI_Allgather(&mine, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    MPI_Put(out, N, MPI_INT, right_of(), all[right_of()], N, MPI_INT, window);
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(holds(memory + N * turn, N, left_of(), 6, turn));
    MPI_Win_detach(window, memory);
    MPI_Barrier(MPI_COMM_WORLD);
    free(memory), free(out);
  }
  MPI_Win_free(&window);
  free(all);
}

static void window_properties(void) {
  int *memory, *unit, *model, *flavor, flag, members, length;
  MPI_Aint* bytes;
  void* base;
  MPI_Win window;
  MPI_Group group;
  char name[MPI_MAX_OBJECT_NAME];
  MPI_Win_allocate(64 + 8 * rank, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_get_attr(window, MPI_WIN_BASE, &base, &flag);
  CHECK(flag && base == memory);
  MPI_Win_get_attr(window, MPI_WIN_SIZE, &bytes, &flag);
  CHECK(flag && *bytes == 64 + 8 * rank);
  MPI_Win_get_attr(window, MPI_WIN_DISP_UNIT, &unit, &flag);
  CHECK(flag && *unit == 8);
  MPI_Win_get_attr(window, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
  CHECK(flag && *flavor == MPI_WIN_FLAVOR_ALLOCATE);
  MPI_Win_get_attr(window, MPI_WIN_MODEL, &model, &flag);
  CHECK(flag && (*model == MPI_WIN_UNIFIED || *model == MPI_WIN_SEPARATE));
  MPI_Win_get_group(window, &group);
  MPI_Group_size(group, &members);
  CHECK(members == size);
  MPI_Win_set_name(window, "our window");
  MPI_Win_get_name(window, name, &length);
  CHECK(!strcmp(name, "our window"));
  MPI_Group_free(&group);
  MPI_Win_free(&window);
  CHECK(window == MPI_WIN_NULL);
}

/* Ranks of a node store into each other's part of a window directly. */
static void shared_memory(void) {
  MPI_Comm node;
  MPI_Win window;
  int me, here, *mine, unit;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &me);
  MPI_Comm_size(node, &here);
  MPI_Win_allocate_shared(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, node, &mine, &window);
  MPI_Win_lock_all(0, window);
  int next = (me + 1) % here, *theirs;
  MPI_Aint bytes;
  MPI_Win_shared_query(window, next, &bytes, &unit, &theirs);
  CHECK(bytes == 4 * sizeof(int) && unit == sizeof(int));
  for (int i = 0; i < 4; ++i) theirs[i] = pattern(me, next, 7, i);
  MPI_Win_sync(window);
  MPI_Barrier(node);
  MPI_Win_sync(window);
  CHECK(holds(mine, 4, (me + here - 1) % here, me, 7));
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Comm_free(&node);
}

static void nobody_and_oneself(void) {
  int memory[4] = {0}, value = 42, got = 0;
  MPI_Win window = window_on(memory, sizeof memory);
  MPI_Win_fence(0, window);
  MPI_Put(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, window);
  MPI_Put(&value, 1, MPI_INT, rank, 2, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  CHECK(memory[0] == 0 && memory[2] == 42);
  MPI_Get(&got, 1, MPI_INT, rank, 2, 1, MPI_INT, window);
  MPI_Get(&got, 0, MPI_INT, right_of(), 0, 0, MPI_INT, window);
  MPI_Win_fence(0, window);
  CHECK(got == 42);
  MPI_Win_free(&window);
}

/* A window of one rank has nobody to wait for, so it takes hardly any time. */
static void alone(void) {
  int memory[4] = {0}, value = 5 + rank;
  double begun = MPI_Wtime();
  MPI_Win window;
  MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_SELF, &window);
  for (int i = 0; i < 20; ++i) MPI_Win_fence(0, window);
  MPI_Put(&value, 1, MPI_INT, 0, 3, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
  for (int i = 0; i < 20; ++i) MPI_Win_sync(window);
  MPI_Win_unlock(0, window);
  MPI_Win_free(&window);
  CHECK(memory[3] == value);
  CHECK(MPI_Wtime() - begun < 200e-6);
}

int main(int argc, char** argv) {
  static const struct Case cases[] = {{"fence_put", fence_put},
                                      {"fence_get", fence_get},
                                      {"fence_everybody", fence_everybody},
                                      {"post_start_complete_wait", post_start_complete_wait},
                                      {"post_start_many", post_start_many},
                                      {"lock_exclusive", lock_exclusive},
                                      {"lock_shared", lock_shared},
                                      {"lock_all_flush", lock_all_flush},
                                      {"by_requests", by_requests},
                                      {"dynamic", dynamic},
                                      {"window_properties", window_properties},
                                      {"shared_memory", shared_memory},
                                      {"nobody_and_oneself", nobody_and_oneself},
                                      {"alone", alone}};
  return suite(argc, argv, MPI_THREAD_SINGLE, "suite_one_sided", cases, COUNT_OF(cases));
}
