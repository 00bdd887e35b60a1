/* SPDX-License-Identifier: Apache-2.0
 * Ending what a program has started and left behind.
 *
 * By the whole of /proc, because /proc/PID/task/PID/children does not exist everywhere; only rare ends of a program
 * come here. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "runtime/exec/sweep.h"

#include <dirent.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SWEEP_LIMIT_MS 3000 /* how long to go on killing what the program left behind */

void exn_sleep_ms(long ms) {
  struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&t, NULL);
}

int exn_kill_children(int (*spared)(pid_t child, void *state), void *state) {
  const pid_t parent = getpid();
  DIR *proc = opendir("/proc");
  if (!proc) return 0;
  int killed = 0;
  struct dirent *entry;
  while ((entry = readdir(proc))) {
    pid_t pid = atoi(entry->d_name), its_parent;
    if (pid <= 0 || pid == parent) continue;
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file) continue;
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = 0;
    /* "PID (name) state PPID": the name may hold anything, so look from its last parenthesis on. */
    char *name_end = strrchr(text, ')');
    if (!name_end || sscanf(name_end, ") %*c %d", &its_parent) != 1 || its_parent != parent) continue;
    if (spared && spared(pid, state)) continue;
    killed++;
    kill(pid, SIGKILL);
  }
  closedir(proc);
  return killed;
}

/* Each round's victims leave their own children to us, so it goes on until there are none. */
void exn_sweep(void) {
  for (int waited = 0; waited < SWEEP_LIMIT_MS; waited += 2) {
    pid_t reaped;
    while ((reaped = waitpid(-1, NULL, WNOHANG | __WALL)) > 0) continue;
    if (reaped < 0) return; /* ECHILD: nothing is left */
    exn_kill_children(NULL, NULL);
    exn_sleep_ms(2);
  }
}
