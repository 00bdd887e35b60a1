/* SPDX-License-Identifier: Apache-2.0
 * A collective under way: blocking, or with a request. */
#ifndef EXANET_SIMULATED_OPERATION_H
#define EXANET_SIMULATED_OPERATION_H

#include "runtime/record/collectives.h"
#include "runtime/simulated/engine.h"

#define EXANET_ARGUMENTS 13

struct exanet_lists;

struct exanet_operation {
  struct exanet_simulated s; /* its arguments are these */
  long a[EXANET_ARGUMENTS];
  uint8_t code; /* of the blocking one */
  bool keeps; /* beyond the call: types may be freed meanwhile */
  const struct exanet_collective *at;
  const struct exanet_communicator *comm; /* while it begins or ends */
  int root;
  bool is_root;
  struct exanet_live_call call;
  struct exanet_bytes sent, received;
  struct exanet_lists *lists;
  struct exanet_truncated truncated;
  /* Takes what the simulator has brought, where it has, and frees what was kept. An error, 0 for none. */
  int (*end)(struct exanet_operation *o, bool over);
  int (*end_of_kind)(struct exanet_operation *o, bool over); /* of one with a request: what that does in the end */
};

/* Each packs what the member brings: moves.c, reduced.c, lists.c, neighbours.c. -1: the library is to say what is
   wrong; or an error that it has reported. */
long exanet_begin_move(struct exanet_operation *o);
long exanet_begin_reduction(struct exanet_operation *o);
long exanet_begin_lists(struct exanet_operation *o);
long exanet_begin_neighbours(struct exanet_operation *o);

static inline long exanet_operation_count(const struct exanet_operation *o, int at) {
  return exanet_simulated_count(&o->s, at);
}

/* collectives.c. Begins one, with its arguments copied; as above. */
long exanet_operation_begin(struct exanet_operation *o, const struct exanet_simulated *s, uint8_t code, bool keeps);
/* Where the request of a nonblocking one stands among its arguments; of a persistent one behind the next. */
int exanet_operation_request_at(uint8_t code);
/* One that has begun goes on as a request. */
void exanet_operation_post(struct exanet_operation *o, uint32_t number);
#endif
