/* Collectives called wrongly, as the argument says: different roots, one member that does not come, one that dies
 * before, in or behind one; one that waits for nothing and has set a timer. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void give_up(int number) {
  (void)number;
  _exit(5);
}

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  int rank, value = 1, sum = 0;
  const char* how = arguments[1];
  const int who = count > 2 ? atoi(arguments[2]) : 2;
  MPI_Request request;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(how, "roots") == 0) MPI_Bcast(&value, 1, MPI_INT, rank == 3 ? 1 : 0, MPI_COMM_WORLD);
  if (strcmp(how, "two roots") == 0) { /* two members give, the others listen to the first */
    MPI_Bcast(&value, 1, MPI_INT, rank == 1 ? 1 : 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (strcmp(how, "reduce roots") == 0)
    MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, rank == 3 ? 1 : 0, MPI_COMM_WORLD);
  if (strcmp(how, "absent") == 0) {
    if (rank == who)
      MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Barrier(MPI_COMM_WORLD);
  }
  if (strcmp(how, "other") == 0) {
    if (rank == who)
      MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    else
      MPI_Barrier(MPI_COMM_WORLD);
  }
  if (strcmp(how, "silent root") == 0) {
    if (rank == who)
      MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Bcast(&value, 1, MPI_INT, who, MPI_COMM_WORLD);
  }
  if (strcmp(how, "alarm") == 0) { /* nobody comes, and it has a plan for that */
    signal(SIGALRM, give_up);
    if (rank == who) alarm(3);
    MPI_Recv(&value, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (strcmp(how, "dies") == 0) {
    if (rank == who) _exit(7);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (strcmp(how, "dies behind") == 0) { /* it has begun one and leaves before the end */
    MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    if (rank == who) kill(getpid(), SIGKILL);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
