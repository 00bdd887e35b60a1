/* SPDX-License-Identifier: Apache-2.0
 * Requests and messages of matched probes: numbers of the simulator's, in handles that MPICH has none of its own in. */
#ifndef EXANET_SIMULATED_REQUESTS_H
#define EXANET_SIMULATED_REQUESTS_H

#include "runtime/simulated/engine.h"
#include "runtime/simulated/operation.h"

#define EXANET_NO_REQUEST 0x2c000000u /* and no message */

struct exanet_status { /* of MPICH */
  int count_low, count_high_and_cancelled, source, tag, error;
};

/* What a persistent request begins: its call, with arguments of its own. */
struct exanet_persistent {
  struct exanet_simulated call;
  long a[EXANET_ARGUMENTS];
  uint8_t code; /* of the call that is begun */
  bool buffered;
  long types[2]; /* derived ones, kept until it is freed */
  unsigned type_count;
};

struct exanet_live_request {
  struct exanet_bytes bytes;
  struct exanet_bytes sent; /* of MPI_Isendrecv */
  uint32_t comm; /* its number */
  long handle; /* its handle */
  bool receives, in_use;
  bool of_any; /* a receive from any source */
  bool done; /* over, and the simulator has no request of it: then what follows is known */
  struct exanet_live_status status;
  int error;
  struct exanet_truncated truncated;
  struct exanet_operation *operation; /* a collective */
  struct exanet_persistent *persistent;
  bool active; /* of a persistent one */
};

/* A new one, and its handle. Its place is valid until the next one is taken. */
uint32_t exanet_live_request_take(const struct exanet_simulated *s);
struct exanet_live_request *exanet_live_request_at(uint32_t number);
uint32_t exanet_live_request_handle(uint32_t number);
/* NULL: the handle is none of ours. */
struct exanet_live_request *exanet_live_request_of(uint32_t handle, uint32_t *number);
/* Begins what the simulator, or nobody, goes on with; a persistent one stays what it is. */
void exanet_live_request_begin(uint32_t number, const struct exanet_live_request *begun);
/* It is over: contents go where they belong. */
void exanet_live_request_finish(struct exanet_live_request *r, const struct exanet_live_status *status);
void exanet_live_request_give_back(uint32_t number);
static inline bool exanet_live_request_is_active(const struct exanet_live_request *r) {
  return r->persistent == NULL || r->active;
}

static inline bool exanet_is_ignored(long status) { return (uint64_t)status == exanet_mpi.status_ignore; }
/* Fills a status; NULL: the program ignores it. Its error is the caller's to set. */
void exanet_status_fill(struct exanet_status *to, const struct exanet_live_status *from,
                        const struct exanet_communicator *comm, bool receives, uint64_t space);
#endif
