// SPDX-License-Identifier: Apache-2.0
// What the kernel says of this process's threads (threads.h).
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/lib/host.h"
#include "runtime/lib/threads.h"

static uint64_t clock_ns(clockid_t clock) {
  struct timespec now;
  exanet_system_clock(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t exn_host_ns(void) { return clock_ns(CLOCK_MONOTONIC); }
uint64_t exn_host_coarse_ns(void) { return clock_ns(CLOCK_MONOTONIC_COARSE); }

static int open_file(pid_t tid, const char *name) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/%s", (int)tid, name);
  return exanet_system_open(path, O_RDONLY | O_CLOEXEC);
}

int exn_task_open_stat(pid_t tid) { return open_file(tid, "stat"); }

bool exn_task_stat_runs(int stat) {
  char text[256];
  const ssize_t n = stat < 0 ? 0 : exanet_system_pread(stat, text, sizeof text - 1, 0);
  if (n <= 0) return false;
  text[n] = 0;
  const char *after = strrchr(text, ')');
  return after && after[1] && (after[2] == 'R' || after[2] == 'D');
}

bool exn_thread_runs(pid_t tid) {
  if (tid == EXN_COMING) return true;
  const int stat = exn_task_open_stat(tid);
  const bool runs = exn_task_stat_runs(stat);
  if (stat >= 0) exanet_system_close(stat);
  return runs;
}

uint64_t exn_thread_ns(pid_t tid) {
  struct timespec used = {0};
  syscall(SYS_clock_gettime, (clockid_t)(~(unsigned)tid << 3 | 6u),
          &used); /* the kernel's name for a thread's processor clock */
  return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

bool exn_task_sleeps_on_futex(pid_t tid) {
  char text[16] = "";
  const int file = open_file(tid, "syscall");
  if (file < 0) return false;
  const ssize_t n = exanet_system_pread(file, text, sizeof text - 1, 0); /* libc's is the program's */
  exanet_system_close(file);
  return n > 0 && atoi(text) == SYS_futex;
}
