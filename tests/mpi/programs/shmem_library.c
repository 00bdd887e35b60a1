/* SPDX-License-Identifier: Apache-2.0
 * The least of an OpenSHMEM library over libfabric, for two ranks: it sets itself up with writes over the network,
 * which take no virtual time, and then puts bytes from the start of one rank's memory to that of the other. */
#include "shmem_library.h"

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEY = 3, SET_UP_WRITES = 10 };

static struct fid_ep *ep;
static struct fid_cntr *written, *arrived;
static fi_addr_t peer;
static uint64_t writes;
static char memory[4096];

static void must(long status, const char *what) {
  if (status >= 0) return;
  fprintf(stderr, "%s: %s\n", what, fi_strerror((int)-status));
  exit(3);
}
#define MUST(call) must((long)(call), #call)

int shmem_my_pe(void) { return atoi(getenv("EXANET_RANK")); }
char *shmem_memory(void) { return memory; }

static void set_up(void) {
  char name[32];
  snprintf(name, sizeof name, "exanet://%d:0", 1 - shmem_my_pe());
  struct fi_info *hints = fi_allocinfo(), *info;
  hints->caps = FI_RMA | FI_RMA_EVENT;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = 0;
  MUST(fi_getinfo(FI_VERSION(1, 15), name, NULL, 0, hints, &info));
  struct fid_fabric *fabric;
  struct fid_domain *domain;
  struct fid_av *av;
  struct fid_mr *mr;
  struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
  struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_UNSPEC};
  MUST(fi_fabric(info->fabric_attr, &fabric, NULL));
  MUST(fi_domain(fabric, info, &domain, NULL));
  MUST(fi_av_open(domain, &av_attr, &av, NULL));
  MUST(fi_cntr_open(domain, &attr, &written, NULL));
  MUST(fi_cntr_open(domain, &attr, &arrived, NULL));
  MUST(fi_endpoint(domain, info, &ep, NULL));
  MUST(fi_ep_bind(ep, &av->fid, 0));
  MUST(fi_ep_bind(ep, &written->fid, FI_WRITE));
  MUST(fi_enable(ep));
  MUST(fi_ep_bind(ep, &arrived->fid, FI_REMOTE_WRITE)); /* once it is enabled, as Sandia OpenSHMEM does */
  MUST(fi_mr_reg(domain, memory, sizeof memory, FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
  MUST(fi_av_insert(av, info->dest_addr, 1, &peer, 0, NULL));
}

void shmem_put_first(size_t bytes) {
  MUST(fi_write(ep, memory, bytes, NULL, peer, 0, KEY, NULL));
  MUST(fi_cntr_wait(written, ++writes, -1));
}

void shmem_wait_for_puts(uint64_t puts) { MUST(fi_cntr_wait(arrived, SET_UP_WRITES + puts, -1)); }

/* The other rank's memory may not be there yet. */
static void meet(void) {
  for (int i = 0; i < SET_UP_WRITES;) {
    MUST(fi_write(ep, memory, 1, NULL, peer, sizeof memory - 1, KEY, NULL));
    if (fi_cntr_wait(written, writes + 1, -1) != 0) continue;
    ++writes;
    ++i;
  }
  shmem_wait_for_puts(0);
}

void shmem_init(void) {
  if (ep == NULL) set_up();
  meet();
}
int shmem_init_thread(int requested, int *provided) {
  *provided = requested;
  if (requested > 3) return 1;
  shmem_init();
  return 0;
}
void start_pes(int pes) { shmem_init(); }
void shmem_finalize(void) { shmem_put_first(1); }
void shmem_global_exit(int status) { exit(status); }
