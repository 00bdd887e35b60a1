// SPDX-License-Identifier: Apache-2.0
#include "core/faults/noticed.hpp"

namespace exanet {

NoticedFaults noticed_after(const FaultPlan& plan, Time reaction, Time detection) {
  NoticedFaults noticed{.routes = plan.changes()};
  for (FaultChange& change : noticed.routes) change.at = change.at + reaction;
  for (const FaultChange& host : plan.dying_hosts()) noticed.deaths.push_back({.dead = host.node, .after = detection});
  return noticed;
}

}  // namespace exanet
