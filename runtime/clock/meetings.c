/* SPDX-License-Identifier: Apache-2.0
 * Whose time a thread goes on at that has waited for others.
 *
 * Model: who ends a wait leaves its time at the object of the wait, a condition, a semaphore or itself, and who has
 * waited there goes on at the latest one. At a barrier all go on at the latest time of those who came to this round:
 * one that the host lets run late must not see the next round's.
 *
 * Limit: objects are known by their address, OBJECTS of them at a time; the earliest one is forgotten. */
#include "meetings.h"

#include <stdatomic.h>

enum { OBJECTS = 1024, PROBES = 8 };

static struct {
  _Atomic(const void *) object;
  _Atomic uint64_t ps;
} given[OBJECTS];
static atomic_bool any; /* has been given */

/* That of the object; or, if it is to have one, another's; or -1. Without a lock: a signal's handler may post a
   semaphore. */
static int place_of(const void *object, bool make) {
  const unsigned first = (unsigned)((uint64_t)(uintptr_t)object * UINT64_C(0x9e3779b97f4a7c15) >> 32);
  unsigned oldest = first % OBJECTS;
  for (unsigned i = 0; i < PROBES; ++i) {
    const unsigned at = (first + i) % OBJECTS;
    const void *is = atomic_load(&given[at].object);
    if (is == NULL && make && atomic_compare_exchange_strong(&given[at].object, &is, object)) return (int)at;
    if (is == object) return (int)at;
    if (atomic_load(&given[at].ps) < atomic_load(&given[oldest].ps)) oldest = at;
  }
  if (!make) return -1;
  atomic_store(&given[oldest].ps, 0);
  atomic_store(&given[oldest].object, object);
  return (int)oldest;
}

static uint64_t given_at(const void *object) {
  const int at = object != NULL ? place_of(object, false) : -1;
  return at >= 0 ? atomic_load(&given[at].ps) : 0;
}

void exanet_gives(const void *object) {
  uint64_t ps;
  if (!exanet_thread_time(&ps)) return;
  atomic_store(&any, true);
  const int at = place_of(object, true);
  uint64_t before = atomic_load(&given[at].ps);
  while (before < ps && !atomic_compare_exchange_weak(&given[at].ps, &before, ps)) continue;
}

void exanet_gives_no_more(const void *object) {
  const int at = atomic_load(&any) ? place_of(object, false) : -1;
  if (at >= 0) atomic_store(&given[at].ps, 0);
}

void exanet_takes(const void *object) {
  uint64_t ps;
  if (atomic_load(&any) && exanet_thread_time(&ps)) exanet_thread_learns(given_at(object));
}

bool exanet_wait_begins(void) {
  uint64_t ps;
  if ((!atomic_load(&any) && exanet_program_threads() == 0) || !exanet_thread_time(&ps)) return false;
  exanet_thread_waits_from(ps);
  return true;
}

void exanet_wait_ends(bool counts, const void *object) {
  if (!counts) return;
  exanet_thread_waits_no_more();
  exanet_thread_goes_on_at(given_at(object));
}

unsigned exanet_meeting_come(struct exanet_meeting *meeting, unsigned members) {
  uint64_t ps = 0;
  exanet_thread_time(&ps);
  exanet_system_lock(&meeting->lock);
  const unsigned round = meeting->round;
  if (meeting->latest_ps[round % 2] < ps) meeting->latest_ps[round % 2] = ps;
  if (++meeting->come == members) {
    meeting->come = 0;
    meeting->latest_ps[++meeting->round % 2] = 0;
  }
  exanet_system_unlock(&meeting->lock);
  return round;
}

uint64_t exanet_meeting_latest(struct exanet_meeting *meeting, unsigned round) {
  exanet_system_lock(&meeting->lock);
  const uint64_t ps = meeting->latest_ps[round % 2];
  exanet_system_unlock(&meeting->lock);
  return ps;
}
