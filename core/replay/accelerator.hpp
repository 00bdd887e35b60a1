// SPDX-License-Identifier: Apache-2.0
// Collectives by the units of the interfaces that reduce; by messages where these cannot.
#pragma once

#include "core/replay/schedule.hpp"

namespace exanet {

void allreduce_accelerator(const CollectiveCall& c, Schedule& out);
void barrier_accelerator(const CollectiveCall& c, Schedule& out);
void bcast_accelerator(const CollectiveCall& c, Schedule& out);
void reduce_accelerator(const CollectiveCall& c, Schedule& out);

}  // namespace exanet
