// SPDX-License-Identifier: Apache-2.0
// Calls of a live rank that fail: what has failed on the network, whose peer has died, whose communicator is revoked;
// and the calls of MPI's fault tolerance.
//
// Model: a call ends with the first error that is known at its rank. A receive is then taken back first, so that no
// message comes into memory that is the program's again; what is left of a collective or of a send goes on by itself,
// without contents, or into nothing. A collective fails at each member that knows of a dead one among all members,
// whether it would need that one or not, since members that have given up keep others waiting; so does Open MPI.
// Limits: errors of one-sided calls end the run.
#include <algorithm>

#include "core/replay/live.hpp"
#include "core/replay/live_codes.hpp"

namespace exanet {

LiveRank::Error LiveRank::note(std::uint32_t kind, RankId peer, const std::string& what) {
  Library::Failure failure{rank_, library_.clock(rank_), what, kind == EXANET_LIVE_PROCESS_FAILED, peer};
  if (library_.hosts() != nullptr && peer != kAnyRank) failure.what += library_.hosts()->about(peer, library_.now());
  return {kind, library_.add_failed(std::move(failure))};
}

LiveRank::Error LiveRank::error_of_failure(std::uint32_t number) {
  const Library::Failure& failure = library_.failed(number);
  if (!failure.by_death) return {EXANET_LIVE_LOST, number};
  tolerance_.learn(failure.peer);
  return {EXANET_LIVE_PROCESS_FAILED, number};
}

// Of what is to begin, or waits, on the communicator.
LiveRank::Error LiveRank::refusal(const Communicator& comm, bool collective) {
  if (!tolerance_.knows_any()) return {};
  if (tolerance_.is_revoked(comm)) return note(EXANET_LIVE_REVOKED, kAnyRank, "its communicator has been revoked");
  const auto dead = collective ? tolerance_.failed_member(comm) : std::nullopt;
  if (!dead) return {};
  return note(EXANET_LIVE_PROCESS_FAILED, *dead,
              "a member of its communicator has failed, rank " + std::to_string(*dead));
}

// Of a receive or probe that waits for anybody, or for the peer.
LiveRank::Error LiveRank::refusal_of_wait(std::uint32_t peer) {
  if (!tolerance_.knows_any()) return {};
  const Communicator* comm = communicators_.find(rank_, call_->comm);
  if (comm == nullptr) return {};
  if (Error error = refusal(*comm, false)) return error;
  if (peer != EXANET_LIVE_ANY) return {};
  const auto dead = tolerance_.unacknowledged(*comm);
  if (!dead) return {};
  return note(EXANET_LIVE_PROCESS_FAILED, *dead,
              "receive from any source failed: rank " + std::to_string(*dead) + " of its communicator has failed");
}

// Of a message that cannot begin. One with a request begins nothing, and its request has the error.
LiveRank::Error LiveRank::refusal_of_call() {
  const std::uint32_t code = call_->code;
  if (!tolerance_.knows_any() || !(is_message(code) || probes(code)) || takes_probed(code)) return {};
  const Communicator* comm = communicators_.find(rank_, call_->comm);
  if (comm == nullptr) return {};
  Error error = refusal(*comm, false);
  const bool sends = is_send(code) || exchanges(code);
  if (!error && sends && tolerance_.knows(call_->sent.peer))
    error = note(EXANET_LIVE_PROCESS_FAILED, call_->sent.peer,
                 "send to rank " + std::to_string(call_->sent.peer) + ", " + std::to_string(call_->sent.bytes) +
                     " bytes, failed: a node that it needs is down");
  const bool has_request = (code >= EXANET_TRACE_Isend && code <= EXANET_TRACE_Irsend) || code == EXANET_TRACE_Irecv ||
                           code == EXANET_LIVE_ISENDRECV;
  if (!error || !has_request) return error;
  keep(call_->request, activities_.nothing(), code == EXANET_TRACE_Irecv || code == EXANET_LIVE_ISENDRECV).error =
      error;
  refused_ = true;
  return {};
}

// Ends a request that can no longer be, as far as is known.
void LiveRank::watch(Request& r) {
  if (!r.error) {
    for (const std::uint32_t a : {r.activity, r.sends.value_or(r.activity)})
      if (const std::uint32_t failure = activities_.received(a).failed; failure != 0 && !r.error)
        r.error = error_of_failure(failure);
    const Communicator* comm = is_over(r) ? nullptr : communicators_.find(rank_, r.comm);
    if (!r.error && comm != nullptr) r.error = refusal(*comm, r.is_collective);
    if (!r.error) return;
    if (r.is_collective) activities_.abandon(r.activity);
    if (r.receives && !activities_.done(r.activity)) activities_.cancel(r.activity);
    return;
  }
  // A message that has come before it could be taken back.
  const Activities::Received& taken = activities_.received(r.activity);
  const bool came = r.receives && taken.from != kAnyRank && !taken.cancelled && taken.failed == 0;
  if (came && activities_.done(r.activity) && !r.sends) r.error = {};
}

bool LiveRank::may_fail(const Request& r) {
  if (!r.of_any || is_over(r) || !tolerance_.knows_any()) return false;
  const Communicator* comm = communicators_.find(rank_, r.comm);
  return comm != nullptr && tolerance_.unacknowledged(*comm).has_value();
}

// Whether the call that waits for `waited_` is over. Of a call with a receive that is the first of these.
bool LiveRank::wait_over() {
  if (waited_.empty()) return true;
  const bool receives = !joined_ && !is_send(call_->code);
  const auto done = [this](std::uint32_t a) { return activities_.done(a); };
  if (error_) {
    if (receives && !done(waited_[0])) return false;
    const Activities::Received& taken = activities_.received(waited_[0]);
    const bool came =
        receives && waited_.size() == 1 && taken.from != kAnyRank && !taken.cancelled && taken.failed == 0;
    if (came) error_ = {};
    return true;
  }
  for (const std::uint32_t a : waited_)
    if (const std::uint32_t failure = activities_.received(a).failed; failure != 0 && !error_)
      error_ = error_of_failure(failure);
  const bool over = std::all_of(waited_.begin(), waited_.end(), done);
  if (!error_ && !over && tolerance_.knows_any()) {
    const Communicator* comm = communicators_.find(rank_, joined_ ? joined_->call->comm : call_->comm);
    if (comm != nullptr && !takes_probed(call_->code)) error_ = refusal(*comm, joined_.has_value());
    if (!error_ && receives && !takes_probed(call_->code)) error_ = refusal_of_wait(call_->received.peer);
  }
  if (!error_) return over;
  if (joined_) activities_.abandon(waited_[0]);
  if (!receives || done(waited_[0])) return true;
  activities_.cancel(waited_[0]);
  return done(waited_[0]);
}

std::string LiveRank::begin_tolerance() {
  Communicator* comm = communicators_.find(rank_, call_->comm);
  if (comm == nullptr) return "a communicator that has not been made";
  std::vector<std::uint32_t> members;
  switch (call_->code) {
    case EXANET_LIVE_REVOKE: tolerance_.revoke(*comm); break;
    case EXANET_LIVE_ACKNOWLEDGE: tolerance_.acknowledge(*comm); break;
    case EXANET_LIVE_ACKNOWLEDGED: members = tolerance_.acknowledged(*comm); break;
    case EXANET_LIVE_FAILED: members = tolerance_.failed(*comm); break;
    case EXANET_LIVE_MADE: break;
    case EXANET_LIVE_CHECK: error_ = refusal(*comm, true); break;
    default: agreement_ = tolerance_.agree(*comm, call_->value);
  }
  failed_before_.clear();
  call_->failed_count = static_cast<std::uint32_t>(members.size());
  std::copy(members.begin(), members.end(), call_->failed);
  return {};
}

bool LiveRank::tolerance_over() {
  if (call_->code != EXANET_LIVE_AGREE && call_->code != EXANET_LIVE_SHRINK) return true;
  Communicator& comm = *communicators_.find(rank_, call_->comm);
  const LiveAgreed* agreed = tolerance_.decision(comm, agreement_);
  if (agreed == nullptr) return false;
  if (call_->code == EXANET_LIVE_SHRINK) {
    // Those who are left must have answered as such, or one that has died since would be among them.
    if (agreed->failed != failed_before_ || agreed->repeats) {
      failed_before_ = agreed->failed;
      agreement_ = tolerance_.agree(comm, 0, failed_before_);
      return tolerance_over();
    }
    for (std::uint32_t member = 0; member < comm.ranks; ++member)
      if (agreed->failed[member]) call_->failed[call_->failed_count++] = member;
    return true;
  }
  call_->value = agreed->flag;
  for (std::uint32_t member = 0; member < comm.ranks && !error_; ++member)
    if (agreed->failed[member] && !agreed->acknowledged[member])
      error_ =
          note(EXANET_LIVE_PROCESS_FAILED, comm.world(member),
               "a member that has not been acknowledged by all has failed, rank " + std::to_string(comm.world(member)));
  return true;
}

}  // namespace exanet
