// SPDX-License-Identifier: Apache-2.0
// Ranks whose calls of MPI are carried out by the simulator.
//
// Model: such a rank sleeps with a call in its slot; it is due at the time at which the call is over. Calls are taken
// when all ranks sleep, in the order of ranks, as their descriptors are. A rank that asks what the start of a
// collective costs goes on before anything else happens: the collective begins with what else the rank has posted.
// Limits: rank and simulator share one address space; the record of a call is believed, since the rank's libexanet
// writes it.
#include <algorithm>
#include <utility>

#include "core/protocol/failure.hpp"
#include "exanet/mpi_calls.h"
#include "runtime/coordinator/coordinator.hpp"

namespace exanet {

void Coordinator::start_live() {
  if (!options_.simulates_mpi) return;
  bool hosted = calls_ != nullptr;
  for (RankId r = 0; r < ranks(); ++r) hosted = hosted && region_.rank(r).hosted != 0;
  if (!hosted) {
    const std::string why = region_->no_workers;
    return stop("--mpi-calls simulated: ranks and simulator do not share an address space" +
                (why.empty() ? "" : ": " + why));
  }
  live_.emplace(Library::Beside{events_, engine_, fabric_, ni_, ranks_.size(), *this, statistics_.timeline,
                                hosts_ ? &*hosts_ : nullptr},
                static_cast<LiveHost&>(*this), live_algorithms());
}

LiveAlgorithms Coordinator::live_algorithms() const {
  LiveAlgorithms algorithms{{}, options_.rules};
  for (const std::string& each : options_.collectives) {
    const std::size_t equals = std::min(each.find('='), each.size() - 1);
    algorithms.chosen[each.substr(0, equals)] = each.substr(equals + 1);
  }
  return algorithms;
}

bool Coordinator::answer_starts() {
  std::erase_if(calling_, [this](RankId r) {
    auto* call = reinterpret_cast<exanet_live_call*>(region_.rank(r).live_call);
    if (call == nullptr || call->asks == 0 || ranks_[r].dead || stopping()) return false;
    region_.rank(r).live_call = 0;
    const Time cost = live_->prepare(r, *call);
    if (!stopping()) leave_call(r, ranks_[r].clock + cost, cost);
    return true;
  });
  return !due_.empty();
}

void Coordinator::enter_calls() {
  std::sort(calling_.begin(), calling_.end());
  const auto taken = [](std::uint64_t& word) {
    return reinterpret_cast<exanet_live_call*>(std::exchange(word, std::uint64_t{0}));
  };
  for (const RankId r : calling_) {
    if (stopping()) break;
    exn_rank& slot = region_.rank(r);
    if (exanet_live_call* posted = taken(slot.live_posted)) live_->post(r, *posted);
    if (exanet_live_call* call = taken(slot.live_call); call != nullptr && !ranks_[r].dead) {
      ranks_[r].library_before = live_->library_time(r);
      live_->enter(r, *call);
      if (stop_if_live_failed()) break;
    }
  }
  calling_.clear();
}

void Coordinator::returned(RankId rank, Time clock) {
  leave_call(rank, clock, live_->library_time(rank) - ranks_[rank].library_before);
}

void Coordinator::leave_call(RankId rank, Time clock, Time worked) {
  Rank& r = ranks_[rank];
  region_.rank(rank).library_ps += static_cast<std::uint64_t>(worked.ps());
  r.worked += worked;
  r.in_call = false;
  r.clock = clock;
  make_due(rank, clock);
}

void Coordinator::refused(RankId rank, const std::string& why) {
  stop("rank " + std::to_string(rank) + " in " + live_->where(rank) + ": " + why);
}

// The others wait for ever, too, in a call that is simulated or in one of the library's.
void Coordinator::found_nothing() {
  if (hosts_ && !hosts_->all_known()) return;
  for (RankId r = 0; r < ranks(); ++r)
    if (!(ranks_[r].in_call ? live_->waits_forever(r) : waits_forever(ranks_[r]))) return;
  stop_deadlocked(kDeadlock);
}

bool Coordinator::stop_if_live_failed() {
  if (!live_ || !live_->failure()) return false;
  const Library::Failure& failure = *live_->failure();
  std::string where = live_->where(failure.rank);
  // The call of the program, where none of it is being carried out.
  if (const std::uint32_t call = region_.rank(failure.rank).mpi_call; where.empty() && call > 0)
    where = exanet_mpi_call_name(call - 1);
  stop("rank " + std::to_string(failure.rank) + " on node " + std::to_string(placement_[failure.rank]) +
       (where.empty() ? "" : ", in " + where) + " at " + in_microseconds(failure.time) + ": " + failure.what);
  return true;
}

}  // namespace exanet
