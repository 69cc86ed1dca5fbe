/* Random collectives over random communicators: a sum over all results, which must be the same whoever runs them.
 * Arguments: seed, cases. Numbers are small and whole, so that sums are exact in any order. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;
static uint32_t draw(uint32_t below) { /* the same in all ranks */
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)(state >> 33) % below;
}

static uint64_t sum = 1469598103934665603ull;
static void add(const void* data, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) sum = (sum ^ ((const unsigned char*)data)[i]) * 1099511628211ull;
}

enum { kMost = 600, kOpen = 4 };
static MPI_Datatype types[8];
static MPI_Op whole_ops[8], real_ops[4];

static void fill(void* buffer, MPI_Datatype type, int count, int rank, int number) {
  for (int i = 0; i < count; ++i) {
    int value = (rank * 7 + i * 3 + number) % 11 - 3;
    if (type == MPI_INT) ((int*)buffer)[i] = value;
    if (type == MPI_LONG) ((long*)buffer)[i] = value;
    if (type == MPI_UNSIGNED) ((unsigned*)buffer)[i] = (unsigned)value;
    if (type == MPI_SHORT) ((short*)buffer)[i] = (short)value;
    /* Open MPI's vector code lets sums of bytes stop at 255 where plain code wraps: none gets there. */
    if (type == MPI_UINT8_T) ((uint8_t*)buffer)[i] = (uint8_t)(value & 7);
    if (type == MPI_INT64_T) ((int64_t*)buffer)[i] = value;
    if (type == MPI_DOUBLE) ((double*)buffer)[i] = value % 3;
    if (type == MPI_FLOAT) ((float*)buffer)[i] = (float)(value % 3);
  }
}

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  state = (uint64_t)atoll(arguments[1]);
  int cases = atoi(arguments[2]), world, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &world);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Datatype all_types[] = {MPI_INT, MPI_LONG, MPI_UNSIGNED, MPI_SHORT, MPI_UINT8_T, MPI_INT64_T, MPI_DOUBLE, MPI_FLOAT};
  MPI_Op all_ops[] = {MPI_SUM, MPI_MIN, MPI_MAX, MPI_PROD, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_LAND};
  memcpy(types, all_types, sizeof types);
  memcpy(whole_ops, all_ops, sizeof whole_ops);
  memcpy(real_ops, all_ops, sizeof real_ops);
  MPI_Comm communicators[kOpen] = {MPI_COMM_WORLD, MPI_COMM_WORLD, MPI_COMM_WORLD, MPI_COMM_WORLD};
  static char from[kMost * 8], to[kMost * 8 * 64];
  MPI_Datatype strided;
  MPI_Type_vector(2, 1, 3, MPI_INT, &strided);
  MPI_Type_commit(&strided);
  for (int number = 0; number < cases; ++number) {
    unsigned slot = draw(kOpen);
    if (draw(25) == 0) { /* another communicator there */
      MPI_Comm fresh;
      unsigned how = draw(7), parts = 1 + draw(4), turned = draw(2);
      if (how == 0) MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
      if (how == 1) MPI_Comm_split(MPI_COMM_WORLD, world % (int)parts, turned ? -world : world, &fresh);
      if (how == 2) {
        int dims[1] = {ranks}, periods[1] = {1};
        MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 1, &fresh);
      }
      if (how == 3) { /* what comes first on it may wait for all, or not */
        MPI_Request made;
        MPI_Comm_idup(MPI_COMM_WORLD, &fresh, &made);
        MPI_Wait(&made, MPI_STATUS_IGNORE);
      }
      if (how == 4) {
        int order[64];
        MPI_Group all, some;
        for (int i = 0; i < ranks; ++i) order[i] = (i + (int)parts) % ranks;
        MPI_Comm_group(MPI_COMM_WORLD, &all);
        MPI_Group_incl(all, ranks, order, &some);
        MPI_Comm_create_group(MPI_COMM_WORLD, some, (int)parts, &fresh);
        MPI_Group_free(&all);
        MPI_Group_free(&some);
      }
      if (how == 5) MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &fresh);
      if (how == 6) {
        int dims[2] = {ranks, 1}, periods[2] = {0, 1}, remain[2] = {(int)turned, !turned};
        MPI_Comm grid;
        MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
        MPI_Cart_sub(grid, remain, &fresh);
        MPI_Comm_free(&grid);
      }
      if (communicators[slot] != MPI_COMM_WORLD) {
        if (turned) MPI_Comm_disconnect(&communicators[slot]); else MPI_Comm_free(&communicators[slot]);
      }
      communicators[slot] = fresh;
    }
    MPI_Comm c = communicators[slot];
    int rank, size;
    MPI_Comm_rank(c, &rank);
    MPI_Comm_size(c, &size);
    unsigned what = draw(10), type = draw(8), operation = draw(8), root_drawn = draw(1000), in_place = draw(4) == 0;
    int elements = draw(5) == 0 ? (int)draw(kMost) : (int)draw(20), wait = draw(3) != 0;
    int root = (int)(root_drawn % (unsigned)size);
    MPI_Datatype t = types[type];
    MPI_Op op = type < 6 ? whole_ops[operation] : real_ops[operation % 4];
    int bytes;
    MPI_Type_size(t, &bytes);
    fill(from, t, elements, rank, number);
    memset(to, 0, sizeof to);
    size_t result = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    switch (what) {
      case 0:
        if (wait) MPI_Barrier(c); else MPI_Ibarrier(c, &request);
        break;
      case 1:
      case 2:
        memcpy(to, from, (size_t)(elements * bytes));
        if (wait) MPI_Bcast(to, elements, t, root, c); else MPI_Ibcast(to, elements, t, root, c, &request);
        result = (size_t)(elements * bytes);
        break;
      case 3: /* a type with gaps */
        for (int i = 0; i < 8; ++i) ((int*)to)[i] = rank * 100 + i + number;
        MPI_Bcast(to, 2, strided, root, c);
        result = 8 * sizeof(int);
        break;
      case 4:
      case 5:
        if (in_place && rank == root) {
          memcpy(to, from, (size_t)(elements * bytes));
          MPI_Reduce(MPI_IN_PLACE, to, elements, t, op, root, c);
        } else if (wait || in_place) {
          MPI_Reduce(from, to, elements, t, op, root, c);
        } else {
          MPI_Ireduce(from, to, elements, t, op, root, c, &request);
        }
        result = rank == root ? (size_t)(elements * bytes) : 0;
        break;
      case 6:
      case 7:
        if (in_place) {
          memcpy(to, from, (size_t)(elements * bytes));
          MPI_Allreduce(MPI_IN_PLACE, to, elements, t, op, c);
        } else if (wait) {
          MPI_Allreduce(from, to, elements, t, op, c);
        } else {
          MPI_Iallreduce(from, to, elements, t, op, c, &request);
        }
        result = (size_t)(elements * bytes);
        break;
      case 8:
        elements %= 40;
        MPI_Gather(from, elements, t, to, elements, t, root, c);
        result = rank == root ? (size_t)(elements * bytes * size) : 0;
        break;
      case 9: /* several at once, ended in another order */ {
        MPI_Request requests[3];
        static int a[4], b[4], d[4], e[4];
        for (int i = 0; i < 4; ++i) a[i] = d[i] = rank + i + number, e[i] = rank == root ? number + i : -1;
        MPI_Iallreduce(a, b, 4, MPI_INT, MPI_SUM, c, &requests[0]);
        MPI_Ibcast(e, 4, MPI_INT, root, c, &requests[1]);
        MPI_Ibarrier(c, &requests[2]);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        add(b, sizeof b);
        add(e, sizeof e);
        (void)d;
        break;
      }
    }
    if (request != MPI_REQUEST_NULL) MPI_Wait(&request, MPI_STATUS_IGNORE);
    add(to, result);
  }
  uint64_t all[64];
  MPI_Gather(&sum, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (world == 0)
    for (int i = 0; i < ranks; ++i) printf("%d %016llx\n", i, (unsigned long long)all[i]);
  MPI_Finalize();
  return 0;
}
