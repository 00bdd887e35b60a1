// SPDX-License-Identifier: Apache-2.0
// The rank's time, for the library of GPUs (runtime/gpu): what it waits for a GPU is a sleep of its virtual clock.
//
// Limit: as for sleeps, a rank whose threads wait for different things goes by timed_sleeps.c.
#include "runtime/lib/gpu.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/lib/ni.h"

static struct exanet_ni *opened(void) {
  struct exanet_ni *ni = exanet_process_ni();
  return ni != NULL && exn_virtual(ni) ? ni : NULL;
}

const struct exn_gpu *exanet_gpu_of_node(void) {
  const struct exanet_ni *ni = exanet_process_ni();
  return ni != NULL && ni->region->gpu.per_node > 0 ? &ni->region->gpu : NULL;
}

uint64_t exanet_gpu_now_ps(void) {
  struct exanet_ni *ni = opened();
  if (ni == NULL) return 0;
  const uint64_t now = exanet_clock_read(ni);
  ni->clock_reads = 0; /* the program does not wait by reading the clock */
  return now;
}

void exanet_gpu_sleep(uint64_t ps) {
  struct exanet_ni *ni = opened();
  if (ni != NULL && ps > 0) exanet_sleep(ni, ps);
}

void exanet_gpu_uncounted(bool begins) {
  struct exanet_ni *ni = opened();
  if (ni == NULL) return;
  if (begins)
    exanet_uncounted_begin(ni);
  else
    exanet_uncounted_end(ni);
}

void exanet_gpu_end(const char *why) {
  struct exanet_ni *ni = exanet_process_ni();
  if (ni != NULL) exanet_end_run(ni, why);
  fprintf(stderr, "exanet: %s\n", why);
  _Exit(1);
}
