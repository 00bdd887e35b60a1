/* SPDX-License-Identifier: Apache-2.0
 * Rounds of one-sided accesses, whose times are those of a replay.
 *
 * usage: simulated_rounds fence|lock|active|posts|atomics ROUNDS */
#include <string.h>

#include "simulated.h"

static void rounds(const char *pattern, int count) {
  enum { MOST = 8192 };
  static double memory[MOST], mine[MOST];
  const int right = (rank + 1) % size;
  MPI_Win win;
  MPI_Group world, before, behind;
  MPI_Datatype column;
  MPI_Type_vector(50, 1, 3, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, (int[]){right}, &behind);
  MPI_Group_incl(world, 1, (int[]){(rank + size - 1) % size}, &before);
  MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  for (int i = 0; i < 4; i++) MPI_Win_fence(0, win);
  for (int i = 0; i < count; i++) {
    if (strcmp(pattern, "fence") == 0) {
      MPI_Put(mine, 1, MPI_DOUBLE, right, 0, 1, MPI_DOUBLE, win);
      MPI_Put(mine, MOST / 2, MPI_DOUBLE, right, MOST / 2, MOST / 2, MPI_DOUBLE, win);
      MPI_Win_fence(0, win);
      MPI_Get(mine, 100, MPI_DOUBLE, right, 0, 100, MPI_DOUBLE, win);
    } else if (strcmp(pattern, "lock") == 0) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
      MPI_Put(mine, 10, MPI_DOUBLE, right, 0, 10, MPI_DOUBLE, win);
      MPI_Win_unlock(right, win);
    } else if (strcmp(pattern, "active") == 0) {
      MPI_Accumulate(mine, 20, MPI_DOUBLE, right, 0, 20, MPI_DOUBLE, MPI_SUM, win);
      MPI_Accumulate(mine, 4000, MPI_DOUBLE, right, 0, 4000, MPI_DOUBLE, MPI_SUM, win);
      MPI_Put(mine, 50, MPI_DOUBLE, right, 0, 1, column, win);
    } else if (strcmp(pattern, "posts") == 0) {
      MPI_Win_post(before, 0, win);
      MPI_Win_start(behind, 0, win);
      MPI_Put(mine, 10, MPI_DOUBLE, right, 0, 10, MPI_DOUBLE, win);
      MPI_Win_complete(win);
      MPI_Win_wait(win);
    } else {
      MPI_Win_lock_all(0, win);
      MPI_Fetch_and_op(mine, mine + 1, MPI_DOUBLE, right, 0, MPI_SUM, win);
      MPI_Win_flush(right, win);
      MPI_Compare_and_swap(mine, mine + 1, mine + 2, MPI_LONG, right, 8, win);
      MPI_Win_unlock_all(win);
    }
    MPI_Win_fence(0, win);
  }
  MPI_Win_free(&win);
  MPI_Group_free(&world), MPI_Group_free(&before), MPI_Group_free(&behind);
  MPI_Type_free(&column);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 2) rounds(argv[1], atoi(argv[2]));
  MPI_Finalize();
  return 0;
}
