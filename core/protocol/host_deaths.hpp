// SPDX-License-Identifier: Apache-2.0
// Hosts that die in a run, with the ranks on them, and when the others know.
//
// Model: from a host's death on its ranks do nothing; what they have handed over before it goes on as far as their
// node's interface, which stops at the same time (FaultKind::kHost), lets it. When a node comes to know of the death
// (NoticedFaults::deaths), whatever waits there for such a rank ends with Status::kNodeDown. Limits: a host that has
// died stays dead.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/config/visit.hpp"
#include "core/engine/event_queue.hpp"
#include "core/faults/noticed.hpp"
#include "core/protocol/engine.hpp"
#include "core/protocol/host.hpp"

namespace exanet {

struct RankDeath {
  RankId rank = 0;
  NodeId node = 0;
  Time at;
};

template <typename V>
void visit(RankDeath& d, V&& v) {
  v("rank", d.rank);
  v("node", d.node);
  v("at_ps", d.at);
}

// "rank 3 on node 1 at 20.000 us, rank 4 ...": the first few.
std::string text_of(const std::vector<RankDeath>& deaths);

class HostDeaths {
 public:
  HostDeaths(const FaultPlan& plan, const std::vector<NodeId>& placement, std::vector<KnownDeath> known);
  HostDeaths(const HostDeaths&) = delete;  // the queue refers to it
  HostDeaths& operator=(const HostDeaths&) = delete;

  // `died`: called for each rank at its time, in the order of ranks, before the engine hears of it. Once.
  // `known`: of a rank, for each node that comes to know (kNoNode: all), after the engine has heard of it.
  using Known = std::function<void(RankId dead, NodeId by)>;
  void run_on(EventQueue& events, MessageEngine& engine, std::function<void(RankId)> died, Known known = {});

  Time dies(RankId rank) const { return dies_[rank]; }  // Time::never(): it does not
  // The rank, which lives, does not die until then, or until it is let die if that is sooner.
  void hold(RankId rank, Time until) {
    dies_[rank] = Time::never();
    held_until_[rank] = until;
  }
  void let_die(RankId rank, Time now);
  bool all_known() const { return pending_ == 0; }  // no rank has died of which others are to know still
  // What is to be said of a failed operation whose peer has died: a clause, or nothing.
  std::string about(const Completion& completion, Time now) const;
  std::string about(RankId peer, Time now) const;

 private:
  void die(NodeId node);
  void detect(const KnownDeath& death);

  const std::vector<NodeId> placement_;
  const std::vector<FaultChange> hosts_;
  const std::vector<KnownDeath> known_;
  std::vector<Time> dies_, planned_, held_until_;  // by rank; planned: those that are held included
  std::uint32_t pending_ = 0;
  EventQueue* events_ = nullptr;
  MessageEngine* engine_ = nullptr;
  std::function<void(RankId)> died_;
  Known knew_;
  std::uint32_t on_death_ = 0, on_detection_ = 0;
};

}  // namespace exanet
