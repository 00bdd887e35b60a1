/* SPDX-License-Identifier: Apache-2.0
 * The three communication patterns that bench/run.py times, as one MPI program for every simulator.
 *
 *   patterns PATTERN WARM COUNT     PATTERN: pingpong | halo | halo8 | allreduce
 *
 * pingpong: 8-byte messages to and fro between rank i and rank i + n/2, all pairs at once; halo: every rank
 * exchanges 1 KB with its four neighbours on a periodic square, and halo8 8 bytes; allreduce: 8 bytes, all ranks.
 * WARM rounds are not timed. Rank 0 prints one line: what was counted (messages, or operations for allreduce), how
 * often, the wall seconds of the timed part, and the simulated seconds per round. Wall time comes straight from the
 * kernel, since a simulator makes the usual clocks read simulated time. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { HALO_BYTES = 1024 };

static double wall_s(void) {
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void pingpong(int rank, int size, long count) {
  double ball = 0;
  int half = size / 2, peer = rank < half ? rank + half : rank - half;
  for (long i = 0; i < count; i++) {
    if (rank < half) {
      MPI_Send(&ball, 1, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD);
      MPI_Recv(&ball, 1, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(&ball, 1, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(&ball, 1, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD);
    }
  }
}

static void halo_of(int bytes, int rank, int size, long count) {
  static char out[4][HALO_BYTES], in[4][HALO_BYTES];
  int side = 1;
  while (side * side < size) side++;
  int x = rank % side, y = rank / side;
  const int to[4] = {y * side + (x + 1) % side, y * side + (x + side - 1) % side, (y + 1) % side * side + x,
                     (y + side - 1) % side * side + x};
  static const int opposite[4] = {1, 0, 3, 2};
  MPI_Request requests[8];
  for (long i = 0; i < count; i++) {
    for (int d = 0; d < 4; d++) MPI_Irecv(in[d], bytes, MPI_CHAR, to[d], opposite[d], MPI_COMM_WORLD, &requests[d]);
    for (int d = 0; d < 4; d++) MPI_Isend(out[d], bytes, MPI_CHAR, to[d], d, MPI_COMM_WORLD, &requests[4 + d]);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
  }
}

static void halo(int rank, int size, long count) { halo_of(HALO_BYTES, rank, size, count); }
static void halo8(int rank, int size, long count) { halo_of(8, rank, size, count); }

static void allreduce(int rank, int size, long count) {
  double one = 1, sum = 0;
  for (long i = 0; i < count; i++) MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (count > 0 && sum != (double)size) {
    fprintf(stderr, "rank %d: allreduce gave %g, not %d\n", rank, sum, size);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const struct {
    const char *name, *unit;
    void (*run)(int, int, long);
    long per_round;
  } patterns[] = {{"pingpong", "messages", pingpong, 2 * (size / 2)},
                  {"halo", "messages", halo, 4L * size},
                  {"halo8", "messages", halo8, 4L * size},
                  {"allreduce", "operations", allreduce, 1}};
  int which = 0;
  while (argc == 4 && which < 4 && strcmp(argv[1], patterns[which].name) != 0) which++;
  if (argc != 4 || which == 4) {
    if (rank == 0) fprintf(stderr, "usage: patterns pingpong|halo|halo8|allreduce WARM COUNT\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  long warm = atol(argv[2]), count = atol(argv[3]);
  patterns[which].run(rank, size, warm);
  MPI_Barrier(MPI_COMM_WORLD);
  double wall = wall_s(), simulated = MPI_Wtime();
  patterns[which].run(rank, size, count);
  MPI_Barrier(MPI_COMM_WORLD);
  wall = wall_s() - wall;
  simulated = MPI_Wtime() - simulated;
  if (rank == 0)
    printf("%s %ld %.6f %.9e\n", patterns[which].unit, patterns[which].per_round * count, wall,
           simulated / (double)count);
  MPI_Finalize();
  return 0;
}
