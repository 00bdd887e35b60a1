/* SPDX-License-Identifier: Apache-2.0
 * Untagged messages, and what they share with tagged ones.
 *
 * Model: each of libfabric's calls fills a struct exanet_message; one function sends it, one receives it, peeks for
 * it, or takes a message that a peek has claimed. Matching is the interface's. A receive into a list of buffers has
 * one stand-in, which is taken apart when it completes.
 *
 * Limit: a source is matched only where the endpoint has FI_DIRECTED_RECV. */
#include <stdlib.h>
#include <string.h>

#include "exanet_prov.h"

/* -- sending ------------------------------------------------------------------------------------------------------- */
ssize_t exanet_message_send(struct fid_ep *fid, const struct exanet_message *m) {
  struct exanet_core *core = exanet_endpoint_of(fid)->core;
  struct exanet_tx_request request = {.iov = m->iov,
                                      .iov_count = m->iov_count,
                                      .peer = m->peer,
                                      .flags = m->flags,
                                      .cq_flags = FI_SEND | (m->tagged ? FI_TAGGED : FI_MSG),
                                      .counter = EXANET_CNTR_SEND,
                                      .context = m->context,
                                      .inject = m->inject};
  struct exanet_tx tx;
  exanet_lock();
  ssize_t rc = exanet_tx_begin(core, &request, &tx);
  if (!rc) {
    uint32_t flags = tx.ni_flags | (m->tagged ? EXANET_TAGGED : 0);
    rc = exanet_tx_end(&tx, exanet_send(exanet_process.ni, core->id, tx.to, m->tag, tx.buf, tx.len, m->data, flags,
                                        exanet_tx_cookie(&tx)));
  }
  exanet_unlock();
  return rc;
}

/* -- receiving ----------------------------------------------------------------------------------------------------- */
static int exanet_message_source(const struct exanet_core *core, const struct exanet_message *m, exanet_addr *from) {
  *from = EXANET_ANY;
  if (!(core->caps & FI_DIRECTED_RECV) || m->peer == FI_ADDR_UNSPEC) return 0;
  return exanet_av_resolve(core->av, m->peer, from);
}

static int exanet_message_peek(struct exanet_core *core, const struct exanet_message *m, exanet_addr from) {
  bool claim = m->flags & FI_CLAIM;
  struct exanet_op *op = exanet_op_take(core, claim ? EXANET_OP_CLAIMED : EXANET_OP_PEEK, m->context);
  if (!op) return -FI_ENOMEM;
  op->cq_flags = FI_RECV | (m->tagged ? FI_TAGGED : FI_MSG);
  op->tag = m->tag;
  uint32_t flags =
      (m->tagged ? EXANET_TAGGED : 0) | (claim ? EXANET_CLAIM : 0) | (m->flags & FI_DISCARD ? EXANET_DISCARD : 0);
  int rc = exanet_peek(exanet_process.ni, core->id, from, m->tag, m->ignore, flags, (uint64_t)(uintptr_t)op);
  if (rc) exanet_op_finish(op);
  return rc;
}

/* A list of buffers receives into one stand-in and is taken apart on completion. */
static int exanet_message_take_buffers(struct exanet_op *op, const struct exanet_message *m) {
  if (m->iov_count <= 1) {
    op->buf = m->iov_count ? m->iov[0].iov_base : NULL;
    op->len = m->iov_count ? m->iov[0].iov_len : 0;
    return 0;
  }
  for (size_t i = 0; i < m->iov_count; i++) op->len += m->iov[i].iov_len;
  op->buf = op->bounce = malloc(op->len ? op->len : 1);
  op->scatter = malloc(m->iov_count * sizeof *op->scatter);
  if (!op->bounce || !op->scatter) return -FI_ENOMEM;
  memcpy(op->scatter, m->iov, m->iov_count * sizeof *op->scatter);
  op->scatter_count = m->iov_count;
  return 0;
}

static int exanet_message_post(struct exanet_core *core, const struct exanet_message *m, exanet_addr from) {
  bool claim = m->flags & FI_CLAIM;
  struct exanet_op *op =
      claim ? exanet_op_find(core, EXANET_OP_CLAIMED, m->context) : exanet_op_take(core, EXANET_OP_RX, m->context);
  if (!op) return claim ? -FI_ENOMSG : -FI_ENOMEM;
  op->cq_flags = FI_RECV | (m->tagged ? FI_TAGGED : FI_MSG);
  op->tag = m->tag;
  op->quiet = core->rx_selective && !(m->flags & FI_COMPLETION);
  op->multi = m->flags & FI_MULTI_RECV;
  int rc = exanet_message_take_buffers(op, m);
  uint32_t flags = (m->tagged ? EXANET_TAGGED : 0) | (claim ? EXANET_CLAIM : 0) | (op->multi ? EXANET_MULTI : 0) |
                   (m->flags & FI_DISCARD ? EXANET_DISCARD : 0);
  if (!rc)
    rc = exanet_recv(exanet_process.ni, core->id, from, m->tag, m->ignore, op->buf, op->len,
                     op->multi ? core->min_multi_recv : 0, flags, (uint64_t)(uintptr_t)op);
  if (!rc)
    op->op_class = EXANET_OP_RX;
  else if (!claim)
    exanet_op_finish(op);
  return rc;
}

ssize_t exanet_message_recv(struct fid_ep *fid, const struct exanet_message *m) {
  struct exanet_core *core = exanet_endpoint_of(fid)->core;
  if (m->iov_count > EXANET_IOV_LIMIT) return -FI_EINVAL;
  if ((m->flags & FI_DISCARD) && !(m->flags & (FI_PEEK | FI_CLAIM))) return -FI_EINVAL;
  if ((m->flags & FI_MULTI_RECV) && (m->tagged || m->iov_count != 1)) return -FI_EINVAL;
  exanet_addr from;
  exanet_lock();
  int rc = core->enabled ? 0 : -FI_EOPBADSTATE;
  if (!rc && (core->rx_used >= core->rx_size || (core->rx_cq && core->rx_cq->count >= core->rx_cq->limit)))
    rc = -FI_EAGAIN;
  if (!rc) rc = exanet_message_source(core, m, &from);
  if (!rc) rc = (m->flags & FI_PEEK) ? exanet_message_peek(core, m, from) : exanet_message_post(core, m, from);
  exanet_unlock();
  return rc ? -exanet_fi_errno(rc) : 0;
}

/* -- fi_msg -------------------------------------------------------------------------------------------------------- */
static ssize_t exanet_msg_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t src,
                                void *context) {
  struct exanet_message m = {
      .iov = iov, .iov_count = count, .peer = src, .context = context, .flags = exanet_rx_flags(ep)};
  return exanet_message_recv(ep, &m);
}

static ssize_t exanet_msg_recv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t src, void *context) {
  struct iovec iov = {.iov_base = buf, .iov_len = len};
  return exanet_msg_recvv(ep, &iov, NULL, 1, src, context);
}

static ssize_t exanet_msg_recvmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags) {
  struct exanet_message m = {
      .iov = msg->msg_iov, .iov_count = msg->iov_count, .peer = msg->addr, .context = msg->context, .flags = flags};
  return exanet_message_recv(ep, &m);
}

static ssize_t exanet_msg_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t dest,
                                void *context) {
  struct exanet_message m = {
      .iov = iov, .iov_count = count, .peer = dest, .context = context, .flags = exanet_tx_flags(ep)};
  return exanet_message_send(ep, &m);
}

static ssize_t exanet_msg_send(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t dest,
                               void *context) {
  struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};
  return exanet_msg_sendv(ep, &iov, NULL, 1, dest, context);
}

static ssize_t exanet_msg_sendmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags) {
  struct exanet_message m = {.iov = msg->msg_iov,
                             .iov_count = msg->iov_count,
                             .peer = msg->addr,
                             .data = msg->data,
                             .context = msg->context,
                             .flags = flags};
  return exanet_message_send(ep, &m);
}

static ssize_t exanet_msg_senddata(struct fid_ep *ep, const void *buf, size_t len, void *desc, uint64_t data,
                                   fi_addr_t dest, void *context) {
  struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};
  struct exanet_message m = {.iov = &iov,
                             .iov_count = 1,
                             .peer = dest,
                             .data = data,
                             .context = context,
                             .flags = exanet_tx_flags(ep) | FI_REMOTE_CQ_DATA};
  return exanet_message_send(ep, &m);
}

static ssize_t exanet_msg_inject_with(struct fid_ep *ep, const void *buf, size_t len, uint64_t data, fi_addr_t dest,
                                      uint64_t flags) {
  struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};
  struct exanet_message m = {
      .iov = &iov, .iov_count = 1, .peer = dest, .data = data, .flags = FI_INJECT | flags, .inject = true};
  return exanet_message_send(ep, &m);
}

static ssize_t exanet_msg_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest) {
  return exanet_msg_inject_with(ep, buf, len, 0, dest, 0);
}

static ssize_t exanet_msg_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data, fi_addr_t dest) {
  return exanet_msg_inject_with(ep, buf, len, data, dest, FI_REMOTE_CQ_DATA);
}

struct fi_ops_msg exanet_msg_ops = {
    .size = sizeof(struct fi_ops_msg),
    .recv = exanet_msg_recv,
    .recvv = exanet_msg_recvv,
    .recvmsg = exanet_msg_recvmsg,
    .send = exanet_msg_send,
    .sendv = exanet_msg_sendv,
    .sendmsg = exanet_msg_sendmsg,
    .inject = exanet_msg_inject,
    .senddata = exanet_msg_senddata,
    .injectdata = exanet_msg_injectdata,
};
