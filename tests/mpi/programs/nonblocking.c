/* SPDX-License-Identifier: Apache-2.0
 * Each nonblocking collective of MPI_COMM_WORLD, one at a time: nonblocking COUNT TIMES. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define WAIT(call)                          \
  do {                                      \
    MPI_Request request_;                   \
    MPI_Request *r = &request_;             \
    call;                                   \
    MPI_Wait(&request_, MPI_STATUS_IGNORE); \
  } while (0)

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  const int n = argc > 1 ? atoi(argv[1]) : 1, times = argc > 2 ? atoi(argv[2]) : 1;
  const MPI_Comm w = MPI_COMM_WORLD;
  const MPI_Datatype d = MPI_DOUBLE;
  int rank, ranks;
  MPI_Comm_rank(w, &rank);
  MPI_Comm_size(w, &ranks);
  double *a = calloc((size_t)n * (size_t)ranks, sizeof *a), *b = calloc((size_t)n * (size_t)ranks, sizeof *b);
  int *each = malloc((size_t)ranks * sizeof *each);
  for (int i = 0; i < ranks; i++) each[i] = n;
  for (int turn = 0; turn < times; turn++) {
    WAIT(MPI_Ireduce(a, b, n, d, MPI_SUM, turn % ranks, w, r));
    WAIT(MPI_Iallreduce(a, b, n, d, MPI_SUM, w, r));
    WAIT(MPI_Iallreduce(MPI_IN_PLACE, b, n, d, MPI_SUM, w, r));
    WAIT(MPI_Ibcast(a, n, d, turn % ranks, w, r));
    WAIT(MPI_Ireduce_scatter_block(a, b, n, d, MPI_SUM, w, r));
    WAIT(MPI_Ireduce_scatter(a, b, each, d, MPI_SUM, w, r));
    WAIT(MPI_Iscan(a, b, n, d, MPI_SUM, w, r));
    WAIT(MPI_Iexscan(a, b, n, d, MPI_SUM, w, r));
    WAIT(MPI_Igather(a, n, d, b, n, d, 0, w, r));
    WAIT(MPI_Iallgather(a, n, d, b, n, d, w, r));
    WAIT(MPI_Ialltoall(a, n, d, b, n, d, w, r));
    WAIT(MPI_Ibarrier(w, r));
  }
  MPI_Finalize();
  if (rank == 0) printf("nonblocking %d\n", times);
  return 0;
}
