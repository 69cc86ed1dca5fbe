/* Ranks write parts of a variable of NetCDF-4 together and alone, and read each other's from a second open.
 */
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdio.h>
#include <stdlib.h>

enum { kTimes = 8, kCells = 4096 }; /* of each rank */

static double value(long time, long cell) { return (double)(time * 1000000 + cell); }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double begin = MPI_Wtime();
  int rank, ranks, bad = 0, all = 0, file, dims[2], variable;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* path = argc > 1 ? argv[1] : "/weft/data.nc";
  double* data = malloc(sizeof(double) * kCells);
  bad += nc_create_par(path, NC_NETCDF4 | NC_CLOBBER, MPI_COMM_WORLD, MPI_INFO_NULL, &file) != 0;
  bad += nc_def_dim(file, "time", kTimes, &dims[0]) != 0;
  bad += nc_def_dim(file, "cell", (size_t)ranks * kCells, &dims[1]) != 0;
  bad += nc_def_var(file, "pressure", NC_DOUBLE, 2, dims, &variable) != 0;
  bad += nc_put_att_text(file, variable, "units", 2, "Pa") != 0;
  bad += nc_enddef(file) != 0;
  for (long time = 0; time < kTimes; ++time) {
    bad += nc_var_par_access(file, variable, time % 2 ? NC_INDEPENDENT : NC_COLLECTIVE) != 0;
    for (long i = 0; i < kCells; ++i) data[i] = value(time, (long)rank * kCells + i);
    const size_t start[2] = {(size_t)time, (size_t)rank * kCells}, count[2] = {1, kCells};
    bad += nc_put_vara_double(file, variable, start, count, data) != 0;
  }
  bad += nc_close(file) != 0;
  bad += nc_open_par(path, NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &file) != 0;
  bad += nc_inq_varid(file, "pressure", &variable) != 0;
  char units[3] = "";
  bad += nc_get_att_text(file, variable, "units", units) != 0 || units[0] != 'P' || units[1] != 'a';
  const int other = (rank + 1) % ranks;
  for (long time = 0; time < kTimes; ++time) {
    const size_t start[2] = {(size_t)time, (size_t)other * kCells}, count[2] = {1, kCells};
    bad += nc_get_vara_double(file, variable, start, count, data) != 0;
    for (long i = 0; i < kCells; ++i) bad += data[i] != value(time, (long)other * kCells + i);
  }
  bad += nc_close(file) != 0;
  MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d wrong, %.9f s\n", all, MPI_Wtime() - begin);
  free(data);
  MPI_Finalize();
  return all != 0;
}
