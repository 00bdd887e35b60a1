/* SPDX-License-Identifier: Apache-2.0
 * Puts each packet where it would go without handlers. */
#include <spin.h>

SPIN_MATCH(.tag = 7, .source = SPIN_ANY, .destination = SPIN_ANY, .least = 1);

void payload_handler(handler_args_t *args) {
  const task_t *task = args->task;
  spin_cmd_t copy;
  spin_dma_to_host(spin_host_address(task) + task->pkt_offset, (uint32_t)task->pkt_mem, task->pkt_mem_size, true,
                   &copy);
}
