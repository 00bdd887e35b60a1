/* SPDX-License-Identifier: Apache-2.0
 * Counters as their readers see them (queues.c counts).
 *
 * Problem: a program may wait by reading a counter in a loop, and calls nothing else that polls the network.
 *
 * Model: a reading that would return what the last one did polls the interface once, so that a loop of readings gets
 * on. A loop that reads both values and errors, as Sandia OpenSHMEM's does, polls for the values alone: a second poll
 * would wait for what comes after that which the first one has found.
 *
 * Limit: completions are counted, and nothing else (FI_CNTR_EVENTS_COMP). */
#include <stdlib.h>

#include "exanet_prov.h"

static struct exanet_cntr *exanet_cntr_of(struct fid_cntr *cntr) {
  return EXANET_CONTAINER(cntr, struct exanet_cntr, fid);
}

static uint64_t exanet_cntr_read(struct fid_cntr *fid) {
  struct exanet_cntr *cntr = exanet_cntr_of(fid);
  exanet_lock_to_poll();
  if (cntr->value == cntr->seen) exanet_progress();
  uint64_t value = cntr->seen = cntr->value;
  cntr->polled = true;
  exanet_unlock();
  return value;
}

static uint64_t exanet_cntr_readerr(struct fid_cntr *fid) {
  struct exanet_cntr *cntr = exanet_cntr_of(fid);
  exanet_lock_to_poll();
  if (cntr->errors == cntr->seen_errors && !cntr->polled) exanet_progress();
  uint64_t errors = cntr->seen_errors = cntr->errors;
  cntr->polled = false;
  exanet_unlock();
  return errors;
}

static int exanet_cntr_change(struct fid_cntr *fid, uint64_t value, bool add, bool error) {
  struct exanet_cntr *cntr = exanet_cntr_of(fid);
  exanet_lock();
  uint64_t *at = error ? &cntr->errors : &cntr->value;
  *at = add ? *at + value : value;
  exanet_unlock();
  return 0;
}
static int exanet_cntr_add(struct fid_cntr *cntr, uint64_t value) {
  return exanet_cntr_change(cntr, value, true, false);
}
static int exanet_cntr_set(struct fid_cntr *cntr, uint64_t value) {
  return exanet_cntr_change(cntr, value, false, false);
}
static int exanet_cntr_adderr(struct fid_cntr *cntr, uint64_t value) {
  return exanet_cntr_change(cntr, value, true, true);
}
static int exanet_cntr_seterr(struct fid_cntr *cntr, uint64_t value) {
  return exanet_cntr_change(cntr, value, false, true);
}

static int exanet_cntr_wait(struct fid_cntr *fid, uint64_t threshold, int timeout) {
  struct exanet_cntr *cntr = exanet_cntr_of(fid);
  exanet_lock();
  uint64_t limit = exanet_wait_timeout_ps(timeout), passed = 0, errors = cntr->errors;
  struct exanet_stopwatch watch = exanet_stopwatch_start();
  while (cntr->value < threshold && cntr->errors == errors && passed < limit) {
    exanet_wait_step(cntr->domain, limit == UINT64_MAX ? limit : limit - passed);
    if (limit != UINT64_MAX) passed = exanet_stopwatch_ps(&watch);
  }
  int rc = cntr->value >= threshold ? 0 : cntr->errors != errors ? -FI_EAVAIL : -FI_ETIMEDOUT;
  cntr->seen = cntr->value;
  exanet_unlock();
  return rc;
}

static int exanet_cntr_close(struct fid *fid) {
  struct exanet_cntr *cntr = EXANET_CONTAINER(fid, struct exanet_cntr, fid.fid);
  atomic_fetch_sub(&cntr->domain->users, 1);
  free(cntr);
  return 0;
}

static struct fi_ops exanet_cntr_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = exanet_cntr_close,
    .bind = exanet_no_bind,
    .control = exanet_no_control,
    .ops_open = exanet_no_ops_open,
};

static struct fi_ops_cntr exanet_cntr_ops = {
    .size = sizeof(struct fi_ops_cntr),
    .read = exanet_cntr_read,
    .readerr = exanet_cntr_readerr,
    .add = exanet_cntr_add,
    .set = exanet_cntr_set,
    .wait = exanet_cntr_wait,
    .adderr = exanet_cntr_adderr,
    .seterr = exanet_cntr_seterr,
};

int exanet_cntr_open(struct fid_domain *fid, struct fi_cntr_attr *attr, struct fid_cntr **out, void *context) {
  struct exanet_domain *domain = EXANET_CONTAINER(fid, struct exanet_domain, fid);
  if (attr && !exanet_wait_possible(attr->wait_obj)) return -FI_ENOSYS;
  if (attr && (attr->events != FI_CNTR_EVENTS_COMP || attr->flags)) return -FI_ENOSYS;
  struct exanet_cntr *cntr = calloc(1, sizeof *cntr + EXANET_ABI_SLACK);
  if (!cntr) return -FI_ENOMEM;
  cntr->fid.fid.fclass = FI_CLASS_CNTR;
  cntr->fid.fid.context = context;
  cntr->fid.fid.ops = &exanet_cntr_fid_ops;
  cntr->fid.ops = &exanet_cntr_ops;
  cntr->domain = domain;
  atomic_fetch_add(&domain->users, 1);
  *out = &cntr->fid;
  return 0;
}
