/* Asks for more ranks in the middle of a run, which is refused with the class that MPI names. */
#include "check.h"

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm children = MPI_COMM_NULL;
  int kind = MPI_SUCCESS;
  MPI_Error_class(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 1 % size, MPI_COMM_WORLD,
                                 &children, MPI_ERRCODES_IGNORE),
                  &kind);
  CHECK(kind == MPI_ERR_SPAWN && children == MPI_COMM_NULL);
  if (argc > 1) { /* without an error handler the run ends */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                   MPI_ERRCODES_IGNORE);
  }
  return end("spawn");
}
