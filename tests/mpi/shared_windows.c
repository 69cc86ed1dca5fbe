/* Windows in memory that the ranks of a node share: among them plain loads and stores, and puts and gets
 * beside. Across nodes they are refused with the class that MPI names. */
#include "check.h"

static void among_ranks_of_a_node(MPI_Comm node) {
  int members, me, unit;
  MPI_Aint bytes;
  MPI_Comm_size(node, &members);
  MPI_Comm_rank(node, &me);
  long *mine, *of_next, *first;
  MPI_Win window;
  int words = 100 + 50 * me;
  MPI_Win_allocate_shared(words * (MPI_Aint)sizeof(long), sizeof(long), MPI_INFO_NULL, node, &mine, &window);
  int *flavor, *model, found;
  MPI_Win_get_attr(window, MPI_WIN_CREATE_FLAVOR, &flavor, &found);
  CHECK(found && *flavor == MPI_WIN_FLAVOR_SHARED);
  MPI_Win_get_attr(window, MPI_WIN_MODEL, &model, &found);
  CHECK(found && *model == MPI_WIN_UNIFIED);
  MPI_Win_fence(0, window);
  for (int i = 0; i < words; ++i) mine[i] = pattern(rank, me, 0, i);
  MPI_Win_fence(0, window);
  int next = (me + 1) % members, next_in_world = rank - me + next;
  MPI_Win_shared_query(window, next, &bytes, &unit, &of_next);
  CHECK(bytes == (100 + 50 * next) * (MPI_Aint)sizeof(long) && unit == sizeof(long));
  int same = 1;
  for (int i = 0; i < 100 + 50 * next; ++i) same &= of_next[i] == pattern(next_in_world, next, 0, i);
  CHECK(same);
  /* Without a rank: the first part there is. The parts follow each other. */
  MPI_Win_shared_query(window, MPI_PROC_NULL, &bytes, &unit, &first);
  long* expected = first;
  for (int i = 0; i < me; ++i) expected += 100 + 50 * i;
  CHECK(expected == mine);
  /* Stores into another's part, and the network's operations on the same memory. */
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
  MPI_Barrier(node);
  of_next[0] = 1000 + me;
  MPI_Win_sync(window);
  MPI_Barrier(node);
  MPI_Win_sync(window);
  CHECK(mine[0] == 1000 + (me + members - 1) % members);
  MPI_Barrier(node); /* nobody puts before all have looked */
  long put = 2000 + me, got = -1, add = 1, old = -1;
  MPI_Put(&put, 1, MPI_LONG, next, 1, 1, MPI_LONG, window);
  MPI_Win_flush(next, window);
  MPI_Get(&got, 1, MPI_LONG, next, 1, 1, MPI_LONG, window);
  MPI_Win_flush(next, window);
  CHECK(got == put && of_next[1] == put);
  MPI_Barrier(node);
  if (me == 0) mine[2] = 0;
  MPI_Win_sync(window);
  MPI_Barrier(node);
  MPI_Fetch_and_op(&add, &old, MPI_LONG, 0, 2, MPI_SUM, window);
  MPI_Win_flush(0, window);
  MPI_Barrier(node);
  CHECK(first[2] == members);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

/* One part holds all of the memory; others none. And twice at once. */
static void in_one_part(MPI_Comm node) {
  int members, me, unit;
  MPI_Aint bytes;
  MPI_Comm_size(node, &members);
  MPI_Comm_rank(node, &me);
  int *mine[2], *all[2];
  MPI_Win window[2];
  for (int w = 0; w < 2; ++w) {
    MPI_Aint size_here = me == 0 ? members * (MPI_Aint)sizeof(int) : 0;
    MPI_Win_allocate_shared(size_here, sizeof(int), MPI_INFO_NULL, node, &mine[w], &window[w]);
    MPI_Win_shared_query(window[w], 0, &bytes, &unit, &all[w]);
    CHECK(bytes == members * (MPI_Aint)sizeof(int));
    MPI_Win_fence(0, window[w]);
    all[w][me] = 10 * w + rank;
    MPI_Win_fence(0, window[w]);
  }
  for (int w = 0; w < 2; ++w)
    for (int i = 0; i < members; ++i) CHECK(all[w][i] == 10 * w + rank - me + i);
  MPI_Win_free(&window[1]);
  MPI_Win_free(&window[0]);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int members;
  MPI_Comm_size(node, &members);
  among_ranks_of_a_node(node);
  in_one_part(node);
  if (members < size) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    void* memory;
    MPI_Win window = MPI_WIN_NULL;
    int kind = MPI_SUCCESS;
    int code = MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Error_class(code, &kind);
    CHECK(kind == MPI_ERR_RMA_SHARED);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  }
  if (rank == 0) printf("%d of %d ranks on a node\n", members, size);
  MPI_Comm_free(&node);
  return end("shared_windows");
}
