// SPDX-License-Identifier: Apache-2.0
// Revocation, and agreement among those who are left.
//
// Problem: members must come to one decision although any of them may die at any time, also while they decide. Deaths
// are known surely: nobody is thought dead who is not, and in the end everybody knows.
//
// Model of an agreement: the lowest member that is not known to be dead leads. Each member sends it what it brings; the
// leader puts these together and proposes the result, each member accepts it, and once all that live have, the leader
// decides and says so. A leader that dies is followed by the next one, to which all send their state again: a proposal
// that they have accepted goes on, so a decision that anybody may have seen stays the only one. This is uniform
// consensus with a perfect failure detector and a hierarchy of leaders, as in Cachin, Guerraoui and Rodrigues,
// "Introduction to Reliable and Secure Distributed Programming" (2011), chapter 5. Open MPI's agreement goes along a
// tree instead (Herault et al., "Practical scalable consensus for pseudo-synchronous distributed systems", SC 2015).
//
// Model of a revocation: whoever hears of it first informs those at distances 1, 2, 4, … round the ring of the members
// that it does not know to be dead, in both directions, as Open MPI does (Bosilca et al., "Failure detection and
// propagation in HPC systems", SC 2016); who learns of a death informs those who have come into the dead one's place.
//
// A shrink's last decision says whether one of those who are left has died before it, though nobody may know of it yet:
// then they agree again. So those who make a communicator have all lived when it was decided.
//
// Limits: the leader hears of each member itself, so an agreement takes a time that is linear in the members. Notices
// are lost with links that lose them, and are not repeated.
#include "core/replay/live_tolerance.hpp"

#include <algorithm>

namespace exanet {

namespace {

// Of what a notice says beside its envelope: its number and kind, and a bit of a list for each member.
std::uint64_t notice_bytes(const LiveNotice& notice) {
  constexpr std::uint64_t kHead = 16;  // context, number, kind, sender
  return kHead + (notice.value.failed.empty() ? 0 : 4 + 2 * ((notice.members.count + 7) / 8));
}

void put_together(std::vector<bool>& to, const std::vector<bool>& from, bool any) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = any ? to[i] || from[i] : to[i] && from[i];
}

}  // namespace

void LiveTolerance::listen() {
  if (std::exchange(listens_, true)) return;
  activities_.on_notice([this](std::uint64_t number) { take(notices_.take(number)); });
}

void LiveTolerance::learn(RankId dead) {
  if (dead >= dead_.size() || dead_[dead]) return;
  dead_[dead] = any_dead_ = news_ = true;
}

std::optional<RankId> LiveTolerance::failed_member(const Communicator& comm) const {
  for (std::uint32_t member = 0; any_dead_ && member < comm.ranks; ++member)
    if (dead_[comm.world(member)]) return comm.world(member);
  return {};
}

std::optional<RankId> LiveTolerance::unacknowledged(const Communicator& comm) const {
  const auto known = acknowledged_.find(comm.context);
  for (std::uint32_t member = 0; any_dead_ && member < comm.ranks; ++member) {
    const RankId rank = comm.world(member);
    if (dead_[rank] && (known == acknowledged_.end() || !known->second.contains(rank))) return rank;
  }
  return {};
}

void LiveTolerance::acknowledge(const Communicator& comm) {
  for (const std::uint32_t member : failed(comm)) acknowledged_[comm.context].insert(comm.world(member));
}

std::vector<std::uint32_t> LiveTolerance::failed(const Communicator& comm) const {
  std::vector<std::uint32_t> members;
  for (std::uint32_t member = 0; member < comm.ranks; ++member)
    if (dead_[comm.world(member)]) members.push_back(member);
  return members;
}

std::vector<std::uint32_t> LiveTolerance::acknowledged(const Communicator& comm) const {
  std::vector<std::uint32_t> members = failed(comm);
  const auto known = acknowledged_.find(comm.context);
  std::erase_if(members, [&](std::uint32_t member) {
    return known == acknowledged_.end() || !known->second.contains(comm.world(member));
  });
  return members;
}

void LiveTolerance::take(const LiveNotice& notice) {
  if (notice.kind == LiveNotice::Kind::revoke) {
    if (revoked_.emplace(notice.members.context, notice.members).second) spread(notice.members);
    return;
  }
  Agreement& a = at(notice.members, notice.agreement);
  if (notice.kind == LiveNotice::Kind::decision) {
    if (!a.decision) decide(a, notice.value);
  } else if (a.decision) {
    if (notice.kind != LiveNotice::Kind::accepted)
      notify(a, notice.agreement, notice.from, LiveNotice::Kind::decision, &*a.decision);
    return;
  } else if (notice.kind == LiveNotice::Kind::state) {
    a.states[notice.from] = {true, notice.proposed_by, notice.value};
  } else if (notice.kind == LiveNotice::Kind::accepted) {
    a.accepted[notice.from] = true;
  } else if (!is_dead(a, notice.from)) {
    a.mine = {true, notice.from, notice.value};
    notify(a, notice.agreement, notice.from, LiveNotice::Kind::accepted, nullptr);
  }
  advance(notice.agreement, a);
}

void LiveTolerance::advance() {
  if (!std::exchange(news_, false)) return;
  for (const auto& [context, members] : revoked_) spread(members);
  for (auto& [key, agreement] : agreements_)
    if (!agreement.over) advance(key.second, agreement);
}

void LiveTolerance::revoke(const Communicator& comm) {
  if (revoked_.emplace(comm.context, members_of(comm)).second) spread(members_of(comm));
}

void LiveTolerance::spread(const LiveMembers& members) {
  std::vector<std::uint32_t> ring;  // of the living, from this rank on
  for (std::uint32_t member = 0; member < members.count; ++member)
    if (!dead_[members.rank(member)]) ring.push_back(member);
  const auto me = std::find_if(ring.begin(), ring.end(), [&](auto m) { return members.rank(m) == rank_; });
  if (me == ring.end()) return;
  std::rotate(ring.begin(), me, ring.end());
  std::set<std::uint32_t>& informed = informed_[members.context];
  for (std::size_t distance = 1; distance < ring.size(); distance *= 2) {
    for (const std::uint32_t to : {ring[distance], ring[ring.size() - distance]}) {
      if (!informed.insert(to).second) continue;
      LiveNotice notice{.kind = LiveNotice::Kind::revoke, .members = members};
      const std::uint64_t bytes = notice_bytes(notice);
      activities_.send_notice(members.rank(to), bytes, notices_.add(std::move(notice)));
    }
  }
}

LiveTolerance::Agreement& LiveTolerance::at(const LiveMembers& members, std::uint64_t number) {
  const auto [place, is_new] = agreements_.try_emplace({members.context, number});
  Agreement& a = place->second;
  if (!is_new) return a;
  a.members = members;
  while (members.rank(a.me) != rank_) ++a.me;
  a.states.resize(members.count);
  a.accepted.resize(members.count);
  return a;
}

std::uint64_t LiveTolerance::agree(Communicator& comm, std::uint32_t flag, std::vector<bool> before) {
  const std::uint64_t number = comm.agreements++;
  // All who live have joined the one before, and so know what that before it has decided.
  if (number >= 2)
    if (const auto old = agreements_.find({comm.context, number - 2}); old != agreements_.end())
      old->second.over = true;
  Agreement& a = at(members_of(comm), number);
  a.joined = true;
  a.before = std::move(before);
  LiveAgreed mine{flag, std::vector<bool>(comm.ranks), std::vector<bool>(comm.ranks), false};
  for (const std::uint32_t member : failed(comm)) mine.failed[member] = true;
  for (const std::uint32_t member : acknowledged(comm)) mine.acknowledged[member] = true;
  a.mine = {true, std::nullopt, std::move(mine)};
  advance(number, a);
  return number;
}

const LiveAgreed* LiveTolerance::decision(const Communicator& comm, std::uint64_t agreement) const {
  const auto found = agreements_.find({comm.context, agreement});
  return found != agreements_.end() && found->second.decision ? &*found->second.decision : nullptr;
}

std::uint32_t LiveTolerance::leader_of(const Agreement& a) const {
  std::uint32_t member = 0;
  while (is_dead(a, member)) ++member;
  return member;
}

void LiveTolerance::advance(std::uint64_t number, Agreement& a) {
  const std::uint32_t leader = leader_of(a);
  const bool is_new = a.reported_to != leader;
  if (a.decision) {
    a.reported_to = leader;
    if (is_new && leader == a.me) notify_all(a, number, LiveNotice::Kind::decision, *a.decision);
    if (is_new && leader != a.me) notify(a, number, leader, LiveNotice::Kind::decision, &*a.decision);
    return;
  }
  if (!a.joined) return;
  a.reported_to = leader;
  if (leader == a.me) return lead(number, a);
  if (is_new) notify(a, number, leader, LiveNotice::Kind::state, &a.mine.value);
}

void LiveTolerance::lead(std::uint64_t number, Agreement& a) {
  if (!a.proposed) {
    a.states[a.me] = a.mine;
    for (std::uint32_t member = 0; member < a.members.count; ++member)
      if (!a.states[member].here && !is_dead(a, member)) return;
    a.mine = {true, a.me, proposal(a)};
    a.proposed = true;
    a.accepted[a.me] = true;
    notify_all(a, number, LiveNotice::Kind::proposal, a.mine.value);
  }
  for (std::uint32_t member = 0; member < a.members.count; ++member)
    if (!a.accepted[member] && !is_dead(a, member)) return;
  LiveAgreed value = a.mine.value;
  if (value.failed == a.before) {
    std::vector<RankId> left;
    for (std::uint32_t member = 0; member < a.members.count; ++member)
      if (!value.failed[member]) left.push_back(a.members.rank(member));
    value.repeats = notices_.making && !notices_.making(left);
  }
  decide(a, std::move(value));
  notify_all(a, number, LiveNotice::Kind::decision, *a.decision);
}

// What the latest leader has proposed, if anybody here has heard of it.
LiveAgreed LiveTolerance::proposal(const Agreement& a) const {
  const State* latest = nullptr;
  for (const State& state : a.states)
    if (state.proposed_by && (latest == nullptr || *state.proposed_by > *latest->proposed_by)) latest = &state;
  if (latest != nullptr) return latest->value;
  LiveAgreed all{~0u, std::vector<bool>(a.members.count), std::vector<bool>(a.members.count, true), false};
  for (std::uint32_t member = 0; member < a.members.count; ++member) {
    all.failed[member] = all.failed[member] || is_dead(a, member);
    const State& state = a.states[member];
    if (!state.here) continue;
    all.flag &= state.value.flag;
    put_together(all.failed, state.value.failed, true);
    put_together(all.acknowledged, state.value.acknowledged, false);
  }
  return all;
}

void LiveTolerance::decide(Agreement& a, LiveAgreed value) {
  a.decision = std::move(value);
  a.reported_to = leader_of(a);
  a.states = {};
  a.accepted = {};
}

void LiveTolerance::notify(const Agreement& a, std::uint64_t number, std::uint32_t to, LiveNotice::Kind kind,
                           const LiveAgreed* value) {
  LiveNotice notice{.kind = kind, .members = a.members, .agreement = number, .from = a.me};
  if (kind == LiveNotice::Kind::state) notice.proposed_by = a.mine.proposed_by;
  if (value != nullptr) notice.value = *value;
  const std::uint64_t bytes = notice_bytes(notice);
  activities_.send_notice(a.members.rank(to), bytes, notices_.add(std::move(notice)));
}

void LiveTolerance::notify_all(const Agreement& a, std::uint64_t number, LiveNotice::Kind kind,
                               const LiveAgreed& value) {
  for (std::uint32_t member = 0; member < a.members.count; ++member)
    if (member != a.me && !is_dead(a, member)) notify(a, number, member, kind, &value);
}

}  // namespace exanet
