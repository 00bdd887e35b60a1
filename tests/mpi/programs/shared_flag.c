/* SPDX-License-Identifier: Apache-2.0
 * Rank 0 waits in a loop, without MPI, for a flag in memory that it shares with rank 1, which stores it once a message
 * from rank 2 has come. usage: shared_flag sleep|yield|clock */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void wait_for(const volatile int *flag, const char *how) {
  while (!*flag) {
    if (strcmp(how, "sleep") == 0) usleep(1);
    if (strcmp(how, "yield") == 0) sched_yield();
    if (strcmp(how, "clock") == 0) time(NULL);
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, value = 1, unit;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int *flag;
  MPI_Aint bytes;
  MPI_Win window;
  MPI_Win_allocate_shared(sizeof value, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &flag, &window);
  MPI_Win_shared_query(window, 0, &bytes, &unit, &flag);
  if (rank == 0) *flag = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  if (rank == 0) wait_for(flag, argv[1]);
  if (rank == 2) MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Recv(&value, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    *(volatile int *)flag = 1;
  }
  if (rank == 0) printf("%.9f\n", MPI_Wtime() - begin);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
