// SPDX-License-Identifier: Apache-2.0
// Persistent requests, carried out by the simulator.
//
// Model: what makes one keeps the call's arguments, after it has checked them; a start is the nonblocking call with
// these, under the same number. A derived type is duplicated, since the program may free it. Limits: types of
// MPI_Alltoallw_init, and operations, have to live as long as the request.
#include <stdlib.h>
#include <string.h>

#include "runtime/simulated/messages.h"
#include "runtime/simulated/operation.h"
#include "runtime/simulated/requests.h"

#define BUILT_IN 1u /* the two highest bits of a handle */

/* The nonblocking code that a start of the message has. */
static uint8_t started_as(uint8_t code) {
  switch (code) {
    case EXANET_TRACE_Ssend_init: return EXANET_TRACE_Issend;
    case EXANET_TRACE_Rsend_init: return EXANET_TRACE_Irsend;
    case EXANET_TRACE_Recv_init: return EXANET_TRACE_Irecv;
    default: return EXANET_TRACE_Isend;
  }
}

static bool is_message(uint8_t code) { return code < EXANET_TRACE_Barrier; }

static void keep_type(struct exanet_persistent *p, int at) {
  if (at < 0 || (uint32_t)p->a[at] >> 30 == BUILT_IN || exanet_handle_of(p->a[at]) == exanet_mpi.no_type) return;
  long copy = 0;
  if (exanet_own.type_dup(p->a[at], &copy) != 0) return;
  p->a[at] = p->types[p->type_count++] = exanet_handle_at((long)&copy, 0);
}

static void keep_types(struct exanet_persistent *p) {
  if (is_message(p->code)) return keep_type(p, 2);
  const struct exanet_collective *at = exanet_collective_of(p->code);
  if (at == NULL) return;
  if (at->send_list != 2) keep_type(p, at->send_type);
  if (at->receive_list != 2) keep_type(p, at->receive_type);
}

/* Where the request goes; -1: the library is to say what is wrong, or an error. Nothing is begun. */
static long check(struct exanet_simulated *s, uint8_t code, int *request) {
  if (is_message(code)) {
    *request = 6;
    return exanet_message_comm(s, code != EXANET_TRACE_Recv_init) == NULL || s->a[6] == 0 ? -1 : 0;
  }
  struct exanet_operation o;
  *request = exanet_operation_request_at(code) + 1;
  const long wrong = s->a[*request] == 0 ? -1 : exanet_operation_begin(&o, s, code, true);
  if (wrong == 0) o.end(&o, false);
  return wrong;
}

long exanet_simulated_init(struct exanet_simulated *s, uint8_t code) {
  int request;
  const long wrong = check(s, code, &request);
  if (wrong != 0) return wrong < 0 ? exanet_simulated_real(s) : wrong;
  struct exanet_persistent *p = exanet_simulated_memory(calloc(1, sizeof *p));
  p->call = *s;
  memcpy(p->a, s->a, sizeof p->a);
  p->call.a = p->a;
  p->code = is_message(code) ? started_as(code) : code;
  p->buffered = code == EXANET_TRACE_Bsend_init;
  keep_types(p);
  const uint32_t number = exanet_live_request_take(s);
  *exanet_live_request_at(number) = (struct exanet_live_request){.handle = s->comm, .in_use = true, .persistent = p};
  *(uint32_t *)s->a[request] = exanet_live_request_handle(number);
  return 0;
}

/* -1: the library is to say what is wrong with the request. */
static long start(struct exanet_simulated *s, uint32_t handle) {
  uint32_t number;
  const struct exanet_live_request *r = exanet_live_request_of(handle, &number);
  if (r == NULL || r->persistent == NULL || r->active) return -1;
  const struct exanet_persistent *p = r->persistent;
  struct exanet_simulated call = p->call;
  call.call = s->call;
  if (is_message(p->code)) {
    const long wrong =
        p->buffered ? exanet_buffered_begin(&call, number) : exanet_message_begin(&call, p->code, number, false);
    return wrong < 0 ? exanet_simulated_error(r->handle, EXANET_ERR_OTHER) : wrong;
  }
  struct exanet_operation *o = exanet_simulated_memory(malloc(sizeof *o));
  const long wrong = exanet_operation_begin(o, &call, p->code, true);
  if (wrong != 0) return free(o), wrong < 0 ? exanet_simulated_error(r->handle, EXANET_ERR_OTHER) : wrong;
  exanet_operation_post(o, number);
  return 0;
}

/* (request) or (count, requests) */
long exanet_simulated_start(struct exanet_simulated *s, uint8_t code) {
  const long *a = s->a, count = code == EXANET_TRACE_Start ? 1 : (int)a[0];
  const uint32_t *handles = (const uint32_t *)a[code == EXANET_TRACE_Start ? 0 : 1];
  uint32_t number, ours = 0;
  for (long i = 0; handles != NULL && i < count; i++) ours += exanet_live_request_of(handles[i], &number) != NULL;
  if (ours == 0) return exanet_simulated_real(s);
  if (ours < count) exanet_simulated_refuse(s, "for requests of messages and others, as of files, together");
  for (long i = 0; i < count; i++) {
    const long wrong = start(s, handles[i]);
    if (wrong != 0) return wrong < 0 ? exanet_simulated_error((long)exanet_mpi.world, EXANET_ERR_REQUEST) : wrong;
  }
  return 0;
}
