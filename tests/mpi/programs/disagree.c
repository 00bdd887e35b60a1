// SPDX-License-Identifier: Apache-2.0
// Rank 1 asks for another operation, count or type than the others do.
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  const int what = argc > 1 ? atoi(argv[1]) : 0;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double in[4] = {0}, out[4];
  const int other = rank == 1;
  MPI_Allreduce(in, out, other && what == 1 ? 3 : 2, other && what == 2 ? MPI_FLOAT : MPI_DOUBLE,
                other && what == 0 ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
