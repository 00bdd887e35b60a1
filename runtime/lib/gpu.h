/* SPDX-License-Identifier: Apache-2.0
 * What GPUs of the simulated node cost a rank's processor, and the rank's time for runtime/gpu. */
#ifndef EXANET_LIB_GPU_H
#define EXANET_LIB_GPU_H

#include <stdbool.h>

#include "exanet/shm.h"

/* To the nearest picosecond, as moving_time() of the simulator (core/units/moving_time.hpp). */
static inline uint64_t exn_moving_ps(uint64_t bytes, uint64_t bit_per_s) {
  const uint64_t bits = bytes * 8, seconds = bits / bit_per_s, rest = bits % bit_per_s;
  return seconds * UINT64_C(1000000000000) + (uint64_t)((double)rest / (double)bit_per_s * 1e12 + 0.5);
}

/* A copy between host and device; and the processor takes a short message's bytes out of the device. */
static inline uint64_t exn_gpu_copy_ps(const struct exn_gpu *gpu, uint64_t bytes) {
  return gpu->copy_ps + exn_moving_ps(bytes, gpu->copy_rate);
}
static inline uint64_t exn_gpu_read_ps(const struct exn_gpu *gpu, uint64_t bytes) {
  return bytes > gpu->staged_above ? exn_gpu_copy_ps(gpu, bytes)
                                   : gpu->peer_read_ps + exn_moving_ps(bytes, gpu->peer_read_rate);
}

/* For runtime/gpu, a shared object of its own. */
#pragma GCC visibility push(default)
const struct exn_gpu *exanet_gpu_of_node(void); /* NULL: the process has not joined a machine whose nodes have some */
uint64_t exanet_gpu_now_ps(void); /* the rank's clock; 0 outside virtual time */
void exanet_gpu_sleep(uint64_t ps); /* the rank waits for a GPU so long; not at all outside virtual time */
void exanet_gpu_uncounted(bool begins); /* what the rank computes from here on is no time of its own, or is again */
_Noreturn void exanet_gpu_end(const char *why); /* ends the run */
#pragma GCC visibility pop

#endif
