! SPDX-License-Identifier: Apache-2.0
! Fortran's way into MPI: a ring and a reduction, with the same clock as in C. Prints `ok RANKS`.
program ring
  use mpi
  implicit none
  integer :: rank, ranks, error, token, status(MPI_STATUS_SIZE), total
  double precision :: before, after
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  before = MPI_Wtime()
  if (before /= 0.0d0) call MPI_Abort(MPI_COMM_WORLD, 1, error)
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, mod(rank + 1, ranks), 3, &
                    token, 1, MPI_INTEGER, mod(rank + ranks - 1, ranks), 3, MPI_COMM_WORLD, status, error)
  if (token /= mod(rank + ranks - 1, ranks)) call MPI_Abort(MPI_COMM_WORLD, 2, error)
  call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (total /= ranks * (ranks - 1) / 2) call MPI_Abort(MPI_COMM_WORLD, 3, error)
  after = MPI_Wtime()
  if (after <= before .or. after > 1.0d-3) call MPI_Abort(MPI_COMM_WORLD, 4, error)
  call MPI_Finalize(error)
  if (rank == 0) print '(a, 1x, i0)', 'ok', ranks
end program ring
