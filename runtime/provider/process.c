/* SPDX-License-Identifier: Apache-2.0
 * The process-wide state behind every object, and the lock around it. */
#include <stdlib.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exanet_prov.h"

struct exanet_process exanet_process = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A process that has had one thread until now has nobody to keep out, and starts no other while it is in here. */
static bool is_alone(void) { return exanet_process.alone = __libc_single_threaded; }

void exanet_lock(void) {
  if (is_alone()) return;
  if (exanet_system_trylock(&exanet_process.lock) != 0) {
    atomic_fetch_add(&exanet_process.waiting, 1);
    exanet_system_lock(&exanet_process.lock);
    atomic_fetch_sub(&exanet_process.waiting, 1);
  }
}

void exanet_lock_to_poll(void) {
  if (is_alone()) return;
  exanet_system_lock(&exanet_process.lock);
}

/* A mutex is not fair: without stepping aside, a thread that polls in a loop would keep the lock from one that has
   work to post. */
void exanet_unlock(void) {
  if (exanet_process.alone) {
    exanet_process.alone = false;
    return;
  }
  exanet_system_unlock(&exanet_process.lock);
  exanet_step_aside();
  if (atomic_load(&exanet_process.waiting)) syscall(SYS_sched_yield);
}

int exanet_process_open(struct exanet_ni **ni) {
  int rc = 0;
  if (!getenv("EXANET_NI")) return -FI_ENODATA;
  exanet_lock();
  if (!exanet_process.ni) rc = exanet_open(&exanet_process.ni);
  *ni = exanet_process.ni;
  exanet_unlock();
  return rc ? -FI_ENODATA : 0;
}
