/* SPDX-License-Identifier: Apache-2.0
 * Sorts integers of 20 bits, 2^SIZE of them for each rank: in each round counts of 1024 buckets are added up over
 * all ranks, and each key goes to the rank that has its bucket (MPI_Alltoall of counts, MPI_Alltoallv of keys). */
#include <stdint.h>

#include "app.h"

enum { KEY_BITS = 20, BUCKETS = 1024 };

int main(int argc, char **argv) {
  struct app app = app_begin(argc, argv);
  if (app.size > 24) app_fail("SIZE is 24 at most");
  int count = 1 << app.size, ranks = app.ranks;
  int32_t *keys = app_array(count, sizeof *keys), *sorted = app_array(count, sizeof *sorted);
  int *out = app_array(ranks, sizeof *out), *in = app_array(ranks, sizeof *in);
  int *out_at = app_array(ranks + 1, sizeof *out_at), *in_at = app_array(ranks + 1, sizeof *in_at);
  int *owner = app_array(BUCKETS, sizeof *owner), *at = app_array(ranks, sizeof *at);
  double part = 0;
  for (int round = 0; round < app.rounds; round++) {
    uint64_t state = 88172645463325252ull + (uint64_t)app.rank * 1000003 + (uint64_t)round * 7919;
    int buckets[BUCKETS] = {0}, all[BUCKETS];
    for (int i = 0; i < count; i++) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      keys[i] = (int32_t)((state >> 20) & ((1 << KEY_BITS) - 1));
      buckets[keys[i] >> (KEY_BITS - 10)]++;
    }
    MPI_Allreduce(buckets, all, BUCKETS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int64_t before = 0, total = (int64_t)count * ranks;
    memset(out, 0, ranks * sizeof *out);
    for (int b = 0; b < BUCKETS; b++) {
      owner[b] = (int)(before * ranks / total);
      before += all[b];
      out[owner[b]] += buckets[b];
    }
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < ranks; i++) {
      out_at[i + 1] = out_at[i] + out[i];
      in_at[i + 1] = in_at[i] + in[i];
      at[i] = out_at[i];
    }
    for (int i = 0; i < count; i++) sorted[at[owner[keys[i] >> (KEY_BITS - 10)]]++] = keys[i];
    int32_t *come = app_array(in_at[ranks], sizeof *come);
    MPI_Alltoallv(sorted, out, out_at, MPI_INT32_T, come, in, in_at, MPI_INT32_T, MPI_COMM_WORLD);
    int *tally = app_array((size_t)1 << KEY_BITS, sizeof *tally);
    for (int i = 0; i < in_at[ranks]; i++) tally[come[i]]++;
    int64_t place = 0, first = 0, mine = in_at[ranks];
    MPI_Exscan(&mine, &place, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (app.rank == 0) place = 0;
    for (int k = 0; k < 1 << KEY_BITS; k++) {
      for (int j = 0; j < tally[k]; j++, first++)
        if ((place + first) % 4099 == 0) part += k;
    }
    free(tally);
    free(come);
  }
  return app_end(&app, part);
}
