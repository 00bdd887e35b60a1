// SPDX-License-Identifier: Apache-2.0
// The first two ranks send words to and fro, then all ranks sum them up. Prints the result and the time of a message.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
  int rank, word, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  word = rank;
  const double begin = MPI_Wtime();
  for (int i = 0; i < 100 && rank < 2; i++) {
    if (rank == 0) MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(&word, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) {
      word++;
      MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
  }
  const double took = MPI_Wtime() - begin;
  MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d %d %.3f us\n", word, sum, took * 1e6 / 200);
  MPI_Finalize();
  return 0;
}
