/* SPDX-License-Identifier: Apache-2.0
 * The host below the shim: functions of the C library behind those that a rank has in their place, and how many
 * threads the program has. */
#ifndef EXANET_LIB_HOST_H
#define EXANET_LIB_HOST_H

#include <pthread.h>
#include <sys/types.h>
#include <time.h>

/* The next definition of a libc function after this library's; cached in *slot. `version` may be NULL. */
void *exanet_real(void **slot, const char *name, const char *version);

/* The system's clock. In a rank clock_gettime() and its kin read virtual time, also for calls from this library:
 * time what the host really took (CPU time of the rank, watchdogs) with this. Async-signal-safe. */
int exanet_system_clock(clockid_t clock, struct timespec *out);
/* The system's: a program's files may be on a simulated storage. */
int exanet_system_open(const char *path, int flags);
ssize_t exanet_system_pread(int file, void *to, size_t bytes, off_t offset);
int exanet_system_close(int file);
/* The system's, for locks of our own: what a thread does with others says something about it. */
int exanet_system_trylock(pthread_mutex_t *mutex);
int exanet_system_lock(pthread_mutex_t *mutex);
int exanet_system_unlock(pthread_mutex_t *mutex);

/* How many threads that the program has created itself there are; 0: its main thread is alone, but for those of its
   libraries. */
int exanet_program_threads(void);
void exanet_program_thread_begins(void);
void exanet_program_thread_ends(void);
#endif
