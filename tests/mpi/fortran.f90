! The same from Fortran, whose bindings call the library by other names: ring, collectives, probe, derived type, time.
program fortran
  use mpi
  implicit none
  integer :: rank, ranks, ierr, left, right, i, got, failed, all_failed, request, column
  integer :: status(MPI_STATUS_SIZE), numbers(1000), back(1000)
  double precision :: mine, total, start, grid(20, 30), line(30)
  logical :: flag

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  failed = 0
  right = mod(rank + 1, ranks)
  left = mod(rank + ranks - 1, ranks)

  start = MPI_Wtime()
  do i = 1, 1000
    numbers(i) = rank * 1000 + i
  end do
  call MPI_Irecv(back, 1000, MPI_INTEGER, left, 1, MPI_COMM_WORLD, request, ierr)
  call MPI_Send(numbers, 1000, MPI_INTEGER, right, 1, MPI_COMM_WORLD, ierr)
  call MPI_Wait(request, status, ierr)
  call MPI_Get_count(status, MPI_INTEGER, got, ierr)
  if (got /= 1000 .or. any(back /= numbers + (left - rank) * 1000)) failed = failed + 1

  mine = rank + 0.5d0
  call MPI_Allreduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (total /= ranks * (ranks - 1) / 2 + 0.5d0 * ranks) failed = failed + 1

  i = rank
  call MPI_Bcast(i, 1, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, ierr)
  if (i /= ranks - 1) failed = failed + 1

  ! A row of a matrix that lies column by column.
  call MPI_Type_vector(30, 1, 20, MPI_DOUBLE_PRECISION, column, ierr)
  call MPI_Type_commit(column, ierr)
  do i = 1, 30
    grid(:, i) = rank * 100 + i
  end do
  call MPI_Sendrecv(grid(5, 1), 1, column, right, 2, line, 30, MPI_DOUBLE_PRECISION, left, 2, &
                    MPI_COMM_WORLD, status, ierr)
  do i = 1, 30
    if (line(i) /= left * 100 + i) failed = failed + 1
  end do
  call MPI_Type_free(column, ierr)

  call MPI_Isend(rank, 1, MPI_INTEGER, right, 3, MPI_COMM_WORLD, request, ierr)
  flag = .false.
  do while (.not. flag)
    call MPI_Iprobe(left, 3, MPI_COMM_WORLD, flag, status, ierr)
  end do
  call MPI_Recv(got, 1, MPI_INTEGER, left, 3, MPI_COMM_WORLD, status, ierr)
  call MPI_Wait(request, status, ierr)
  if (got /= left) failed = failed + 1

  if (MPI_Wtime() < start) failed = failed + 1
  call MPI_Allreduce(failed, all_failed, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0) print '(a,i0,a,i0,a)', 'fortran: ', ranks, ' ranks, ', all_failed, ' failed'
  call MPI_Finalize(ierr)
  if (all_failed > 0) stop 1
end program
