/* SPDX-License-Identifier: Apache-2.0
 * The provider's capabilities, as one sheet, and the comparison of a caller's hints with it.
 *
 * Where the choice is the caller's (threading, progress, address vector, operation flags) his wish is echoed: MPI
 * libraries refuse a provider that answers otherwise. The info tree is allocated with calloc() because the libfabric
 * core frees it; prov_name stays NULL because the core fills it in. */
#include <stdlib.h>
#include <string.h>

#include "exanet_prov.h"

/* -- the capability sheet ------------------------------------------------------------------------------------------ */
#define EXANET_TX_CAPS (FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SEND | FI_READ | FI_WRITE)
#define EXANET_RX_CAPS                                                                                    \
  (FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_MULTI_RECV | \
   FI_DIRECTED_RECV | FI_SOURCE | FI_SOURCE_ERR | FI_RMA_EVENT)
#define EXANET_DOMAIN_CAPS (FI_LOCAL_COMM | FI_REMOTE_COMM)
#define EXANET_CAPS (EXANET_TX_CAPS | EXANET_RX_CAPS | EXANET_DOMAIN_CAPS)
#define EXANET_TX_OP_FLAGS                                                                                            \
  (FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_REMOTE_CQ_DATA | \
   FI_MORE)
#define EXANET_RX_OP_FLAGS (FI_COMPLETION | FI_MULTI_RECV | FI_MORE)
#define EXANET_MSG_ORDER FI_ORDER_SAS
#define EXANET_COMP_ORDER FI_ORDER_NONE
#define EXANET_MAX_MESSAGE ((size_t)1 << 40)
#define EXANET_PROTOCOL (FI_PROV_SPECIFIC | 0x45u)
#define EXANET_MR_KEY_BYTES 8
#define EXANET_CQ_DATA_BYTES 8
#define EXANET_OBJECTS_MAX 32768

static size_t exanet_info_inject_size(void) {
  size_t eager = exanet_eager_max(exanet_process.ni);
  return eager < EXANET_INJECT_MAX ? eager : EXANET_INJECT_MAX;
}

/* -- comparing ----------------------------------------------------------------------------------------------------- */
static bool exanet_info_subset(uint64_t wanted, uint64_t offered) { return (wanted & ~offered) == 0; }

static bool exanet_info_name_fits(const char *wanted) { return !wanted || strcmp(wanted, "exanet") == 0; }

static bool exanet_info_tx_fits(const struct fi_tx_attr *hint) {
  return exanet_info_subset(hint->caps, EXANET_CAPS) && exanet_info_subset(hint->op_flags, EXANET_TX_OP_FLAGS) &&
         exanet_info_subset(hint->msg_order, EXANET_MSG_ORDER) &&
         exanet_info_subset(hint->comp_order, EXANET_COMP_ORDER) && hint->inject_size <= exanet_info_inject_size() &&
         hint->size <= EXANET_QUEUE_MAX && hint->iov_limit <= EXANET_IOV_LIMIT && hint->rma_iov_limit <= 1;
}

static bool exanet_info_rx_fits(const struct fi_rx_attr *hint) {
  return exanet_info_subset(hint->caps, EXANET_CAPS) && exanet_info_subset(hint->op_flags, EXANET_RX_OP_FLAGS) &&
         exanet_info_subset(hint->msg_order, EXANET_MSG_ORDER) &&
         exanet_info_subset(hint->comp_order, EXANET_COMP_ORDER) && hint->total_buffered_recv <= EXANET_MAX_MESSAGE &&
         hint->size <= EXANET_QUEUE_MAX && hint->iov_limit <= EXANET_IOV_LIMIT;
}

static bool exanet_info_ep_fits(const struct fi_ep_attr *hint) {
  return (hint->type == FI_EP_UNSPEC || hint->type == FI_EP_RDM) &&
         (hint->protocol == FI_PROTO_UNSPEC || hint->protocol == EXANET_PROTOCOL) && hint->protocol_version <= 1 &&
         hint->max_msg_size <= EXANET_MAX_MESSAGE && hint->tx_ctx_cnt <= 1 && hint->rx_ctx_cnt <= 1 &&
         hint->auth_key_size == 0 && hint->max_order_raw_size == 0 && hint->max_order_war_size == 0 &&
         hint->max_order_waw_size == 0;
}

static bool exanet_info_domain_fits(const struct fi_domain_attr *hint) {
  return exanet_info_name_fits(hint->name) && exanet_info_subset(hint->caps, EXANET_DOMAIN_CAPS) &&
         hint->av_type <= FI_AV_TABLE && hint->mr_key_size <= EXANET_MR_KEY_BYTES &&
         hint->cq_data_size <= EXANET_CQ_DATA_BYTES && hint->auth_key_size == 0 && hint->max_ep_tx_ctx <= 1 &&
         hint->max_ep_rx_ctx <= 1 && hint->max_ep_stx_ctx == 0 && hint->max_ep_srx_ctx == 0 &&
         hint->mr_iov_limit <= 1 && hint->ep_cnt <= EXANET_OBJECTS_MAX && hint->cq_cnt <= EXANET_OBJECTS_MAX &&
         hint->cntr_cnt <= EXANET_OBJECTS_MAX && (hint->tx_ctx_cnt == 0 || hint->tx_ctx_cnt <= EXANET_OBJECTS_MAX) &&
         hint->rx_ctx_cnt <= EXANET_OBJECTS_MAX;
}

static bool exanet_info_fits(const struct fi_info *hints) {
  if (!hints) return true;
  return exanet_info_subset(hints->caps, EXANET_CAPS) && exanet_name_known(hints->addr_format) &&
         (!hints->tx_attr || exanet_info_tx_fits(hints->tx_attr)) &&
         (!hints->rx_attr || exanet_info_rx_fits(hints->rx_attr)) &&
         (!hints->ep_attr || exanet_info_ep_fits(hints->ep_attr)) &&
         (!hints->domain_attr || exanet_info_domain_fits(hints->domain_attr)) &&
         (!hints->fabric_attr ||
          (exanet_info_name_fits(hints->fabric_attr->name) && exanet_info_name_fits(hints->fabric_attr->prov_name)));
}

/* -- answering ----------------------------------------------------------------------------------------------------- */
static size_t exanet_info_or(size_t wanted, size_t otherwise) { return wanted ? wanted : otherwise; }

/* A primary capability without any modifier means all of its modifiers. */
static uint64_t exanet_info_caps(const struct fi_info *hints) {
  if (!hints || !hints->caps) return EXANET_CAPS;
  uint64_t caps = hints->caps, message = FI_SEND | FI_RECV,
           memory = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
  if ((caps & (FI_MSG | FI_TAGGED)) && !(caps & message)) caps |= message;
  if ((caps & (FI_RMA | FI_ATOMIC)) && !(caps & memory)) caps |= memory;
  if (!(caps & (FI_MSG | FI_TAGGED))) caps &= ~message;
  if (!(caps & (FI_RMA | FI_ATOMIC))) caps &= ~memory;
  if (!(caps & EXANET_DOMAIN_CAPS)) caps |= EXANET_DOMAIN_CAPS;
  return caps;
}

/* Before 1.5 the mode was a choice of two. Since then it is the set of restrictions that the caller can live with,
 * of which the answer names those that the provider needs: none. Offsets and the caller's own keys do. */
static int exanet_info_mr_mode(uint32_t version, const struct fi_domain_attr *hint) {
  int wanted = hint ? hint->mr_mode : FI_MR_UNSPEC;
  if (wanted & FI_MR_SCALABLE) return FI_MR_SCALABLE;
  if (wanted & FI_MR_BASIC) return FI_MR_BASIC;
  return FI_VERSION_LT(version, FI_VERSION(1, 5)) ? FI_MR_SCALABLE : 0;
}

static void exanet_info_fill_contexts(struct fi_info *info, const struct fi_info *hints) {
  const struct fi_tx_attr *tx = hints ? hints->tx_attr : NULL;
  const struct fi_rx_attr *rx = hints ? hints->rx_attr : NULL;
  info->tx_attr->caps = info->caps & EXANET_TX_CAPS;
  info->tx_attr->op_flags = tx ? tx->op_flags : 0;
  info->tx_attr->msg_order = EXANET_MSG_ORDER;
  info->tx_attr->comp_order = EXANET_COMP_ORDER;
  info->tx_attr->inject_size = exanet_info_inject_size();
  info->tx_attr->size = exanet_info_or(tx ? tx->size : 0, EXANET_TX_SIZE);
  info->tx_attr->iov_limit = EXANET_IOV_LIMIT;
  info->tx_attr->rma_iov_limit = 1;
  info->rx_attr->caps = info->caps & EXANET_RX_CAPS;
  info->rx_attr->op_flags = rx ? rx->op_flags : 0;
  info->rx_attr->msg_order = EXANET_MSG_ORDER;
  info->rx_attr->comp_order = EXANET_COMP_ORDER;
  info->rx_attr->size = exanet_info_or(rx ? rx->size : 0, EXANET_RX_SIZE);
  info->rx_attr->iov_limit = EXANET_IOV_LIMIT;
}

static void exanet_info_fill_domain(uint32_t version, struct fi_domain_attr *domain,
                                    const struct fi_domain_attr *hint) {
  domain->domain = hint ? hint->domain : NULL;
  domain->threading = hint && hint->threading ? hint->threading : FI_THREAD_DOMAIN;
  domain->control_progress = hint && hint->control_progress ? hint->control_progress : FI_PROGRESS_MANUAL;
  domain->data_progress = hint && hint->data_progress ? hint->data_progress : FI_PROGRESS_MANUAL;
  domain->resource_mgmt = hint && hint->resource_mgmt ? hint->resource_mgmt : FI_RM_ENABLED;
  domain->av_type = hint && hint->av_type ? hint->av_type : FI_AV_TABLE;
  domain->mr_mode = exanet_info_mr_mode(version, hint);
  domain->mr_key_size = EXANET_MR_KEY_BYTES;
  domain->cq_data_size = EXANET_CQ_DATA_BYTES;
  domain->cq_cnt = domain->ep_cnt = domain->cntr_cnt = domain->tx_ctx_cnt = domain->rx_ctx_cnt = EXANET_OBJECTS_MAX;
  domain->max_ep_tx_ctx = domain->max_ep_rx_ctx = 1;
  domain->mr_iov_limit = 1;
  domain->caps = EXANET_DOMAIN_CAPS;
  domain->max_err_data = sizeof(exanet_addr);
  domain->mr_cnt = EXANET_OBJECTS_MAX;
}

static void exanet_info_free(struct fi_info *info) {
  if (info->domain_attr) free(info->domain_attr->name);
  if (info->fabric_attr) free(info->fabric_attr->name);
  free(info->src_addr);
  free(info->dest_addr);
  free(info->tx_attr);
  free(info->rx_attr);
  free(info->ep_attr);
  free(info->domain_attr);
  free(info->fabric_attr);
  free(info);
}

static struct fi_info *exanet_info_alloc(void) {
  struct fi_info *info = calloc(1, sizeof *info + EXANET_ABI_SLACK);
  if (!info) return NULL;
  info->tx_attr = calloc(1, sizeof *info->tx_attr + EXANET_ABI_SLACK);
  info->rx_attr = calloc(1, sizeof *info->rx_attr + EXANET_ABI_SLACK);
  info->ep_attr = calloc(1, sizeof *info->ep_attr + EXANET_ABI_SLACK);
  info->domain_attr = calloc(1, sizeof *info->domain_attr + EXANET_ABI_SLACK);
  info->fabric_attr = calloc(1, sizeof *info->fabric_attr + EXANET_ABI_SLACK);
  if (info->domain_attr) info->domain_attr->name = strdup("exanet");
  if (info->fabric_attr) info->fabric_attr->name = strdup("exanet");
  if (info->tx_attr && info->rx_attr && info->ep_attr && info->domain_attr && info->fabric_attr &&
      info->domain_attr->name && info->fabric_attr->name)
    return info;
  exanet_info_free(info);
  return NULL;
}

/* `addr` in the info's own format, newly allocated. */
static int exanet_info_set_name(const struct fi_info *info, exanet_addr addr, void **name, size_t *len) {
  *len = exanet_name_size(info->addr_format);
  *name = calloc(1, *len);
  if (!*name) return -FI_ENOMEM;
  exanet_name_write(info->addr_format, addr, *name);
  return 0;
}

/* The interface numbers endpoints as they are opened: the source address is that of a process's first one. A wanted
 * source can only choose the rank, and that is what it is. */
static int exanet_info_fill_addresses(struct fi_info *info, const char *node, const char *service, uint64_t flags,
                                      const struct fi_info *hints) {
  exanet_addr source = exanet_address(exanet_rank(exanet_process.ni), 0), addr;
  int rc = exanet_info_set_name(info, source, &info->src_addr, &info->src_addrlen);
  if (rc) return rc;
  if (node && (flags & FI_SOURCE) && exanet_name_is_self(node)) return 0;
  if (node) {
    if ((rc = exanet_name_parse(node, service, &addr))) return rc;
    if (flags & FI_SOURCE) return exanet_addr_rank(addr) == exanet_addr_rank(source) ? 0 : -FI_ENODATA;
    return exanet_info_set_name(info, addr, &info->dest_addr, &info->dest_addrlen);
  }
  if (hints && hints->dest_addr && hints->dest_addrlen >= exanet_name_size(info->addr_format)) {
    if (exanet_name_read(info->addr_format, hints->dest_addr, &addr)) return -FI_ENODATA;
    return exanet_info_set_name(info, addr, &info->dest_addr, &info->dest_addrlen);
  }
  return 0;
}

int exanet_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
                   struct fi_info **out) {
  struct exanet_ni *ni;
  int rc = exanet_process_open(&ni);
  if (rc) return rc;
  if (!exanet_info_fits(hints)) return -FI_ENODATA;
  struct fi_info *info = exanet_info_alloc();
  if (!info) return -FI_ENOMEM;
  info->caps = exanet_info_caps(hints);
  info->addr_format = hints && hints->addr_format ? hints->addr_format : EXANET_ADDR_FORMAT;
  exanet_info_fill_contexts(info, hints);
  exanet_info_fill_domain(version, info->domain_attr, hints ? hints->domain_attr : NULL);
  info->ep_attr->type = FI_EP_RDM;
  info->ep_attr->protocol = EXANET_PROTOCOL;
  info->ep_attr->protocol_version = 1;
  info->ep_attr->max_msg_size = EXANET_MAX_MESSAGE;
  info->ep_attr->mem_tag_format = UINT64_MAX;
  info->ep_attr->tx_ctx_cnt = info->ep_attr->rx_ctx_cnt = 1;
  info->fabric_attr->fabric = hints && hints->fabric_attr ? hints->fabric_attr->fabric : NULL;
  info->fabric_attr->prov_version = EXANET_PROV_VERSION;
  info->fabric_attr->api_version = version;
  rc = exanet_info_fill_addresses(info, node, service, flags, hints);
  if (rc) {
    exanet_info_free(info);
    return rc;
  }
  *out = info;
  return 0;
}
