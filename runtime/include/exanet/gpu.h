/* SPDX-License-Identifier: Apache-2.0
 * GPUs of the simulated machine, for MPI programs with buffers in device memory (docs/gpu.md): libexanet-gpu.so.
 *
 * Shapes and names are those of CUDA's runtime, as far as they concern memory, copies, streams and devices. There are
 * no kernels: the program computes on the host, and says how long the GPU takes. Device memory is the host's, at
 * addresses by which all calls of MPI know it, so a program may also read and write it directly; that takes no time. */
#ifndef EXANET_GPU_H
#define EXANET_GPU_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

typedef enum cudaError {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotSupported = 801
} cudaError_t;

enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4
};

enum cudaMemoryType { cudaMemoryTypeUnregistered = 0, cudaMemoryTypeHost = 1, cudaMemoryTypeDevice = 2 };

struct cudaPointerAttributes {
  enum cudaMemoryType type;
  int device;
  void *devicePointer, *hostPointer;
};

typedef struct CUstream_st *cudaStream_t; /* NULL: the device's default stream, in which all others' work is awaited */

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaMemGetInfo(size_t *unused, size_t *total);

cudaError_t cudaMalloc(void **memory, size_t bytes);
cudaError_t cudaFree(void *memory);
cudaError_t cudaMallocHost(void **memory, size_t bytes);
cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void *memory);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *memory);

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemset(void *memory, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream);

cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaDeviceSynchronize(void);

cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);

/* ExaNet's own. Memory of the current device; NULL: there is none left, or no GPU. */
void *exanet_gpu_alloc(size_t bytes);
void exanet_gpu_free(void *memory);
/* A kernel of so many seconds in a stream: the processor launches it and goes on. */
void exanet_gpu_compute(double seconds);
void exanet_gpu_compute_in(double seconds, cudaStream_t stream);
/* What the processor computes between these two, in place of the kernel, counts as no time of its own. */
void exanet_gpu_kernel_begin(void);
void exanet_gpu_kernel_end(double seconds);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
