/* SPDX-License-Identifier: Apache-2.0
 * Heat on a torus, a square of SIZE points a side for each rank, the ranks a rectangle: four edges a round to and
 * from neighbours. */
#include "app.h"

int main(int argc, char **argv) {
  struct app app = app_begin(argc, argv);
  int n = app.size, shape[2] = {0, 0}, round_trip[2] = {1, 1};
  MPI_Dims_create(app.ranks, 2, shape);
  MPI_Comm grid;
  MPI_Cart_create(MPI_COMM_WORLD, 2, shape, round_trip, 0, &grid);
  int west, east, south, north, where[2];
  MPI_Cart_shift(grid, 0, 1, &south, &north);
  MPI_Cart_shift(grid, 1, 1, &west, &east);
  MPI_Cart_coords(grid, app.rank, 2, where);
  MPI_Datatype column;
  int wide = n + 2;
  MPI_Type_vector(n, 1, wide, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  double *now = app_array((size_t)wide * wide, sizeof *now), *next = app_array((size_t)wide * wide, sizeof *next);
#define AT(y, x) ((size_t)(y) * wide + (x))
  for (int y = 1; y <= n; y++)
    for (int x = 1; x <= n; x++) now[AT(y, x)] = (where[0] * n + y) % 7 + (where[1] * n + x) % 5;
  for (int round = 0; round < app.rounds; round++) {
    MPI_Request requests[8];
    MPI_Irecv(now + AT(0, 1), n, MPI_DOUBLE, south, 0, grid, &requests[0]);
    MPI_Irecv(now + AT(n + 1, 1), n, MPI_DOUBLE, north, 1, grid, &requests[1]);
    MPI_Irecv(now + AT(1, 0), 1, column, west, 2, grid, &requests[2]);
    MPI_Irecv(now + AT(1, n + 1), 1, column, east, 3, grid, &requests[3]);
    MPI_Isend(now + AT(n, 1), n, MPI_DOUBLE, north, 0, grid, &requests[4]);
    MPI_Isend(now + AT(1, 1), n, MPI_DOUBLE, south, 1, grid, &requests[5]);
    MPI_Isend(now + AT(1, n), 1, column, east, 2, grid, &requests[6]);
    MPI_Isend(now + AT(1, 1), 1, column, west, 3, grid, &requests[7]);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    for (int y = 1; y <= n; y++)
      for (int x = 1; x <= n; x++) {
        double near = now[AT(y - 1, x)] + now[AT(y + 1, x)] + now[AT(y, x - 1)] + now[AT(y, x + 1)];
        next[AT(y, x)] = 0.5 * now[AT(y, x)] + 0.125 * near;
      }
    double *last = now;
    now = next;
    next = last;
  }
  double part = 0;
  for (int y = 1; y <= n; y++)
    for (int x = 1; x <= n; x++) part += now[AT(y, x)] * now[AT(y, x)];
  return app_end(&app, part);
}
