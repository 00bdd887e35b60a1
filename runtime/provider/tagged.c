/* SPDX-License-Identifier: Apache-2.0
 * Tagged messages: libfabric's calls in terms of exanet_message_send() and exanet_message_recv() (msg.c).
 *
 * Model: tags have 64 bits, with a mask of ignored ones for receives. Tagged and untagged messages never match each
 * other. */
#include "exanet_prov.h"

static ssize_t exanet_tagged_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t src,
                                   uint64_t tag, uint64_t ignore, void *context) {
  struct exanet_message m = {.iov = iov,
                             .iov_count = count,
                             .peer = src,
                             .tag = tag,
                             .ignore = ignore,
                             .context = context,
                             .flags = exanet_rx_flags(ep) & ~FI_MULTI_RECV,
                             .tagged = true};
  return exanet_message_recv(ep, &m);
}

static ssize_t exanet_tagged_recv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t src, uint64_t tag,
                                  uint64_t ignore, void *context) {
  struct iovec iov = {.iov_base = buf, .iov_len = len};
  return exanet_tagged_recvv(ep, &iov, NULL, 1, src, tag, ignore, context);
}

static ssize_t exanet_tagged_recvmsg(struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags) {
  struct exanet_message m = {.iov = msg->msg_iov,
                             .iov_count = msg->iov_count,
                             .peer = msg->addr,
                             .tag = msg->tag,
                             .ignore = msg->ignore,
                             .context = msg->context,
                             .flags = flags,
                             .tagged = true};
  return exanet_message_recv(ep, &m);
}

static ssize_t exanet_tagged_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
                                   fi_addr_t dest, uint64_t tag, void *context) {
  struct exanet_message m = {.iov = iov,
                             .iov_count = count,
                             .peer = dest,
                             .tag = tag,
                             .context = context,
                             .flags = exanet_tx_flags(ep),
                             .tagged = true};
  return exanet_message_send(ep, &m);
}

static ssize_t exanet_tagged_send(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t dest,
                                  uint64_t tag, void *context) {
  struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};
  return exanet_tagged_sendv(ep, &iov, NULL, 1, dest, tag, context);
}

static ssize_t exanet_tagged_sendmsg(struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags) {
  struct exanet_message m = {.iov = msg->msg_iov,
                             .iov_count = msg->iov_count,
                             .peer = msg->addr,
                             .tag = msg->tag,
                             .data = msg->data,
                             .context = msg->context,
                             .flags = flags,
                             .tagged = true};
  return exanet_message_send(ep, &m);
}

static ssize_t exanet_tagged_senddata(struct fid_ep *ep, const void *buf, size_t len, void *desc, uint64_t data,
                                      fi_addr_t dest, uint64_t tag, void *context) {
  struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};
  struct exanet_message m = {.iov = &iov,
                             .iov_count = 1,
                             .peer = dest,
                             .tag = tag,
                             .data = data,
                             .context = context,
                             .flags = exanet_tx_flags(ep) | FI_REMOTE_CQ_DATA,
                             .tagged = true};
  return exanet_message_send(ep, &m);
}

static ssize_t exanet_tagged_inject_with(struct fid_ep *ep, const void *buf, size_t len, uint64_t data, fi_addr_t dest,
                                         uint64_t tag, uint64_t flags) {
  struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};
  struct exanet_message m = {.iov = &iov,
                             .iov_count = 1,
                             .peer = dest,
                             .tag = tag,
                             .data = data,
                             .flags = FI_INJECT | flags,
                             .tagged = true,
                             .inject = true};
  return exanet_message_send(ep, &m);
}

static ssize_t exanet_tagged_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest, uint64_t tag) {
  return exanet_tagged_inject_with(ep, buf, len, 0, dest, tag, 0);
}

static ssize_t exanet_tagged_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data, fi_addr_t dest,
                                        uint64_t tag) {
  return exanet_tagged_inject_with(ep, buf, len, data, dest, tag, FI_REMOTE_CQ_DATA);
}

struct fi_ops_tagged exanet_tagged_ops = {
    .size = sizeof(struct fi_ops_tagged),
    .recv = exanet_tagged_recv,
    .recvv = exanet_tagged_recvv,
    .recvmsg = exanet_tagged_recvmsg,
    .send = exanet_tagged_send,
    .sendv = exanet_tagged_sendv,
    .sendmsg = exanet_tagged_sendmsg,
    .inject = exanet_tagged_inject,
    .senddata = exanet_tagged_senddata,
    .injectdata = exanet_tagged_injectdata,
};
