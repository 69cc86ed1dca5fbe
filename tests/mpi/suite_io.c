/* Files of all ranks: by place, by pointers of one's own and shared ones, together and alone, through views.
 * The file is on the real disk; what is checked is what is in it. */
#include <unistd.h>

#include "suite.h"

static char path[256];

/* A name that all know, of a file that is not there yet. */
static void name_file(void) {
  const char* folder = getenv("TMPDIR");
  if (rank == 0)
    snprintf(path, sizeof path, "%s/weft-suite-io-%ld", folder ? folder : "/tmp", (long)getpid());
  MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static MPI_File opened(int how) {
  MPI_File file = MPI_FILE_NULL;
  name_file();
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, how, MPI_INFO_NULL, &file) == MPI_SUCCESS);
  return file;
}

static MPI_File fresh(void) {
  return opened(MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_DELETE_ON_CLOSE);
}

/* Everything written by all is there for all. */
static void settle(MPI_File file) {
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
}

static void by_place(void) {
  enum { N = 500 };
  const MPI_Offset mine = rank * N * (MPI_Offset)sizeof(int), next = right_of() * N * (MPI_Offset)sizeof(int);
  for (int together = 0; together < 2; ++together) {
    int *out = filled(N, rank, 1, together), *in = ints(N), count = 0;
    MPI_File file = fresh();
    MPI_Status status;
    if (together)
      MPI_File_write_at_all(file, mine, out, N, MPI_INT, &status);
    else
      MPI_File_write_at(file, mine, out, N, MPI_INT, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == N);
    settle(file);
    if (together)
      MPI_File_read_at_all(file, next, in, N, MPI_INT, &status);
    else
      MPI_File_read_at(file, next, in, N, MPI_INT, &status);
    CHECK(holds(in, N, right_of(), 1, together));
    MPI_File_close(&file);
    CHECK(file == MPI_FILE_NULL);
    free(out), free(in);
  }
}

static void by_pointer(void) {
  MPI_File file = fresh();
  MPI_Offset place = -1, bytes = -1;
  int in[3] = {0}, count = -1;
  MPI_Status status;
  MPI_File_seek(file, rank * 3 * (MPI_Offset)sizeof(int), MPI_SEEK_SET);
  for (int i = 0; i < 3; ++i) {
    int value = pattern(rank, 2, 2, i);
    MPI_File_write(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  }
  MPI_File_get_position(file, &place);
  CHECK(place == (rank + 1) * 3 * (MPI_Offset)sizeof(int));
  settle(file);
  MPI_File_get_size(file, &bytes);
  CHECK(bytes == size * 3 * (MPI_Offset)sizeof(int));
  MPI_File_seek(file, -(MPI_Offset)(3 * sizeof(int)), MPI_SEEK_CUR);
  MPI_File_read(file, in, 3, MPI_INT, MPI_STATUS_IGNORE);
  CHECK(holds(in, 3, rank, 2, 2));
  MPI_File_seek(file, -(MPI_Offset)sizeof(int), MPI_SEEK_END);
  MPI_File_read(file, in, 3, MPI_INT, &status); /* only one is left */
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == 1 && in[0] == pattern(size - 1, 2, 2, 2));
  MPI_File_close(&file);
}

/* Rank r sees every size-th number from the r-th on. */
static void views_interleaved(void) {
  enum { N = 60 };
  MPI_File file = fresh();
  MPI_Datatype every, wide;
  int *out = filled(N, rank, 3, 3), *all = ints(N * size);
  MPI_Type_contiguous(1, MPI_INT, &every);
  MPI_Type_create_resized(every, 0, size * (MPI_Aint)sizeof(int), &wide);
  MPI_Type_commit(&wide);
  MPI_File_set_view(file, rank * (MPI_Offset)sizeof(int), MPI_INT, wide, "native", MPI_INFO_NULL);
  MPI_Offset byte = -1;
  MPI_File_get_byte_offset(file, 4, &byte);
  CHECK(byte == (4 * size + rank) * (MPI_Offset)sizeof(int));
  MPI_File_write_all(file, out, N, MPI_INT, MPI_STATUS_IGNORE);
  settle(file);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  MPI_File_read_all(file, all, N * size, MPI_INT, MPI_STATUS_IGNORE);
  for (int i = 0; i < N * size; ++i) CHECK(all[i] == pattern(i % size, 3, 3, i / size));
  MPI_File_close(&file);
  MPI_Type_free(&every), MPI_Type_free(&wide);
  free(out), free(all);
}

/* A matrix in one file; each rank has a block of columns of it. */
static void views_of_blocks(void) {
  enum { ROWS = 16, MINE = 5 };
  int shape[2] = {ROWS, MINE * size}, part[2] = {ROWS, MINE}, from[2] = {0, MINE * rank};
  MPI_Datatype block, seen;
  MPI_Offset start;
  char kind[MPI_MAX_DATAREP_STRING];
  MPI_Type_create_subarray(2, shape, part, from, MPI_ORDER_C, MPI_INT, &block);
  MPI_Type_commit(&block);
  int *out = filled(ROWS * MINE, rank, 4, 4), *in = ints(ROWS * MINE), *row = ints(MINE * size);
  MPI_File file = fresh();
  MPI_File_set_view(file, 0, MPI_INT, block, "native", MPI_INFO_NULL);
  MPI_Datatype unit;
  MPI_File_get_view(file, &start, &unit, &seen, kind);
  CHECK(start == 0 && !strcmp(kind, "native"));
  MPI_Type_free(&seen); /* a copy of ours; the unit is a named type */
  MPI_File_write_all(file, out, ROWS * MINE, MPI_INT, MPI_STATUS_IGNORE);
  settle(file);
  MPI_File_seek(file, 0, MPI_SEEK_SET);
  MPI_File_read_all(file, in, ROWS * MINE, MPI_INT, MPI_STATUS_IGNORE);
  CHECK(holds(in, ROWS * MINE, rank, 4, 4));
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  MPI_File_read_at(file, 7 * MINE * size, row, MINE * size, MPI_INT, MPI_STATUS_IGNORE);
  for (int i = 0; i < MINE * size; ++i) CHECK(row[i] == pattern(i / MINE, 4, 4, 7 * MINE + i % MINE));
  MPI_File_close(&file);
  MPI_Type_free(&block);
  free(out), free(in), free(row);
}

static void nonblocking(void) {
  enum { N = 2000 };
  int *out = filled(2 * N, rank, 5, 5), *in = ints(2 * N);
  const MPI_Offset mine = rank * 2 * N * (MPI_Offset)sizeof(int);
  MPI_File file = fresh();
  MPI_Request requests[2];
  MPI_File_iwrite_at(file, mine + N * (MPI_Offset)sizeof(int), out + N, N, MPI_INT, &requests[0]);
  MPI_File_seek(file, mine, MPI_SEEK_SET);
  MPI_File_iwrite(file, out, N, MPI_INT, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  settle(file);
  MPI_File_iread_at(file, mine, in, N, MPI_INT, &requests[0]);
  MPI_File_iread(file, in + N, N, MPI_INT, &requests[1]); /* the pointer is behind the first part */
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(holds(in, 2 * N, rank, 5, 5));
  MPI_File_close(&file);
  free(out), free(in);
}

static void split_collective(void) {
  enum { N = 300 };
  int *out = filled(N, rank, 6, 6), *in = ints(N), other = -1;
  MPI_File file = fresh();
  MPI_Status status;
  const MPI_Offset mine = rank * N * (MPI_Offset)sizeof(int), next = right_of() * N * (MPI_Offset)sizeof(int);
  MPI_File_write_at_all_begin(file, mine, out, N, MPI_INT);
  MPI_Allreduce(&rank, &other, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_File_write_at_all_end(file, out, &status);
  CHECK(other == size - 1);
  settle(file);
  MPI_File_seek(file, next, MPI_SEEK_SET);
  MPI_File_read_all_begin(file, in, N, MPI_INT);
  MPI_File_read_all_end(file, in, &status);
  CHECK(holds(in, N, right_of(), 6, 6));
  MPI_File_close(&file);
  free(out), free(in);
}

/* In the order of ranks, through the pointer that all share. */
static void shared_ordered(void) {
  MPI_File file = fresh();
  int n = 3 + rank, *out = filled(n, rank, 7, 7), *in = ints(n);
  MPI_Offset place = -1;
  MPI_File_write_ordered(file, out, n, MPI_INT, MPI_STATUS_IGNORE);
  settle(file);
  MPI_File_get_position_shared(file, &place);
  CHECK(place == (3 * size + size * (size - 1) / 2) * (MPI_Offset)sizeof(int));
  MPI_File_read_at(file, (3 * rank + rank * (rank - 1) / 2) * (MPI_Offset)sizeof(int), in, n, MPI_INT,
                   MPI_STATUS_IGNORE);
  CHECK(holds(in, n, rank, 7, 7));
  memset(in, 0, sizeof(int) * (size_t)n);
  MPI_Barrier(MPI_COMM_WORLD); /* all have asked where it is */
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  MPI_File_read_ordered(file, in, n, MPI_INT, MPI_STATUS_IGNORE);
  CHECK(holds(in, n, rank, 7, 7));
  MPI_File_close(&file);
  free(out), free(in);
}

/* Each record is written once and read once, whoever comes first. */
static void shared_pointer(void) {
  enum { EACH = 3 };
  MPI_File file = fresh();
  long mine = 0, sum = 0, record;
  for (int i = 0; i < EACH; ++i) {
    record = 1000 * (rank + 1) + i;
    MPI_File_write_shared(file, &record, 1, MPI_LONG, MPI_STATUS_IGNORE);
  }
  settle(file);
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  for (int i = 0; i < EACH; ++i) {
    MPI_File_read_shared(file, &record, 1, MPI_LONG, MPI_STATUS_IGNORE);
    mine += record;
  }
  MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == 1000L * EACH * size * (size + 1) / 2 + size * EACH * (EACH - 1L) / 2);
  MPI_File_close(&file);
}

static void sizes(void) {
  MPI_File file = fresh();
  MPI_Offset bytes = -1;
  int atomic = -1, how = 0;
  MPI_Group group;
  MPI_File_set_size(file, 12345);
  MPI_File_get_size(file, &bytes);
  CHECK(bytes == 12345);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_preallocate(file, 20000);
  MPI_File_get_size(file, &bytes);
  CHECK(bytes == 20000);
  MPI_File_get_atomicity(file, &atomic);
  CHECK(atomic == 0);
  MPI_File_get_amode(file, &how);
  CHECK(how & MPI_MODE_RDWR);
  MPI_File_get_group(file, &group);
  MPI_Group_size(group, &how);
  CHECK(how == size);
  MPI_Group_free(&group);
  MPI_File_close(&file);
}

/* Errors of files are returned, not fatal, unless one asks otherwise; a deleted file is gone. */
static void errors(void) {
  MPI_File file;
  int kind = 0, code;
  name_file();
  code = MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  MPI_Error_class(code, &kind);
  CHECK(code != MPI_SUCCESS && kind == MPI_ERR_NO_SUCH_FILE);
  MPI_Barrier(MPI_COMM_WORLD);
  file = opened(MPI_MODE_WRONLY | MPI_MODE_CREATE);
  MPI_File_close(&file);
  CHECK(rank != 0 || access(path, F_OK) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) CHECK(MPI_File_delete(path, MPI_INFO_NULL) == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(access(path, F_OK) != 0);
}

int main(int argc, char** argv) {
  static const struct Case cases[] = {{"by_place", by_place},
                                      {"by_pointer", by_pointer},
                                      {"views_interleaved", views_interleaved},
                                      {"views_of_blocks", views_of_blocks},
                                      {"nonblocking", nonblocking},
                                      {"split_collective", split_collective},
                                      {"shared_ordered", shared_ordered},
                                      {"shared_pointer", shared_pointer},
                                      {"sizes", sizes},
                                      {"errors", errors}};
  return suite(argc, argv, MPI_THREAD_SINGLE, "suite_io", cases, COUNT_OF(cases));
}
