/* Every way to make a communicator, with collectives on it; and collectives that are prepared once. */
#include <mpi.h>
#include <stdio.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#define Barrier_init MPIX_Barrier_init
#define Bcast_init MPIX_Bcast_init
#define Gather_init MPIX_Gather_init
#define Reduce_init MPIX_Reduce_init
#define Allreduce_init MPIX_Allreduce_init
#else
#define Barrier_init MPI_Barrier_init
#define Bcast_init MPI_Bcast_init
#define Gather_init MPI_Gather_init
#define Reduce_init MPI_Reduce_init
#define Allreduce_init MPI_Allreduce_init
#endif

static int wrong = 0;
static void must(int holds, const char* what) {
  if (!holds) printf("wrong: %s\n", what), wrong = 1;
}

/* One all-reduce that waits for all members. */
static void use(MPI_Comm c, const char* what) {
  int size, one = 1, sum = 0;
  MPI_Comm_size(c, &size);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, c);
  must(sum == size, what);
}

static void communicators(int rank, int ranks) {
  MPI_Comm c, other, whole;
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &c);
  use(c, "dup_with_info");
  MPI_Comm_disconnect(&c);
  /* Two at once, ended in another order by odd ranks. */
  MPI_Comm two[2];
  MPI_Request requests[2], later;
  for (int i = 0; i < 2; ++i) MPI_Comm_idup(MPI_COMM_WORLD, &two[i], &requests[i]);
  MPI_Wait(&requests[rank % 2], MPI_STATUS_IGNORE);
  MPI_Wait(&requests[1 - rank % 2], MPI_STATUS_IGNORE);
  int one = 1, sum = 0;
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, two[0], &later);
  MPI_Wait(&later, MPI_STATUS_IGNORE);
  must(sum == ranks, "idup, not waited for");
  use(two[0], "idup");
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, two[0], &later);
  MPI_Wait(&later, MPI_STATUS_IGNORE);
  must(sum == ranks, "idup, not waited for, later");
  use(two[1], "the other idup");
  MPI_Comm_free(&two[0]);
  MPI_Comm_free(&two[1]);
  /* Of the even ranks, which alone call it. */
  MPI_Group all, even;
  int range[1][3] = {{0, ranks - 1, 2}};
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_range_incl(all, 1, range, &even);
  if (rank % 2 == 0) {
    MPI_Comm_create_group(MPI_COMM_WORLD, even, 3, &c);
    use(c, "create_group");
    MPI_Comm_free(&c);
  }
  MPI_Comm_create(MPI_COMM_WORLD, even, &c);
  if (c != MPI_COMM_NULL) use(c, "create"), MPI_Comm_free(&c);
  MPI_Group_free(&all);
  MPI_Group_free(&even);
  int dims[2] = {ranks / 2, 2}, periods[2] = {0, 0}, remain[2] = {1, 0};
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &c);
  MPI_Cart_sub(c, remain, &other);
  use(other, "cart_sub");
  MPI_Comm_free(&other);
  MPI_Comm_free(&c);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &c);
  MPI_Intercomm_create(c, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &other);
  int got = 0;
  MPI_Allreduce(&one, &got, 1, MPI_INT, MPI_SUM, other);
  must(got == ranks / 2, "two groups");
  MPI_Intercomm_merge(other, rank % 2, &whole);
  use(whole, "merge");
  MPI_Comm_free(&whole);
  MPI_Comm_free(&other);
  MPI_Comm_free(&c);
}

static void persistent(int rank, int ranks) {
  MPI_Request requests[5];
  int value = rank == 1 ? 17 : 0, one = 1, sum = 0, reduced = 0, gathered[64];
  Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  Bcast_init(&value, 1, MPI_INT, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
  Reduce_init(&one, &reduced, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[3]);
  Gather_init(&rank, 1, MPI_INT, gathered, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[4]);
  for (int turn = 0; turn < 3; ++turn) {
    value = rank == 1 ? 17 + turn : 0;
    MPI_Start(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Startall(4, requests + 1);
    use(MPI_COMM_WORLD, "beside persistent ones");
    MPI_Waitall(4, requests + 1, MPI_STATUSES_IGNORE);
    must(value == 17 + turn && sum == ranks, "persistent");
    if (rank == 0) must(reduced == ranks && gathered[ranks - 1] == ranks - 1, "persistent, at the root");
  }
  /* They match as they were prepared: members may start them in any order, and wait for them in any way. */
  value = rank == 1 ? 99 : 0;
  sum = 0;
  for (int i = 0; i < 5; ++i) MPI_Start(&requests[rank % 2 ? 4 - i : i]);
  for (int left = 5, index, done; left > 0; --left) {
    if (left % 2) {
      MPI_Waitany(5, requests, &index, MPI_STATUS_IGNORE);
    } else {
      do MPI_Testany(5, requests, &index, &done, MPI_STATUS_IGNORE);
      while (!done);
    }
    must(index >= 0 && index < 5 && requests[index] != MPI_REQUEST_NULL, "persistent, one after the other");
  }
  must(value == 99 && sum == ranks, "persistent, in any order");
  for (int i = 0; i < 5; ++i) MPI_Request_free(&requests[i]);
}

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  communicators(rank, ranks);
  persistent(rank, ranks);
  MPI_Finalize();
  return wrong;
}
