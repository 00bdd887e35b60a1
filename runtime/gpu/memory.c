// SPDX-License-Identifier: Apache-2.0
// Memory of the simulated GPUs.
//
// Problem: the simulated node has GPUs and the host has none. Messages and calls must know device memory by its address
// alone, also where several ranks share one address space.
//
// Model: the host's memory, mapped in the range of core/nic/targets/device_range.h. Each allocation is a mapping of its
// own; ranks begin to look for a free place far from each other. A rank has all of a GPU's memory for itself. How many
// GPUs there are, and of how much memory, says EXANET_GPU before the rank has joined the machine.
//
// Limit: ranks that share a GPU each have all of its memory.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "runtime/gpu/gpu.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define PAGE UINT64_C(4096)
#define DEVICE_BYTES (UINT64_C(1) << EXANET_DEVICE_SHIFT)
#define BETWEEN_RANKS (UINT64_C(1) << 30)

struct allocation {
  struct allocation *next;
  uint64_t address, bytes, mapped;
};

int gpu_current;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct allocation *all;
static uint64_t used[EXANET_MOST_GPUS];
static int count;
static uint64_t total, first; /* first: where the rank begins to look, from the device's base */

static __attribute__((constructor)) void read_gpus(void) {
  const char *given = getenv("EXANET_GPU"), *rank = getenv("EXANET_RANK");
  unsigned long long bytes = 0;
  if (given == NULL || sscanf(given, "%d %llu", &count, &bytes) != 2) count = 0;
  total = bytes;
  first = (rank == NULL ? 0 : strtoull(rank, NULL, 10)) * BETWEEN_RANKS % DEVICE_BYTES;
}

int gpu_count(void) { return count; }
uint64_t gpu_total(void) { return total; }
uint64_t gpu_used(int device) { return used[device]; }

/* 0: there is no place, or no memory. */
static uint64_t map(int device, uint64_t bytes) {
  const uint64_t base = EXANET_DEVICE_BASE + (uint64_t)device * DEVICE_BYTES;
  uint64_t at = first;
  for (uint64_t looked = 0; looked < DEVICE_BYTES; looked += bytes, at += bytes) {
    if (at + bytes > DEVICE_BYTES) at = 0;
    void *const wanted = (void *)(uintptr_t)(base + at);
    void *const found =
        mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (found == wanted) return base + at;
    if (found == MAP_FAILED && errno != EEXIST) return 0;
    if (found != MAP_FAILED) munmap(found, bytes); /* a kernel that takes the address for a hint */
  }
  return 0;
}

cudaError_t gpu_allocate(int device, size_t bytes, void **memory) {
  if (memory == NULL) return cudaErrorInvalidValue;
  *memory = NULL;
  if (count == 0) return cudaErrorNoDevice;
  if (bytes == 0) return cudaSuccess;
  if (bytes > total) return cudaErrorMemoryAllocation;
  const uint64_t mapped = (bytes + PAGE - 1) / PAGE * PAGE;
  struct allocation *one = malloc(sizeof *one);
  if (one == NULL) return cudaErrorMemoryAllocation;
  pthread_mutex_lock(&lock);
  const uint64_t address = used[device] + mapped > total ? 0 : map(device, mapped);
  if (address != 0) {
    *one = (struct allocation){all, address, bytes, mapped};
    all = one;
    used[device] += mapped;
  }
  pthread_mutex_unlock(&lock);
  if (address == 0) return free(one), cudaErrorMemoryAllocation;
  *memory = (void *)(uintptr_t)address;
  return cudaSuccess;
}

cudaError_t gpu_release(void *memory) {
  const uint64_t address = (uint64_t)(uintptr_t)memory;
  if (memory == NULL) return cudaSuccess;
  pthread_mutex_lock(&lock);
  struct allocation **place = &all;
  while (*place != NULL && (*place)->address != address) place = &(*place)->next;
  struct allocation *const one = *place;
  if (one != NULL) {
    *place = one->next;
    used[exanet_device_of(address)] -= one->mapped;
    munmap(memory, one->mapped);
  }
  pthread_mutex_unlock(&lock);
  free(one);
  return one == NULL ? cudaErrorInvalidValue : cudaSuccess;
}

bool gpu_has(const void *memory, size_t bytes) {
  const uint64_t address = (uint64_t)(uintptr_t)memory;
  bool found = false;
  pthread_mutex_lock(&lock);
  for (const struct allocation *one = all; one != NULL && !found; one = one->next)
    found = address >= one->address && bytes <= one->bytes && address - one->address <= one->bytes - bytes;
  pthread_mutex_unlock(&lock);
  return found;
}
