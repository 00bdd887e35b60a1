/* SPDX-License-Identifier: Apache-2.0
 * The endpoint: a mailbox with its packetizer.
 *
 * Problem: libfabric opens, binds and enables an endpoint in steps, and lets callers ask for its name before it is
 * enabled.
 *
 * Model: libexanet's endpoint is opened as soon as the object exists, so that its name is known. Queues, counters
 * and the address vector are bound to a core, which an alias shares with its original; an alias has default
 * operation flags of its own. Operations that are under way when the last of them closes lose their core, and their
 * completions are dropped. A counter may be bound to an enabled endpoint, as Sandia OpenSHMEM does: it counts what is
 * posted from then on.
 *
 * Limit: endpoints of type FI_EP_RDM alone, without shared or scalable contexts. */
#include <stdlib.h>
#include <string.h>

#include "exanet_prov.h"

#define EXANET_DEFAULT_MIN_MULTI_RECV 64

static struct exanet_endpoint *exanet_endpoint_of_fid(struct fid *fid) {
  return EXANET_CONTAINER(fid, struct exanet_endpoint, fid.fid);
}

/* -- opening and closing ------------------------------------------------------------------------------------------- */
static int exanet_endpoint_enlist(struct exanet_core *core) {
  if (core->id >= exanet_process.endpoint_slots) {
    size_t slots = core->id + 16u;
    struct exanet_core **table = realloc(exanet_process.endpoints, slots * sizeof *table);
    if (!table) return -FI_ENOMEM;
    memset(table + exanet_process.endpoint_slots, 0, (slots - exanet_process.endpoint_slots) * sizeof *table);
    exanet_process.endpoints = table;
    exanet_process.endpoint_slots = slots;
  }
  exanet_process.endpoints[core->id] = core;
  return 0;
}

static int exanet_endpoint_close(struct fid *fid) {
  struct exanet_endpoint *ep = exanet_endpoint_of_fid(fid);
  struct exanet_core *core = ep->core;
  exanet_lock();
  bool last = --core->references == 0;
  if (last) {
    exanet_op_orphan_all(core);
    exanet_ep_close(exanet_process.ni, core->id);
    exanet_process.endpoints[core->id] = NULL;
  }
  exanet_unlock();
  free(ep);
  if (last) {
    atomic_fetch_sub(&core->domain->users, 1);
    free(core);
  }
  return 0;
}

/* -- binding and control ------------------------------------------------------------------------------------------- */
static int exanet_endpoint_bind_cq(struct exanet_core *core, struct exanet_cq *cq, uint64_t flags) {
  if (flags & ~(FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION)) return -FI_EBADFLAGS;
  if (cq->domain != core->domain) return -FI_EDOMAIN;
  if (((flags & FI_TRANSMIT) && core->tx_cq) || ((flags & FI_RECV) && core->rx_cq)) return -FI_EINVAL;
  if (flags & FI_TRANSMIT) {
    core->tx_cq = cq;
    core->tx_selective = flags & FI_SELECTIVE_COMPLETION;
  }
  if (flags & FI_RECV) {
    core->rx_cq = cq;
    core->rx_selective = flags & FI_SELECTIVE_COMPLETION;
  }
  return 0;
}

static int exanet_endpoint_bind_cntr(struct exanet_core *core, struct exanet_cntr *cntr, uint64_t flags) {
  static const uint64_t names[EXANET_CNTR_COUNT] = {[EXANET_CNTR_SEND] = FI_SEND,
                                                    [EXANET_CNTR_RECV] = FI_RECV,
                                                    [EXANET_CNTR_READ] = FI_READ,
                                                    [EXANET_CNTR_WRITE] = FI_WRITE,
                                                    [EXANET_CNTR_REMOTE_READ] = FI_REMOTE_READ,
                                                    [EXANET_CNTR_REMOTE_WRITE] = FI_REMOTE_WRITE};
  if (cntr->domain != core->domain) return -FI_EDOMAIN;
  exanet_lock();
  for (int i = 0; i < EXANET_CNTR_COUNT; i++) {
    if (flags & names[i]) core->counters[i] = cntr;
    flags &= ~names[i];
  }
  exanet_unlock();
  return flags ? -FI_EBADFLAGS : 0;
}

static int exanet_endpoint_bind(struct fid *fid, struct fid *bfid, uint64_t flags) {
  struct exanet_core *core = exanet_endpoint_of_fid(fid)->core;
  if (core->enabled && bfid->fclass != FI_CLASS_CNTR) return -FI_EOPBADSTATE;
  switch (bfid->fclass) {
    case FI_CLASS_CQ: return exanet_endpoint_bind_cq(core, EXANET_CONTAINER(bfid, struct exanet_cq, fid.fid), flags);
    case FI_CLASS_CNTR:
      return exanet_endpoint_bind_cntr(core, EXANET_CONTAINER(bfid, struct exanet_cntr, fid.fid), flags);
    case FI_CLASS_EQ: core->eq = EXANET_CONTAINER(bfid, struct exanet_eq, fid.fid); return 0;
    case FI_CLASS_AV:
      core->av = EXANET_CONTAINER(bfid, struct exanet_av, fid.fid);
      return core->av->domain == core->domain ? 0 : -FI_EDOMAIN;
    default: return -FI_EINVAL;
  }
}

/* A caller may bind less than his capabilities suggest (a pure RMA initiator has no receive queue), but nothing at
   all is a mistake. */
static int exanet_endpoint_enable(struct exanet_core *core) {
  bool reported = core->tx_cq || core->rx_cq;
  for (int i = 0; i < EXANET_CNTR_COUNT; i++) reported |= core->counters[i] != NULL;
  if (!core->av) return -FI_ENOAV;
  if (!reported) return -FI_ENOCQ;
  core->enabled = true;
  return 0;
}

static int exanet_endpoint_alias(struct exanet_endpoint *ep, struct fi_alias *request) {
  struct exanet_endpoint *alias = calloc(1, sizeof *alias + EXANET_ABI_SLACK);
  if (!alias) return -FI_ENOMEM;
  *alias = *ep;
  uint64_t flags = request->flags & ~(FI_TRANSMIT | FI_RECV);
  if (request->flags & FI_RECV) alias->rx_flags = flags;
  if ((request->flags & FI_TRANSMIT) || !(request->flags & FI_RECV)) alias->tx_flags = flags;
  exanet_lock();
  ep->core->references++;
  exanet_unlock();
  *request->fid = &alias->fid.fid;
  return 0;
}

static int exanet_endpoint_control(struct fid *fid, int command, void *arg) {
  struct exanet_endpoint *ep = exanet_endpoint_of_fid(fid);
  uint64_t *flags = arg;
  switch (command) {
    case FI_ENABLE: return exanet_endpoint_enable(ep->core);
    case FI_ALIAS: return exanet_endpoint_alias(ep, arg);
    case FI_GETOPSFLAG:
      if (!(*flags & FI_TRANSMIT) == !(*flags & FI_RECV)) return -FI_EINVAL;
      *flags = (*flags & FI_TRANSMIT) ? ep->tx_flags : ep->rx_flags;
      return 0;
    case FI_SETOPSFLAG:
      if (!(*flags & FI_TRANSMIT) == !(*flags & FI_RECV)) return -FI_EINVAL;
      if (*flags & FI_TRANSMIT)
        ep->tx_flags = *flags & ~FI_TRANSMIT;
      else
        ep->rx_flags = *flags & ~FI_RECV;
      return 0;
    default: return -FI_ENOSYS;
  }
}

/* -- options, names, cancel ---------------------------------------------------------------------------------------- */
static ssize_t exanet_endpoint_cancel(fid_t fid, void *context) {
  struct exanet_core *core = exanet_endpoint_of_fid(fid)->core;
  exanet_lock();
  struct exanet_op *op = exanet_op_find(core, EXANET_OP_RX, context);
  int rc = op ? exanet_cancel(exanet_process.ni, core->id, (uint64_t)(uintptr_t)op) : 0;
  exanet_unlock();
  return rc ? -exanet_fi_errno(rc) : op ? 0 : -FI_ENOENT;
}

static int exanet_endpoint_getopt(fid_t fid, int level, int name, void *value, size_t *len) {
  if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV) return -FI_ENOPROTOOPT;
  if (*len < sizeof(size_t)) return -FI_ETOOSMALL;
  *(size_t *)value = exanet_endpoint_of_fid(fid)->core->min_multi_recv;
  *len = sizeof(size_t);
  return 0;
}

static int exanet_endpoint_setopt(fid_t fid, int level, int name, const void *value, size_t len) {
  if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV) return -FI_ENOPROTOOPT;
  if (len != sizeof(size_t)) return -FI_EINVAL;
  exanet_endpoint_of_fid(fid)->core->min_multi_recv = *(const size_t *)value;
  return 0;
}

static int exanet_endpoint_tx_ctx(struct fid_ep *sep, int index, struct fi_tx_attr *attr, struct fid_ep **tx,
                                  void *context) {
  return -FI_ENOSYS;
}
static int exanet_endpoint_rx_ctx(struct fid_ep *sep, int index, struct fi_rx_attr *attr, struct fid_ep **rx,
                                  void *context) {
  return -FI_ENOSYS;
}
static ssize_t exanet_endpoint_rx_left(struct fid_ep *ep) {
  const struct exanet_core *core = exanet_endpoint_of(ep)->core;
  return core->enabled ? (ssize_t)(core->rx_size - core->rx_used) : -FI_EOPBADSTATE;
}
static ssize_t exanet_endpoint_tx_left(struct fid_ep *ep) {
  const struct exanet_core *core = exanet_endpoint_of(ep)->core;
  return core->enabled ? (ssize_t)(core->tx_size - core->tx_used) : -FI_EOPBADSTATE;
}

static int exanet_endpoint_setname(fid_t fid, void *addr, size_t len) { return -FI_ENOSYS; }
static int exanet_endpoint_getname(fid_t fid, void *name, size_t *len) {
  const struct exanet_core *core = exanet_endpoint_of_fid(fid)->core;
  struct {
    uint64_t words[4];
  } whole;
  size_t size = exanet_name_size(core->domain->addr_format), space = *len;
  exanet_name_write(core->domain->addr_format, exanet_address(exanet_rank(exanet_process.ni), core->id), &whole);
  memcpy(name, &whole, space < size ? space : size);
  *len = size;
  return space < size ? -FI_ETOOSMALL : 0;
}
static int exanet_endpoint_getpeer(struct fid_ep *ep, void *addr, size_t *len) { return -FI_ENOSYS; }
static int exanet_endpoint_connect(struct fid_ep *ep, const void *addr, const void *param, size_t len) {
  return -FI_ENOSYS;
}
static int exanet_endpoint_listen(struct fid_pep *pep) { return -FI_ENOSYS; }
static int exanet_endpoint_accept(struct fid_ep *ep, const void *param, size_t len) { return -FI_ENOSYS; }
static int exanet_endpoint_reject(struct fid_pep *pep, fid_t handle, const void *param, size_t len) {
  return -FI_ENOSYS;
}
static int exanet_endpoint_shutdown(struct fid_ep *ep, uint64_t flags) { return -FI_ENOSYS; }
static int exanet_endpoint_join(struct fid_ep *ep, const void *addr, uint64_t flags, struct fid_mc **mc,
                                void *context) {
  return -FI_ENOSYS;
}

static struct fi_ops exanet_endpoint_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = exanet_endpoint_close,
    .bind = exanet_endpoint_bind,
    .control = exanet_endpoint_control,
    .ops_open = exanet_no_ops_open,
};

static struct fi_ops_ep exanet_endpoint_ops = {
    .size = sizeof(struct fi_ops_ep),
    .cancel = exanet_endpoint_cancel,
    .getopt = exanet_endpoint_getopt,
    .setopt = exanet_endpoint_setopt,
    .tx_ctx = exanet_endpoint_tx_ctx,
    .rx_ctx = exanet_endpoint_rx_ctx,
    .rx_size_left = exanet_endpoint_rx_left,
    .tx_size_left = exanet_endpoint_tx_left,
};

static struct fi_ops_cm exanet_endpoint_cm_ops = {
    .size = sizeof(struct fi_ops_cm),
    .setname = exanet_endpoint_setname,
    .getname = exanet_endpoint_getname,
    .getpeer = exanet_endpoint_getpeer,
    .connect = exanet_endpoint_connect,
    .listen = exanet_endpoint_listen,
    .accept = exanet_endpoint_accept,
    .reject = exanet_endpoint_reject,
    .shutdown = exanet_endpoint_shutdown,
    .join = exanet_endpoint_join,
};

static void exanet_endpoint_configure(struct exanet_endpoint *ep, const struct fi_info *info) {
  struct exanet_core *core = ep->core;
  const struct fi_tx_attr *tx = info->tx_attr;
  const struct fi_rx_attr *rx = info->rx_attr;
  core->caps = info->caps;
  core->want_source = info->caps & FI_SOURCE;
  core->want_source_error = info->caps & FI_SOURCE_ERR;
  size_t offered = exanet_eager_max(exanet_process.ni);
  core->inject_size = offered < EXANET_INJECT_MAX ? offered : EXANET_INJECT_MAX;
  core->tx_size = tx && tx->size ? tx->size : EXANET_TX_SIZE;
  core->rx_size = rx && rx->size ? rx->size : EXANET_RX_SIZE;
  core->min_multi_recv = EXANET_DEFAULT_MIN_MULTI_RECV;
  ep->tx_flags = tx ? tx->op_flags : 0;
  ep->rx_flags = rx ? rx->op_flags : 0;
}

int exanet_endpoint_open(struct fid_domain *fid, struct fi_info *info, struct fid_ep **out, void *context) {
  struct exanet_domain *domain = EXANET_CONTAINER(fid, struct exanet_domain, fid);
  if (info->ep_attr && info->ep_attr->type != FI_EP_UNSPEC && info->ep_attr->type != FI_EP_RDM) return -FI_EINVAL;
  struct exanet_endpoint *ep = calloc(1, sizeof *ep + EXANET_ABI_SLACK);
  struct exanet_core *core = calloc(1, sizeof *core);
  int rc = ep && core ? 0 : -FI_ENOMEM;
  if (!rc) {
    core->domain = domain;
    core->references = 1;
    ep->core = core;
    exanet_endpoint_configure(ep, info);
    exanet_lock();
    rc = exanet_ep_open(exanet_process.ni, EXANET_EP_MESSAGE, &core->id);
    if (!rc) rc = exanet_endpoint_enlist(core);
    exanet_unlock();
  }
  if (rc) {
    free(ep);
    free(core);
    return -exanet_fi_errno(rc);
  }
  ep->fid.fid.fclass = FI_CLASS_EP;
  ep->fid.fid.context = context;
  ep->fid.fid.ops = &exanet_endpoint_fid_ops;
  ep->fid.ops = &exanet_endpoint_ops;
  ep->fid.cm = &exanet_endpoint_cm_ops;
  ep->fid.msg = &exanet_msg_ops;
  ep->fid.tagged = &exanet_tagged_ops;
  ep->fid.rma = &exanet_rma_ops;
  ep->fid.atomic = &exanet_atomic_ops;
  atomic_fetch_add(&domain->users, 1);
  *out = &ep->fid;
  return 0;
}
