// SPDX-License-Identifier: Apache-2.0
// Forty steps of a sum over all ranks, with a checkpoint after each ten: a program that is started again goes on behind
// the last one. usage: checkpoints FILE
#include <mpi.h>
#include <stdio.h>

enum { kSteps = 40, kEach = 10 };

static int checkpoint(const char *name) {
  int step = 0;
  FILE *file = fopen(name, "r");
  if (file == NULL) return 0;
  if (fscanf(file, "%d", &step) != 1) step = 0;
  fclose(file);
  return step;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, first = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0) first = checkpoint(argv[1]);
  MPI_Bcast(&first, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("%d ranks begin with step %d\n", ranks, first);
    fflush(stdout);
  }
  for (int step = first; step < kSteps; ++step) {
    int own = step, sum = 0;
    MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum != step * ranks) MPI_Abort(MPI_COMM_WORLD, 3);
    if (rank == 0 && (step + 1) % kEach == 0) {
      FILE *file = fopen(argv[1], "w");
      if (file == NULL) MPI_Abort(MPI_COMM_WORLD, 4);
      fprintf(file, "%d\n", step + 1);
      fclose(file);
    }
  }
  if (rank == 0) printf("done\n");
  MPI_Finalize();
  return 0;
}
