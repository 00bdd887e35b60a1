// SPDX-License-Identifier: Apache-2.0
// Ranks whose hosts die.
//
// Model: such a rank sleeps for ever. It dies where it sleeps, or, while it runs, when it next comes to sleep:
// libexanet lets it go no further than to its time (runtime/lib/account.c), and what it has handed over for later is
// dropped. Its process stays until the end of the run, since launchers end all ranks with the first one. Limits: what a
// rank computes between two of its calls it computes whole; a rank that waits in MPI_Finalize has come to its end.
#include <algorithm>

#include "runtime/coordinator/coordinator.hpp"

namespace exanet {

void Coordinator::expect_deaths(const FaultPlan& plan, const std::vector<KnownDeath>& known) {
  if (!plan.dying_hosts().empty()) hosts_.emplace(plan, placement_, known);
  for (RankId r = 0; r < ranks(); ++r)
    if (dies(r) < Time::never()) region_.rank(r).dies_ps = static_cast<std::uint64_t>(dies(r).ps());
}

void Coordinator::die(RankId r) {
  Rank& rank = ranks_[r];
  if (rank.dead || rank.held || !rank.asleep) return;
  exn_rank& slot = region_.rank(r);
  if (live_) live_->die(r);
  if (rank.clock >= dies(r))  // it has computed for longer
    slot.compute_ps -= std::min(slot.compute_ps, static_cast<std::uint64_t>((rank.clock - dies(r)).ps()));
  else if (!rank.in_call)
    statistics_.timeline.add_wait(r, rank.clock, dies(r));
  rank.clock = dies(r);
  rank.dead = true;
  rank.in_call = false;
  ++rank.generation;
  rank.completions = {};
  slot.clock_ps = static_cast<std::uint64_t>(rank.clock.ps());
  __atomic_store_n(&slot.died, 1, __ATOMIC_RELEASE);
  __atomic_fetch_add(&region_->deaths, 1, __ATOMIC_RELEASE);
  deaths_.push_back({r, placement_[r], dies(r)});
}

// The node knows, or all do.
void Coordinator::learn(RankId dead, NodeId by) {
  for (RankId r = 0; live_ && r < ranks(); ++r)
    if (!ranks_[r].dead && (by == kNoNode || placement_[r] == by)) live_->learn(r, dead);
}

namespace {
// What is lost on the way may keep a communicator from ever being made. Making one takes microseconds.
constexpr Time kLongestMaking = Time::us(10'000);
}  // namespace

// The MPI library makes a communicator, and would not survive a failure: what fails meanwhile does so after it.
bool Coordinator::making(const std::vector<RankId>& left) {
  for (const RankId r : left)
    if (ranks_[r].dead || dies(r) <= events_.now()) return false;
  making_ += left.size();
  const Time until = events_.now() + kLongestMaking;
  if (faults_) faults_->hold_until(until);
  for (const RankId r : left) {
    if (hosts_) hosts_->hold(r, until);
    region_.rank(r).dies_ps = 0;
  }
  return true;
}

void Coordinator::made(RankId r) {
  if (--making_ == 0 && faults_) faults_->hold_until(Time());
  if (!hosts_) return;
  hosts_->let_die(r, events_.now());
  if (dies(r) < Time::never()) region_.rank(r).dies_ps = static_cast<std::uint64_t>(dies(r).ps());
}

// Where ranks have died, the others keep their processes until all of them have come to their ends (exanet_finish()).
bool Coordinator::all_have_left() const {
  if (deaths_.empty() || region_->phase != EXN_DONE) return false;
  for (RankId r = 0; r < ranks(); ++r) {
    const exn_rank& slot = region_.rank(r);
    const bool left =
        __atomic_load_n(&slot.left, __ATOMIC_ACQUIRE) || __atomic_load_n(&slot.has_exited, __ATOMIC_ACQUIRE);
    if (!ranks_[r].dead && !left) return false;
  }
  return true;
}

void Coordinator::stop_deadlocked(const char* reason) {
  stop(deaths_.empty() ? reason : "no rank can go on without those whose hosts have died (" + text_of(deaths_) + ")");
}

}  // namespace exanet
