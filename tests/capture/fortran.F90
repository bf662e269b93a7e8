! SPDX-License-Identifier: MIT
!
!   mpiexec -n RANKS fortran FILE
!
! Writes a matrix of 9 x (3 * RANKS) in slabs of columns through a subarray of a Fortran 90 type, and
! leaves each rank's part in rank<N>.view1. Uses the module mpi; with F08 defined, mpi_f08; with
! MPIF defined, mpif.h.
program fortran
#ifdef F08
  use mpi_f08
#elif !defined(MPIF)
  use mpi
#endif
  implicit none
#ifdef MPIF
  include 'mpif.h'
#endif
#ifdef F08
  type(MPI_File) :: file
  type(MPI_Datatype) :: element, slab
#else
  integer :: file, element, slab
#endif
  integer, parameter :: wide = selected_real_kind(12)
  integer, parameter :: rows = 9, columns = 3
  integer :: rank, ranks, error, i
  integer(kind=MPI_OFFSET_KIND) :: displacement
  real(kind=wide) :: part(rows, columns)
  character(len=256) :: path, own

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call get_command_argument(1, path)
  part = reshape([(real(1000 * rank + i, wide), i = 1, rows * columns)], [rows, columns])

  call MPI_Type_create_f90_real(12, MPI_UNDEFINED, element, error)
  call MPI_Type_create_subarray(2, [rows, columns * ranks], [rows, columns], &
       [0, columns * rank], MPI_ORDER_FORTRAN, element, slab, error)
  call MPI_Type_commit(slab, error)
  call MPI_File_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, &
       file, error)
  displacement = 40
  call MPI_File_set_view(file, displacement, element, slab, 'native', MPI_INFO_NULL, error)
  call MPI_File_write_all(file, part, rows * columns, element, MPI_STATUS_IGNORE, error)
  call MPI_File_close(file, error)
  call MPI_Type_free(slab, error)

  write (own, '(a, i0, a)') 'rank', rank, '.view1'
  open (unit=10, file=trim(own), access='stream', form='unformatted', status='replace')
  write (10) part
  close (10)
  if (rank == 0) print '(a)', 'done'
  call MPI_Finalize(error)
end program fortran
