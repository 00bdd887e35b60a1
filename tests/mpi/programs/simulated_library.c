/* SPDX-License-Identifier: Apache-2.0
 * What the MPI library still carries out under `exanet run --mpi-calls simulated`, among simulated calls: files, each
 * member's part read by its neighbour, and blocking collectives between two groups. Contents are checked. Any number of
 * ranks from 3 on.
 *
 *   simulated_library FILE
 *   simulated_library refused     a nonblocking collective between the groups */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulated.h"

enum { COUNT = 30000 };
static int out[COUNT], in[COUNT];

static void fill(int of) {
  for (int i = 0; i < COUNT; i++) out[i] = of * 100003 + i;
}
static int holds(int of) {
  for (int i = 0; i < COUNT; i++)
    if (in[i] != of * 100003 + i) return 0;
  return 1;
}

static void files(const char *name) {
  MPI_File file;
  MPI_Request request;
  const int next = (rank + 1) % size, small = 0;
  fill(rank);
  CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) == 0);
  CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == 0);
  CHECK(MPI_File_write_at_all(file, (MPI_Offset)rank * COUNT, out, COUNT, MPI_INT, MPI_STATUS_IGNORE) == 0);
  CHECK(MPI_File_sync(file) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_read_at(file, (MPI_Offset)next * COUNT, in, COUNT, MPI_INT, MPI_STATUS_IGNORE) == 0);
  CHECK(holds(next));
  memset(in, 0, sizeof in);
  CHECK(MPI_File_iread_at(file, (MPI_Offset)next * COUNT, in, COUNT, MPI_INT, &request) == 0);
  MPI_Sendrecv(&small, 1, MPI_INT, next, 3, out, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == 0);
  CHECK(holds(next));
  CHECK(MPI_File_close(&file) == 0);
}

/* The first rank alone is the one group, all others the other one. */
static void groups(int nonblocking) {
  MPI_Comm half, both;
  MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank > 0 ? 0 : 1, 7, &both);
  if (nonblocking) {
    MPI_Request request;
    MPI_Ibarrier(both, &request);
  }
  for (int round = 0; round < 3; round++) {
    fill(100 + round);
    if (rank == 0) {
      MPI_Bcast(out, COUNT, MPI_INT, MPI_ROOT, both);
    } else {
      MPI_Bcast(in, COUNT, MPI_INT, 0, both);
      CHECK(holds(100 + round));
    }
    int mine = rank + round, sum = 0, all = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, both);
    CHECK(sum == (rank > 0 ? round : size * (size - 1) / 2 + (size - 1) * round));
    MPI_Barrier(both);
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == size * (size - 1) / 2 + size * round);
  }
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
}

int main(int count, char **words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int refused = strcmp(words[1], "refused") == 0;
  if (!refused) files(words[1]);
  groups(refused);
  if (rank == 0) printf("all as it should be\n");
  MPI_Finalize();
  return 0;
}
