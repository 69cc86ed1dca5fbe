/* Puts and gets whose memory is named by its address alone: MPI_BOTTOM with types of absolute addresses,
 * strided ones among them, of every length that goes another way through the library. */
#include "check.h"

enum { MOST = 4000 };
static double from[2 * MOST], into[2 * MOST];

static MPI_Datatype at_address(void* base, int blocks, int block, int stride) {
  MPI_Datatype strided, placed;
  MPI_Aint address;
  int one = 1;
  MPI_Type_vector(blocks, block, stride, MPI_DOUBLE, &strided);
  MPI_Get_address(base, &address);
  MPI_Type_create_struct(1, &one, &address, &strided, &placed);
  MPI_Type_commit(&placed);
  MPI_Type_free(&strided);
  return placed;
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  double* memory;
  MPI_Win window;
  MPI_Win_allocate(MOST * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  int right = (rank + 1) % size, left = (rank + size - 1) % size;
  static const int counts[] = {1, 3, 40, 700, MOST};
  for (unsigned k = 0; k < sizeof counts / sizeof *counts; ++k)
    for (int strided = 0; strided < 2; ++strided) {
      int n = counts[k], stride = strided ? 2 : 1;
      for (int i = 0; i < 2 * MOST; ++i) from[i] = pattern(rank, right, n, i), into[i] = -1;
      MPI_Datatype out = at_address(from, n, 1, stride), in = at_address(into, n, 1, stride);
      MPI_Win_fence(0, window);
      MPI_Put(MPI_BOTTOM, 1, out, right, 0, n, MPI_DOUBLE, window);
      MPI_Win_fence(0, window);
      int same = 1;
      for (int i = 0; i < n; ++i) same &= memory[i] == pattern(left, rank, n, stride * i);
      CHECK(same);
      MPI_Get(MPI_BOTTOM, 1, in, right, 0, n, MPI_DOUBLE, window);
      MPI_Win_fence(0, window);
      same = 1;
      for (int i = 0; i < n; ++i) same &= into[stride * i] == pattern(rank, right, n, stride * i);
      if (strided)
        for (int i = 0; i < n; ++i) same &= into[2 * i + 1] == -1;
      CHECK(same);
      MPI_Sendrecv(MPI_BOTTOM, 1, out, right, 0, MPI_BOTTOM, 1, in, left, 0, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      same = 1;
      for (int i = 0; i < n; ++i) same &= into[stride * i] == pattern(left, rank, n, stride * i);
      CHECK(same);
      MPI_Type_free(&out);
      MPI_Type_free(&in);
    }
  MPI_Win_free(&window);
  return end("put_bottom");
}
