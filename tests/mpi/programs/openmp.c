/* SPDX-License-Identifier: Apache-2.0
 * OpenMP's parallel regions between MPI calls. Prints `took PICOSECONDS`, from before the first region to behind the
 * last sum of all ranks.
 *
 * Usage: openmp THREADS LEVEL(1: funneled, 3: multiple) */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TURNS = 20, TERMS = 20000 };

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  const int threads = atoi(argv[1]);
  int provided, rank, ranks;
  MPI_Init_thread(&argc, &argv, atoi(argv[2]) == 3 ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const double start = MPI_Wtime();
  for (int turn = 0; turn < TURNS; turn++) {
    long sum = 0, all;
#pragma omp parallel for num_threads(threads) reduction(+ : sum)
    for (long i = 0; i < TERMS; i++) sum += i % (turn + 2);
    long expected = 0;
    for (long i = 0; i < TERMS; i++) expected += i % (turn + 2);
    MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (all != expected * ranks) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (rank == 0) printf("took %.0f\n", (MPI_Wtime() - start) * 1e12);
  MPI_Finalize();
  return 0;
}
