/* SPDX-License-Identifier: Apache-2.0
 * Counts how often each value below 1024 is in a message of 32-bit integers. The counts come into the first 4 KiB of
 * the receive's buffer. */
#include <spin.h>

SPIN_MATCH(.tag = 7, .source = SPIN_ANY, .destination = SPIN_ANY, .least = 4096);

enum { VALUES = 1024 };

void header_handler(handler_args_t *args) {
  const task_t *task = args->task;
  for (uint32_t c = 0; c < task->clusters; ++c) {
    uint32_t *counts = task->scratchpad[c];
    for (uint32_t i = 0; i < VALUES; ++i) counts[i] = 0;
  }
}

void payload_handler(handler_args_t *args) {
  const task_t *task = args->task;
  const uint32_t *packet = task->pkt_mem;
  uint32_t *counts = task->scratchpad[args->cluster_id];
  const uint32_t words = task->pkt_mem_size / 4;
  for (uint32_t i = 0; i < words; ++i) amo_add(&counts[packet[i] % VALUES], 1);
}

void completion_handler(handler_args_t *args) {
  const task_t *task = args->task;
  uint32_t *counts = task->scratchpad[args->cluster_id];
  for (uint32_t c = 0; c < task->clusters; ++c) {
    if (c == args->cluster_id) continue;
    const uint32_t *other = task->scratchpad[c];
    for (uint32_t i = 0; i < VALUES; ++i) counts[i] += other[i];
  }
  spin_cmd_t copy;
  spin_dma_to_host(spin_host_address(task), (uint32_t)counts, VALUES * 4, true, &copy);
}
