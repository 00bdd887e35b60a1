/* SPDX-License-Identifier: Apache-2.0
 * Lets through the packets whose first word is in a table, and rewrites that word: a hash of it finds its entry. Other
 * packets do not get to the host. */
#include <spin.h>

SPIN_MATCH(.tag = 7, .source = SPIN_ANY, .destination = SPIN_ANY, .least = 1);

enum { ENTRIES = 1024 };
static uint32_t table[ENTRIES]; /* entry k holds the key whose hash is k, here k's multiples */

static uint32_t hash(uint32_t key) {
  key ^= key >> 16;
  key *= 0x85ebca6bu;
  key ^= key >> 13;
  key *= 0xc2b2ae35u;
  key ^= key >> 16;
  return key % ENTRIES;
}

void header_handler(handler_args_t *args) {
  (void)args;
  for (uint32_t key = 0; key < 64; key += 2) table[hash(key)] = key + 1;
}

void payload_handler(handler_args_t *args) {
  const task_t *task = args->task;
  uint32_t *packet = task->pkt_mem;
  const uint32_t entry = table[hash(packet[0])];
  if (entry != packet[0] + 1) return;
  packet[0] = 0x70a55ed0u;
  spin_cmd_t copy;
  spin_dma_to_host(spin_host_address(task) + task->pkt_offset, (uint32_t)packet, task->pkt_mem_size, true, &copy);
}
