/* SPDX-License-Identifier: Apache-2.0
 * Conjugate gradients on the seven-point Laplacian of a cube of SIZE points a side for each rank, the ranks a row
 * along z: two planes of neighbours and two allreduces of 8 bytes a round. */
#include "app.h"

static int n;
static size_t plane, points;

static double sum(double part) {
  double whole;
  MPI_Allreduce(&part, &whole, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return whole;
}

static double dot(const double *a, const double *b) {
  double part = 0;
  for (size_t i = 0; i < points; i++) part += a[i] * b[i];
  return sum(part);
}

/* Fills the planes below and above `v`, which has space for them; zero at the ends of the row. */
static void neighbours(const struct app *app, double *v) {
  int below = app->rank ? app->rank - 1 : MPI_PROC_NULL,
      above = app->rank + 1 < app->ranks ? app->rank + 1 : MPI_PROC_NULL;
  int count = (int)plane;
  MPI_Request requests[4];
  MPI_Irecv(v - plane, count, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(v + points, count, MPI_DOUBLE, above, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(v + points - plane, count, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &requests[2]);
  MPI_Isend(v, count, MPI_DOUBLE, below, 1, MPI_COMM_WORLD, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static void multiply(double *out, const double *v) {
  for (int z = 0; z < n; z++)
    for (int y = 0; y < n; y++)
      for (int x = 0; x < n; x++) {
        size_t i = (size_t)z * plane + (size_t)y * n + x;
        double near = v[i + plane] + (v - plane)[i];
        if (x) near += v[i - 1];
        if (x + 1 < n) near += v[i + 1];
        if (y) near += v[i - n];
        if (y + 1 < n) near += v[i + n];
        out[i] = 6 * v[i] - near;
      }
}

int main(int argc, char **argv) {
  struct app app = app_begin(argc, argv);
  n = app.size;
  plane = (size_t)n * n;
  points = plane * n;
  double *x = app_array(points, sizeof *x), *r = app_array(points, sizeof *r), *q = app_array(points, sizeof *q);
  double *p = (double *)app_array(points + 2 * plane, sizeof *p) + plane;
  for (size_t i = 0; i < points; i++) p[i] = r[i] = 1;
  double rho = dot(r, r);
  for (int round = 0; round < app.rounds; round++) {
    neighbours(&app, p);
    multiply(q, p);
    double alpha = rho / dot(p, q);
    for (size_t i = 0; i < points; i++) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
    }
    double next = dot(r, r);
    for (size_t i = 0; i < points; i++) p[i] = r[i] + next / rho * p[i];
    rho = next;
  }
  double part = 0;
  for (size_t i = 0; i < points; i++) part += x[i];
  return app_end(&app, part);
}
