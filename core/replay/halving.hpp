// SPDX-License-Identifier: Apache-2.0
// Reductions by exchanging halves, and by exchanging whole vectors.
//
// Sources: Rabenseifner, "Optimization of collective reduction operations" (2004); Thakur, Rabenseifner and Gropp (2005); Patarasuk and Yuan (2009) for the
// ring. Of ranks that are too many for a power of two, the first ones join in pairs before.
#pragma once

#include "core/replay/schedule.hpp"

namespace exanet {

void allreduce_doubling(const CollectiveCall& c, Schedule& out);
void allreduce_rabenseifner(const CollectiveCall& c, Schedule& out);
void allreduce_ring(const CollectiveCall& c, Schedule& out);
void allreduce_tree(const CollectiveCall& c, Schedule& out);
void reduce_rabenseifner(const CollectiveCall& c, Schedule& out);
void reduce_scatter_halving(const CollectiveCall& c, Schedule& out);
void reduce_scatter_pairwise(const CollectiveCall& c, Schedule& out);
void scan_doubling(const CollectiveCall& c, Schedule& out);

}  // namespace exanet
