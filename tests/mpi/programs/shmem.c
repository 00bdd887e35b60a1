/* SPDX-License-Identifier: Apache-2.0
 * Two ranks of OpenSHMEM put into each other's memory in turn, and rank 0 prints the time that this took.
 *
 * usage: shmem init|thread|start_pes finalize|return|abort|twice|fail|wait */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "shmem_library.h"

enum { ROUNDS = 20, BYTES = 256 };

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int begin(const char *how) {
  int provided = 0;
  if (strcmp(how, "thread") == 0) return shmem_init_thread(4, &provided) == 1 ? shmem_init_thread(0, &provided) : 1;
  if (strcmp(how, "start_pes") == 0)
    start_pes(0);
  else
    shmem_init();
  return 0;
}

int main(int argc, char **argv) {
  const double start = now_s();
  if (begin(argv[1]) != 0) return 2;
  const double begun = now_s();
  const int first = shmem_my_pe() == 0;
  for (unsigned round = 1; round <= ROUNDS; ++round) {
    if (!first) shmem_wait_for_puts(round);
    memset(shmem_memory(), (int)round, BYTES);
    shmem_put_first(BYTES);
    if (first) shmem_wait_for_puts(round);
    if (shmem_memory()[BYTES - 1] != (char)round) return 4;
  }
  if (first) printf("set-up %.1f ns, puts %.1f ns\n", 1e9 * (begun - start), 1e9 * (now_s() - begun));
  fflush(stdout);
  const char *end = argv[2];
  if (strcmp(end, "abort") == 0 && first) shmem_global_exit(7);
  if (strcmp(end, "abort") == 0) shmem_wait_for_puts(1000);
  if (strcmp(end, "fail") == 0) return 6;
  if (strcmp(end, "wait") == 0 && !first) shmem_wait_for_puts(1000);
  if (strcmp(end, "return") == 0) return 0;
  shmem_finalize();
  if (strcmp(end, "twice") == 0) shmem_init();
  return 0;
}
