/* SPDX-License-Identifier: Apache-2.0
 * The program's requests, and the messages that its matched probes have found: numbers of ours by MPI's handles. */
#ifndef EXANET_RECORD_REQUESTS_H
#define EXANET_RECORD_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Handles that the simulator gives to requests of calls that it carries out, in MPICH's range for built-in ones.
 * Source: MPICH 5.0, whose own are 0x6c000000 and a few more. */
#define EXANET_FIRST_SIMULATED_REQUEST 0x6c010000u
#define EXANET_LAST_SIMULATED_REQUEST 0x6cffffffu

/* The number of the request that a call has returned; 0 of one that was over at once. */
uint32_t exanet_request_begin(long handle, bool persistent);
/* Of one in use; 0: there is none. */
uint32_t exanet_request_find(uint64_t handle);
/* It has completed, or been freed: a persistent one stays unless it is freed. */
void exanet_request_end(uint64_t handle, bool freed);

/* Message that a matched probe has found. */
struct exanet_probed {
  uint32_t comm;
  uint64_t peer, tag; /* as fields of the stream */
};
void exanet_probed_add(long message, const struct exanet_probed *found);
struct exanet_probed exanet_probed_take(uint64_t message);
#endif
