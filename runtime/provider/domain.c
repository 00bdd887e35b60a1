/* SPDX-License-Identifier: Apache-2.0
 * The domain object: the process's network interface under one caller's choice of addressing and threading.
 *
 * Model: domains share the interface, its lock and its name space of keys; what differs is how the caller names
 * endpoints and remote memory, and whether threads may enter at once.
 *
 * Limit: a domain that is in use is not closed. */
#include <stdlib.h>

#include "exanet_prov.h"

static struct exanet_domain *exanet_domain_of(struct fid *fid) {
  return EXANET_CONTAINER(fid, struct exanet_domain, fid.fid);
}

static int exanet_domain_close(struct fid *fid) {
  struct exanet_domain *domain = exanet_domain_of(fid);
  if (atomic_load(&domain->users)) return -FI_EBUSY;
  free(domain);
  return 0;
}

static int exanet_domain_bind(struct fid *fid, struct fid *bfid, uint64_t flags) {
  if (bfid->fclass != FI_CLASS_EQ) return -FI_EINVAL;
  if (flags & ~FI_REG_MR) return -FI_EBADFLAGS;
  if (flags & FI_REG_MR) exanet_domain_of(fid)->eq = EXANET_CONTAINER(bfid, struct exanet_eq, fid.fid);
  return 0;
}

static int exanet_domain_scalable_ep(struct fid_domain *domain, struct fi_info *info, struct fid_ep **sep,
                                     void *context) {
  return -FI_ENOSYS;
}

static int exanet_domain_stx_ctx(struct fid_domain *domain, struct fi_tx_attr *attr, struct fid_stx **stx,
                                 void *context) {
  return -FI_ENOSYS;
}

static int exanet_domain_srx_ctx(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **rx,
                                 void *context) {
  return -FI_ENOSYS;
}

static struct fi_ops exanet_domain_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = exanet_domain_close,
    .bind = exanet_domain_bind,
    .control = exanet_no_control,
    .ops_open = exanet_no_ops_open,
};

static struct fi_ops_domain exanet_domain_ops = {
    .size = sizeof(struct fi_ops_domain),
    .av_open = exanet_av_open,
    .cq_open = exanet_cq_open,
    .endpoint = exanet_endpoint_open,
    .scalable_ep = exanet_domain_scalable_ep,
    .cntr_open = exanet_cntr_open,
    .poll_open = exanet_poll_open,
    .stx_ctx = exanet_domain_stx_ctx,
    .srx_ctx = exanet_domain_srx_ctx,
    .query_atomic = exanet_atomic_query,
};

int exanet_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **out, void *context) {
  struct exanet_ni *ni;
  int rc = exanet_process_open(&ni);
  if (rc) return rc;
  if (!info->domain_attr || !exanet_name_known(info->addr_format)) return -FI_EINVAL;
  struct exanet_domain *domain = calloc(1, sizeof *domain + EXANET_ABI_SLACK);
  if (!domain) return -FI_ENOMEM;
  domain->fid.fid.fclass = FI_CLASS_DOMAIN;
  domain->fid.fid.context = context;
  domain->fid.fid.ops = &exanet_domain_fid_ops;
  domain->fid.ops = &exanet_domain_ops;
  domain->fid.mr = &exanet_mr_ops;
  int mr_mode = info->domain_attr->mr_mode;
  domain->virtual_addresses = mr_mode == FI_MR_BASIC || (mr_mode & FI_MR_VIRT_ADDR);
  domain->provider_keys = mr_mode == FI_MR_BASIC || (mr_mode & FI_MR_PROV_KEY);
  domain->remote_events = info->caps & FI_RMA_EVENT;
  domain->threading = info->domain_attr->threading;
  domain->addr_format = info->addr_format;
  if (exanet_domain_threaded(domain)) {
    exanet_lock();
    exanet_set_multithreaded(ni);
    exanet_unlock();
  }
  *out = &domain->fid;
  return 0;
}
