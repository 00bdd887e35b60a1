/* SPDX-License-Identifier: Apache-2.0
 * What the miniature applications of bench/applications.py share: the size of the job, and the line that each prints
 * at its end.
 *
 *   APPLICATION SIZE ROUNDS
 *
 * Rank 0 prints `answer VALUE`, which does not depend on the simulator, to eleven digits that no order of additions
 * changes. */
#ifndef EXANET_BENCH_APP_H
#define EXANET_BENCH_APP_H

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct app {
  int rank, ranks;
  int size, rounds;
};

static inline void app_fail(const char *why) {
  fprintf(stderr, "%s\n", why);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

static inline struct app app_begin(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  struct app app;
  MPI_Comm_rank(MPI_COMM_WORLD, &app.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &app.ranks);
  if (argc != 3) app_fail("give SIZE and ROUNDS");
  app.size = atoi(argv[1]);
  app.rounds = atoi(argv[2]);
  if (app.size < 1 || app.rounds < 1) app_fail("SIZE and ROUNDS are at least 1");
  return app;
}

static inline void *app_array(size_t count, size_t bytes) {
  void *array = calloc(count ? count : 1, bytes);
  if (!array) app_fail("no memory is left");
  return array;
}

static inline int app_end(const struct app *app, double part) {
  double whole = 0;
  MPI_Reduce(&part, &whole, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (app->rank == 0) printf("answer %.10e\n", whole);
  return MPI_Finalize();
}

#endif
