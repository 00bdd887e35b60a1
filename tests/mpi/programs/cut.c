// SPDX-License-Identifier: Apache-2.0
// Two ranks exchange short and long messages, each with contents of its own, and check what has come.
// With an argument rank 0 sleeps for a while before each exchange, so that they never post at the same time.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 40, SHORT = 4, LONG = 4096 };

static unsigned word(int round, int from, int i) {
  return 2654435761u * (unsigned)(round * 8192 + from * 4096 + i + 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  unsigned *out = malloc(LONG * sizeof *out), *in = malloc(LONG * sizeof *in);
  for (int round = 0; round < ROUNDS; ++round) {
    const int words = round % 4 == 3 ? LONG : SHORT;
    for (int i = 0; i < words; ++i) out[i] = word(round, rank, i), in[i] = 0;
    if (argc > 1 && rank == 0) nanosleep(&(struct timespec){.tv_nsec = 777}, NULL);
    MPI_Sendrecv(out, words, MPI_UNSIGNED, 1 - rank, round, in, words, MPI_UNSIGNED, 1 - rank, round, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < words; ++i) wrong += in[i] != word(round, 1 - rank, i);
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("wrong %d\n", wrong);
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}
