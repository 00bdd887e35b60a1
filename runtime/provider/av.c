/* SPDX-License-Identifier: Apache-2.0
 * The address vector: a table from fi_addr_t (an index, for FI_AV_MAP as well) to endpoint addresses, and back for
 * naming senders.
 *
 * Problem: each message that arrives may have to be named by its sender's index, in a table with an entry for each
 * rank.
 *
 * Model: beside the table a hash map with open addressing, built anew when entries change shape. A removed entry
 * keeps its place.
 *
 * Limit: no vector is shared between processes. */
#include <stdlib.h>
#include <string.h>

#include "exanet_prov.h"

static struct exanet_av *exanet_av_of(struct fid_av *av) { return EXANET_CONTAINER(av, struct exanet_av, fid); }

/* -- reverse map --------------------------------------------------------------------------------------------------- */
static size_t exanet_av_hash(const struct exanet_av *av, exanet_addr addr) {
  return (size_t)((addr * 0x9e3779b97f4a7c15ull) >> 32) & (av->bucket_count - 1);
}

/* The lowest index stands for an address that was inserted twice. */
static void exanet_av_remember(struct exanet_av *av, size_t index) {
  size_t at = exanet_av_hash(av, av->entries[index]);
  while (av->buckets[at]) {
    if (av->entries[av->buckets[at] - 1] == av->entries[index]) return;
    at = (at + 1) & (av->bucket_count - 1);
  }
  av->buckets[at] = (uint32_t)index + 1;
}

static void exanet_av_rebuild(struct exanet_av *av) {
  memset(av->buckets, 0, av->bucket_count * sizeof *av->buckets);
  for (size_t i = 0; i < av->count; i++)
    if (av->entries[i] != EXANET_ANY) exanet_av_remember(av, i);
}

static int exanet_av_reserve(struct exanet_av *av, size_t extra) {
  size_t capacity = av->capacity ? av->capacity : 64;
  while (capacity < av->count + extra) capacity *= 2;
  if (capacity == av->capacity) return 0;
  exanet_addr *entries = realloc(av->entries, capacity * sizeof *entries);
  if (!entries) return -FI_ENOMEM;
  av->entries = entries;
  uint32_t *buckets = calloc(2 * capacity, sizeof *buckets);
  if (!buckets) return -FI_ENOMEM;
  free(av->buckets);
  av->buckets = buckets;
  av->bucket_count = 2 * capacity;
  av->capacity = capacity;
  exanet_av_rebuild(av);
  return 0;
}

int exanet_av_resolve(const struct exanet_av *av, fi_addr_t fi_addr, exanet_addr *addr) {
  if (fi_addr >= av->count || av->entries[fi_addr] == EXANET_ANY) return -FI_EINVAL;
  *addr = av->entries[fi_addr];
  return 0;
}

fi_addr_t exanet_av_reverse(const struct exanet_av *av, exanet_addr addr) {
  if (!av->bucket_count) return FI_ADDR_NOTAVAIL;
  for (size_t at = exanet_av_hash(av, addr); av->buckets[at]; at = (at + 1) & (av->bucket_count - 1))
    if (av->entries[av->buckets[at] - 1] == addr) return av->buckets[at] - 1;
  return FI_ADDR_NOTAVAIL;
}

/* -- verbs --------------------------------------------------------------------------------------------------------- */
static int exanet_av_insert_one(struct exanet_av *av, const void *name, fi_addr_t *fi_addr) {
  exanet_addr addr;
  int rc = exanet_name_read(av->domain->addr_format, name, &addr);
  *fi_addr = rc ? FI_ADDR_NOTAVAIL : av->count;
  if (rc) return rc;
  av->entries[av->count] = addr;
  exanet_av_remember(av, av->count++);
  return 0;
}

static int exanet_av_insert(struct fid_av *fid, const void *names, size_t count, fi_addr_t *fi_addr, uint64_t flags,
                            void *context) {
  struct exanet_av *av = exanet_av_of(fid);
  int *errors = (flags & FI_SYNC_ERR) ? context : NULL;
  if (flags & ~(FI_MORE | FI_SYNC_ERR)) return -FI_EBADFLAGS;
  exanet_lock();
  int rc = exanet_av_reserve(av, count);
  size_t good = 0, stride = exanet_name_size(av->domain->addr_format);
  for (size_t i = 0; !rc && i < count; i++) {
    fi_addr_t index;
    int failed = exanet_av_insert_one(av, (const char *)names + i * stride, &index);
    if (fi_addr) fi_addr[i] = index;
    if (errors) errors[i] = -failed;
    good += !failed;
  }
  exanet_unlock();
  return rc ? rc : (int)good;
}

static int exanet_av_insertsvc(struct fid_av *av, const char *node, const char *service, fi_addr_t *fi_addr,
                               uint64_t flags, void *context) {
  return -FI_ENOSYS;
}

static int exanet_av_insertsym(struct fid_av *av, const char *node, size_t nodecnt, const char *service, size_t svccnt,
                               fi_addr_t *fi_addr, uint64_t flags, void *context) {
  return -FI_ENOSYS;
}

static int exanet_av_remove(struct fid_av *fid, fi_addr_t *fi_addr, size_t count, uint64_t flags) {
  struct exanet_av *av = exanet_av_of(fid);
  int rc = 0;
  if (flags) return -FI_EBADFLAGS;
  exanet_lock();
  for (size_t i = 0; i < count; i++) {
    if (fi_addr[i] < av->count && av->entries[fi_addr[i]] != EXANET_ANY)
      av->entries[fi_addr[i]] = EXANET_ANY;
    else
      rc = -FI_EINVAL;
  }
  if (count && av->bucket_count) exanet_av_rebuild(av);
  exanet_unlock();
  return rc;
}

static int exanet_av_lookup(struct fid_av *fid, fi_addr_t fi_addr, void *name, size_t *len) {
  struct exanet_av *av = exanet_av_of(fid);
  struct {
    uint64_t words[4];
  } whole; /* any of our names fits */
  exanet_addr addr;
  exanet_lock();
  int rc = exanet_av_resolve(av, fi_addr, &addr);
  exanet_unlock();
  if (rc) return rc;
  size_t size = exanet_name_size(av->domain->addr_format);
  exanet_name_write(av->domain->addr_format, addr, &whole);
  memcpy(name, &whole, *len < size ? *len : size);
  *len = size;
  return 0;
}

static const char *exanet_av_straddr(struct fid_av *fid, const void *name, char *buf, size_t *len) {
  exanet_addr addr;
  char text[EXANET_ADDR_STRING_MAX] = "exanet://?";
  int size = (int)sizeof "exanet://?" - 1;
  if (!exanet_name_read(exanet_av_of(fid)->domain->addr_format, name, &addr))
    size = exanet_name_print(addr, text, sizeof text);
  if (*len) {
    size_t n = (size_t)size < *len - 1 ? (size_t)size : *len - 1;
    memcpy(buf, text, n);
    buf[n] = 0;
  }
  *len = (size_t)size + 1;
  return buf;
}

static int exanet_av_close(struct fid *fid) {
  struct exanet_av *av = EXANET_CONTAINER(fid, struct exanet_av, fid.fid);
  atomic_fetch_sub(&av->domain->users, 1);
  free(av->entries);
  free(av->buckets);
  free(av);
  return 0;
}

static struct fi_ops exanet_av_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = exanet_av_close,
    .bind = exanet_no_bind,
    .control = exanet_no_control,
    .ops_open = exanet_no_ops_open,
};

static struct fi_ops_av exanet_av_ops = {
    .size = sizeof(struct fi_ops_av),
    .insert = exanet_av_insert,
    .insertsvc = exanet_av_insertsvc,
    .insertsym = exanet_av_insertsym,
    .remove = exanet_av_remove,
    .lookup = exanet_av_lookup,
    .straddr = exanet_av_straddr,
};

int exanet_av_open(struct fid_domain *fid, struct fi_av_attr *attr, struct fid_av **out, void *context) {
  struct exanet_domain *domain = EXANET_CONTAINER(fid, struct exanet_domain, fid);
  /* Insertion is a table entry: there is nothing for an event (FI_EVENT) to report later. */
  if (attr && (attr->name || attr->rx_ctx_bits || attr->flags)) return -FI_ENOSYS;
  if (attr && attr->type > FI_AV_TABLE) return -FI_EINVAL;
  struct exanet_av *av = calloc(1, sizeof *av + EXANET_ABI_SLACK);
  if (!av) return -FI_ENOMEM;
  av->fid.fid.fclass = FI_CLASS_AV;
  av->fid.fid.context = context;
  av->fid.fid.ops = &exanet_av_fid_ops;
  av->fid.ops = &exanet_av_ops;
  av->domain = domain;
  atomic_fetch_add(&domain->users, 1);
  *out = &av->fid;
  return 0;
}
