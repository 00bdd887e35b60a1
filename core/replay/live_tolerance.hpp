// SPDX-License-Identifier: Apache-2.0
// What a live rank knows of ranks that have died, of communicators that are revoked, and of agreements among the
// members of one: MPI's fault tolerance (ULFM).
//
// Contract: all ranks of a run share one LiveNotices. learn() and what comes as a notice only take note; advance() goes
// on with what follows from it, at the rank's clock. An agreement is decided at a member once decision() has it, and is
// the same at all members that decide it, whoever dies meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/replay/activities.hpp"
#include "core/replay/communicators.hpp"

namespace exanet {

// A communicator, as each of its members knows it.
struct LiveMembers {
  std::uint32_t context = 0, count = 0;
  const std::vector<std::uint64_t>* world = nullptr;  // nullptr: each its own
  RankId rank(std::uint32_t member) const { return world == nullptr ? member : static_cast<RankId>((*world)[member]); }
};

// What members agree on. Lists are by member.
struct LiveAgreed {
  std::uint32_t flag = ~0u;  // the and of all flags
  std::vector<bool> failed;  // whom any has known to be dead
  std::vector<bool> acknowledged;  // by all
  bool repeats = false;  // somebody has died meanwhile, so that it is no end of a shrink
};

struct LiveNotice {
  enum class Kind : std::uint8_t { revoke, state, proposal, accepted, decision } kind = Kind::revoke;
  LiveMembers members;
  std::uint64_t agreement = 0;  // its number on the communicator
  std::uint32_t from = 0;  // member
  std::optional<std::uint32_t> proposed_by{};  // of a state that is somebody's proposal
  LiveAgreed value{};
};

// Contents of notices under way.
class LiveNotices {
 public:
  // A shrink ends with these ranks. False: one of them has died. Else none does before it has its communicator.
  std::function<bool(const std::vector<RankId>& left)> making;

  std::uint64_t add(LiveNotice notice) {
    under_way_.emplace(++last_, std::move(notice));
    return last_;
  }
  LiveNotice take(std::uint64_t number) {
    LiveNotice notice = std::move(under_way_.at(number));
    under_way_.erase(number);
    return notice;
  }

 private:
  std::uint64_t last_ = 0;
  std::unordered_map<std::uint64_t, LiveNotice> under_way_;
};

class LiveTolerance {
 public:
  LiveTolerance(RankId rank, std::size_t ranks, Activities& activities, LiveNotices& notices)
      : rank_(rank), activities_(activities), notices_(notices), dead_(ranks) {}

  void listen();  // to notices, once: before that none is taken
  bool listens() const { return listens_; }

  void learn(RankId dead);
  void advance();

  bool knows(RankId rank) const { return rank < dead_.size() && dead_[rank]; }
  // The first member that is known to be dead; of the second one, and that no acknowledgement has named.
  std::optional<RankId> failed_member(const Communicator& comm) const;
  std::optional<RankId> unacknowledged(const Communicator& comm) const;
  bool knows_any() const { return any_dead_ || !revoked_.empty(); }
  bool is_revoked(const Communicator& comm) const { return !revoked_.empty() && revoked_.contains(comm.context); }

  void revoke(const Communicator& comm);
  void acknowledge(const Communicator& comm);
  // Members, in their order.
  std::vector<std::uint32_t> failed(const Communicator& comm) const;
  std::vector<std::uint32_t> acknowledged(const Communicator& comm) const;

  // Takes part in the communicator's next agreement; its number. `before`: the failed ones of a shrink's round before,
  // which ends if they are the same.
  std::uint64_t agree(Communicator& comm, std::uint32_t flag, std::vector<bool> before = {});
  const LiveAgreed* decision(const Communicator& comm, std::uint64_t agreement) const;

 private:
  struct State {  // of a member, as it has come
    bool here = false;
    std::optional<std::uint32_t> proposed_by;
    LiveAgreed value;
  };
  struct Agreement {
    LiveMembers members;
    std::uint32_t me = 0;
    bool joined = false, over = false;  // over: all who live know the decision
    State mine;
    std::vector<bool> before;
    std::optional<LiveAgreed> decision;
    std::optional<std::uint32_t> reported_to;  // the leader that has this member's state, or decision
    // Of the leader.
    std::vector<State> states;
    std::vector<bool> accepted;
    bool proposed = false;
  };
  using Key = std::pair<std::uint32_t, std::uint64_t>;

  static LiveMembers members_of(const Communicator& comm) { return {comm.context, comm.ranks, comm.members}; }
  Agreement& at(const LiveMembers& members, std::uint64_t number);
  bool is_dead(const Agreement& a, std::uint32_t member) const { return dead_[a.members.rank(member)]; }
  std::uint32_t leader_of(const Agreement& a) const;
  void take(const LiveNotice& notice);
  void spread(const LiveMembers& members);
  void advance(std::uint64_t number, Agreement& a);
  void lead(std::uint64_t number, Agreement& a);
  LiveAgreed proposal(const Agreement& a) const;
  void decide(Agreement& a, LiveAgreed value);
  void notify(const Agreement& a, std::uint64_t number, std::uint32_t to, LiveNotice::Kind kind,
              const LiveAgreed* value);
  void notify_all(const Agreement& a, std::uint64_t number, LiveNotice::Kind kind, const LiveAgreed& value);

  const RankId rank_;
  Activities& activities_;
  LiveNotices& notices_;
  std::vector<bool> dead_;
  bool any_dead_ = false, listens_ = false, news_ = false;
  std::map<std::uint32_t, std::set<RankId>> acknowledged_;  // by context
  std::map<std::uint32_t, LiveMembers> revoked_;
  std::map<std::uint32_t, std::set<std::uint32_t>> informed_;  // of a revoked one: members that have been informed
  std::map<Key, Agreement> agreements_;
};

}  // namespace exanet
