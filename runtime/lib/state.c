/* SPDX-License-Identifier: Apache-2.0
 * State of a process and of its threads that several layers share, and what the region says at any time.
 *
 * Nothing here acts: no function sleeps, moves the clock by itself, or calls a higher layer. */
#include <unistd.h>

#include "runtime/lib/ni.h"

__thread __attribute__((tls_model("initial-exec"))) int exanet_mpi_depth;
__thread __attribute__((tls_model("initial-exec"))) int exanet_helper_thread;
__thread __attribute__((tls_model("initial-exec"))) uint64_t exn_own_ps;
__thread __attribute__((tls_model("initial-exec"))) struct exn_call exn_call;
__thread __attribute__((tls_model("initial-exec"))) struct exn_polls exn_polls = {.fresh = true,
                                                                                  .window_ps = EXN_FIRST_WINDOW_PS};

void (*exanet_first_operation)(void);
static struct exanet_ni *open_ni; /* once open */
static bool forgotten; /* a forked child: the interface is its parent's */

struct exanet_ni *exanet_process_ni(void) { return __atomic_load_n(&open_ni, __ATOMIC_ACQUIRE); }

void exn_set_process_ni(struct exanet_ni *ni) { __atomic_store_n(&open_ni, ni, __ATOMIC_RELEASE); }

void exanet_forget(void) {
  forgotten = true;
  exn_set_process_ni(NULL);
}

bool exn_is_forgotten(void) { return forgotten; }

void exn_exit_if_stopped(struct exanet_ni *ni) {
  /* The run is over: nobody will answer any more, and the program cannot go on without its network. */
  if (!__atomic_load_n(&ni->region->stop, __ATOMIC_ACQUIRE)) return;
  const uint32_t ended = ni->slot->exit_code != 0 ? ni->slot->exit_code : ni->slot->abort_code;
  _exit(ended != 0 ? (int)((ended - 1) & 0xff) : EXN_STOPPED_EXIT);
}

uint32_t exanet_rank(const struct exanet_ni *ni) { return ni->rank; }
uint32_t exanet_size(const struct exanet_ni *ni) { return ni->region->ranks; }
size_t exanet_eager_max(const struct exanet_ni *ni) { return ni->region->eager_max; }
size_t exanet_packet_max(const struct exanet_ni *ni) { return ni->region->packet_max; }
uint32_t exanet_node(const struct exanet_ni *ni) { return ni->slot->node; }
uint32_t exanet_node_of(const struct exanet_ni *ni, uint32_t rank) { return exn_rank_slot(ni->region, rank)->node; }
bool exanet_shares_nodes(const struct exanet_ni *ni) { return ni->region->shares_nodes != 0; }
uint32_t exanet_offloaded(const struct exanet_ni *ni) { return ni->region->offloaded; }
bool exanet_bcast_is_chosen(const struct exanet_ni *ni) { return ni->region->chosen_bcast != EXN_BCAST_OF_THE_LIBRARY; }
bool exanet_bcast_is_copied(const struct exanet_ni *ni) { return ni->region->chosen_bcast == EXN_BCAST_BY_COPIES; }

bool exanet_ranks_have_died(const struct exanet_ni *ni) {
  return __atomic_load_n(&ni->region->deaths, __ATOMIC_ACQUIRE) > 0;
}

bool exanet_is_receiving(const struct exanet_ni *ni) { return ni->slot->receiving != 0; }
bool exanet_takes_turns(const struct exanet_ni *ni) { return ni->multithreaded; }
int exanet_is_virtual(const struct exanet_ni *ni) { return exn_virtual(ni); }
uint64_t exanet_clock_ps(const struct exanet_ni *ni) { return ni->clock_ps; }

uint64_t exanet_clock_peek(const struct exanet_ni *ni) {
  return ni->clock_ps + __atomic_load_n(&ni->pending_ps, __ATOMIC_RELAXED);
}

uint64_t exanet_clock_own(const struct exanet_ni *ni) {
  const uint64_t clock = exanet_clock_peek(ni);
  if (ni->region->compute_factor <= 0) return clock;
  if (exn_own_ps < clock) exn_own_ps = clock;
  return exn_own_ps;
}
