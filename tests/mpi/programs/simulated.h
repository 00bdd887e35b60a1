/* SPDX-License-Identifier: Apache-2.0
 * What programs of simulated calls share: checks that end the program, and an operation. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;

#define CHECK(what)                                                             \
  do {                                                                          \
    if (!(what)) {                                                              \
      fprintf(stderr, "rank %d, line %d: not so: %s\n", rank, __LINE__, #what); \
      MPI_Abort(MPI_COMM_WORLD, 3);                                             \
    }                                                                           \
  } while (0)

/* Matrices of two rows by two, whose product does not commute. */
static inline void multiply(void *in, void *inout, int *count, MPI_Datatype *type) {
  (void)type;
  for (int i = 0; i < *count; i++) {
    const int64_t *a = (const int64_t *)in + 4 * i;
    int64_t *b = (int64_t *)inout + 4 * i;
    const int64_t c[] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
                         a[2] * b[1] + a[3] * b[3]};
    for (int k = 0; k < 4; k++) b[k] = c[k] % 1000003;
  }
}
