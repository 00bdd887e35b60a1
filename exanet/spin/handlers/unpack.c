/* SPDX-License-Identifier: Apache-2.0
 * Unpacks an MPI vector on the interface: blocks of 256 B come one behind the other, and go 512 B apart. */
#include <spin.h>

SPIN_MATCH(.tag = 7, .source = SPIN_ANY, .destination = SPIN_ANY, .least = 1);

enum { BLOCK = 256, STRIDE = 512 };

void payload_handler(handler_args_t *args) {
  const task_t *task = args->task;
  const uint64_t host = spin_host_address(task);
  const uint32_t packet = (uint32_t)task->pkt_mem;
  uint32_t done = 0;
  while (done < task->pkt_mem_size) {
    const uint32_t at = task->pkt_offset + done, inside = at % BLOCK;
    const uint32_t left = task->pkt_mem_size - done, rest = BLOCK - inside;
    const uint32_t bytes = left < rest ? left : rest;
    spin_cmd_t copy;
    spin_dma_to_host(host + at / BLOCK * STRIDE + inside, packet + done, bytes, true, &copy);
    done += bytes;
  }
}
