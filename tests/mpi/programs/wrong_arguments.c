// SPDX-License-Identifier: Apache-2.0
// Collectives with arguments that the MPI library reports: prints the class of each error on rank 0.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, class, code[4];
  long a[2] = {1, 2}, b[2];
  MPI_Comm world = MPI_COMM_WORLD;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);  // not committed
  code[0] = MPI_Bcast(a, 1, pair, 0, world);
  code[1] = MPI_Bcast(NULL, 1, MPI_LONG, 0, world);
  code[2] = MPI_Allreduce(a, MPI_IN_PLACE, 1, MPI_LONG, MPI_SUM, world);
  code[3] = MPI_Allreduce(a, a, 1, MPI_LONG, MPI_SUM, world);
  for (int i = 0; i < 4; i++) {
    MPI_Error_class(code[i], &class);
    if (rank == 0) printf("%d: %d\n", i, class);
  }
  MPI_Type_free(&pair);
  MPI_Allreduce(a, b, 2, MPI_LONG, MPI_SUM, world);
  if (rank == 0) printf("sum %ld %ld\n", b[0], b[1]);
  MPI_Finalize();
  return 0;
}
