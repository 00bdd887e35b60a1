// SPDX-License-Identifier: Apache-2.0
// Every rank sends as many bytes as its argument says to the next one before it receives: MPI may buffer that, and need
// not.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  static char out[1 << 20], in[1 << 20];
  int rank, size, bytes = atoi(argv[argc - 1]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Send(out, bytes, MPI_CHAR, (rank + 1) % size, 0, MPI_COMM_WORLD);
  MPI_Recv(in, bytes, MPI_CHAR, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 0) printf("ok %d\n", size);
  MPI_Finalize();
  return 0;
}
