// SPDX-License-Identifier: Apache-2.0
// Programs that end the run: MPI_Abort, an error that is fatal, exit() before MPI_Finalize.
//
// Problem: when one does so several often do, as of one failure that both its sender and its receiver learn of; which
// of them the host sees first is chance.
//
// Model: such a rank sleeps until its own time (exanet_go_no_further()), and the run ends when the simulator comes to
// it: at the first such time, of equal ones by what was scheduled first. Limits: a rank that computes on meanwhile
// holds that up, as it does everything; after kLongestWaitNs of the host's time the run ends all the same. A rank that
// has other threads, or is killed, ends the run when the host sees it.
#include "runtime/coordinator/coordinator.hpp"

namespace exanet {
namespace {

constexpr std::int64_t kLongestWaitNs = 10'000'000'000;

}  // namespace

bool Coordinator::has_ended(RankId r) const { return __atomic_load_n(&region_.rank(r).ended, __ATOMIC_ACQUIRE) != 0; }

void Coordinator::end_with(RankId r) {
  const exn_rank& slot = region_.rank(r);
  const std::string who = "rank " + std::to_string(r);
  if (slot.abort_code != 0)
    stop(who + " called MPI_Abort(" + std::to_string(static_cast<std::int32_t>(slot.abort_code - 1)) + ")");
  else
    stop(who + " exited with code " + std::to_string(slot.exit_code - 1) + " without calling MPI_Finalize");
}

// Some have ended, and others are at work for so long.
void Coordinator::end_after_long_wait() {
  for (RankId r = 0; r < ranks(); ++r) {
    if (!has_ended(r)) continue;
    if (ended_since_ns_ == 0) ended_since_ns_ = host_ns();
    if (host_ns() - ended_since_ns_ > kLongestWaitNs) end_with(r);
    return;
  }
}

}  // namespace exanet
