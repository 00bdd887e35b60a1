// SPDX-License-Identifier: Apache-2.0
// Collectives with a root: spreading and gathering data along trees.
//
// Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH" (2005), sections 4 and 5: binomial trees, and the
// broadcast of long messages by a scatter and an allgather.
#pragma once

#include "core/replay/schedule.hpp"

namespace exanet {

void bcast_binary(const CollectiveCall& c, Schedule& out);
void bcast_binomial(const CollectiveCall& c, Schedule& out);
void bcast_scatter_doubling(const CollectiveCall& c, Schedule& out);  // a power of two of ranks
void bcast_scatter_ring(const CollectiveCall& c, Schedule& out);
// The same, but a rank sends to all of its children, and begins the exchanges, at once: nonblocking ones of MPICH.
void bcast_binomial_at_once(const CollectiveCall& c, Schedule& out);
void bcast_scatter_doubling_at_once(const CollectiveCall& c, Schedule& out);
void bcast_scatter_ring_at_once(const CollectiveCall& c, Schedule& out);
void scatter_binomial(const CollectiveCall& c, Schedule& out);
void scatter_linear(const CollectiveCall& c, Schedule& out);  // scatterv
void gather_binomial(const CollectiveCall& c, Schedule& out);
void gather_linear(const CollectiveCall& c, Schedule& out);  // gatherv
void reduce_binomial(const CollectiveCall& c, Schedule& out);

}  // namespace exanet
