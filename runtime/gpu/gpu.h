/* SPDX-License-Identifier: Apache-2.0
 * What the files of this library offer each other: memory.c below, then streams.c, then cuda.c. */
#ifndef EXANET_RUNTIME_GPU_H
#define EXANET_RUNTIME_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/nic/targets/device_range.h"
#include "exanet/gpu.h"

/* memory.c. GPUs of the node, and the one that calls are about. */
extern int gpu_current;
int gpu_count(void);
uint64_t gpu_total(void); /* bytes of one's memory */
uint64_t gpu_used(int device); /* by this rank */
cudaError_t gpu_allocate(int device, size_t bytes, void **memory);
cudaError_t gpu_release(void *memory);
/* Whether all of it is one allocation of device memory. */
bool gpu_has(const void *memory, size_t bytes);
static inline bool gpu_is_device(const void *memory) { return exanet_is_device((uint64_t)(uintptr_t)memory) != 0; }

/* streams.c. Work for a stream, of so many ps from when it begins; the processor goes on, or waits for it. */
cudaError_t gpu_stream_make(int device, cudaStream_t *stream);
cudaError_t gpu_stream_drop(cudaStream_t stream);
cudaError_t gpu_work(cudaStream_t stream, uint64_t ps, bool waits);
cudaError_t gpu_stream_wait(cudaStream_t stream);
void gpu_device_wait(int device);

#endif
