/* SPDX-License-Identifier: Apache-2.0
 * The provider's entry point, and the process-wide state behind every object. */
#include <rdma/providers/fi_prov.h>
#include <stdlib.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/faults/status_table.h"
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

/* A mutex is not fair: without stepping aside, a thread that polls in a loop would keep the lock from one that has work to post. */
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

int exanet_no_bind(struct fid *fid, struct fid *bfid, uint64_t flags) { return -FI_ENOSYS; }
int exanet_no_control(struct fid *fid, int command, void *arg) { return -FI_ENOSYS; }
int exanet_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context) {
  return -FI_ENOSYS;
}

int exanet_fi_errno(int status) {
  switch (status) {
    case -EMSGSIZE: return FI_ETRUNC;
    case -ENOKEY: return FI_ENOKEY;
#define EXANET_STATUS_CASE(name, number, fi, text) \
  case -(number): return fi;
    EXANET_STATUSES(EXANET_STATUS_CASE)
#undef EXANET_STATUS_CASE
    default: return -status;
  }
}

/* The interface outlives libfabric's own clean-up when the clock shim still uses it; exanet_open() counts its users. Runs at exit, which
 * may be a signal handler's exit in the middle of a poll: then the lock is never free again, and everything is left to the system. */
static void exanet_cleanup(void) {
  if (exanet_process.alone || exanet_system_trylock(&exanet_process.lock) != 0) return;
  if (exanet_process.ni) exanet_close(exanet_process.ni);
  exanet_process.ni = NULL;
  free(exanet_process.endpoints);
  exanet_process.endpoints = NULL;
  exanet_process.endpoint_slots = 0;
  exanet_op_release_memory();
  exanet_unlock();
}

static struct fi_provider exanet_provider = {
    .version = EXANET_PROV_VERSION,
    .fi_version = EXANET_FI_VERSION,
    .name = "exanet",
    .getinfo = exanet_getinfo,
    .fabric = exanet_fabric_open,
    .cleanup = exanet_cleanup,
};

FI_EXT_INI { return &exanet_provider; }
