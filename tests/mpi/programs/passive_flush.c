/* SPDX-License-Identifier: Apache-2.0
 * Rank 1 accumulates into rank 0's window and flushes, while rank 0 is already in a collective with it. Ends with a
 * line `sum 10`. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { WORDS = 64 };

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double *memory, ones[WORDS], sums[WORDS];
  MPI_Win win;
  MPI_Win_allocate(WORDS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  memset(memory, 0, WORDS * sizeof *memory);
  MPI_Win_lock_all(0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < WORDS; i++) ones[i] = 1;
  for (int i = 0; i < 10; i++) {
    if (rank == 1) {
      MPI_Accumulate(ones, WORDS, MPI_DOUBLE, 0, 0, WORDS, MPI_DOUBLE, MPI_SUM, win);
      MPI_Win_flush(0, win);
    }
    MPI_Allreduce(ones, sums, WORDS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("sum %g\n", memory[0]);
  MPI_Win_free(&win);
  MPI_Finalize();
}
