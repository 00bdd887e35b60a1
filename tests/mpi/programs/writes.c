/* SPDX-License-Identifier: Apache-2.0
 * A program that uses libfabric alone: two ranks write into each other's memory in turn, and each sees by a counter
 * that the other has. Rank 0 prints the time one way, then that of a write until it is acknowledged, and that of three
 * looks that find nothing.
 *
 * usage: writes ROUNDS BYTES [how rank 0 ends: return (default), close, fail, leave]; with no rounds they only look at
 * the network */
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK(call)                                                  \
  do {                                                               \
    const long status = (long)(call);                                \
    if (status < 0) {                                                \
      fprintf(stderr, "%s: %s\n", #call, fi_strerror((int)-status)); \
      exit(3);                                                       \
    }                                                                \
  } while (0)

enum { KEY = 17 };

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv) {
  const unsigned rounds = (unsigned)atoi(argv[1]);
  const size_t bytes = (size_t)atol(argv[2]);
  const int rank = atoi(getenv("EXANET_RANK"));
  const char *end = argc > 3 ? argv[3] : "return";
  char name[32];
  snprintf(name, sizeof name, "exanet://%d:0", 1 - rank);

  struct fi_info *hints = fi_allocinfo(), *info;
  hints->caps = FI_RMA | FI_RMA_EVENT;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = 0;
  hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
  CHECK(fi_getinfo(FI_VERSION(1, 15), name, NULL, 0, hints, &info));
  if (rounds == 0) return rank == 0 ? 0 : (int)sleep(1);
  struct fid_fabric *fabric;
  struct fid_domain *domain;
  struct fid_av *av;
  struct fid_cq *cq;
  struct fid_ep *ep;
  struct fid_cntr *written, *arrived;
  struct fid_mr *mr;
  struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
  struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_CONTEXT};
  struct fi_cntr_attr cntr_attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_UNSPEC};
  CHECK(fi_fabric(info->fabric_attr, &fabric, NULL));
  CHECK(fi_domain(fabric, info, &domain, NULL));
  CHECK(fi_av_open(domain, &av_attr, &av, NULL));
  CHECK(fi_cq_open(domain, &cq_attr, &cq, NULL));
  CHECK(fi_endpoint(domain, info, &ep, NULL));
  CHECK(fi_ep_bind(ep, &av->fid, 0));
  CHECK(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION));
  CHECK(fi_enable(ep));
  CHECK(fi_cntr_open(domain, &cntr_attr, &written, NULL));
  CHECK(fi_cntr_open(domain, &cntr_attr, &arrived, NULL));
  CHECK(fi_ep_bind(ep, &written->fid, FI_WRITE));
  CHECK(fi_ep_bind(ep, &arrived->fid, FI_REMOTE_WRITE));
  char *window = calloc(2, bytes);
  CHECK(fi_mr_reg(domain, window, bytes, FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
  fi_addr_t peer;
  CHECK(fi_av_insert(av, info->dest_addr, 1, &peer, 0, NULL));

  CHECK(fi_cq_read(cq, NULL, 0) == -FI_EAGAIN ? 0 : -FI_EOTHER); /* virtual time begins */
  double begin = now_s();
  for (unsigned round = 1; round <= rounds; ++round) {
    if (rank == 1) CHECK(fi_cntr_wait(arrived, round, -1));
    memset(window + bytes, (int)round, bytes);
    CHECK(fi_write(ep, window + bytes, bytes, NULL, peer, 0, KEY, NULL));
    if (rank == 0) CHECK(fi_cntr_wait(arrived, round, -1));
    if (window[0] != (char)round || window[bytes - 1] != (char)round) return 4;
  }
  if (rank == 0) printf("%zu bytes: %.1f ns one way\n", bytes, 1e9 * (now_s() - begin) / (2 * rounds));
  CHECK(fi_cntr_wait(written, rounds, -1));
  begin = now_s();
  for (unsigned round = rounds + 1; rank == 0 && round <= 2 * rounds; ++round) {
    CHECK(fi_write(ep, window + bytes, bytes, NULL, peer, 0, KEY, NULL));
    CHECK(fi_cntr_wait(written, round, -1));
  }
  if (rank == 0) printf("%zu bytes: %.1f ns to the acknowledgement\n", bytes, 1e9 * (now_s() - begin) / rounds);
  begin = now_s();
  for (int look = 0; look < 3; ++look)
    if (fi_cq_read(cq, NULL, 0) != -FI_EAGAIN) return 4;
  if (rank == 0) printf("%.1f ns for three looks\n", 1e9 * (now_s() - begin));
  if (rank == 1) CHECK(fi_cntr_wait(arrived, 2 * rounds, -1));
  fflush(stdout);
  if (rank == 0 && strcmp(end, "fail") == 0) return 5;
  if (rank == 0 && strcmp(end, "leave") == 0) _exit(0);
  if (strcmp(end, "close") != 0) return 0;
  CHECK(fi_close(&ep->fid));
  CHECK(fi_close(&mr->fid));
  CHECK(fi_close(&arrived->fid));
  CHECK(fi_close(&written->fid));
  CHECK(fi_close(&cq->fid));
  CHECK(fi_close(&av->fid));
  CHECK(fi_close(&domain->fid));
  CHECK(fi_close(&fabric->fid));
  fi_freeinfo(info);
  fi_freeinfo(hints);
  return 0;
}
