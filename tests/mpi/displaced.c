/* Data whose first byte is not at the address a call is given: persistent sends, and one-sided operations
 * with types that begin elsewhere, contiguous ones among them. */
#include "check.h"

enum { WORDS = 9000, AWAY = 5000 };
static long from[WORDS + AWAY], into[WORDS + AWAY];

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int right = (rank + 1) % size, left = (rank + size - 1) % size;
  long* memory;
  MPI_Win window;
  MPI_Win_allocate(WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  static const int counts[] = {1, 100, 1000, WORDS};
  for (unsigned k = 0; k < sizeof counts / sizeof *counts; ++k) {
    int n = counts[k], away = AWAY;
    for (int i = 0; i < WORDS + AWAY; ++i) from[i] = pattern(rank, right, n, i), into[i] = -1;
    MPI_Datatype type;
    MPI_Type_indexed(1, &n, &away, MPI_LONG, &type);
    MPI_Type_commit(&type);
    MPI_Request requests[2];
    MPI_Send_init(from, 1, type, right, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(into, 1, type, left, 3, MPI_COMM_WORLD, &requests[1]);
    for (int round = 0; round < 2; ++round) {
      MPI_Startall(2, requests);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      int same = 1;
      for (int i = 0; i < n; ++i) same &= into[AWAY + i] == pattern(left, rank, n, AWAY + i);
      CHECK(same && into[AWAY - 1] == -1);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Win_fence(0, window);
    MPI_Put(from, 1, type, right, 0, n, MPI_LONG, window);
    MPI_Win_fence(0, window);
    int same = 1;
    for (int i = 0; i < n; ++i) same &= memory[i] == pattern(left, rank, n, AWAY + i);
    CHECK(same);
    MPI_Win_fence(0, window);
    MPI_Accumulate(from, 1, type, right, 0, n, MPI_LONG, MPI_SUM, window);
    MPI_Win_fence(0, window);
    same = 1;
    for (int i = 0; i < n; ++i) same &= memory[i] == 2L * pattern(left, rank, n, AWAY + i);
    CHECK(same);
    MPI_Type_free(&type);
  }
  MPI_Win_free(&window);
  return end("displaced");
}
