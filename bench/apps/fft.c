/* SPDX-License-Identifier: Apache-2.0
 * A Fourier transform of a cube of SIZE complex points a side, a power of two and a multiple of the ranks, there and
 * back in each round: slabs along z, and a transpose (MPI_Alltoall) to slabs along y and another one back. */
#include <complex.h>

#include "app.h"

typedef double complex point;

static int n, mine, ranks;
static point *roots; /* exp(-2 pi i k / n) */

/* Transforms n points, `step` apart, in place; `line` has space for them. */
static void transform(point *at, size_t step, point *line, int back) {
  int bits = 0;
  while (1 << bits < n) bits++;
  for (int i = 0; i < n; i++) {
    int to = 0;
    for (int b = 0; b < bits; b++) to |= (i >> b & 1) << (bits - 1 - b);
    line[to] = at[(size_t)i * step];
  }
  for (int half = 1; half < n; half *= 2)
    for (int begin = 0; begin < n; begin += 2 * half)
      for (int i = 0; i < half; i++) {
        point root = roots[(size_t)i * (n / (2 * half))];
        point turned = line[begin + half + i] * (back ? conj(root) : root);
        line[begin + half + i] = line[begin + i] - turned;
        line[begin + i] += turned;
      }
  for (int i = 0; i < n; i++) at[(size_t)i * step] = line[i];
}

/* Slabs of [mine][n][n] by their first index become slabs by their second one. */
static void transpose(point *cube, point *out, point *in) {
  size_t block = (size_t)mine * mine * n;
  for (int to = 0; to < ranks; to++)
    for (int a = 0; a < mine; a++)
      for (int b = 0; b < mine; b++)
        memcpy(out + to * block + ((size_t)b * mine + a) * n, cube + ((size_t)a * n + to * mine + b) * n,
               n * sizeof *cube);
  int bytes = (int)(block * sizeof *cube);
  MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
  for (int from = 0; from < ranks; from++)
    for (int b = 0; b < mine; b++)
      memcpy(cube + ((size_t)b * n + from * mine) * n, in + from * block + (size_t)b * mine * n,
             (size_t)mine * n * sizeof *cube);
}

static void planes(point *cube, point *line, int back) {
  for (int a = 0; a < mine; a++) {
    for (int b = 0; b < n; b++) transform(cube + ((size_t)a * n + b) * n, 1, line, back);
    for (int x = 0; x < n; x++) transform(cube + (size_t)a * n * n + x, (size_t)n, line, back);
  }
}

static void columns(point *cube, point *line, int back) {
  for (int a = 0; a < mine; a++)
    for (int x = 0; x < n; x++) transform(cube + (size_t)a * n * n + x, (size_t)n, line, back);
}

int main(int argc, char **argv) {
  struct app app = app_begin(argc, argv);
  n = app.size;
  ranks = app.ranks;
  if (n & (n - 1) || n % ranks) app_fail("SIZE is a power of two and a multiple of the ranks");
  mine = n / ranks;
  size_t points = (size_t)mine * n * n;
  point *cube = app_array(points, sizeof *cube), *out = app_array(points, sizeof *out),
        *in = app_array(points, sizeof *in);
  point *line = app_array(n, sizeof *line);
  roots = app_array(n, sizeof *roots);
  for (int k = 0; k < n; k++) roots[k] = cexp(-2 * acos(-1) * I * k / n);
  for (size_t i = 0; i < points; i++) cube[i] = (double)((i + (size_t)app.rank * points) * 7919 % 1009) / 1009;
  double part = 0;
  for (int round = 0; round < app.rounds; round++) {
    planes(cube, line, 0);
    transpose(cube, out, in);
    columns(cube, line, 0);
    for (size_t i = 0; i < points; i++) part += cabs(cube[i]);
    columns(cube, line, 1);
    transpose(cube, out, in);
    planes(cube, line, 1);
    for (size_t i = 0; i < points; i++) cube[i] /= (double)n * n * n;
  }
  return app_end(&app, part);
}
