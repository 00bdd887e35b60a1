/* SPDX-License-Identifier: Apache-2.0
 * Bodies that attract each other, SIZE of them for each rank: in each round all of them go round the ring of ranks
 * once. */
#include "app.h"

struct body {
  double x, y, z, mass;
};

static void attract(const struct body *mine, double (*pull)[3], const struct body *others, int count) {
  for (int i = 0; i < count; i++)
    for (int j = 0; j < count; j++) {
      double x = others[j].x - mine[i].x, y = others[j].y - mine[i].y, z = others[j].z - mine[i].z;
      double far = x * x + y * y + z * z + 0.01, weight = others[j].mass / (far * sqrt(far));
      pull[i][0] += weight * x;
      pull[i][1] += weight * y;
      pull[i][2] += weight * z;
    }
}

int main(int argc, char **argv) {
  struct app app = app_begin(argc, argv);
  int count = app.size, next = (app.rank + 1) % app.ranks, last = (app.rank + app.ranks - 1) % app.ranks;
  struct body *mine = app_array(count, sizeof *mine), *guests = app_array(count, sizeof *guests),
              *come = app_array(count, sizeof *come);
  double (*pull)[3] = app_array(count, sizeof *pull), (*speed)[3] = app_array(count, sizeof *speed);
  for (int i = 0; i < count; i++) {
    long k = (long)app.rank * count + i;
    mine[i] = (struct body){(double)(k * 7919 % 1009), (double)(k * 104729 % 1013), (double)(k * 1299709 % 1019),
                            1.0 + k % 3};
  }
  int bytes = (int)(count * sizeof *mine);
  for (int round = 0; round < app.rounds; round++) {
    memset(pull, 0, count * sizeof *pull);
    memcpy(guests, mine, count * sizeof *mine);
    for (int step = 0; step < app.ranks; step++) {
      MPI_Request requests[2];
      MPI_Irecv(come, bytes, MPI_BYTE, last, 0, MPI_COMM_WORLD, &requests[0]);
      MPI_Isend(guests, bytes, MPI_BYTE, next, 0, MPI_COMM_WORLD, &requests[1]);
      attract(mine, pull, guests, count);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      struct body *free_now = guests;
      guests = come;
      come = free_now;
    }
    for (int i = 0; i < count; i++) {
      for (int d = 0; d < 3; d++) speed[i][d] += 0.01 * pull[i][d];
      mine[i].x += 0.01 * speed[i][0];
      mine[i].y += 0.01 * speed[i][1];
      mine[i].z += 0.01 * speed[i][2];
    }
  }
  double part = 0;
  for (int i = 0; i < count; i++) part += mine[i].x + mine[i].y + mine[i].z;
  return app_end(&app, part);
}
