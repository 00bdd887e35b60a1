// SPDX-License-Identifier: Apache-2.0
// Sends bursts of messages of one tag, and transfers that end within a block, where packets may overtake each other: do
// they match in the order in which they were sent, and do all arrive? Prints "ok RANKS".
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MESSAGES = 100, BYTES = 10007 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int to = (rank + ranks / 2) % ranks, from = (rank + ranks - ranks / 2) % ranks;
  int numbers[MESSAGES];
  MPI_Request sent[MESSAGES];
  for (int i = 0; i < MESSAGES; ++i) {
    numbers[i] = i;
    MPI_Isend(&numbers[i], 1, MPI_INT, to, 7, MPI_COMM_WORLD, &sent[i]);
  }
  for (int i = 0; i < MESSAGES; ++i) {
    int got = -1;
    MPI_Recv(&got, 1, MPI_INT, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    wrong += got != i;
  }
  MPI_Waitall(MESSAGES, sent, MPI_STATUSES_IGNORE);
  char* out = malloc((size_t)BYTES * ranks);
  char* in = malloc((size_t)BYTES * ranks);
  for (int i = 0; i < BYTES * ranks; ++i) out[i] = (char)(rank + i / BYTES);
  MPI_Alltoall(out, BYTES, MPI_CHAR, in, BYTES, MPI_CHAR, MPI_COMM_WORLD);
  for (int i = 0; i < BYTES * ranks; ++i) wrong += in[i] != (char)(rank + i / BYTES);
  int all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) printf("ok %d\n", ranks);
  free(out);
  free(in);
  MPI_Finalize();
  return all != 0;
}
