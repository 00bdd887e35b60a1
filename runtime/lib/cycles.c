/* SPDX-License-Identifier: Apache-2.0
 * The processor time of threads on an emulated processor (exanet/cpu_counts.h). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "exanet/cpu_counts.h"
#include "runtime/lib/threads.h"

static struct exn_cpu_counts *counts; /* NULL: the processor is the host's */

/* Before the program closes files that it does not know. */
__attribute__((constructor)) static void open_counts(void) {
  const char *file = getenv(EXN_CPU_COUNTS_FD);
  if (!file || !*file) return;
  void *mapped = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(file), 0);
  if (mapped == MAP_FAILED) {
    perror("exanet: the counts of cycles");
    _exit(126);
  }
  counts = mapped;
  unsetenv("LD_PRELOAD"); /* what the program starts is the host's */
}

bool exn_counts_cycles(void) { return counts != NULL; }

static struct exn_cpu_thread *found(pid_t tid) {
  for (uint64_t i = 0; i < EXN_CPU_THREADS; i++)
    if (__atomic_load_n(&counts->thread[i].tid, __ATOMIC_ACQUIRE) == (uint32_t)tid) return &counts->thread[i];
  return NULL;
}

uint64_t exn_cycles_to_ps(uint64_t cycles) { return (uint64_t)((unsigned __int128)cycles * counts->cycle_fs / 1000); }

uint64_t exn_cycles(pid_t tid) {
  const struct exn_cpu_thread *thread = found(tid);
  return thread ? thread->cycles : 0;
}

static struct exn_cpu_thread *own(void) {
  static __thread __attribute__((tls_model("initial-exec"))) struct exn_cpu_thread *mine;
  if (!mine) mine = found(gettid());
  return mine;
}

uint64_t exn_own_cycles(void) { return own() ? own()->cycles : 0; }

void exn_cycles_stop(bool stop) {
  if (counts && own()) own()->stopped = stop;
}

void exn_cycles_begin(void) {
  struct exn_cpu_thread *mine = counts ? own() : NULL;
  if (!mine) return;
  mine->cycles = mine->instructions = mine->mispredicted = mine->misses[0] = mine->misses[1] = 0;
  mine->fresh = 1;
}
