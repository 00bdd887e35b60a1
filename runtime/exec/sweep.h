/* SPDX-License-Identifier: Apache-2.0
 * Ending what a program has started and left behind: its orphans come to the nearest child subreaper. */
#ifndef EXANET_EXEC_SWEEP_H
#define EXANET_EXEC_SWEEP_H

#include <sys/types.h>

void exn_sleep_ms(long ms);

/* Kills the calling process's children, but for those of which `spared` says so (it may be NULL). Returns how many
   it killed. */
int exn_kill_children(int (*spared)(pid_t child, void *state), void *state);

/* Ends all of the calling process's children, and theirs, and gives up after some seconds. */
void exn_sweep(void);
#endif
