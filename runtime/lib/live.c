// SPDX-License-Identifier: Apache-2.0
// Hands MPI calls to the simulator, which carries them out, where the run asks for that.
//
// Model: the address of a call goes into the rank's slot, and the rank sleeps until the simulator has ended it: one
// hand-over a call. Limits: the rank shares its address space with the simulator; one call at a time.
#include <string.h>
#include <unistd.h>

#include "runtime/lib/ni.h"

bool exanet_simulates_mpi(const struct exanet_ni *ni) { return ni->region->simulates_mpi != 0; }

void exanet_live_call(struct exanet_ni *ni, struct exanet_live_call *call, bool waits) {
  ni->slot->live_call = (uint64_t)(uintptr_t)call;
  ni->slot->horizon_ps = 0;
  exn_sleep(ni, EXN_SLEEPING, UINT64_MAX, waits);
}

void exanet_end_run(struct exanet_ni *ni, const char *reason) {
  struct exn_region *region = ni->region;
  uint32_t unreported = 0;
  if (__atomic_compare_exchange_n(&region->reporting, &unreported, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    const size_t bytes = strnlen(reason, sizeof region->reason - 1);
    memcpy(region->reason, reason, bytes);
    region->reason[bytes] = '\0';
    __atomic_store_n(&region->reporting, 2, __ATOMIC_RELEASE);
  }
  __atomic_store_n(&region->stopping, 1, __ATOMIC_RELEASE);
  exn_kick(ni);
  _exit(EXN_STOPPED_EXIT);
}
