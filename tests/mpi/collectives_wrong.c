/* Collectives called wrongly, as the argument says: different roots, one member that does not come, one that dies. */
#include <mpi.h>
#include <string.h>
#include <unistd.h>

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  int rank, value = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(arguments[1], "roots") == 0) MPI_Bcast(&value, 1, MPI_INT, rank == 3 ? 1 : 0, MPI_COMM_WORLD);
  if (strcmp(arguments[1], "absent") == 0) {
    if (rank == 2)
      MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Barrier(MPI_COMM_WORLD);
  }
  if (strcmp(arguments[1], "dies") == 0) {
    if (rank == 2) _exit(7);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
