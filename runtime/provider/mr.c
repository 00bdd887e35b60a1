/* SPDX-License-Identifier: Apache-2.0
 * Memory registration: what other ranks may reach. Local buffers need none.
 *
 * Model: a region is opened at the interface when it is registered, and a domain that is bound to an event queue
 * gets an event at once. The caller chooses the key, or the provider does (FI_MR_PROV_KEY). Each region may have a
 * counter of what other ranks do to it.
 *
 * Limits: one piece of memory a region; keys are one name space a process. */
#include <stdlib.h>

#include "exanet_prov.h"

static struct exanet_mr *exanet_mr_of(struct fid *fid) { return EXANET_CONTAINER(fid, struct exanet_mr, fid.fid); }

static void exanet_mr_unlink(struct exanet_mr *mr) {
  struct exanet_mr **link = &exanet_process.regions;
  while (*link && *link != mr) link = &(*link)->next;
  if (*link) *link = mr->next;
}

static bool exanet_mr_key_taken(uint64_t key) {
  for (const struct exanet_mr *mr = exanet_process.regions; mr; mr = mr->next)
    if (mr->fid.key == key) return true;
  return false;
}

static int exanet_mr_close(struct fid *fid) {
  struct exanet_mr *mr = exanet_mr_of(fid);
  exanet_lock();
  exanet_mr_unlink(mr);
  int rc = exanet_mem_deregister(exanet_process.ni, mr->fid.key);
  exanet_unlock();
  atomic_fetch_sub(&mr->domain->users, 1);
  free(mr);
  return rc ? -exanet_fi_errno(rc) : 0;
}

/* Regions serve all endpoints of the process, so binding to one asks for nothing more. */
static int exanet_mr_bind(struct fid *fid, struct fid *bfid, uint64_t flags) {
  struct exanet_mr *mr = exanet_mr_of(fid);
  if (bfid->fclass == FI_CLASS_EP) return 0;
  if (bfid->fclass != FI_CLASS_CNTR) return -FI_EINVAL;
  if (flags & ~(FI_REMOTE_READ | FI_REMOTE_WRITE)) return -FI_EBADFLAGS;
  exanet_lock();
  mr->counter = EXANET_CONTAINER(bfid, struct exanet_cntr, fid.fid);
  mr->counter_flags = flags;
  exanet_unlock();
  return 0;
}

static int exanet_mr_control(struct fid *fid, int command, void *arg) { return command == FI_ENABLE ? 0 : -FI_ENOSYS; }

static struct fi_ops exanet_mr_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = exanet_mr_close,
    .bind = exanet_mr_bind,
    .control = exanet_mr_control,
    .ops_open = exanet_no_ops_open,
};

static int exanet_mr_register(struct exanet_domain *domain, struct exanet_mr *mr, const struct fi_mr_attr *attr) {
  uint32_t access = 0;
  if (attr->access & FI_REMOTE_READ) access |= EXANET_REMOTE_READ;
  if (attr->access & FI_REMOTE_WRITE) access |= EXANET_REMOTE_WRITE;
  if (!domain->virtual_addresses) access |= EXANET_OFFSET_ADDRESSED;
  if (domain->remote_events) access |= EXANET_REPORT_EVENTS;
  mr->fid.key = attr->requested_key;
  exanet_lock();
  int rc = !domain->provider_keys && exanet_mr_key_taken(attr->requested_key) ? -EEXIST : 0;
  if (!rc)
    rc = exanet_mem_register(exanet_process.ni, attr->mr_iov[0].iov_base, attr->mr_iov[0].iov_len, access,
                             domain->provider_keys, &mr->fid.key);
  if (!rc) {
    mr->next = exanet_process.regions;
    exanet_process.regions = mr;
  }
  exanet_unlock();
  return rc == -EEXIST ? -FI_ENOKEY : rc ? -exanet_fi_errno(rc) : 0;
}

static int exanet_mr_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags, struct fid_mr **out) {
  if (fid->fclass != FI_CLASS_DOMAIN || !attr || attr->iov_count != 1 || attr->offset) return -FI_EINVAL;
  if (flags & ~FI_RMA_EVENT) return -FI_EBADFLAGS;
  struct exanet_domain *domain = EXANET_CONTAINER(fid, struct exanet_domain, fid.fid);
  struct exanet_mr *mr = calloc(1, sizeof *mr + EXANET_ABI_SLACK);
  if (!mr) return -FI_ENOMEM;
  mr->fid.fid.fclass = FI_CLASS_MR;
  mr->fid.fid.context = attr->context;
  mr->fid.fid.ops = &exanet_mr_fid_ops;
  mr->fid.mem_desc = mr;
  mr->domain = domain;
  int rc = exanet_mr_register(domain, mr, attr);
  if (rc) {
    free(mr);
    return rc;
  }
  atomic_fetch_add(&domain->users, 1);
  *out = &mr->fid;
  if (domain->eq) exanet_eq_push(domain->eq, FI_MR_COMPLETE, &mr->fid.fid, attr->context, 0, 0);
  return 0;
}

static int exanet_mr_regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access, uint64_t offset,
                          uint64_t key, uint64_t flags, struct fid_mr **mr, void *context) {
  struct fi_mr_attr attr = {
      .mr_iov = iov, .iov_count = count, .access = access, .offset = offset, .requested_key = key, .context = context};
  return exanet_mr_regattr(fid, &attr, flags, mr);
}

static int exanet_mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset, uint64_t key,
                         uint64_t flags, struct fid_mr **mr, void *context) {
  struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};
  return exanet_mr_regv(fid, &iov, 1, access, offset, key, flags, mr, context);
}

struct fi_ops_mr exanet_mr_ops = {
    .size = sizeof(struct fi_ops_mr),
    .reg = exanet_mr_reg,
    .regv = exanet_mr_regv,
    .regattr = exanet_mr_regattr,
};
