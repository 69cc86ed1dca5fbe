! The same from Fortran: an all-reduce, and the time it took.
program hello
  use mpi
  implicit none
  integer :: error, rank, ranks, total
  double precision :: began
  call mpi_init(error)
  call mpi_comm_rank(mpi_comm_world, rank, error)
  call mpi_comm_size(mpi_comm_world, ranks, error)
  began = mpi_wtime()
  call mpi_allreduce(rank, total, 1, mpi_integer, mpi_sum, mpi_comm_world, error)
  if (rank == 0) print '(a,i0,a,i0)', 'sum ', total, ' after ns ', nint((mpi_wtime() - began) * 1d9)
  call mpi_finalize(error)
end program hello
