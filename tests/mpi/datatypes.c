/* Data that does not lie in one piece: vectors, indexed blocks, structures, subarrays, resized and nested
 * types. */
#include <stddef.h>

#include "check.h"

enum { ROWS = 60, COLUMNS = 50 };
static double matrix[ROWS][COLUMNS];

static void set_matrix(int owner) {
  for (int i = 0; i < ROWS; ++i)
    for (int j = 0; j < COLUMNS; ++j) matrix[i][j] = owner * 1e6 + i * 1000 + j;
}

/* Sends to the right, receives from the left; both describe their side by a type of their own. */
static void ring(void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                 MPI_Datatype in_type) {
  int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Sendrecv(out, out_count, out_type, right, 0, in, in_count, in_type, left, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

static void columns(int left) {
  MPI_Datatype column;
  double got[ROWS];
  MPI_Type_vector(ROWS, 1, COLUMNS, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  ring(&matrix[0][7], 1, column, got, ROWS, MPI_DOUBLE);
  for (int i = 0; i < ROWS; ++i) CHECK(got[i] == left * 1e6 + i * 1000 + 7);
  /* Resized, so that neighbouring columns follow each other: a transposition on the way. */
  MPI_Datatype step;
  static double turned[COLUMNS][ROWS];
  MPI_Type_create_resized(column, 0, sizeof(double), &step);
  MPI_Type_commit(&step);
  ring(matrix, COLUMNS, step, turned, ROWS * COLUMNS, MPI_DOUBLE);
  int same = 1;
  for (int i = 0; i < ROWS; ++i)
    for (int j = 0; j < COLUMNS; ++j) same &= turned[j][i] == left * 1e6 + i * 1000 + j;
  CHECK(same);
  MPI_Type_free(&step);
  MPI_Type_free(&column);
}

static void subarray(int left) {
  int sizes[2] = {ROWS, COLUMNS}, part[2] = {20, 30}, start[2] = {11, 13};
  MPI_Datatype block;
  MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, MPI_DOUBLE, &block);
  MPI_Type_commit(&block);
  static double got[ROWS][COLUMNS];
  ring(matrix, 1, block, got, 1, block);
  int same = 1;
  for (int i = 0; i < ROWS; ++i)
    for (int j = 0; j < COLUMNS; ++j) {
      int inside = i >= 11 && i < 31 && j >= 13 && j < 43;
      same &= got[i][j] == (inside ? left * 1e6 + i * 1000 + j : 0);
    }
  CHECK(same);
  MPI_Type_free(&block);
}

typedef struct {
  char name[5];
  double value;
  int index;
  short flag;
} Particle;

static void structures(int left) {
  int lengths[4] = {5, 1, 1, 1};
  MPI_Aint places[4] = {offsetof(Particle, name), offsetof(Particle, value), offsetof(Particle, index),
                        offsetof(Particle, flag)};
  MPI_Datatype types[4] = {MPI_CHAR, MPI_DOUBLE, MPI_INT, MPI_SHORT}, plain, particle;
  MPI_Type_create_struct(4, lengths, places, types, &plain);
  MPI_Type_create_resized(plain, 0, sizeof(Particle), &particle);
  MPI_Type_commit(&particle);
  enum { MANY = 500 };
  static Particle out[MANY], in[MANY];
  for (int i = 0; i < MANY; ++i) {
    snprintf(out[i].name, sizeof out[i].name, "p%d", i % 100);
    out[i].value = rank + i * 0.5;
    out[i].index = pattern(rank, 0, 0, i);
    out[i].flag = (short)(i - rank);
  }
  ring(out, MANY, particle, in, MANY, particle);
  int same = 1;
  for (int i = 0; i < MANY; ++i) {
    char name[5];
    snprintf(name, sizeof name, "p%d", i % 100);
    same &= !strcmp(in[i].name, name) && in[i].value == left + i * 0.5 &&
            in[i].index == pattern(left, 0, 0, i) && in[i].flag == (short)(i - left);
  }
  CHECK(same);
  int bytes;
  MPI_Aint low, extent;
  MPI_Type_size(particle, &bytes);
  MPI_Type_get_extent(particle, &low, &extent);
  CHECK(bytes == 5 + 8 + 4 + 2 && low == 0 && extent == (MPI_Aint)sizeof(Particle));
  MPI_Type_free(&particle);
  MPI_Type_free(&plain);
}

static void indexed(int left) {
  enum { BLOCKS = 40 };
  int lengths[BLOCKS], places[BLOCKS], total = 0;
  static int out[2000], in[2000];
  for (int i = 0; i < BLOCKS; ++i) {
    lengths[i] = i % 7;
    places[i] = (BLOCKS - 1 - i) * 50 + i;
    total += lengths[i];
  }
  for (int i = 0; i < 2000; ++i) out[i] = pattern(rank, 1, 2, i);
  MPI_Datatype type;
  MPI_Type_indexed(BLOCKS, lengths, places, MPI_INT, &type);
  MPI_Type_commit(&type);
  ring(out, 1, type, in, total, MPI_INT);
  int at = 0;
  for (int i = 0; i < BLOCKS; ++i)
    for (int k = 0; k < lengths[i]; ++k) CHECK(in[at++] == pattern(left, 1, 2, places[i] + k));
  /* The other way round: packed data laid out by the receiver. */
  memset(in, 0, sizeof in);
  ring(out, total, MPI_INT, in, 1, type);
  at = 0;
  for (int i = 0; i < BLOCKS; ++i)
    for (int k = 0; k < lengths[i]; ++k) CHECK(in[places[i] + k] == pattern(left, 1, 2, at++));
  MPI_Type_free(&type);
}

static void packed(int left) {
  char buffer[200];
  int at = 0, number = rank * 3, in_number = 0;
  double value = rank + 0.25, in_value = 0;
  MPI_Pack(&number, 1, MPI_INT, buffer, sizeof buffer, &at, MPI_COMM_WORLD);
  MPI_Pack(&value, 1, MPI_DOUBLE, buffer, sizeof buffer, &at, MPI_COMM_WORLD);
  char in[200];
  ring(buffer, at, MPI_PACKED, in, sizeof in, MPI_PACKED);
  at = 0;
  MPI_Unpack(in, sizeof in, &at, &in_number, 1, MPI_INT, MPI_COMM_WORLD);
  MPI_Unpack(in, sizeof in, &at, &in_value, 1, MPI_DOUBLE, MPI_COMM_WORLD);
  CHECK(in_number == left * 3 && in_value == left + 0.25);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int left = (rank + size - 1) % size;
  set_matrix(rank);
  columns(left);
  subarray(left);
  structures(left);
  indexed(left);
  packed(left);
  return end("datatypes");
}
