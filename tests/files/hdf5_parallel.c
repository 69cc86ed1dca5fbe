/* Ranks write slabs of one data set of HDF5, collectively and each for itself, read each other's, and find
   attributes and groups as they were made. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRows = 64, kColumns = 1024 }; /* of each rank */

static int value(long row, long column) { return (int)(row * 131 + column * 7); }

static int transfer(hid_t file, const char* name, int rank, int ranks, H5FD_mpio_xfer_t how, int* data) {
  int bad = 0;
  const hsize_t all[2] = {(hsize_t)ranks * kRows, kColumns}, part[2] = {kRows, kColumns};
  hid_t space = H5Screate_simple(2, all, NULL), memory = H5Screate_simple(2, part, NULL);
  hid_t set = H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  hid_t access = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(access, how);
  hsize_t start[2] = {(hsize_t)rank * kRows, 0};
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, part, NULL);
  for (long i = 0; i < kRows; ++i)
    for (long j = 0; j < kColumns; ++j) data[i * kColumns + j] = value(rank * kRows + i, j);
  bad += H5Dwrite(set, H5T_NATIVE_INT, memory, space, access, data) < 0;
  H5Fflush(file, H5F_SCOPE_GLOBAL);
  MPI_Barrier(MPI_COMM_WORLD);
  const int other = (rank + 1) % ranks;
  start[0] = (hsize_t)other * kRows;
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, part, NULL);
  bad += H5Dread(set, H5T_NATIVE_INT, memory, space, access, data) < 0;
  for (long i = 0; i < kRows; ++i)
    for (long j = 0; j < kColumns; ++j) bad += data[i * kColumns + j] != value(other * kRows + i, j);
  H5Pclose(access);
  H5Dclose(set);
  H5Sclose(memory);
  H5Sclose(space);
  return bad;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double begin = MPI_Wtime();
  int rank, ranks, bad = 0, all = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* path = argc > 1 ? argv[1] : "/weft/data.h5";
  int* data = malloc(sizeof(int) * kRows * kColumns);
  hid_t parallel = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(parallel, MPI_COMM_WORLD, MPI_INFO_NULL);
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, parallel);
  bad += file < 0;
  hid_t group = H5Gcreate2(file, "/results", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  hid_t one = H5Screate(H5S_SCALAR);
  hid_t attribute = H5Acreate2(group, "ranks", H5T_NATIVE_INT, one, H5P_DEFAULT, H5P_DEFAULT);
  bad += H5Awrite(attribute, H5T_NATIVE_INT, &ranks) < 0;
  H5Aclose(attribute);
  bad += transfer(file, "/results/together", rank, ranks, H5FD_MPIO_COLLECTIVE, data);
  bad += transfer(file, "/results/alone", rank, ranks, H5FD_MPIO_INDEPENDENT, data);
  H5Gclose(group);
  H5Sclose(one);
  bad += H5Fclose(file) < 0;
  file = H5Fopen(path, H5F_ACC_RDONLY, parallel);
  int kept = 0;
  attribute = H5Aopen_by_name(file, "/results", "ranks", H5P_DEFAULT, H5P_DEFAULT);
  bad += H5Aread(attribute, H5T_NATIVE_INT, &kept) < 0 || kept != ranks;
  H5Aclose(attribute);
  H5Pclose(parallel);
  bad += H5Fclose(file) < 0;
  MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d wrong, %.9f s\n", all, MPI_Wtime() - begin);
  free(data);
  MPI_Finalize();
  return all != 0;
}
