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
  char* commands[2] = {argv[0], argv[0]};
  int counts[2] = {1, 2}, codes[3] = {0, 0, 0}, *universe, known;
  MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};
  MPI_Error_class(MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, counts, infos, 0, MPI_COMM_WORLD,
                                          &children, codes),
                  &kind);
  CHECK(kind == MPI_ERR_SPAWN && children == MPI_COMM_NULL);
  for (int i = 0; i < 3 && rank == 0; ++i) CHECK(codes[i] == MPI_ERR_SPAWN);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &known);
  CHECK(known && *universe == size); /* so a program can know */
  MPI_Comm_get_parent(&children);
  CHECK(children == MPI_COMM_NULL);
  if (argc > 1) { /* without an error handler the run ends */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                   MPI_ERRCODES_IGNORE);
  }
  return end("spawn");
}
