/* SPDX-License-Identifier: Apache-2.0
 * Twenty steps of a ring exchange and a reduction, in which one rank may be late. usage: late [RANK] */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

enum { kSteps = 20, kBytes = 16384, kLate_us = 20 };

int main(int argc, char **argv) {
  static char sent[kBytes], received[kBytes];
  MPI_Init(&argc, &argv);
  const int late = argc > 1 ? atoi(argv[1]) : -1;
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int step = 0; step < kSteps; ++step) {
    if (rank == late) usleep(kLate_us);
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Sendrecv(sent, kBytes, MPI_BYTE, right, 0, received, kBytes, MPI_BYTE, left, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    int most = 0;
    MPI_Allreduce(&step, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
