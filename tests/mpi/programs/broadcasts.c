/* SPDX-License-Identifier: Apache-2.0
 * Broadcasts one after the other, each looked at by every rank: broadcasts BYTES TIMES [ROOTS]. With ROOTS the root
 * goes round. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  const int bytes = argc > 1 ? atoi(argv[1]) : 1000, times = argc > 2 ? atoi(argv[2]) : 1;
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  unsigned char *data = malloc((size_t)bytes + 1);
  for (int turn = 0; turn < times; turn++) {
    const int root = argc > 3 ? turn % ranks : 0;
    memset(data, rank == root ? turn + 1 : 0, (size_t)bytes);
#if MPI_VERSION >= 4
    if (turn % 2 == 1)
      MPI_Bcast_c(data, (MPI_Count)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    else
#endif
      MPI_Bcast(data, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    for (int i = 0; i < bytes; i++)
      if (data[i] != (unsigned char)(turn + 1)) MPI_Abort(MPI_COMM_WORLD, 3);
  }
  MPI_Finalize();
  if (rank == 0) printf("broadcasts %d\n", times);
  return 0;
}
