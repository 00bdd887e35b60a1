// SPDX-License-Identifier: Apache-2.0
// Ranks that wait in each way there is: for a late rank by polling, in messages by rendezvous, in collectives.
#include <mpi.h>
#include <unistd.h>

static void poll(MPI_Request *request) {
  int done = 0;
  while (!done) MPI_Test(request, &done, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  static double mine[128], others[128];
  int rank, ranks;
  char late = 0;
  MPI_Request request[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0) {
    usleep(1000);
    MPI_Send(&late, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Irecv(&late, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, request);
    poll(request);
  }
  MPI_Irecv(others, 128, MPI_DOUBLE, (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD, request);
  MPI_Isend(mine, 128, MPI_DOUBLE, (rank + 1) % ranks, 1, MPI_COMM_WORLD, request + 1);
  MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
  MPI_Iallreduce(mine, others, 128, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, request);
  poll(request);
  MPI_Allreduce(mine, others, 128, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
