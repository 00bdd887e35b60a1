/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/record/persistent.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/record/stream.h"

struct persistent {
  uint8_t code; /* 0: none */
  bool active;
  uint8_t *fields;
  size_t bytes;
};
static struct persistent *table; /* by the request's number, less one */
static uint32_t capacity;

static struct persistent *find(uint32_t request) {
  return request > 0 && request <= capacity && table[request - 1].code != 0 ? &table[request - 1] : NULL;
}

void exanet_persistent_keep(uint32_t request, uint8_t code) {
  if (request == 0) return;
  if (request > capacity) {
    struct persistent *grown = realloc(table, sizeof *grown * 2 * request);
    if (grown == NULL) return;
    memset(grown + capacity, 0, sizeof *grown * (2 * request - capacity));
    table = grown;
    capacity = 2 * request;
  }
  exanet_persistent_forget(request);
  size_t bytes;
  const uint8_t *fields = exanet_stream_fields(&bytes);
  uint8_t *kept = malloc(bytes);
  if (kept == NULL) return;
  memcpy(kept, fields, bytes);
  table[request - 1] = (struct persistent){.code = code, .fields = kept, .bytes = bytes};
}

uint8_t exanet_persistent_code(uint32_t request) {
  const struct persistent *found = find(request);
  return found != NULL ? found->code : 0;
}

void exanet_persistent_start(uint32_t request) {
  struct persistent *found = find(request);
  if (found == NULL) return;
  found->active = true;
  exanet_stream_put_fields(found->fields, found->bytes);
}

bool exanet_persistent_is_active(uint32_t request) {
  const struct persistent *found = find(request);
  return found != NULL && found->active;
}

bool exanet_persistent_stop(uint32_t request) {
  const bool was = exanet_persistent_is_active(request);
  if (was) find(request)->active = false;
  return was;
}

void exanet_persistent_forget(uint32_t request) {
  struct persistent *found = find(request);
  if (found == NULL) return;
  free(found->fields);
  *found = (struct persistent){0};
}
