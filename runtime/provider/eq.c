/* SPDX-License-Identifier: Apache-2.0
 * The event queue: control events (registration) and whatever the program writes into it itself.
 *
 * Model: a list under a lock of its own. Nothing arrives from the network, so a read that must wait can only wait
 * for another thread of the process: it sleeps in short steps, which in virtual time move the rank's clock.
 *
 * Limit: events are not counted, and the list has no limit. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exanet_prov.h"

struct exanet_eq_event {
  struct exanet_eq_event *next;
  uint32_t event;
  int error;            /* positive errno value: only readerr takes it */
  size_t len;
  uint8_t payload[];    /* struct fi_eq_entry unless the program wrote it */
};

static struct exanet_eq *exanet_eq_of(struct fid_eq *eq) { return EXANET_CONTAINER(eq, struct exanet_eq, fid); }

static void exanet_eq_append(struct exanet_eq *eq, struct exanet_eq_event *event) {
  pthread_mutex_lock(&eq->lock);
  *eq->tail = event;
  eq->tail = &event->next;
  pthread_mutex_unlock(&eq->lock);
}

static struct exanet_eq_event *exanet_eq_event_make(uint32_t number, const void *payload, size_t len) {
  struct exanet_eq_event *event = calloc(1, sizeof *event + len);
  if (!event) return NULL;
  event->event = number;
  event->len = len;
  memcpy(event->payload, payload, len);
  return event;
}

void exanet_eq_push(struct exanet_eq *eq, uint32_t number, fid_t fid, void *context, uint64_t data, int error) {
  struct fi_eq_entry entry = {.fid = fid, .context = context, .data = data};
  struct exanet_eq_event *event = exanet_eq_event_make(number, &entry, sizeof entry);
  if (!event) abort();   /* as a lost completion would, a lost event hangs its waiter */
  event->error = error;
  exanet_eq_append(eq, event);
}

/* The oldest event if it is of the kind wanted (error or not); unlinked unless `keep`. */
static ssize_t exanet_eq_head(struct exanet_eq *eq, bool error, bool keep, struct exanet_eq_event **out) {
  struct exanet_eq_event *event = *out = eq->head;
  if (!event || (error && !event->error)) return -FI_EAGAIN;
  if (!error && event->error) return -FI_EAVAIL;
  if (keep) return 0;
  eq->head = event->next;
  if (!eq->head) eq->tail = &eq->head;
  return 0;
}

static ssize_t exanet_eq_read(struct fid_eq *fid, uint32_t *number, void *buf, size_t len, uint64_t flags) {
  struct exanet_eq *eq = exanet_eq_of(fid);
  struct exanet_eq_event *event;
  pthread_mutex_lock(&eq->lock);
  ssize_t rc = exanet_eq_head(eq, false, true, &event);
  if (!rc && event->len > len) rc = -FI_ETOOSMALL;
  if (!rc) {
    *number = event->event;
    memcpy(buf, event->payload, event->len);
    rc = (ssize_t)event->len;
    if (!(flags & FI_PEEK)) {
      exanet_eq_head(eq, false, false, &event);
      free(event);
    }
  }
  pthread_mutex_unlock(&eq->lock);
  return rc;
}

static ssize_t exanet_eq_readerr(struct fid_eq *fid, struct fi_eq_err_entry *entry, uint64_t flags) {
  struct exanet_eq *eq = exanet_eq_of(fid);
  struct exanet_eq_event *event;
  pthread_mutex_lock(&eq->lock);
  ssize_t rc = exanet_eq_head(eq, true, flags & FI_PEEK, &event);
  if (!rc) {
    struct fi_eq_entry plain;
    memcpy(&plain, event->payload, sizeof plain);
    entry->fid = plain.fid;
    entry->context = plain.context;
    entry->data = plain.data;
    entry->err = entry->prov_errno = event->error;
    entry->err_data_size = 0;
    rc = sizeof *entry;
    if (!(flags & FI_PEEK)) free(event);
  }
  pthread_mutex_unlock(&eq->lock);
  return rc;
}

static ssize_t exanet_eq_write(struct fid_eq *fid, uint32_t number, const void *buf, size_t len, uint64_t flags) {
  struct exanet_eq_event *event = exanet_eq_event_make(number, buf, len);
  if (!event) return -FI_ENOMEM;
  exanet_eq_append(exanet_eq_of(fid), event);
  return (ssize_t)len;
}

static ssize_t exanet_eq_sread(struct fid_eq *fid, uint32_t *number, void *buf, size_t len, int timeout,
                               uint64_t flags) {
  struct exanet_stopwatch watch = exanet_stopwatch_start();
  uint64_t limit = exanet_wait_timeout_ps(timeout);
  ssize_t rc;
  while ((rc = exanet_eq_read(fid, number, buf, len, flags)) == -FI_EAGAIN && exanet_stopwatch_ps(&watch) < limit)
    nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
  return rc;
}

static const char *exanet_eq_strerror(struct fid_eq *eq, int prov_errno, const void *err_data, char *buf, size_t len) {
  return exanet_error_text(prov_errno, buf, len);
}

static int exanet_eq_close(struct fid *fid) {
  struct exanet_eq *eq = EXANET_CONTAINER(fid, struct exanet_eq, fid.fid);
  while (eq->head) {
    struct exanet_eq_event *event = eq->head;
    eq->head = event->next;
    free(event);
  }
  pthread_mutex_destroy(&eq->lock);
  free(eq);
  return 0;
}

static struct fi_ops exanet_eq_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = exanet_eq_close,
    .bind = exanet_no_bind,
    .control = exanet_no_control,
    .ops_open = exanet_no_ops_open,
};

static struct fi_ops_eq exanet_eq_ops = {
    .size = sizeof(struct fi_ops_eq),
    .read = exanet_eq_read,
    .readerr = exanet_eq_readerr,
    .write = exanet_eq_write,
    .sread = exanet_eq_sread,
    .strerror = exanet_eq_strerror,
};

int exanet_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **out, void *context) {
  if (attr && !exanet_wait_possible(attr->wait_obj)) return -FI_ENOSYS;
  if (attr && (attr->flags & ~(FI_WRITE | FI_AFFINITY))) return -FI_EBADFLAGS;
  struct exanet_eq *eq = calloc(1, sizeof *eq + EXANET_ABI_SLACK);
  if (!eq) return -FI_ENOMEM;
  pthread_mutex_init(&eq->lock, NULL);
  eq->tail = &eq->head;
  eq->fid.fid.fclass = FI_CLASS_EQ;
  eq->fid.fid.context = context;
  eq->fid.fid.ops = &exanet_eq_fid_ops;
  eq->fid.ops = &exanet_eq_ops;
  *out = &eq->fid;
  return 0;
}
