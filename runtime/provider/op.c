/* SPDX-License-Identifier: Apache-2.0
 * The life of one posted operation: what must be remembered until its completion comes back.
 *
 * An operation whose end is not reported (inject, or selective completion without a counter) has no record: it is
 * posted silently with cookie 0. Lists of buffers are gathered into one bounce buffer, since the interface takes
 * one. Records come from slabs and are never given back before clean-up, because a completion may still name the
 * record of an endpoint that was closed. */
#include <stdlib.h>
#include <string.h>

#include "exanet_prov.h"

#define EXANET_SLAB_OPS 256

struct exanet_slab {
  struct exanet_slab *next;
  struct exanet_op ops[EXANET_SLAB_OPS];
};

static struct exanet_slab *exanet_slabs;
static struct exanet_op *exanet_free_ops;

static bool exanet_op_grow(void) {
  struct exanet_slab *slab = calloc(1, sizeof *slab);
  if (!slab) return false;
  slab->next = exanet_slabs;
  exanet_slabs = slab;
  for (size_t i = 0; i < EXANET_SLAB_OPS; i++) {
    slab->ops[i].next = exanet_free_ops;
    exanet_free_ops = &slab->ops[i];
  }
  return true;
}

struct exanet_op *exanet_op_take(struct exanet_core *core, enum exanet_op_class op_class, void *context) {
  if (!exanet_free_ops && !exanet_op_grow()) return NULL;
  struct exanet_op *op = exanet_free_ops;
  exanet_free_ops = op->next;
  *op = (struct exanet_op){
      .core = core, .op_class = op_class, .context = context, .poster = exanet_thread_posting(), .next = core->ops};
  if (core->ops) core->ops->prev = op;
  core->ops = op;
  if (op_class == EXANET_OP_TX)
    core->tx_used++;
  else
    core->rx_used++;
  return op;
}

static void exanet_op_unlink(struct exanet_core *core, struct exanet_op *op) {
  if (op->prev)
    op->prev->next = op->next;
  else
    core->ops = op->next;
  if (op->next) op->next->prev = op->prev;
  if (op->op_class == EXANET_OP_TX)
    core->tx_used--;
  else
    core->rx_used--;
}

void exanet_op_finish(struct exanet_op *op) {
  if (op->core) exanet_op_unlink(op->core, op);
  free(op->bounce);
  free(op->scatter);
  *op = (struct exanet_op){.next = exanet_free_ops};
  exanet_free_ops = op;
}

void exanet_op_orphan_all(struct exanet_core *core) {
  while (core->ops) {
    struct exanet_op *op = core->ops;
    exanet_op_unlink(core, op);
    op->core = NULL;
  }
}

void exanet_op_release_memory(void) {
  while (exanet_slabs) {
    struct exanet_slab *slab = exanet_slabs;
    exanet_slabs = slab->next;
    for (size_t i = 0; i < EXANET_SLAB_OPS; i++) {
      free(slab->ops[i].bounce);
      free(slab->ops[i].scatter);
    }
    free(slab);
  }
  exanet_free_ops = NULL;
}

struct exanet_op *exanet_op_find(struct exanet_core *core, enum exanet_op_class op_class, const void *context) {
  struct exanet_op *found = NULL;   /* the oldest, as callers may reuse a context */
  for (struct exanet_op *op = core->ops; op; op = op->next)
    if (op->op_class == op_class && op->context == context) found = op;
  return found;
}

void exanet_op_scatter(const struct exanet_op *op, size_t bytes) {
  const char *from = op->bounce;
  for (size_t i = 0; i < op->scatter_count && bytes; i++) {
    size_t part = op->scatter[i].iov_len < bytes ? op->scatter[i].iov_len : bytes;
    memcpy(op->scatter[i].iov_base, from, part);
    from += part;
    bytes -= part;
  }
}

/* -- transmit ------------------------------------------------------------------------------------------------------ */
static uint32_t exanet_tx_ni_flags(const struct exanet_tx_request *request) {
  uint32_t flags = 0;
  if (request->flags & FI_INJECT) flags |= EXANET_INJECT;
  if (request->flags & FI_DELIVERY_COMPLETE) flags |= EXANET_DELIVERED;
  if (request->flags & FI_REMOTE_CQ_DATA) flags |= EXANET_HAS_DATA;
  return flags;
}

static int exanet_tx_take_buffers(const struct exanet_tx_request *request, struct exanet_tx *tx) {
  if (request->iov_count > EXANET_IOV_LIMIT) return -FI_EINVAL;
  if (request->iov_count <= 1) {
    tx->buf = request->iov_count ? request->iov[0].iov_base : NULL;
    tx->len = request->iov_count ? request->iov[0].iov_len : 0;
    return 0;
  }
  for (size_t i = 0; i < request->iov_count; i++) tx->len += request->iov[i].iov_len;
  char *to = tx->bounce = malloc(tx->len ? tx->len : 1);
  if (!to) return -FI_ENOMEM;
  tx->buf = tx->bounce;
  for (size_t i = 0; i < request->iov_count && !request->into; i++) {
    if (request->iov[i].iov_len) memcpy(to, request->iov[i].iov_base, request->iov[i].iov_len);
    to += request->iov[i].iov_len;
  }
  return 0;
}

static int exanet_tx_take_op(struct exanet_core *core, const struct exanet_tx_request *request, bool quiet,
                             struct exanet_tx *tx) {
  struct exanet_op *op = tx->op = exanet_op_take(core, EXANET_OP_TX, request->inject ? NULL : request->context);
  if (!op) return -FI_ENOMEM;
  op->cq_flags = request->cq_flags;
  op->counter = request->counter;
  op->quiet = quiet;
  if (!request->into || request->iov_count <= 1) return 0;
  op->scatter = malloc(request->iov_count * sizeof *op->scatter);
  if (!op->scatter) return -FI_ENOMEM;
  memcpy(op->scatter, request->iov, request->iov_count * sizeof *op->scatter);
  op->scatter_count = request->iov_count;
  return 0;
}

int exanet_tx_begin(struct exanet_core *core, const struct exanet_tx_request *request, struct exanet_tx *tx) {
  *tx = (struct exanet_tx){.ni_flags = exanet_tx_ni_flags(request)};
  if (!core->enabled) return -FI_EOPBADSTATE;
  exanet_begin_operation();
  if (core->tx_used >= core->tx_size || (core->tx_cq && core->tx_cq->count >= core->tx_cq->limit)) return -FI_EAGAIN;
  int rc = exanet_av_resolve(core->av, request->peer, &tx->to);
  if (!rc) rc = exanet_tx_take_buffers(request, tx);
  if (rc) return rc;
  bool injected = request->flags & FI_INJECT;
  bool quiet = request->inject || (core->tx_selective && !(request->flags & FI_COMPLETION));
  if (injected && tx->len > core->inject_size)
    rc = -FI_EINVAL;
  else if (quiet && !core->counters[request->counter] && (!tx->bounce || injected))
    tx->ni_flags |= EXANET_SILENT;
  else
    rc = exanet_tx_take_op(core, request, quiet, tx);
  return rc ? (int)exanet_tx_end(tx, rc) : 0;
}

/* The bounce buffer lives as long as the interface may read it: not at all when the interface copied it. */
ssize_t exanet_tx_end(struct exanet_tx *tx, int rc) {
  if (rc == 0 && tx->op && !(tx->ni_flags & EXANET_INJECT))
    tx->op->bounce = tx->bounce;
  else
    free(tx->bounce);
  if (rc < 0 && tx->op) exanet_op_finish(tx->op);
  tx->bounce = NULL;
  return rc < 0 ? -exanet_fi_errno(rc) : 0;
}
