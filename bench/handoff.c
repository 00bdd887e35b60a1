// SPDX-License-Identifier: Apache-2.0
// The limit of any simulator whose ranks are processes: N processes in a ring on one core, each of which wakes the next
// and sleeps. Nothing else happens, so its rate is that of the host's context switch between processes with a futex,
// the cheapest way there is to say "your turn".
// usage: handoff PROCESSES HANDOVERS; prints "handovers COUNT WALL_S 0" as patterns.c prints its timings.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct turn {
  _Alignas(64) uint32_t count;
};

static void give(struct turn *t) {
  __atomic_fetch_add(&t->count, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &t->count, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void await(struct turn *t, uint32_t count) {
  uint32_t seen;
  while ((seen = __atomic_load_n(&t->count, __ATOMIC_ACQUIRE)) < count)
    syscall(SYS_futex, &t->count, FUTEX_WAIT, seen, NULL, NULL, 0);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 16;
  const uint32_t rounds = (uint32_t)((argc > 2 ? atoi(argv[2]) : 100000) / (n > 0 ? n : 1));
  if (n < 2 || rounds < 1) return 2;
  struct turn *turns = mmap(NULL, (size_t)n * sizeof *turns, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (turns == MAP_FAILED) return 1;
  sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0}); /* as ranks have it: no preemption by whom one wakes */
  for (int i = 0; i < n; i++) {
    if (fork() != 0) continue;
    double start = 0;
    for (uint32_t round = 1; round <= rounds; round++) {
      await(&turns[i], round);
      if (i == 0 && round == 1) start = now();
      if (i == n - 1 && round == rounds) _exit(0);
      give(&turns[(i + 1) % n]);
      if (i == 0 && round == rounds) {
        printf("handovers %lu %.6f 0\n", (unsigned long)(rounds - 1) * (unsigned long)n, now() - start);
        fflush(stdout);
      }
    }
    _exit(0);
  }
  usleep(100000); /* all asleep */
  give(&turns[0]);
  while (wait(NULL) > 0) continue;
  return 0;
}
