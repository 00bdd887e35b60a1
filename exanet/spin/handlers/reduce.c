/* SPDX-License-Identifier: Apache-2.0
 * Adds up the words of a message in each position of a packet: packets are vectors of 32-bit integers, and their sum
 * comes into the first bytes of the receive's buffer. */
#include <spin.h>

SPIN_MATCH(.tag = 7, .source = SPIN_ANY, .destination = SPIN_ANY, .least = 1);

static uint32_t words; /* of the longest packet, in memory that all clusters share */

void header_handler(handler_args_t *args) {
  const task_t *task = args->task;
  words = task->pkt_mem_size / 4;
  for (uint32_t c = 0; c < task->clusters; ++c) {
    uint32_t *sums = task->scratchpad[c];
    for (uint32_t i = 0; i < words; ++i) sums[i] = 0;
  }
}

void payload_handler(handler_args_t *args) {
  const task_t *task = args->task;
  const uint32_t *packet = task->pkt_mem;
  uint32_t *sums = task->scratchpad[args->cluster_id];
  const uint32_t count = task->pkt_mem_size / 4;
  for (uint32_t i = 0; i < count; ++i) amo_add(&sums[i], packet[i]);
}

void completion_handler(handler_args_t *args) {
  const task_t *task = args->task;
  uint32_t *sums = task->scratchpad[args->cluster_id];
  for (uint32_t c = 0; c < task->clusters; ++c) {
    if (c == args->cluster_id) continue;
    const uint32_t *other = task->scratchpad[c];
    for (uint32_t i = 0; i < words; ++i) sums[i] += other[i];
  }
  spin_cmd_t copy;
  spin_dma_to_host(spin_host_address(task), (uint32_t)sums, words * 4, true, &copy);
}
