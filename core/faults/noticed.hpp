// SPDX-License-Identifier: Apache-2.0
// Who comes to know of the changes of a plan, and when: the fabric manager, whose routes follow, and the nodes, whose
// operations with a dead host fail.
//
// Two things say so: constants that hold for all changes (noticed_after()), and LO|FA|MO (core/lofamo/notice.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "core/faults/plan.hpp"

namespace exanet {

// Of one change, by LO|FA|MO. Time::never(): not so.
struct FaultAwareness {
  Time detected = Time::never();  // a watchdog or a silent link has shown it, at any node
  Time first = Time::never();  // the first other node's host knows
  Time master = Time::never();
  Time last = Time::never();  // all live nodes know that ever do
  std::uint32_t aware = 0, unaware = 0;  // live nodes that come to know of it, and that never do
};

template <typename V>
void visit(FaultAwareness& a, V&& v) {
  v("detected_ps", a.detected);
  v("first_ps", a.first);
  v("master_ps", a.master);
  v("last_ps", a.last);
  v("aware", a.aware);
  v("unaware", a.unaware);
}

struct KnownDeath {
  NodeId dead = kNoNode, by = kNoNode;  // kNoNode: by all others
  Time after;  // the death
};

struct NoticedFaults {
  std::vector<FaultChange> routes;  // what routes follow, in the order of the times at which they do
  std::vector<KnownDeath> deaths;
  std::vector<FaultAwareness> awareness;  // by change of the plan; without LO|FA|MO none
};

// Routes follow each change after the time `reaction`, and all others know of a death after `detection`.
NoticedFaults noticed_after(const FaultPlan& plan, Time reaction, Time detection = Time());

}  // namespace exanet
