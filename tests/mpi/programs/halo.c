// SPDX-License-Identifier: Apache-2.0
// Ranks on a periodic grid of three dimensions exchange faces with their six neighbours, check what has come, and sum.
// Arguments: iterations, and bytes of a face. Prints `ok RANKS`.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int iterations = argc > 1 ? atoi(argv[1]) : 10, words = (argc > 2 ? atoi(argv[2]) : 1024) / 4;
  int ranks, rank, shape[3] = {0, 0, 0}, periodic[3] = {1, 1, 1}, wrong = 0;
  MPI_Comm grid;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 3, shape);
  MPI_Cart_create(MPI_COMM_WORLD, 3, shape, periodic, 0, &grid);
  MPI_Comm_rank(grid, &rank);
  int* out = malloc(words * sizeof *out);
  int* in = malloc(words * sizeof *in);
  for (int i = 0; i < iterations; ++i) {
    for (int face = 0; face < 6; ++face) {
      int from, to;
      MPI_Cart_shift(grid, face / 2, face % 2 ? -1 : 1, &from, &to);
      for (int w = 0; w < words; ++w) out[w] = rank + i + w;
      MPI_Sendrecv(out, words, MPI_INT, to, face, in, words, MPI_INT, from, face, grid, MPI_STATUS_IGNORE);
      for (int w = 0; w < words; ++w) wrong += in[w] != from + i + w;
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, grid);
  }
  if (rank == 0) printf(wrong ? "wrong %d\n" : "ok %d\n", wrong ? wrong : ranks);
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}
