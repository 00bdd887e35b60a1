// SPDX-License-Identifier: Apache-2.0
// After a barrier all ranks end the run at the same virtual time, or the last one does while the others wait for it,
// or compute for some seconds. With "after" each rank returns a code of its own from main().
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char *how = argv[1], *who = argv[2];
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d\n", rank);
  if (strcmp(who, "all") == 0 || rank == ranks - 1) {
    if (strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, rank + 3);
    if (strcmp(how, "exit") == 0) exit(rank + 3);
    if (strcmp(how, "error") == 0) MPI_Send(&rank, 1, MPI_INT, ranks, 0, MPI_COMM_WORLD);
  }
  volatile double sum = 0;
  for (long i = 0; i < 100000000; ++i) sum += 1.0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return strcmp(how, "after") == 0 ? ranks - rank : 0;
}
