// SPDX-License-Identifier: Apache-2.0
// The calls of a program: memory, copies, streams and devices in the shape of CUDA's runtime, and ExaNet's own.
//
// Model: a copy between host and device takes its latency and its bytes at the machine's rate, one within a device its
// bytes twice at the memory's rate. The bytes move at the call, whenever their time is. Copies without a stream's name
// are waited for, except those within a device. A kernel costs its launch on the processor.
//
// Limits: pinned and pageable host memory take the same time. There are no kernels, events, graphs or unified memory;
// what a program compiled by nvcc calls for its kernels ends it and says so.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/gpu/gpu.h"
#include "runtime/lib/gpu.h"

static __thread cudaError_t last;

static cudaError_t said(cudaError_t error) {
  if (error != cudaSuccess) last = error;
  return error;
}

cudaError_t cudaGetDeviceCount(int *number) {
  if (number == NULL) return said(cudaErrorInvalidValue);
  *number = gpu_count();
  return said(*number > 0 ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= gpu_count()) return said(gpu_count() > 0 ? cudaErrorInvalidDevice : cudaErrorNoDevice);
  gpu_current = device;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device) {
  if (device == NULL) return said(cudaErrorInvalidValue);
  *device = gpu_current;
  return said(gpu_count() > 0 ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaMemGetInfo(size_t *unused, size_t *all) {
  if (unused == NULL || all == NULL) return said(cudaErrorInvalidValue);
  if (gpu_count() == 0) return said(cudaErrorNoDevice);
  *all = gpu_total();
  *unused = gpu_total() - gpu_used(gpu_current);
  return cudaSuccess;
}

cudaError_t cudaMalloc(void **memory, size_t bytes) { return said(gpu_allocate(gpu_current, bytes, memory)); }
cudaError_t cudaFree(void *memory) { return said(gpu_release(memory)); }

cudaError_t cudaMallocHost(void **memory, size_t bytes) {
  if (memory == NULL) return said(cudaErrorInvalidValue);
  return said(posix_memalign(memory, 4096, bytes > 0 ? bytes : 1) == 0 ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags) {
  (void)flags;
  return cudaMallocHost(memory, bytes);
}

cudaError_t cudaFreeHost(void *memory) {
  free(memory);
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *memory) {
  if (attributes == NULL) return said(cudaErrorInvalidValue);
  const bool device = gpu_is_device(memory) && gpu_has(memory, 1);
  void *const same = (void *)(uintptr_t)memory;
  *attributes = (struct cudaPointerAttributes){
      .type = device ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered,
      .device = device ? (int)exanet_device_of((uint64_t)(uintptr_t)memory) : gpu_current,
      .devicePointer = device ? same : NULL,
      .hostPointer = device ? NULL : same,
  };
  return cudaSuccess;
}

/* ps; 0 outside virtual time. */
static uint64_t copy_ps(size_t bytes, bool within) {
  const struct exn_gpu *gpu = exanet_gpu_of_node();
  if (gpu == NULL || bytes == 0) return 0;
  return within ? exn_moving_ps(2 * bytes, gpu->memory_rate) : exn_gpu_copy_ps(gpu, bytes);
}

static bool is_wrong(const void *memory, size_t bytes, bool device) {
  return memory == NULL || gpu_is_device(memory) != device || (device && !gpu_has(memory, bytes));
}

static cudaError_t copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream,
                        bool waits) {
  if (gpu_count() == 0) return said(cudaErrorNoDevice);
  if (bytes == 0) return cudaSuccess;
  const bool into = gpu_is_device(to), out = gpu_is_device(from);
  const bool agrees = kind == cudaMemcpyDefault || kind == (enum cudaMemcpyKind)(2 * out + into);
  if (!agrees || is_wrong(to, bytes, into) || is_wrong(from, bytes, out)) return said(cudaErrorInvalidValue);
  memmove(to, from, bytes);
  if (!into && !out) return cudaSuccess;
  return said(gpu_work(stream, copy_ps(bytes, into && out), waits && !(into && out)));
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
  return copy(to, from, bytes, kind, NULL, true);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) {
  return copy(to, from, bytes, kind, stream, false);
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream) {
  if (gpu_count() == 0) return said(cudaErrorNoDevice);
  if (bytes == 0) return cudaSuccess;
  if (is_wrong(memory, bytes, true)) return said(cudaErrorInvalidValue);
  memset(memory, value, bytes);
  return said(gpu_work(stream, copy_ps(bytes, true) / 2, false));
}

cudaError_t cudaMemset(void *memory, int value, size_t bytes) { return cudaMemsetAsync(memory, value, bytes, NULL); }

cudaError_t cudaStreamCreate(cudaStream_t *stream) { return said(gpu_stream_make(gpu_current, stream)); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return said(gpu_stream_drop(stream)); }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return said(gpu_stream_wait(stream)); }

cudaError_t cudaDeviceSynchronize(void) {
  if (gpu_count() == 0) return said(cudaErrorNoDevice);
  gpu_device_wait(gpu_current);
  return cudaSuccess;
}

cudaError_t cudaPeekAtLastError(void) { return last; }

cudaError_t cudaGetLastError(void) {
  const cudaError_t error = last;
  last = cudaSuccess;
  return error;
}

static const struct {
  cudaError_t error;
  const char *name, *text;
} errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "the simulated machine has no GPU"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "the node has no GPU of this number"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "no such stream"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "not simulated"},
};

static size_t place_of(cudaError_t error) {
  for (size_t i = 0; i < sizeof errors / sizeof *errors; ++i)
    if (errors[i].error == error) return i;
  return 1;
}

const char *cudaGetErrorName(cudaError_t error) { return errors[place_of(error)].name; }
const char *cudaGetErrorString(cudaError_t error) { return errors[place_of(error)].text; }

void *exanet_gpu_alloc(size_t bytes) {
  void *memory;
  cudaMalloc(&memory, bytes);
  return memory;
}

void exanet_gpu_free(void *memory) { cudaFree(memory); }

static void launch(double seconds, cudaStream_t stream) {
  const struct exn_gpu *gpu = exanet_gpu_of_node();
  if (gpu == NULL) return;
  exanet_gpu_sleep(gpu->launch_ps);
  said(gpu_work(stream, seconds > 0 ? (uint64_t)(seconds * 1e12 + 0.5) : 0, false));
}

void exanet_gpu_compute(double seconds) { launch(seconds, NULL); }
void exanet_gpu_compute_in(double seconds, cudaStream_t stream) { launch(seconds, stream); }
void exanet_gpu_kernel_begin(void) { exanet_gpu_uncounted(true); }

void exanet_gpu_kernel_end(double seconds) {
  exanet_gpu_uncounted(false);
  launch(seconds, NULL);
}

/* -- what is refused ----------------------------------------------------------------------------------------------- */
static _Noreturn void refuse(void) {
  exanet_gpu_end(
      "the program has CUDA kernels, which the simulated GPUs cannot run: compute on the host, and give the "
      "time by exanet_gpu_compute() (docs/gpu.md)");
}

#define REFUSED(name)                                     \
  __attribute__((visibility("default"))) void name(void); \
  void name(void) { refuse(); }

REFUSED(__cudaRegisterFatBinary)
REFUSED(cudaLaunchKernel)
REFUSED(cudaGraphLaunch)
REFUSED(cudaMallocManaged)
