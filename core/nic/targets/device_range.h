/* SPDX-License-Identifier: Apache-2.0
 * Addresses of device memory: an address alone says that it is a GPU's, and which one's of the node.
 *
 * runtime/gpu maps what programs allocate there; runtime/lib and core/protocol ask. The range is far from where Linux
 * puts programs, libraries, heaps and stacks of x86-64 and aarch64 (48 bits of address). Each GPU has 1 TiB of it. */
#ifndef EXANET_DEVICE_RANGE_H
#define EXANET_DEVICE_RANGE_H

#include <stdint.h>

#define EXANET_DEVICE_BASE (UINT64_C(1) << 45)
#define EXANET_DEVICE_SHIFT 40
#define EXANET_MOST_GPUS 16u /* of a node */

static inline int exanet_is_device(uint64_t address) {
  return (address - EXANET_DEVICE_BASE) >> EXANET_DEVICE_SHIFT < EXANET_MOST_GPUS;
}

/* Contract: it is device memory. */
static inline uint32_t exanet_device_of(uint64_t address) {
  return (uint32_t)((address - EXANET_DEVICE_BASE) >> EXANET_DEVICE_SHIFT);
}

#endif
