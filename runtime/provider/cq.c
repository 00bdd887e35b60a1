/* SPDX-License-Identifier: Apache-2.0
 * The completion queue as its reader sees it (queues.c fills it).
 *
 * Problem: libfabric reads completions in four formats, errors by a call of their own, and blocking or not.
 *
 * Model: a queue that is empty polls the interface once; a blocking read waits in virtual time. Entries are written
 * in the caller's format, and an error keeps its place in the order: a read stops before it.
 *
 * Limits: no file-descriptor wait objects; a blocking read's time limit is one of virtual time. */
#include <stdlib.h>
#include <string.h>

#include "exanet_prov.h"

static struct exanet_cq *exanet_cq_of(struct fid_cq *cq) { return EXANET_CONTAINER(cq, struct exanet_cq, fid); }

static void exanet_cq_pop(struct exanet_cq *cq) {
  cq->count--;
  cq->head = cq->count ? (cq->head + 1) & (cq->capacity - 1) : 0; /* the first entries stay in the caches */
}

/* -- reading ------------------------------------------------------------------------------------------------------- */
/* The formats are prefixes of one another; the largest is written piecewise so that caller memory past his format
   stays untouched. */
static size_t exanet_cq_entry_size(enum fi_cq_format format) {
  switch (format) {
    case FI_CQ_FORMAT_CONTEXT: return sizeof(struct fi_cq_entry);
    case FI_CQ_FORMAT_MSG: return sizeof(struct fi_cq_msg_entry);
    case FI_CQ_FORMAT_DATA: return sizeof(struct fi_cq_data_entry);
    default: return sizeof(struct fi_cq_tagged_entry);
  }
}

static ssize_t exanet_cq_take(struct exanet_cq *cq, void *buf, size_t count, fi_addr_t *source) {
  size_t size = exanet_cq_entry_size(cq->format), n = 0;
  while (n < count && cq->count) {
    const struct exanet_cq_slot *slot = exanet_cq_slot(cq, 0);
    if (slot->error) return n ? (ssize_t)n : -FI_EAVAIL;
    struct fi_cq_tagged_entry entry = {.op_context = slot->context,
                                       .flags = slot->flags,
                                       .len = slot->len,
                                       .buf = slot->buf,
                                       .data = slot->data,
                                       .tag = slot->tag};
    memcpy((char *)buf + n * size, &entry, size);
    if (source) source[n] = slot->source;
    exanet_cq_pop(cq);
    n++;
  }
  return (ssize_t)n;
}

static ssize_t exanet_cq_readfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *source) {
  struct exanet_cq *cq = exanet_cq_of(fid);
  exanet_lock_to_poll();
  if (!cq->count) exanet_progress();
  ssize_t n = cq->count ? exanet_cq_take(cq, buf, count, source) : -FI_EAGAIN;
  exanet_unlock();
  return n;
}

static ssize_t exanet_cq_read(struct fid_cq *fid, void *buf, size_t count) {
  return exanet_cq_readfrom(fid, buf, count, NULL);
}

/* libfabric 2.x appended src_addr to the error entry and sets it itself; writing stops at err_data_size, where 1.x
   ends. */
static ssize_t exanet_cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *entry, uint64_t flags) {
  struct exanet_cq *cq = exanet_cq_of(fid);
  exanet_lock_to_poll();
  if (!cq->count) exanet_progress();
  const struct exanet_cq_slot *slot = cq->count ? exanet_cq_slot(cq, 0) : NULL;
  if (!slot || !slot->error) {
    exanet_unlock();
    return -FI_EAGAIN;
  }
  entry->op_context = slot->context;
  entry->flags = slot->flags;
  entry->len = slot->len;
  entry->buf = slot->buf;
  entry->data = slot->data;
  entry->tag = slot->tag;
  entry->olen = slot->overflow;
  entry->err = slot->error;
  entry->prov_errno = slot->error;
  cq->error_peer = slot->peer;
  if (slot->error != FI_EADDRNOTAVAIL) {
    entry->err_data_size = 0;
  } else if (entry->err_data && entry->err_data_size) {
    size_t size = entry->err_data_size < sizeof slot->peer ? entry->err_data_size : sizeof slot->peer;
    memcpy(entry->err_data, &cq->error_peer, size);
    entry->err_data_size = size;
  } else {
    entry->err_data = &cq->error_peer;
    entry->err_data_size = sizeof slot->peer;
  }
  exanet_cq_pop(cq);
  exanet_unlock();
  return 1;
}

/* -- blocking ------------------------------------------------------------------------------------------------------ */
static ssize_t exanet_cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *source, const void *cond,
                                   int timeout) {
  struct exanet_cq *cq = exanet_cq_of(fid);
  size_t wanted = cq->wait_cond == FI_CQ_COND_THRESHOLD && cond ? (size_t)(uintptr_t)cond : 1;
  if (cq->wait_obj == FI_WAIT_NONE) return -FI_ENOSYS;
  exanet_lock_to_poll();
  uint64_t limit = exanet_wait_timeout_ps(timeout), passed = 0;
  struct exanet_stopwatch watch = exanet_stopwatch_start();
  while (cq->count < wanted && !cq->signaled && passed < limit) {
    exanet_wait_step(cq->domain, limit == UINT64_MAX ? limit : limit - passed);
    if (limit != UINT64_MAX) passed = exanet_stopwatch_ps(&watch);
  }
  ssize_t n = cq->count ? exanet_cq_take(cq, buf, count, source) : -FI_EAGAIN;
  cq->signaled = false;
  exanet_unlock();
  return n;
}

static ssize_t exanet_cq_sread(struct fid_cq *fid, void *buf, size_t count, const void *cond, int timeout) {
  return exanet_cq_sreadfrom(fid, buf, count, NULL, cond, timeout);
}

static int exanet_cq_signal(struct fid_cq *fid) {
  exanet_lock();
  exanet_cq_of(fid)->signaled = true;
  exanet_unlock();
  return 0;
}

static const char *exanet_cq_strerror(struct fid_cq *cq, int prov_errno, const void *err_data, char *buf, size_t len) {
  return exanet_error_text(prov_errno, buf, len);
}

/* -- the object ---------------------------------------------------------------------------------------------------- */
static int exanet_cq_control(struct fid *fid, int command, void *arg) {
  if (command != FI_GETWAITOBJ) return -FI_ENOSYS;
  *(enum fi_wait_obj *)arg = EXANET_CONTAINER(fid, struct exanet_cq, fid.fid)->wait_obj;
  return 0;
}

static int exanet_cq_close(struct fid *fid) {
  struct exanet_cq *cq = EXANET_CONTAINER(fid, struct exanet_cq, fid.fid);
  atomic_fetch_sub(&cq->domain->users, 1);
  free(cq->slots);
  free(cq);
  return 0;
}

static struct fi_ops exanet_cq_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = exanet_cq_close,
    .bind = exanet_no_bind,
    .control = exanet_cq_control,
    .ops_open = exanet_no_ops_open,
};

static struct fi_ops_cq exanet_cq_ops = {
    .size = sizeof(struct fi_ops_cq),
    .read = exanet_cq_read,
    .readfrom = exanet_cq_readfrom,
    .readerr = exanet_cq_readerr,
    .sread = exanet_cq_sread,
    .sreadfrom = exanet_cq_sreadfrom,
    .signal = exanet_cq_signal,
    .strerror = exanet_cq_strerror,
};

int exanet_cq_open(struct fid_domain *fid, struct fi_cq_attr *attr, struct fid_cq **out, void *context) {
  struct exanet_domain *domain = EXANET_CONTAINER(fid, struct exanet_domain, fid);
  if (!exanet_wait_possible(attr->wait_obj)) return -FI_ENOSYS;
  if (attr->format > FI_CQ_FORMAT_TAGGED) return -FI_EINVAL;
  if (attr->flags & ~FI_AFFINITY) return -FI_EBADFLAGS;
  struct exanet_cq *cq = calloc(1, sizeof *cq + EXANET_ABI_SLACK);
  if (!cq) return -FI_ENOMEM;
  cq->fid.fid.fclass = FI_CLASS_CQ;
  cq->fid.fid.context = context;
  cq->fid.fid.ops = &exanet_cq_fid_ops;
  cq->fid.ops = &exanet_cq_ops;
  cq->domain = domain;
  cq->format = attr->format == FI_CQ_FORMAT_UNSPEC ? FI_CQ_FORMAT_CONTEXT : attr->format;
  cq->wait_cond = attr->wait_cond;
  cq->wait_obj = attr->wait_obj;
  cq->limit = attr->size ? attr->size : EXANET_TX_SIZE + EXANET_RX_SIZE;
  atomic_fetch_add(&domain->users, 1);
  *out = &cq->fid;
  return 0;
}
