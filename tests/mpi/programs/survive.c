// SPDX-License-Identifier: Apache-2.0
// Ranks of which one may die: `ring` messages go round between all, `pairs` between ranks 0 and 2 (and 1 and 3) alone;
// `returns` is ring with errors that return, after which the others go on among themselves; `any` receives from any
// source. `iprobe`, `probe` and `test`: rank 0 looks for a message of rank 1, which never sends one, and the others
// end.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, ranks;

static int exchange(int to, int from, int round) {
  int got = -1;
  MPI_Request request;
  int failed = MPI_Irecv(&got, 1, MPI_INT, from, round, MPI_COMM_WORLD, &request);
  if (failed == MPI_SUCCESS) failed = MPI_Send(&round, 1, MPI_INT, to, round, MPI_COMM_WORLD);
  if (failed == MPI_SUCCESS) failed = MPI_Wait(&request, MPI_STATUS_IGNORE);
  return failed != MPI_SUCCESS || got != round;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* what = argc > 1 ? argv[1] : "ring";
  int failed = 0;
  if (strcmp(what, "pairs") == 0) {
    const int peer = (rank + 2) % ranks;
    for (int round = 0; round < 50 && !failed; ++round) failed = exchange(peer, peer, round);
  } else if (strcmp(what, "any") == 0) {
    int got;
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (strcmp(what, "returns") == 0) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int got = 0, status = MPI_SUCCESS;
    if (rank != 1) status = MPI_Recv(&got, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1)
      for (double end = MPI_Wtime() + 1; MPI_Wtime() < end;) continue;
    failed = status == MPI_SUCCESS;
    const int peer = rank == 0 ? 2 : 0;
    if (rank == 0 || rank == 2) failed |= exchange(peer, peer, 1000);
  } else if (strcmp(what, "iprobe") == 0 || strcmp(what, "probe") == 0 || strcmp(what, "test") == 0) {
    MPI_Request request;
    int found = 0, got;
    if (rank == 0 && strcmp(what, "probe") == 0) MPI_Probe(1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0 && strcmp(what, "test") == 0) MPI_Irecv(&got, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &request);
    while (rank == 0 && !found)
      if (strcmp(what, "test") == 0)
        MPI_Test(&request, &found, MPI_STATUS_IGNORE);
      else
        MPI_Iprobe(1, 7, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  } else {
    for (int round = 0; round < 50; ++round) exchange((rank + 1) % ranks, (rank + ranks - 1) % ranks, round);
  }
  MPI_Finalize();
  printf("rank %d %s\n", rank, failed ? "failed" : "is through");
  return 0;
}
