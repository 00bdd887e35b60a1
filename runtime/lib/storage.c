// SPDX-License-Identifier: Apache-2.0
// Calls on files of simulated storages.
//
// Model: the call lies in the rank's slot, and the rank sleeps until the simulator has ended it. All of the rank waits,
// as it does in a call of a program with one thread. Limit: of several threads one may be in such a call, and no other
// one may wait in MPI meanwhile; the run ends, and says so, where that is not so.
#include "runtime/lib/ni.h"

static void count(struct exn_storage_profile *profile, const struct exn_storage_call *call) {
  switch (call->action) {
    case EXN_STORAGE_READ:
      ++profile->reads;
      profile->read_bytes += call->bytes;
      break;
    case EXN_STORAGE_WRITE:
      ++profile->writes;
      profile->written_bytes += call->bytes;
      break;
    case EXN_STORAGE_METADATA: ++profile->metadata; break;
    default: ++profile->syncs;
  }
}

void exanet_thread_uses_file(struct exanet_ni *ni, bool uses) {
  __atomic_fetch_add(&ni->using_files, uses ? 1u : -1u, __ATOMIC_ACQ_REL);
}

void exanet_storage_call(struct exanet_ni *ni, const struct exn_storage_call *call) {
  struct exn_rank *slot = ni->slot;
  const bool alone = exanet_program_threads() == 0;
  const void *nobody = NULL;
  if (!alone &&
      !__atomic_compare_exchange_n(&ni->in_storage, &nobody, &exn_polls, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    exanet_end_run(
        ni,
        "--storage: two threads of a rank use files of a storage at once, which is not simulated yet: let one do both");
  exn_account_stop(ni);
  const uint64_t began_ps = ni->clock_ps;
  slot->storage_call = *call;
  slot->horizon_ps = 0;
  exn_sleep(ni, EXN_SLEEPING, UINT64_MAX, false);
  count(&slot->storage, call);
  slot->storage.time_ps += ni->clock_ps - began_ps;
  exn_account_leave(ni);
  if (!alone) __atomic_store_n(&ni->in_storage, NULL, __ATOMIC_RELEASE);
}
