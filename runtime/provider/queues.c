/* SPDX-License-Identifier: Apache-2.0
 * What progress fills and callers read: the completion queue's ring, and counters.
 *
 * The ring grows. Posts are refused once `limit` entries wait to be read, so it never drops one; it may still grow
 * past that by work posted earlier. */
#include <stdlib.h>

#include "exanet_prov.h"

#define EXANET_CQ_FIRST_SLOTS 128

static bool exanet_cq_grow(struct exanet_cq *cq) {
  size_t capacity = cq->capacity ? 2 * cq->capacity : EXANET_CQ_FIRST_SLOTS;
  struct exanet_cq_slot *slots = malloc(capacity * sizeof *slots);
  if (!slots) return false;
  for (size_t i = 0; i < cq->count; i++) slots[i] = *exanet_cq_slot(cq, i);
  free(cq->slots);
  cq->slots = slots;
  cq->head = 0;
  cq->capacity = capacity;
  return true;
}

void exanet_cq_push(struct exanet_cq *cq, const struct exanet_cq_slot *slot) {
  if (!cq) return;
  if (cq->count == cq->capacity && !exanet_cq_grow(cq))
    abort(); /* a lost completion would hang the program with no trace */
  cq->count++;
  *exanet_cq_slot(cq, cq->count - 1) = *slot;
}

struct exanet_cq_slot *exanet_cq_newest(struct exanet_cq *cq) {
  return cq->count ? exanet_cq_slot(cq, cq->count - 1) : NULL;
}

void exanet_cntr_count(struct exanet_cntr *cntr, bool error) {
  if (error)
    cntr->errors++;
  else
    cntr->value++;
}
