/* SPDX-License-Identifier: Apache-2.0
 * Rank 0 reads a clock in a loop, as a planner does that measures: `time` for 1 ms of MPI_Wtime, `tsc` for 1 ms of
 * the time stamp counter, which is then compared with MPI_Wtime over a sleep. Prints how often it read it. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

static void read_time(void) {
  const double begin = MPI_Wtime();
  long reads = 1;
  while (MPI_Wtime() - begin < 1e-3) ++reads;
  printf("reads %ld\n", reads + 1);
}

static void read_counter(void) {
  unsigned core;
  const uint64_t begin = __rdtsc();
  long reads = 0;
  uint64_t last = begin;
  do {
    const uint64_t now = ++reads % 2 ? __rdtsc() : __rdtscp(&core);
    if (now < last) printf("backwards\n");
    last = now;
  } while (last - begin < 1000000);
  const double from = MPI_Wtime();
  const uint64_t before = __rdtsc();
  nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
  printf("reads %ld\nslept %lld %.0f\n", reads + 1, (long long)(__rdtsc() - before), (MPI_Wtime() - from) * 1e9);
}

int main(int argc, char **argv) {
  int rank;
  const uint64_t earlier = __rdtsc();
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0 && strcmp(argv[1], "time") == 0) read_time();
  if (rank == 0 && strcmp(argv[1], "tsc") == 0) {
    printf("after %d\n", __rdtsc() >= earlier);
    read_counter();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
