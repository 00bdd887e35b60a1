// SPDX-License-Identifier: Apache-2.0
// Collectives, carried out by the simulator.
//
// Model: each member brings its bytes, packed, and says how many it expects, so that the simulator plans the library's
// own algorithm. Once the algorithm has come to its end at this rank, what it needs of the others' lies in the
// simulator's memory, and it takes it from there: a blocking one at once, one with a request when that is over.
// Blocking ones on intercommunicators are the library's: when one returns, all that the rank has sent is with its
// interface, so nobody needs the library's progress. That is not so for one with a request, which is refused.
#include "runtime/record/collectives.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/record/neighbours.h"
#include "runtime/simulated/operation.h"
#include "runtime/simulated/requests.h"

static bool is_neighbours(uint8_t code) {
  return code >= EXANET_TRACE_Neighbor_allgather && code <= EXANET_TRACE_Ineighbor_alltoallw;
}

static uint8_t blocking(uint8_t code) {
  if (code >= EXANET_TRACE_Ineighbor_allgather && code <= EXANET_TRACE_Ineighbor_alltoallw)
    return code - EXANET_TRACE_Ineighbor_allgather + EXANET_TRACE_Neighbor_allgather;
  return code >= EXANET_TRACE_Ibarrier && code <= EXANET_TRACE_Iexscan ? code - EXANET_TRACE_NONBLOCKING : code;
}

int exanet_operation_request_at(uint8_t code) {
  return 1 + (is_neighbours(code) ? exanet_neighbours_communicator_at(code) : exanet_collective_of(code)->comm);
}

static int end_barrier(struct exanet_operation *o, bool over) {
  (void)o;
  (void)over;
  return 0;
}

/* For all members, or neighbours. */
static struct exanet_live_part *parts_for(uint32_t count) {
  static struct exanet_live_part *parts;
  static uint32_t capacity;
  if (count > capacity) parts = exanet_simulated_memory(realloc(parts, sizeof *parts * (capacity = 2 * count)));
  return parts;
}

static long begin_by_kind(struct exanet_operation *o) {
  if (o->at == NULL) return exanet_begin_neighbours(o);
  if (o->at->op >= 0) return exanet_begin_reduction(o);
  if (o->at->send_list != 0 || o->at->receive_list != 0) return exanet_begin_lists(o);
  if (o->code != EXANET_TRACE_Barrier) return exanet_begin_move(o);
  o->end = end_barrier;
  return 0;
}

long exanet_operation_begin(struct exanet_operation *o, const struct exanet_simulated *s, uint8_t code, bool keeps) {
  memset(o, 0, sizeof *o);
  o->s = *s;
  memcpy(o->a, s->a, sizeof o->a);
  o->s.a = o->a;
  o->code = blocking(code);
  o->keeps = keeps;
  o->at = is_neighbours(code) ? NULL : exanet_collective_of(code);
  const long handle = o->a[exanet_operation_request_at(code) - 1];
  o->comm = keeps ? exanet_simulated_intracomm(&o->s, handle) : exanet_simulated_comm(&o->s, handle);
  if (o->comm == NULL || o->comm->remote != NULL) return -1;
  const bool rooted = o->at != NULL && o->at->root >= 0;
  o->root = rooted ? (int)o->a[o->at->root] : 0;
  if (o->root < 0 || o->root >= o->comm->size) return -1;
  o->is_root = rooted && o->root == o->comm->rank;
  const long wrong = begin_by_kind(o);
  if (wrong != 0) return wrong;
  o->call.code = code;
  o->call.comm = o->comm->number;
  o->call.root = (uint32_t)o->root;
  o->call.flags |= o->is_root ? EXANET_TRACE_IS_ROOT : 0;
  o->call.sent.address = (uint64_t)(uintptr_t)o->sent.data;
  o->call.sent.bytes = o->sent.bytes;
  return 0;
}

static uint32_t part_count(const struct exanet_operation *o) {
  return is_neighbours(o->code) ? o->call.source_count : (uint32_t)o->comm->size;
}

static int end_posted(struct exanet_operation *o, bool over) {
  o->comm = exanet_communicator_of(o->call.comm);
  const int error = o->end_of_kind(o, over);
  free(o->call.parts);
  return error;
}

void exanet_operation_post(struct exanet_operation *o, uint32_t number) {
  o->call.request = number;
  o->call.parts = exanet_simulated_memory(calloc(part_count(o) + (size_t)1, sizeof *o->call.parts));
  o->end_of_kind = o->end;
  o->end = end_posted;
  exanet_live_request_begin(number,
                            &(struct exanet_live_request){.comm = o->call.comm, .handle = o->s.comm, .operation = o});
  exanet_live_start(o->s.ni, &o->call);
}

static long begin_request(struct exanet_simulated *s, uint8_t code) {
  const int at = exanet_operation_request_at(code);
  struct exanet_operation *o = exanet_simulated_memory(malloc(sizeof *o));
  const long wrong = s->a[at] == 0 ? -1 : exanet_operation_begin(o, s, code, true);
  if (wrong != 0) return free(o), wrong < 0 ? exanet_simulated_real(s) : wrong;
  const uint32_t number = exanet_live_request_take(s);
  exanet_operation_post(o, number);
  *(uint32_t *)s->a[at] = exanet_live_request_handle(number);
  return 0;
}

long exanet_simulated_collective(struct exanet_simulated *s, uint8_t code) {
  if (code != blocking(code)) return begin_request(s, code);
  struct exanet_operation o;
  const long wrong = exanet_operation_begin(&o, s, code, false);
  if (wrong != 0) return wrong < 0 ? exanet_simulated_real(s) : wrong;
  o.call.parts = parts_for(part_count(&o));
  exanet_live_call(s->ni, &o.call, true);
  const int error = o.end(&o, o.call.error == 0);
  if (o.call.error != 0) return exanet_simulated_call_failed(&o.s, &o.call);
  return error == 0 ? 0 : exanet_simulated_truncated(s, &o.truncated, error);
}
