/* SPDX-License-Identifier: Apache-2.0
 * Whose time a thread goes on at that has waited for others (runtime/lib/account.c). */
#ifndef EXANET_CLOCK_MEETINGS_H
#define EXANET_CLOCK_MEETINGS_H

#include <pthread.h>

#include "clock.h"

/* What a thread gives others at an object for which they wait: a condition, a semaphore, a thread's end. The latest
   time of those who gave counts. */
void exanet_gives(const void *object);
void exanet_takes(const void *object); /* the calling thread need not wait for it */
void exanet_gives_no_more(const void *object); /* it is another object from now on */

/* A wait at an object, outside MPI; false: no time counts. */
bool exanet_wait_begins(void);
void exanet_wait_ends(bool counts, const void *object);
/* The value of a call that waits. */
#define EXANET_WAITS(object, call)             \
  ({                                           \
    const bool counts_ = exanet_wait_begins(); \
    const int returned_ = (call);              \
    exanet_wait_ends(counts_, object);         \
    returned_;                                 \
  })

/* Where a number of threads wait for each other, again and again. All zero is a meeting at which nobody has been. */
struct exanet_meeting {
  pthread_mutex_t lock;
  unsigned come, round;
  uint64_t latest_ps[2]; /* of this round and the last one, which all leave before the next one begins */
};
/* The calling thread comes, as one of so many; then it leaves. */
unsigned exanet_meeting_come(struct exanet_meeting *meeting, unsigned members);
uint64_t exanet_meeting_latest(struct exanet_meeting *meeting, unsigned round);

#endif
