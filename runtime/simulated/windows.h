/* SPDX-License-Identifier: Apache-2.0
 * Windows of the program's, whose memory all members know. */
#ifndef EXANET_SIMULATED_WINDOWS_H
#define EXANET_SIMULATED_WINDOWS_H

#include "runtime/simulated/engine.h"

struct exanet_window_member {
  uint64_t base, unit; /* its memory, and the bytes of a step of displacements */
};

struct exanet_window {
  uint32_t number, comm; /* as the simulator knows them */
  struct exanet_window_member *members;
  bool fenced, started, posted, all_locked; /* epochs that are open */
  bool *locked; /* by member */
  int locks;
};

/* NULL: none that a call has made. */
struct exanet_window *exanet_window_of(long handle);
/* Whether the program may access memory of this member now. */
bool exanet_window_is_open(const struct exanet_window *w, int member);

/* layouts.c. Where `count` elements of a type lie; its blocks are to be freed. */
struct exanet_live_memory exanet_layout_of(long buffer, long count, long type);
void exanet_layout_free(struct exanet_live_memory *memory);
/* The type of MPI's own that a type is made of. */
long exanet_element_type(long type);
/* enum exanet_live_type; -1: none that accumulates compute with. */
int exanet_live_type_of(long type);
#endif
