/* SPDX-License-Identifier: Apache-2.0
 * One poll of the interface for the whole process, its completions sorted to queues and counters.
 *
 * The rules of virtual time (a first empty poll costs nothing, the next ones wait) are exanet_poll()'s; therefore a
 * call here is made only when the caller's own queue is empty, and polls exactly once. */

#include "exanet_prov.h"

#define EXANET_BATCH \
  4   /* as many as a wake-up brings; they lie on the stack, whose pages a rank that has just been woken finds cold */

static uint64_t exanet_progress_flags(const struct exanet_completion *c) {
  uint64_t message = c->tagged ? FI_TAGGED : FI_MSG;
  switch (c->kind) {
    case EXANET_C_SEND: return FI_SEND | message;
    case EXANET_C_RECEIVE:
    case EXANET_C_PEEK: return FI_RECV | message;
    case EXANET_C_PUT: return FI_RMA | FI_WRITE;
    case EXANET_C_GET: return FI_RMA | FI_READ;
    case EXANET_C_ATOMIC: return FI_ATOMIC | FI_WRITE;
    case EXANET_C_REMOTE_PUT: return FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
    default: return 0;
  }
}

static void exanet_progress_fail(struct exanet_core *core, const struct exanet_completion *c,
                                 const struct exanet_op *op) {
  bool receive = c->kind == EXANET_C_RECEIVE || c->kind == EXANET_C_PEEK;
  struct exanet_cq_slot slot = {.context = op ? op->context : NULL,
                                .flags = op ? op->cq_flags : exanet_progress_flags(c),
                                .error = exanet_fi_errno(c->status),
                                .peer = c->peer,
                                .source = FI_ADDR_NOTAVAIL,
                                .tag = c->tag,
                                .data = c->has_data ? c->data : 0};
  if (op && c->status == -EMSGSIZE) {
    /* A multi-receive's message starts somewhere inside the buffer; the space is what was left from there. */
    size_t space = op->len - (c->buf ? (size_t)((char *)c->buf - (char *)op->buf) : 0);
    slot.len = c->len < space ? c->len : space;
    slot.overflow = c->len - slot.len;
    slot.buf = op->scatter ? NULL : c->buf;
    if (op->scatter) exanet_op_scatter(op, slot.len);
  } else if (op) {
    slot.buf = op->scatter ? NULL : op->buf;
    if (c->status == -ECANCELED) {
      slot.tag = op->tag;
      if (op->multi) slot.flags |= FI_MULTI_RECV;
    }
  }
  exanet_cq_push(receive ? core->rx_cq : core->tx_cq, &slot);
}

static void exanet_progress_tx(struct exanet_core *core, const struct exanet_completion *c, struct exanet_op *op) {
  static const enum exanet_counter counters[] = {[EXANET_C_SEND] = EXANET_CNTR_SEND,
                                                 [EXANET_C_PUT] = EXANET_CNTR_WRITE,
                                                 [EXANET_C_GET] = EXANET_CNTR_READ,
                                                 [EXANET_C_ATOMIC] = EXANET_CNTR_WRITE};
  struct exanet_cntr *cntr = core->counters[op ? op->counter : counters[c->kind]];
  if (cntr) exanet_cntr_count(cntr, c->status != 0);
  if (c->status) {
    exanet_progress_fail(core, c, op);
  } else if (op) {
    if (op->scatter) exanet_op_scatter(op, SIZE_MAX);
    struct exanet_cq_slot slot = {
        .context = op->context, .flags = op->cq_flags, .peer = c->peer, .source = FI_ADDR_NOTAVAIL};
    if (!op->quiet) exanet_cq_push(core->tx_cq, &slot);
  }
  if (op) exanet_op_finish(op);
}

/* Names the sender of a message, or turns the completion into an error where the caller wants to hear of strangers. */
static void exanet_progress_source(const struct exanet_core *core, exanet_addr peer, struct exanet_cq_slot *slot) {
  if (!core->want_source) return;
  slot->source = exanet_av_reverse(core->av, peer);
  if (slot->source == FI_ADDR_NOTAVAIL && core->want_source_error) slot->error = FI_EADDRNOTAVAIL;
}

static void exanet_progress_recv(struct exanet_core *core, const struct exanet_completion *c, struct exanet_op *op) {
  struct exanet_cntr *cntr = core->counters[EXANET_CNTR_RECV];
  if (cntr && c->kind == EXANET_C_RECEIVE) exanet_cntr_count(cntr, c->status != 0);
  if (!op) return;
  bool peek = c->kind == EXANET_C_PEEK;
  if (c->status) {
    exanet_progress_fail(core, c, op);
  } else {
    struct exanet_cq_slot slot = {.context = op->context,
                                  .flags = op->cq_flags | (c->has_data ? FI_REMOTE_CQ_DATA : 0),
                                  .len = c->len,
                                  .buf = op->scatter || peek ? NULL : c->buf,
                                  .data = c->has_data ? c->data : 0,
                                  .tag = c->tag,
                                  .peer = c->peer,
                                  .source = FI_ADDR_NOTAVAIL};
    if (op->scatter) exanet_op_scatter(op, c->len);
    exanet_progress_source(core, c->peer, &slot);
    if (!op->quiet || slot.error || peek) exanet_cq_push(core->rx_cq, &slot);
  }
  if (peek && !c->status && op->op_class == EXANET_OP_CLAIMED)
    return;   /* kept for the receive that takes the claimed message */
  if (!op->multi || c->status == -ECANCELED) exanet_op_finish(op);   /* a cancelled buffer has no other end */
}

/* libfabric lets the release of a multi-receive buffer ride on its last message; that saves callers an entry. */
static void exanet_progress_multi_done(struct exanet_core *core, struct exanet_op *op) {
  if (!op) return;
  struct exanet_cq_slot *newest = core->rx_cq ? exanet_cq_newest(core->rx_cq) : NULL;
  struct exanet_cq_slot slot = {
      .context = op->context, .flags = FI_MULTI_RECV, .buf = op->buf, .source = FI_ADDR_NOTAVAIL};
  if (newest && newest->context == op->context && (newest->flags & FI_RECV))
    newest->flags |= FI_MULTI_RECV;
  else
    exanet_cq_push(core->rx_cq, &slot);
  exanet_op_finish(op);
}

static void exanet_progress_remote_put(struct exanet_core *core, const struct exanet_completion *c) {
  struct exanet_cq_slot slot = {
      .flags = exanet_progress_flags(c), .len = c->len, .data = c->data, .peer = c->peer, .source = FI_ADDR_NOTAVAIL};
  exanet_progress_source(core, c->peer, &slot);
  slot.error = 0;
  exanet_cq_push(core->rx_cq, &slot);
}

static void exanet_progress_remote_event(struct exanet_core *core, const struct exanet_completion *c) {
  bool write = c->access & EXANET_REMOTE_WRITE;
  struct exanet_cntr *cntr = core ? core->counters[write ? EXANET_CNTR_REMOTE_WRITE : EXANET_CNTR_REMOTE_READ] : NULL;
  if (cntr) exanet_cntr_count(cntr, false);
  uint64_t flag = write ? FI_REMOTE_WRITE : FI_REMOTE_READ;
  for (struct exanet_mr *mr = exanet_process.regions; mr; mr = mr->next)
    if (mr->counter && mr->fid.key == c->key && (mr->counter_flags & flag)) exanet_cntr_count(mr->counter, false);
}

static void exanet_progress_dispatch(const struct exanet_completion *c) {
  struct exanet_op *op = (struct exanet_op *)(uintptr_t)c->cookie;
  struct exanet_core *core = c->ep < exanet_process.endpoint_slots ? exanet_process.endpoints[c->ep] : NULL;
  if (c->kind == EXANET_C_REMOTE_EVENT) {
    exanet_progress_remote_event(core, c);
    return;
  }
  const bool copied = c->ep == EXANET_COPIES && exanet_bcast_is_copied(exanet_process.ni);
  if (c->kind == EXANET_C_REDUCTION || c->kind == EXANET_C_REDUCTION_OPEN || copied) {
    struct exanet_awaited *awaited = (struct exanet_awaited *)(uintptr_t)c->cookie;
    if (awaited == NULL) return;
    awaited->status = c->status;
    awaited->tree = (uint32_t)c->data;
    exanet_thread_has_news(awaited->poster);
    __atomic_store_n(&awaited->done, true, __ATOMIC_RELEASE);
    return;
  }
  if (!core || (op && op->core != core)) {   /* the endpoint was closed with work under way */
    if (op && !op->multi) exanet_op_finish(op);
    return;
  }
  if (op) exanet_thread_has_news(op->poster);
  switch (c->kind) {
    case EXANET_C_SEND:
    case EXANET_C_PUT:
    case EXANET_C_GET:
    case EXANET_C_ATOMIC: exanet_progress_tx(core, c, op); break;
    case EXANET_C_RECEIVE:
    case EXANET_C_PEEK: exanet_progress_recv(core, c, op); break;
    case EXANET_C_MULTI_DONE: exanet_progress_multi_done(core, op); break;
    case EXANET_C_REMOTE_PUT: exanet_progress_remote_put(core, c); break;
    default: break;
  }
}

static int exanet_progress_sort(const struct exanet_completion *batch, int n) {
  for (int i = 0; i < n; i++) exanet_progress_dispatch(&batch[i]);
  return n > 0 ? n : 0;
}

int exanet_progress(void) {
  struct exanet_completion batch[EXANET_BATCH];
  exanet_begin_operation();
  if (atomic_load(&exanet_process.waiting)) return 0; /* another thread has work to post: it goes before time passes */
  return exanet_progress_sort(batch, exanet_poll(exanet_process.ni, batch, EXANET_BATCH));
}

int exanet_progress_wait(uint64_t timeout_ps) {
  struct exanet_completion batch[EXANET_BATCH];
  exanet_begin_operation();
  return exanet_progress_sort(batch, exanet_wait(exanet_process.ni, batch, EXANET_BATCH, timeout_ps));
}

void exanet_progress_once(struct exanet_ni *ni, uint64_t until_ps, bool serves) {
  struct exanet_completion batch[EXANET_BATCH];
  if (atomic_load(&exanet_process.waiting)) return;
  exanet_progress_sort(batch, exanet_wait_once(ni, batch, EXANET_BATCH, until_ps, serves));
}

void exanet_progress_yield(void) {
  exanet_unlock();
  exanet_lock_to_poll();
}
