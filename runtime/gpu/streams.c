// SPDX-License-Identifier: Apache-2.0
// The time that work on a GPU takes.
//
// Model: a stream does its work in order, and different streams of a device beside each other, as if the device were as
// quick with both. The default stream begins when all others of its device have ended, and they wait for it, as CUDA's
// legacy default stream. Who waits for work sleeps in virtual time; outside virtual time nothing takes time.
//
// Limits: work of several streams, or of several ranks, on one GPU does not slow each other down.
#include <pthread.h>
#include <stdlib.h>

#include "runtime/gpu/gpu.h"
#include "runtime/lib/gpu.h"

struct CUstream_st {
  struct CUstream_st *next;
  int device;
  uint64_t busy_until_ps;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUstream_st by_default[EXANET_MOST_GPUS];
static struct CUstream_st *made;

static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

static struct CUstream_st **find(cudaStream_t stream) {
  struct CUstream_st **place = &made;
  while (*place != NULL && *place != stream) place = &(*place)->next;
  return place;
}

/* Contract: the lock is held. */
static uint64_t ends(int device) {
  uint64_t end = by_default[device].busy_until_ps;
  for (const struct CUstream_st *one = made; one != NULL; one = one->next)
    if (one->device == device) end = later(end, one->busy_until_ps);
  return end;
}

static void sleep_until(uint64_t ps) {
  const uint64_t now = exanet_gpu_now_ps();
  if (ps > now) exanet_gpu_sleep(ps - now);
}

cudaError_t gpu_stream_make(int device, cudaStream_t *stream) {
  if (stream == NULL) return cudaErrorInvalidValue;
  if (gpu_count() == 0) return cudaErrorNoDevice;
  struct CUstream_st *one = calloc(1, sizeof *one);
  if (one == NULL) return cudaErrorMemoryAllocation;
  one->device = device;
  pthread_mutex_lock(&lock);
  one->next = made;
  made = one;
  pthread_mutex_unlock(&lock);
  *stream = one;
  return cudaSuccess;
}

cudaError_t gpu_stream_drop(cudaStream_t stream) {
  pthread_mutex_lock(&lock);
  struct CUstream_st **place = stream == NULL ? NULL : find(stream);
  const bool known = place != NULL && *place != NULL;
  if (known) {
    *place = stream->next;
    /* What it has to do still ends before what comes to the default stream. */
    by_default[stream->device].busy_until_ps = later(by_default[stream->device].busy_until_ps, stream->busy_until_ps);
  }
  pthread_mutex_unlock(&lock);
  if (known) free(stream);
  return known ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t gpu_work(cudaStream_t stream, uint64_t ps, bool waits) {
  if (gpu_count() == 0) return cudaErrorNoDevice;
  const uint64_t now = exanet_gpu_now_ps();
  pthread_mutex_lock(&lock);
  struct CUstream_st *one = stream == NULL ? &by_default[gpu_current] : *find(stream);
  uint64_t end = 0;
  if (one != NULL) {
    const uint64_t before =
        stream == NULL ? ends(gpu_current) : later(one->busy_until_ps, by_default[one->device].busy_until_ps);
    end = one->busy_until_ps = later(now, before) + ps;
  }
  pthread_mutex_unlock(&lock);
  if (one == NULL) return cudaErrorInvalidResourceHandle;
  if (waits) sleep_until(end);
  return cudaSuccess;
}

cudaError_t gpu_stream_wait(cudaStream_t stream) {
  if (gpu_count() == 0) return cudaErrorNoDevice;
  if (stream == NULL) return gpu_device_wait(gpu_current), cudaSuccess;
  pthread_mutex_lock(&lock);
  const struct CUstream_st *one = *find(stream);
  const uint64_t end = one == NULL ? 0 : one->busy_until_ps;
  pthread_mutex_unlock(&lock);
  if (one == NULL) return cudaErrorInvalidResourceHandle;
  sleep_until(end);
  return cudaSuccess;
}

void gpu_device_wait(int device) {
  pthread_mutex_lock(&lock);
  const uint64_t end = ends(device);
  pthread_mutex_unlock(&lock);
  sleep_until(end);
}
