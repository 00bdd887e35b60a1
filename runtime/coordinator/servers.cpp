// SPDX-License-Identifier: Apache-2.0
// Ranks that serve streams, when all others have ended.
//
// Problem: a server does not end by itself, and the run would wait for it for ever.
//
// Model: a rank says when it waits and listens. Once nobody else is left, and nothing is under way, it is let run and
// finds that out (runtime/sockets/waits.c).
#include <algorithm>

#include "runtime/coordinator/coordinator.hpp"

namespace exanet {

// Ranks have ended, and those that are left wait for others to connect.
bool Coordinator::only_servers() const {
  constexpr std::uint32_t kPatientWaits = 20;
  if (at_finish_ == 0 || region_->servers_end != 0 || !engine_.idle()) return false;
  // One by itself waits for nobody. Several may have something to do with each other later.
  const std::uint32_t waits = at_finish_ + deaths_.size() + 1 == ranks() ? 0 : kPatientWaits;
  return std::all_of(ranks_.begin(), ranks_.end(), [waits](const Rank& r) {
    const bool for_ever = r.asleep && r.wake_at == Time::never();
    return r.held || r.dead || (r.completions.empty() && r.serves > (for_ever ? 0 : waits));
  });
}

void Coordinator::end_servers() {
  region_->servers_end = 1;
  for (RankId r = 0; r < ranks(); ++r)
    if (const Rank& rank = ranks_[r]; rank.asleep && !rank.held && !rank.dead)
      make_due(r, max(rank.clock, events_.now()));
}

}  // namespace exanet
