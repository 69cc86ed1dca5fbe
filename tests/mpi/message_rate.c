/* Pairs of ranks, the lower half to the upper half, each with a window of small messages under way.
 *   message_rate [bytes [window [rounds]]]
 */
#include "check.h"

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int bytes = argc > 1 ? atoi(argv[1]) : 8, window = argc > 2 ? atoi(argv[2]) : 64,
      rounds = argc > 3 ? atoi(argv[3]) : 10;
  int pairs = size / 2;
  char* data = calloc((size_t)window, (size_t)bytes + 1);
  MPI_Request* requests = malloc(sizeof *requests * (size_t)window);
  for (int using = 1; using <= pairs; using *= 2) {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    int sends = rank < using, receives = rank >= pairs && rank < pairs + using;
    for (int round = 0; round < rounds; ++round) {
      char token = (char)round;
      if (sends) {
        for (int i = 0; i < window; ++i)
          MPI_Isend(data, bytes, MPI_CHAR, rank + pairs, 0, MPI_COMM_WORLD, &requests[i]);
        MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
        MPI_Recv(&token, 1, MPI_CHAR, rank + pairs, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else if (receives) {
        for (int i = 0; i < window; ++i)
          MPI_Irecv(data + (size_t)i * (size_t)bytes, bytes, MPI_CHAR, rank - pairs, 0, MPI_COMM_WORLD,
                    &requests[i]);
        MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
        MPI_Send(&token, 1, MPI_CHAR, rank - pairs, 1, MPI_COMM_WORLD);
      }
      CHECK(token == (char)round);
    }
    double mine = MPI_Wtime() - start, longest;
    MPI_Reduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
      printf("%3d pairs: %12.6f million messages/s\n", using,
             (double)using * window * rounds / longest / 1e6);
  }
  free(requests);
  free(data);
  return end("message rate");
}
