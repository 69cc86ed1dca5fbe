/* A window of messages at once from the first rank to the last, then one small answer.
 *   bandwidth [largest [window [rounds]]]
 */
#include "check.h"

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int largest = argc > 1 ? atoi(argv[1]) : 262144, window = argc > 2 ? atoi(argv[2]) : 16,
      rounds = argc > 3 ? atoi(argv[3]) : 4, last = size - 1;
  char* data = calloc((size_t)window, (size_t)largest);
  MPI_Request* requests = malloc(sizeof *requests * (size_t)window);
  if (rank == 0) printf("%10s %14s\n", "bytes", "MB/s");
  for (int bytes = 1; bytes <= largest; bytes *= 2) {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    char answer = 0;
    for (int round = 0; round < rounds; ++round) {
      if (rank == 0) {
        for (int i = 0; i < window; ++i) {
          char* piece = data + (size_t)i * (size_t)largest;
          piece[0] = (char)(round + i), piece[bytes - 1] = (char)(round + i);
          MPI_Isend(piece, bytes, MPI_CHAR, last, i, MPI_COMM_WORLD, &requests[i]);
        }
        MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
        MPI_Recv(&answer, 1, MPI_CHAR, last, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else if (rank == last) {
        for (int i = 0; i < window; ++i)
          MPI_Irecv(data + (size_t)i * (size_t)largest, bytes, MPI_CHAR, 0, i, MPI_COMM_WORLD, &requests[i]);
        MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < window; ++i)
          CHECK(data[(size_t)i * (size_t)largest + (size_t)bytes - 1] == (char)(round + i));
        MPI_Send(&answer, 1, MPI_CHAR, 0, 99, MPI_COMM_WORLD);
      }
    }
    if (rank == 0)
      printf("%10d %14.6f\n", bytes, (double)bytes * window * rounds / (MPI_Wtime() - start) / 1e6);
  }
  free(requests);
  free(data);
  return end("bandwidth");
}
