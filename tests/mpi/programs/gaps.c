/* SPDX-License-Identifier: Apache-2.0
 * A broadcast of elements with gaps, which stay as they were: gaps COUNT ROOT. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  const int count = argc > 1 ? atoi(argv[1]) : 1, root = argc > 2 ? atoi(argv[2]) : 0;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Datatype two_of_three, element;
  MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &two_of_three);
  MPI_Type_create_resized(two_of_three, 0, 3 * sizeof(double), &element);
  MPI_Type_commit(&element);
  double *data = malloc(3 * sizeof *data * (size_t)count);
  for (int i = 0; i < 3 * count; i++) data[i] = rank == root ? i : -1;
  MPI_Bcast(data, count, element, root, MPI_COMM_WORLD);
  for (int i = 0; i < 3 * count; i++)
    if (data[i] != (i % 3 == 1 && rank != root ? -1 : i)) MPI_Abort(MPI_COMM_WORLD, 3);
  MPI_Finalize();
  if (rank == 0) printf("gaps %d\n", count);
  return 0;
}
