/* Half the time of a round trip between the first rank and another one, for sizes that double.
 *   latency [largest [rounds [partner]]]
 */
#include "check.h"

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int largest = argc > 1 ? atoi(argv[1]) : 65536, rounds = argc > 2 ? atoi(argv[2]) : 20,
      partner = argc > 3 ? atoi(argv[3]) : size - 1;
  char* data = malloc((size_t)largest + 1);
  if (rank == 0) printf("%10s %14s\n", "bytes", "us");
  for (int bytes = 0; bytes <= largest; bytes = bytes ? bytes * 2 : 1) {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < rounds; ++i) {
      if (rank == 0) {
        memset(data, i, (size_t)bytes);
        MPI_Send(data, bytes, MPI_CHAR, partner, 1, MPI_COMM_WORLD);
        MPI_Recv(data, bytes, MPI_CHAR, partner, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(bytes == 0 || (data[0] == (char)(i + 1) && data[bytes - 1] == (char)(i + 1)));
      } else if (rank == partner) {
        MPI_Recv(data, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(bytes == 0 || (data[0] == (char)i && data[bytes - 1] == (char)i));
        memset(data, i + 1, (size_t)bytes);
        MPI_Send(data, bytes, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
      }
    }
    if (rank == 0) printf("%10d %14.6f\n", bytes, (MPI_Wtime() - start) / rounds / 2 * 1e6);
  }
  free(data);
  return end("latency");
}
