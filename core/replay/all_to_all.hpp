// SPDX-License-Identifier: Apache-2.0
// Collectives in which everybody has something for everybody, and the barrier.
//
// Sources: Bruck and others, "Efficient algorithms for all-to-all communications in multiport message-passing systems" (1997); Thakur, Rabenseifner and Gropp
// (2005); Hensgen, Finkel and Manber (1988) for the dissemination barrier. How many messages MPICH posts at once, and in which pieces a ring hands
// blocks of several sizes on, are defaults of its settings (MPIR_CVAR_ALLTOALL_THROTTLE, MPIR_CVAR_ALLGATHERV_PIPELINE_MSG_SIZE).
#pragma once

#include "core/replay/schedule.hpp"

namespace exanet {

void barrier_dissemination(const CollectiveCall& c, Schedule& out);
void allgather_doubling(const CollectiveCall& c, Schedule& out);  // a power of two of ranks
void allgather_bruck(const CollectiveCall& c, Schedule& out);
void allgather_ring(const CollectiveCall& c, Schedule& out);
void alltoall_bruck(const CollectiveCall& c, Schedule& out);  // a block of one size
void alltoall_scattered(const CollectiveCall& c, Schedule& out);
void alltoall_pairwise(const CollectiveCall& c, Schedule& out);
void alltoall_in_place(const CollectiveCall& c, Schedule& out);

}  // namespace exanet
