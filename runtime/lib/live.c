// SPDX-License-Identifier: Apache-2.0
// Hands MPI calls to the simulator, which carries them out, where the run asks for that.
//
// Model: the address of a call goes into the rank's slot, and the rank sleeps until the simulator has ended it. Calls
// that wait for nobody are kept until the rank next sleeps, for whatever reason; an eager message is copied, so that
// its buffer is the program's again at once. Limits: the rank shares its address space with the simulator; one call at
// a time.
#include <string.h>

#include "core/replay/live_call.h"
#include "runtime/lib/ni.h"

#define POSTED 64
#define CONTENTS 65536

static struct {
  struct exanet_live_call calls[POSTED];
  unsigned count;
  size_t used;
  char contents[CONTENTS] __attribute__((aligned(16)));
} posted;

static bool knows_failures;
bool exanet_live_knows_failures(void) { return knows_failures; }

bool exanet_simulates_mpi(const struct exanet_ni *ni) { return ni->region->simulates_mpi != 0; }

void exanet_live_call(struct exanet_ni *ni, struct exanet_live_call *call, bool waits) {
  call->time_ps = ni->clock_ps;
  ni->slot->live_call = (uint64_t)(uintptr_t)call;
  ni->slot->horizon_ps = 0;
  exn_sleep(ni, EXN_SLEEPING, UINT64_MAX, waits);
  knows_failures = knows_failures || call->knows != 0;
}

/* Appends it to those that are posted, with so many bytes of contents; NULL where there is no space. */
static struct exanet_live_call *keep(struct exanet_ni *ni, const struct exanet_live_call *call, size_t copied) {
  if (ni->slot->live_posted == 0) posted.count = 0, posted.used = 0;
  if (posted.count == POSTED || posted.used + copied > CONTENTS) return NULL;
  struct exanet_live_call *kept = &posted.calls[posted.count];
  *kept = *call;
  kept->time_ps = ni->clock_ps;
  kept->next = NULL;
  if (posted.count++ == 0)
    ni->slot->live_posted = (uint64_t)(uintptr_t)kept;
  else
    kept[-1].next = kept;
  ni->slot->horizon_ps = 0;
  return kept;
}

void exanet_live_start(struct exanet_ni *ni, struct exanet_live_call *call) {
  call->asks = 1;
  if (keep(ni, call, 0) == NULL) call->asks = 0;
  exanet_live_call(ni, call, false);
}

bool exanet_live_post(struct exanet_ni *ni, const struct exanet_live_call *call, bool sends) {
  if (knows_failures) return false;
  const struct exn_region *region = ni->region;
  const bool eager = call->sent.bytes <= region->eager_max;
  const struct exn_costs *costs = &ni->slot->costs;
  const uint64_t word = costs->store_word_bytes, stored = region->envelope_bytes + (eager ? call->sent.bytes : 0);
  const size_t copied = sends && eager ? (call->sent.bytes + 15) / 16 * 16 : 0;
  struct exanet_live_call *kept = keep(ni, call, copied);
  if (kept == NULL) return false;
  if (sends) exn_charge(ni, costs->send_cpu_ps + costs->store_word_ps * ((stored + word - 1) / word));
  if (copied > 0) {
    kept->sent.address = (uint64_t)(uintptr_t)memcpy(posted.contents + posted.used,
                                                     (const void *)(uintptr_t)call->sent.address, call->sent.bytes);
    posted.used += copied;
  }
  return true;
}
