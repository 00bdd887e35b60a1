/* SPDX-License-Identifier: Apache-2.0
 * The fabric object: the machine, of which a process sees one. */
#include <stdlib.h>
#include <string.h>

#include "exanet_prov.h"

static int exanet_fabric_close(struct fid *fid) {
  free(EXANET_CONTAINER(fid, struct exanet_fabric, fid.fid));
  return 0;
}

static int exanet_fabric_passive_ep(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep,
                                    void *context) {
  return -FI_ENOSYS;
}

static int exanet_fabric_wait_open(struct fid_fabric *fabric, struct fi_wait_attr *attr, struct fid_wait **wait) {
  return -FI_ENOSYS;
}
static int exanet_fabric_trywait(struct fid_fabric *fabric, struct fid **fids, int count) { return -FI_ENOSYS; }

static struct fi_ops exanet_fabric_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = exanet_fabric_close,
    .bind = exanet_no_bind,
    .control = exanet_no_control,
    .ops_open = exanet_no_ops_open,
};

static struct fi_ops_fabric exanet_fabric_ops = {
    .size = sizeof(struct fi_ops_fabric),
    .domain = exanet_domain_open,
    .passive_ep = exanet_fabric_passive_ep,
    .eq_open = exanet_eq_open,
    .wait_open = exanet_fabric_wait_open,
    .trywait = exanet_fabric_trywait,
};

int exanet_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context) {
  struct exanet_ni *ni;
  int rc = exanet_process_open(&ni);
  if (rc) return rc;
  if (attr->name && strcmp(attr->name, "exanet")) return -FI_ENODATA;
  struct exanet_fabric *fabric = calloc(1, sizeof *fabric + EXANET_ABI_SLACK);
  if (!fabric) return -FI_ENOMEM;
  fabric->fid.fid.fclass = FI_CLASS_FABRIC;
  fabric->fid.fid.context = context;
  fabric->fid.fid.ops = &exanet_fabric_fid_ops;
  fabric->fid.ops = &exanet_fabric_ops;
  fabric->fid.api_version = attr->api_version;
  *out = &fabric->fid;
  return 0;
}
