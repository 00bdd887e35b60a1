/* SPDX-License-Identifier: Apache-2.0
 * Remote memory access: RDMA put and get.
 *
 * Model: each of libfabric's calls fills a struct exanet_rma; one function puts, one gets. Lists of local buffers
 * are gathered or scattered (op.c), since the interface takes one.
 *
 * Limit: one remote region an operation. */
#include "exanet_prov.h"

struct exanet_rma {
  const struct iovec *iov;
  size_t iov_count;
  fi_addr_t peer;
  uint64_t remote, key, data;
  void *context;
  uint64_t flags;
  bool inject;
};

static ssize_t exanet_rma_put(struct fid_ep *fid, const struct exanet_rma *r) {
  struct exanet_core *core = exanet_endpoint_of(fid)->core;
  struct exanet_tx_request request = {.iov = r->iov,
                                      .iov_count = r->iov_count,
                                      .peer = r->peer,
                                      .flags = r->flags,
                                      .cq_flags = FI_RMA | FI_WRITE,
                                      .counter = EXANET_CNTR_WRITE,
                                      .context = r->context,
                                      .inject = r->inject};
  struct exanet_tx tx;
  exanet_lock();
  ssize_t rc = exanet_tx_begin(core, &request, &tx);
  if (!rc)
    rc = exanet_tx_end(&tx, exanet_put(exanet_process.ni, core->id, tx.to, tx.buf, tx.len, r->remote, r->key, r->data,
                                       tx.ni_flags, exanet_tx_cookie(&tx)));
  exanet_unlock();
  return rc;
}

static ssize_t exanet_rma_get(struct fid_ep *fid, const struct exanet_rma *r) {
  struct exanet_core *core = exanet_endpoint_of(fid)->core;
  struct exanet_tx_request request = {.iov = r->iov,
                                      .iov_count = r->iov_count,
                                      .peer = r->peer,
                                      .flags = r->flags & ~(FI_INJECT | FI_REMOTE_CQ_DATA),
                                      .cq_flags = FI_RMA | FI_READ,
                                      .counter = EXANET_CNTR_READ,
                                      .context = r->context,
                                      .into = true};
  struct exanet_tx tx;
  exanet_lock();
  ssize_t rc = exanet_tx_begin(core, &request, &tx);
  if (!rc)
    rc = exanet_tx_end(&tx, exanet_get(exanet_process.ni, core->id, tx.to, (void *)(uintptr_t)tx.buf, tx.len, r->remote,
                                       r->key, tx.ni_flags, exanet_tx_cookie(&tx)));
  exanet_unlock();
  return rc;
}

static ssize_t exanet_rma_readv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t src,
                                uint64_t addr, uint64_t key, void *context) {
  struct exanet_rma r = {.iov = iov,
                         .iov_count = count,
                         .peer = src,
                         .remote = addr,
                         .key = key,
                         .context = context,
                         .flags = exanet_tx_flags(ep)};
  return exanet_rma_get(ep, &r);
}

static ssize_t exanet_rma_read(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t src, uint64_t addr,
                               uint64_t key, void *context) {
  struct iovec iov = {.iov_base = buf, .iov_len = len};
  return exanet_rma_readv(ep, &iov, NULL, 1, src, addr, key, context);
}

/* The remote side of a message is one region, whose length must agree with the local side. */
static int exanet_rma_from_msg(const struct fi_msg_rma *msg, uint64_t flags, struct exanet_rma *r) {
  size_t local = 0;
  if (msg->rma_iov_count != 1) return -FI_EINVAL;
  for (size_t i = 0; i < msg->iov_count; i++) local += msg->msg_iov[i].iov_len;
  if (local != msg->rma_iov[0].len) return -FI_EINVAL;
  *r = (struct exanet_rma){.iov = msg->msg_iov,
                           .iov_count = msg->iov_count,
                           .peer = msg->addr,
                           .remote = msg->rma_iov[0].addr,
                           .key = msg->rma_iov[0].key,
                           .data = msg->data,
                           .context = msg->context,
                           .flags = flags};
  return 0;
}

static ssize_t exanet_rma_readmsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags) {
  struct exanet_rma r;
  int rc = exanet_rma_from_msg(msg, flags, &r);
  return rc ? rc : exanet_rma_get(ep, &r);
}

static ssize_t exanet_rma_writev(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t dest,
                                 uint64_t addr, uint64_t key, void *context) {
  struct exanet_rma r = {.iov = iov,
                         .iov_count = count,
                         .peer = dest,
                         .remote = addr,
                         .key = key,
                         .context = context,
                         .flags = exanet_tx_flags(ep)};
  return exanet_rma_put(ep, &r);
}

static ssize_t exanet_rma_write(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t dest,
                                uint64_t addr, uint64_t key, void *context) {
  struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};
  return exanet_rma_writev(ep, &iov, NULL, 1, dest, addr, key, context);
}

static ssize_t exanet_rma_writemsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags) {
  struct exanet_rma r;
  int rc = exanet_rma_from_msg(msg, flags, &r);
  return rc ? rc : exanet_rma_put(ep, &r);
}

static ssize_t exanet_rma_writedata(struct fid_ep *ep, const void *buf, size_t len, void *desc, uint64_t data,
                                    fi_addr_t dest, uint64_t addr, uint64_t key, void *context) {
  struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};
  struct exanet_rma r = {.iov = &iov,
                         .iov_count = 1,
                         .peer = dest,
                         .remote = addr,
                         .key = key,
                         .data = data,
                         .context = context,
                         .flags = exanet_tx_flags(ep) | FI_REMOTE_CQ_DATA};
  return exanet_rma_put(ep, &r);
}

static ssize_t exanet_rma_inject_with(struct fid_ep *ep, const void *buf, size_t len, uint64_t data, fi_addr_t dest,
                                      uint64_t addr, uint64_t key, uint64_t flags) {
  struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};
  struct exanet_rma r = {.iov = &iov,
                         .iov_count = 1,
                         .peer = dest,
                         .remote = addr,
                         .key = key,
                         .data = data,
                         .flags = FI_INJECT | flags,
                         .inject = true};
  return exanet_rma_put(ep, &r);
}

static ssize_t exanet_rma_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest, uint64_t addr,
                                 uint64_t key) {
  return exanet_rma_inject_with(ep, buf, len, 0, dest, addr, key, 0);
}

static ssize_t exanet_rma_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data, fi_addr_t dest,
                                     uint64_t addr, uint64_t key) {
  return exanet_rma_inject_with(ep, buf, len, data, dest, addr, key, FI_REMOTE_CQ_DATA);
}

struct fi_ops_rma exanet_rma_ops = {
    .size = sizeof(struct fi_ops_rma),
    .read = exanet_rma_read,
    .readv = exanet_rma_readv,
    .readmsg = exanet_rma_readmsg,
    .write = exanet_rma_write,
    .writev = exanet_rma_writev,
    .writemsg = exanet_rma_writemsg,
    .inject = exanet_rma_inject,
    .writedata = exanet_rma_writedata,
    .injectdata = exanet_rma_injectdata,
};
