/* SPDX-License-Identifier: Apache-2.0
 * Atomics.
 *
 * Problem: libfabric has nine calls, by what they give back and how they describe their operands: lists of (address,
 * element count).
 *
 * Model: a list becomes one of (address, bytes), after which an atomic is posted like any other transmit operation.
 * The operand is copied by the interface; only results come back to caller memory.
 *
 * Limits: EXANET_IOV_LIMIT pieces a list, EXANET_ATOMIC_MAX bytes at the target; operations and types as in
 * core/protocol/atomic_table.h. */
#include <stdlib.h>
#include <string.h>

#include "exanet_prov.h"

struct exanet_atomic_request {
  enum exanet_atomic_kind kind;
  const struct fi_ioc *operand, *compare, *result;
  size_t operand_count, compare_count, result_count;
  fi_addr_t peer;
  uint64_t remote, key;
  enum fi_datatype datatype;
  enum fi_op op;
  void *context;
  uint64_t flags;
  bool inject;
};

/* A list of elements, laid out for the interface: in place when it is one piece, else gathered into memory to be
   freed. */
struct exanet_atomic_buffer {
  struct iovec iov[EXANET_IOV_LIMIT];
  size_t pieces, bytes;
  void *gathered;
};

static int exanet_atomic_lay_out(const struct fi_ioc *ioc, size_t count, size_t size, bool gather,
                                 struct exanet_atomic_buffer *b) {
  *b = (struct exanet_atomic_buffer){.pieces = count};
  if (count > EXANET_IOV_LIMIT) return -FI_EINVAL;
  for (size_t i = 0; i < count; i++) {
    b->iov[i] = (struct iovec){.iov_base = ioc[i].addr, .iov_len = ioc[i].count * size};
    b->bytes += b->iov[i].iov_len;
  }
  if (!gather || count <= 1) return 0;
  char *to = b->gathered = malloc(b->bytes ? b->bytes : 1);
  if (!to) return -FI_ENOMEM;
  for (size_t i = 0; i < count; i++) {
    memcpy(to, b->iov[i].iov_base, b->iov[i].iov_len);
    to += b->iov[i].iov_len;
  }
  return 0;
}

static const void *exanet_atomic_data(const struct exanet_atomic_buffer *b) {
  return b->gathered ? b->gathered : b->pieces ? b->iov[0].iov_base : NULL;
}

static ssize_t exanet_atomic_issue(struct exanet_core *core, const struct exanet_atomic_request *r, size_t elements,
                                   const struct exanet_atomic_buffer *operand,
                                   const struct exanet_atomic_buffer *compare,
                                   const struct exanet_atomic_buffer *result) {
  bool fetches = r->kind != EXANET_ATOMIC_UPDATE;
  struct iovec whole = {.iov_base = (void *)(uintptr_t)exanet_atomic_data(operand), .iov_len = operand->bytes};
  struct exanet_tx_request request = {.iov = fetches ? result->iov : &whole,
                                      .iov_count = fetches ? result->pieces : 1,
                                      .peer = r->peer,
                                      .flags = r->flags & ~FI_REMOTE_CQ_DATA,
                                      .cq_flags = FI_ATOMIC | (fetches ? FI_READ : FI_WRITE),
                                      .counter = fetches ? EXANET_CNTR_READ : EXANET_CNTR_WRITE,
                                      .context = r->context,
                                      .inject = r->inject,
                                      .into = fetches};
  if (fetches) request.flags &= ~FI_INJECT;
  struct exanet_tx tx;
  exanet_lock();
  ssize_t rc = exanet_tx_begin(core, &request, &tx);
  if (!rc)
    rc = exanet_tx_end(&tx, exanet_atomic(exanet_process.ni, core->id, r->kind, tx.to, (int)r->op, (int)r->datatype,
                                          elements, exanet_atomic_data(operand), exanet_atomic_data(compare),
                                          fetches ? (void *)(uintptr_t)tx.buf : NULL, r->remote, r->key, tx.ni_flags,
                                          exanet_tx_cookie(&tx)));
  exanet_unlock();
  return rc;
}

static ssize_t exanet_atomic_post(struct fid_ep *fid, const struct exanet_atomic_request *r) {
  size_t max = 0, size = exanet_atomic_size((int)r->datatype);
  if (exanet_atomic_valid(r->kind, (int)r->op, (int)r->datatype, &max)) return -FI_EOPNOTSUPP;
  struct exanet_atomic_buffer operand, compare, result;
  bool reads = r->op == FI_ATOMIC_READ;
  int rc = exanet_atomic_lay_out(r->operand, reads ? 0 : r->operand_count, size, true, &operand);
  int rc_compare = exanet_atomic_lay_out(r->compare, r->compare_count, size, true, &compare);
  int rc_result = exanet_atomic_lay_out(r->result, r->result_count, size, false, &result);
  if (!rc) rc = rc_compare ? rc_compare : rc_result;
  size_t bytes = reads ? result.bytes : operand.bytes;
  bool agree = (!r->compare_count || compare.bytes == bytes) && (!r->result_count || result.bytes == bytes);
  if (!rc && (bytes == 0 || bytes > max * size || !agree)) rc = -FI_EINVAL;
  ssize_t done =
      rc ? rc : exanet_atomic_issue(exanet_endpoint_of(fid)->core, r, bytes / size, &operand, &compare, &result);
  free(operand.gathered);
  free(compare.gathered);
  free(result.gathered);
  return done;
}

/* -- update -------------------------------------------------------------------------------------------------------- */
static ssize_t exanet_atomic_writev(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count,
                                    fi_addr_t dest, uint64_t addr, uint64_t key, enum fi_datatype datatype,
                                    enum fi_op op, void *context) {
  struct exanet_atomic_request r = {.kind = EXANET_ATOMIC_UPDATE,
                                    .operand = iov,
                                    .operand_count = count,
                                    .peer = dest,
                                    .remote = addr,
                                    .key = key,
                                    .datatype = datatype,
                                    .op = op,
                                    .context = context,
                                    .flags = exanet_tx_flags(ep)};
  return exanet_atomic_post(ep, &r);
}

static ssize_t exanet_atomic_write(struct fid_ep *ep, const void *buf, size_t count, void *desc, fi_addr_t dest,
                                   uint64_t addr, uint64_t key, enum fi_datatype datatype, enum fi_op op,
                                   void *context) {
  struct fi_ioc ioc = {.addr = (void *)(uintptr_t)buf, .count = count};
  return exanet_atomic_writev(ep, &ioc, NULL, 1, dest, addr, key, datatype, op, context);
}

/* Fills in what the three message forms have in common. */
static int exanet_atomic_from_msg(const struct fi_msg_atomic *msg, enum exanet_atomic_kind kind, uint64_t flags,
                                  struct exanet_atomic_request *r) {
  if (msg->rma_iov_count != 1) return -FI_EINVAL;
  *r = (struct exanet_atomic_request){.kind = kind,
                                      .operand = msg->msg_iov,
                                      .operand_count = msg->iov_count,
                                      .peer = msg->addr,
                                      .remote = msg->rma_iov[0].addr,
                                      .key = msg->rma_iov[0].key,
                                      .datatype = msg->datatype,
                                      .op = msg->op,
                                      .context = msg->context,
                                      .flags = flags};
  return 0;
}

static ssize_t exanet_atomic_writemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg, uint64_t flags) {
  struct exanet_atomic_request r;
  int rc = exanet_atomic_from_msg(msg, EXANET_ATOMIC_UPDATE, flags, &r);
  return rc ? rc : exanet_atomic_post(ep, &r);
}

static ssize_t exanet_atomic_inject(struct fid_ep *ep, const void *buf, size_t count, fi_addr_t dest, uint64_t addr,
                                    uint64_t key, enum fi_datatype datatype, enum fi_op op) {
  struct fi_ioc ioc = {.addr = (void *)(uintptr_t)buf, .count = count};
  struct exanet_atomic_request r = {.kind = EXANET_ATOMIC_UPDATE,
                                    .operand = &ioc,
                                    .operand_count = 1,
                                    .peer = dest,
                                    .remote = addr,
                                    .key = key,
                                    .datatype = datatype,
                                    .op = op,
                                    .flags = FI_INJECT,
                                    .inject = true};
  return exanet_atomic_post(ep, &r);
}

/* -- fetch --------------------------------------------------------------------------------------------------------- */
static ssize_t exanet_atomic_readwritev(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count,
                                        struct fi_ioc *resultv, void **result_desc, size_t result_count, fi_addr_t dest,
                                        uint64_t addr, uint64_t key, enum fi_datatype datatype, enum fi_op op,
                                        void *context) {
  struct exanet_atomic_request r = {.kind = EXANET_ATOMIC_FETCH,
                                    .operand = iov,
                                    .operand_count = count,
                                    .result = resultv,
                                    .result_count = result_count,
                                    .peer = dest,
                                    .remote = addr,
                                    .key = key,
                                    .datatype = datatype,
                                    .op = op,
                                    .context = context,
                                    .flags = exanet_tx_flags(ep)};
  return exanet_atomic_post(ep, &r);
}

static ssize_t exanet_atomic_readwrite(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
                                       void *result_desc, fi_addr_t dest, uint64_t addr, uint64_t key,
                                       enum fi_datatype datatype, enum fi_op op, void *context) {
  struct fi_ioc ioc = {.addr = (void *)(uintptr_t)buf, .count = count}, into = {.addr = result, .count = count};
  return exanet_atomic_readwritev(ep, &ioc, NULL, 1, &into, NULL, 1, dest, addr, key, datatype, op, context);
}

static ssize_t exanet_atomic_readwritemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg, struct fi_ioc *resultv,
                                          void **result_desc, size_t result_count, uint64_t flags) {
  struct exanet_atomic_request r;
  int rc = exanet_atomic_from_msg(msg, EXANET_ATOMIC_FETCH, flags, &r);
  r.result = resultv;
  r.result_count = result_count;
  return rc ? rc : exanet_atomic_post(ep, &r);
}

/* -- compare and swap ---------------------------------------------------------------------------------------------- */
static ssize_t exanet_atomic_compwritev(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count,
                                        const struct fi_ioc *comparev, void **compare_desc, size_t compare_count,
                                        struct fi_ioc *resultv, void **result_desc, size_t result_count, fi_addr_t dest,
                                        uint64_t addr, uint64_t key, enum fi_datatype datatype, enum fi_op op,
                                        void *context) {
  struct exanet_atomic_request r = {.kind = EXANET_ATOMIC_COMPARE,
                                    .operand = iov,
                                    .operand_count = count,
                                    .compare = comparev,
                                    .compare_count = compare_count,
                                    .result = resultv,
                                    .result_count = result_count,
                                    .peer = dest,
                                    .remote = addr,
                                    .key = key,
                                    .datatype = datatype,
                                    .op = op,
                                    .context = context,
                                    .flags = exanet_tx_flags(ep)};
  return exanet_atomic_post(ep, &r);
}

static ssize_t exanet_atomic_compwrite(struct fid_ep *ep, const void *buf, size_t count, void *desc,
                                       const void *compare, void *compare_desc, void *result, void *result_desc,
                                       fi_addr_t dest, uint64_t addr, uint64_t key, enum fi_datatype datatype,
                                       enum fi_op op, void *context) {
  struct fi_ioc ioc = {.addr = (void *)(uintptr_t)buf, .count = count}, into = {.addr = result, .count = count};
  struct fi_ioc against = {.addr = (void *)(uintptr_t)compare, .count = count};
  return exanet_atomic_compwritev(ep, &ioc, NULL, 1, &against, NULL, 1, &into, NULL, 1, dest, addr, key, datatype, op,
                                  context);
}

static ssize_t exanet_atomic_compwritemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg,
                                          const struct fi_ioc *comparev, void **compare_desc, size_t compare_count,
                                          struct fi_ioc *resultv, void **result_desc, size_t result_count,
                                          uint64_t flags) {
  struct exanet_atomic_request r;
  int rc = exanet_atomic_from_msg(msg, EXANET_ATOMIC_COMPARE, flags, &r);
  r.compare = comparev;
  r.compare_count = compare_count;
  r.result = resultv;
  r.result_count = result_count;
  return rc ? rc : exanet_atomic_post(ep, &r);
}

/* -- what exists --------------------------------------------------------------------------------------------------- */
static int exanet_atomic_check(enum exanet_atomic_kind kind, enum fi_datatype datatype, enum fi_op op, size_t *count) {
  return exanet_atomic_valid(kind, (int)op, (int)datatype, count) ? -FI_EOPNOTSUPP : 0;
}
static int exanet_atomic_writevalid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op, size_t *count) {
  return exanet_atomic_check(EXANET_ATOMIC_UPDATE, datatype, op, count);
}
static int exanet_atomic_readwritevalid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op, size_t *count) {
  return exanet_atomic_check(EXANET_ATOMIC_FETCH, datatype, op, count);
}
static int exanet_atomic_compwritevalid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op, size_t *count) {
  return exanet_atomic_check(EXANET_ATOMIC_COMPARE, datatype, op, count);
}

int exanet_atomic_query(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op,
                        struct fi_atomic_attr *attr, uint64_t flags) {
  if (flags & ~(FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC | FI_TAGGED)) return -FI_EBADFLAGS;
  if (flags & FI_TAGGED) return -FI_EOPNOTSUPP;
  enum exanet_atomic_kind kind = (flags & FI_FETCH_ATOMIC)     ? EXANET_ATOMIC_FETCH
                                 : (flags & FI_COMPARE_ATOMIC) ? EXANET_ATOMIC_COMPARE
                                                               : EXANET_ATOMIC_UPDATE;
  int rc = exanet_atomic_check(kind, datatype, op, &attr->count);
  attr->size = exanet_atomic_size((int)datatype);
  return rc;
}

struct fi_ops_atomic exanet_atomic_ops = {
    .size = sizeof(struct fi_ops_atomic),
    .write = exanet_atomic_write,
    .writev = exanet_atomic_writev,
    .writemsg = exanet_atomic_writemsg,
    .inject = exanet_atomic_inject,
    .readwrite = exanet_atomic_readwrite,
    .readwritev = exanet_atomic_readwritev,
    .readwritemsg = exanet_atomic_readwritemsg,
    .compwrite = exanet_atomic_compwrite,
    .compwritev = exanet_atomic_compwritev,
    .compwritemsg = exanet_atomic_compwritemsg,
    .writevalid = exanet_atomic_writevalid,
    .readwritevalid = exanet_atomic_readwritevalid,
    .compwritevalid = exanet_atomic_compwritevalid,
};
