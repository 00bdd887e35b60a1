/* SPDX-License-Identifier: Apache-2.0
 * The poll set of libfabric 1.x: which of several queues and counters have something to read.
 *
 * Model: a list of members. When none has anything the interface is polled once, which fills queues and counters of
 * the whole process.
 *
 * Limit: there are no wait sets. */
#include <stdlib.h>

#include "exanet_prov.h"

struct exanet_poll_member {
  struct exanet_poll_member *next;
  struct fid *fid;
  uint64_t seen;   /* counter: value plus errors when last reported */
};

struct exanet_pollset {
  struct fid_poll fid;
  struct exanet_domain *domain;
  struct exanet_poll_member *members;
};

static struct exanet_pollset *exanet_pollset_of(struct fid_poll *fid) {
  return EXANET_CONTAINER(fid, struct exanet_pollset, fid);
}

static bool exanet_pollset_ready(struct exanet_poll_member *member) {
  if (member->fid->fclass == FI_CLASS_CQ) return EXANET_CONTAINER(member->fid, struct exanet_cq, fid.fid)->count > 0;
  const struct exanet_cntr *cntr = EXANET_CONTAINER(member->fid, struct exanet_cntr, fid.fid);
  bool changed = cntr->value + cntr->errors != member->seen;
  member->seen = cntr->value + cntr->errors;
  return changed;
}

static int exanet_pollset_collect(struct exanet_pollset *set, void **context, int count) {
  int n = 0;
  for (struct exanet_poll_member *member = set->members; member && n < count; member = member->next)
    if (exanet_pollset_ready(member)) context[n++] = member->fid->context;
  return n;
}

static int exanet_pollset_poll(struct fid_poll *fid, void **context, int count) {
  struct exanet_pollset *set = exanet_pollset_of(fid);
  exanet_lock_to_poll();
  int n = exanet_pollset_collect(set, context, count);
  if (n == 0 && exanet_progress() > 0) n = exanet_pollset_collect(set, context, count);
  exanet_unlock();
  return n;
}

static int exanet_pollset_add(struct fid_poll *fid, struct fid *member_fid, uint64_t flags) {
  struct exanet_pollset *set = exanet_pollset_of(fid);
  if (flags || (member_fid->fclass != FI_CLASS_CQ && member_fid->fclass != FI_CLASS_CNTR)) return -FI_EINVAL;
  struct exanet_poll_member *member = calloc(1, sizeof *member);
  if (!member) return -FI_ENOMEM;
  exanet_lock();
  *member = (struct exanet_poll_member){.next = set->members, .fid = member_fid};
  set->members = member;
  exanet_unlock();
  return 0;
}

static int exanet_pollset_del(struct fid_poll *fid, struct fid *member_fid, uint64_t flags) {
  struct exanet_pollset *set = exanet_pollset_of(fid);
  exanet_lock();
  struct exanet_poll_member **link = &set->members, *found;
  while (*link && (*link)->fid != member_fid) link = &(*link)->next;
  found = *link;
  if (found) *link = found->next;
  exanet_unlock();
  free(found);
  return found ? 0 : -FI_EINVAL;
}

static int exanet_pollset_close(struct fid *fid) {
  struct exanet_pollset *set = EXANET_CONTAINER(fid, struct exanet_pollset, fid.fid);
  while (set->members) {
    struct exanet_poll_member *member = set->members;
    set->members = member->next;
    free(member);
  }
  atomic_fetch_sub(&set->domain->users, 1);
  free(set);
  return 0;
}

static struct fi_ops exanet_pollset_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = exanet_pollset_close,
    .bind = exanet_no_bind,
    .control = exanet_no_control,
    .ops_open = exanet_no_ops_open,
};

static struct fi_ops_poll exanet_pollset_ops = {
    .size = sizeof(struct fi_ops_poll),
    .poll = exanet_pollset_poll,
    .poll_add = exanet_pollset_add,
    .poll_del = exanet_pollset_del,
};

int exanet_poll_open(struct fid_domain *fid, struct fi_poll_attr *attr, struct fid_poll **out) {
  if (attr && attr->flags) return -FI_EBADFLAGS;
  struct exanet_pollset *set = calloc(1, sizeof *set + EXANET_ABI_SLACK);
  if (!set) return -FI_ENOMEM;
  set->domain = EXANET_CONTAINER(fid, struct exanet_domain, fid);
  set->fid.fid.fclass = FI_CLASS_POLL;
  set->fid.fid.ops = &exanet_pollset_fid_ops;
  set->fid.ops = &exanet_pollset_ops;
  atomic_fetch_add(&set->domain->users, 1);
  *out = &set->fid;
  return 0;
}
