// SPDX-License-Identifier: Apache-2.0
// Accesses to windows, carried out by the simulator.
//
// Model: the call says where the memory of both sides lies, block by block, and the simulator copies and computes.
// Arguments that are wrong, and accesses outside of an epoch, go to the library, which has no epoch open and says what
// is wrong. Limit: accumulates of the types of 16-bit and 128-bit numbers are refused.
#include "runtime/record/windows.h"
#include "runtime/simulated/requests.h"
#include "runtime/simulated/windows.h"

/* An access's arguments that stand at no place of `struct exanet_access`. */
struct arguments {
  const struct exanet_access *at;
  long result, compared; /* addresses */
  long op; /* a handle; of no accumulate 0 */
};

static struct arguments arguments_of(uint8_t code, const long *a) {
  struct arguments of = {.at = exanet_access_of(code)};
  switch (code) {
    case EXANET_TRACE_Put:
    case EXANET_TRACE_Rput: break;
    case EXANET_TRACE_Get:
    case EXANET_TRACE_Rget: of.result = a[0]; break;
    case EXANET_TRACE_Compare_and_swap: of.compared = a[1], of.result = a[2]; break;
    case EXANET_TRACE_Fetch_and_op: of.result = a[1], of.op = a[5]; break;
    case EXANET_TRACE_Get_accumulate:
    case EXANET_TRACE_Rget_accumulate: of.result = a[3], of.op = a[10]; break;
    default: of.op = a[of.at->window - 1];
  }
  return of;
}

static long count_at(const struct exanet_simulated *s, int at) { return at < 0 ? 1 : exanet_simulated_count(s, at); }

/* False: the library is to say what is wrong. */
static bool is_valid(const struct exanet_simulated *s, long buffer, int count, int type) {
  return type < 0 || exanet_bytes_valid(buffer, count_at(s, count), s->a[type]);
}

static struct exanet_live_memory memory_of(const struct exanet_simulated *s, long buffer, int count, int type) {
  if (type < 0) return (struct exanet_live_memory){0};
  return exanet_layout_of(buffer, count_at(s, count), s->a[type]);
}

/* What it computes; false: the library is to say what is wrong. */
static bool operation_of(const struct exanet_simulated *s, const struct arguments *of,
                         struct exanet_live_access *access) {
  access->operation = EXANET_LIVE_REPLACE;
  if (of->op == 0) return true;
  const uint32_t operation = (uint32_t)of->op & 0xff;
  const bool only_reads = operation == EXANET_LIVE_NO_OP;
  if ((uint32_t)of->op >> 24 != 0x58 || operation < EXANET_LIVE_MAX || (only_reads && of->result == 0)) return false;
  if (operation > EXANET_LIVE_NO_OP) exanet_simulated_refuse(s, "with an operation that is not MPI's");
  access->operation = operation;
  if (operation >= EXANET_LIVE_REPLACE) return true;
  const long element = exanet_element_type(s->a[of->at->target_type]);
  if (!exanet_simulated_op_fits(element, of->op)) return false;
  const int type = exanet_live_type_of(element);
  if (type < 0) exanet_simulated_refuse(s, "of this datatype");
  access->type = (uint32_t)type;
  return true;
}

static void begin(const struct exanet_simulated *s, uint8_t code, struct exanet_live_access *access,
                  const struct exanet_window *w) {
  const struct exanet_access *at = exanet_access_of(code);
  struct exanet_live_call call = {.code = code,
                                  .comm = w->comm,
                                  .flags = access->target.blocks == NULL ? EXANET_TRACE_CONTIGUOUS : 0,
                                  .bytes = access->origin.bytes,
                                  .receive_bytes = access->result.bytes,
                                  .access = access};
  const bool nobody = access->peer == EXANET_LIVE_NOBODY;
  if (at->requests) {
    call.request = exanet_live_request_take(s);
    exanet_live_request_begin(call.request, &(struct exanet_live_request){.comm = w->comm,
                                                                          .handle = (long)exanet_mpi.world,
                                                                          .done = nobody,
                                                                          .status = {.source = EXANET_LIVE_NOBODY}});
    *(uint32_t *)s->a[at->window + 1] = exanet_live_request_handle(call.request);
  }
  if (!nobody) exanet_live_call(s->ni, &call, false);
}

long exanet_simulated_access(struct exanet_simulated *s, uint8_t code) {
  const long *a = s->a;
  const struct arguments of = arguments_of(code, a);
  const struct exanet_access *at = of.at;
  const struct exanet_window *w = exanet_window_of(a[at->window]);
  const struct exanet_communicator *comm = w != NULL ? exanet_communicator_of(w->comm) : NULL;
  const int member = (int)a[at->peer];
  const bool nobody = member == exanet_mpi.process_null;
  const bool somewhere = nobody || (member >= 0 && comm != NULL && member < comm->size && a[at->peer + 1] >= 0);
  if (comm == NULL || !somewhere || (at->requests && a[at->window + 1] == 0)) return exanet_simulated_real(s);
  struct exanet_live_access access = {.window = w->number, .peer = EXANET_LIVE_NOBODY};
  if (!nobody) {
    const struct exanet_window_member *there = &w->members[member];
    const long target = (long)(there->base + (uint64_t)a[at->peer + 1] * there->unit);
    if (!exanet_window_is_open(w, member) || !operation_of(s, &of, &access)) return exanet_simulated_real(s);
    const bool sends = access.operation != EXANET_LIVE_NO_OP && at->type >= 0;
    if ((sends && !is_valid(s, a[0], at->count, at->type)) ||
        !is_valid(s, of.result, at->result_count, at->result_type) || count_at(s, at->target_count) < 0 ||
        exanet_handle_of(a[at->target_type]) == exanet_mpi.no_type)
      return exanet_simulated_real(s);
    access.peer = (uint32_t)exanet_communicator_peer(comm, member);
    if (sends) access.origin = memory_of(s, a[0], at->count, at->type);
    access.result = memory_of(s, of.result, at->result_count, at->result_type);
    access.target = memory_of(s, target, at->target_count, at->target_type);
    access.compared = (uint64_t)of.compared;
  }
  begin(s, code, &access, w);
  exanet_layout_free(&access.origin);
  exanet_layout_free(&access.result);
  exanet_layout_free(&access.target);
  return 0;
}
