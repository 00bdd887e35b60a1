// SPDX-License-Identifier: Apache-2.0
#include "core/protocol/host_deaths.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/protocol/failure.hpp"

namespace exanet {

namespace {
constexpr Time kHeldStep = Time::us(1);  // after which a held one may die
}

std::string text_of(const std::vector<RankDeath>& deaths) {
  constexpr std::size_t kNamed = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(deaths.size(), kNamed); ++i)
    text += (i == 0 ? "" : ", ") + std::string("rank ") + std::to_string(deaths[i].rank) + " on node " +
            std::to_string(deaths[i].node) + " at " + in_microseconds(deaths[i].at);
  if (deaths.size() > kNamed) text += " and " + std::to_string(deaths.size() - kNamed) + " more";
  return text;
}

HostDeaths::HostDeaths(const FaultPlan& plan, const std::vector<NodeId>& placement, std::vector<KnownDeath> known)
    : placement_(placement),
      hosts_(plan.dying_hosts()),
      known_(std::move(known)),
      dies_(placement.size(), Time::never()) {
  for (const FaultChange& host : hosts_)
    for (RankId rank = 0; rank < placement_.size(); ++rank)
      if (placement_[rank] == host.node) dies_[rank] = host.at;
  planned_ = dies_;
  held_until_.resize(dies_.size());
}

void HostDeaths::run_on(EventQueue& events, MessageEngine& engine, std::function<void(RankId)> died, Known known) {
  knew_ = std::move(known);
  events_ = &events;
  engine_ = &engine;
  died_ = std::move(died);
  on_death_ = events.add_handler(
      [](void* self, Time, std::uint32_t node, std::uint64_t) { static_cast<HostDeaths*>(self)->die(node); }, this);
  on_detection_ = events.add_handler(
      [](void* self, Time, std::uint32_t death, std::uint64_t) {
        HostDeaths& deaths = *static_cast<HostDeaths*>(self);
        deaths.detect(deaths.known_[death]);
      },
      this);
  for (const FaultChange& host : hosts_)
    if (std::ranges::find(placement_, host.node) != placement_.end())
      events.schedule(max(host.at, events.now()), on_death_, host.node);
}

void HostDeaths::let_die(RankId rank, Time now) {
  dies_[rank] = planned_[rank] > now ? planned_[rank] : now + kHeldStep;
}

void HostDeaths::die(NodeId node) {
  const Time now = events_->now();
  for (RankId rank = 0; rank < placement_.size(); ++rank) {
    if (placement_[rank] != node || dies_[rank] <= now) continue;
    if (dies_[rank] == Time::never() && now >= held_until_[rank])
      dies_[rank] = now;
    else
      return void(events_->schedule(min(dies_[rank], now + kHeldStep), on_death_, node));
  }
  for (RankId rank = 0; rank < placement_.size(); ++rank) {
    if (placement_[rank] != node) continue;
    died_(rank);
    engine_->dies(rank);
  }
  for (std::uint32_t i = 0; i < known_.size(); ++i) {
    if (known_[i].dead != node) continue;
    ++pending_;
    events_->schedule(events_->now() + known_[i].after, on_detection_, i);
  }
}

void HostDeaths::detect(const KnownDeath& death) {
  --pending_;
  for (RankId rank = 0; rank < placement_.size(); ++rank)
    if (placement_[rank] == death.dead) engine_->is_known_dead(rank, death.by);
  for (RankId rank = 0; knew_ && rank < placement_.size(); ++rank)
    if (placement_[rank] == death.dead) knew_(rank, death.by);
}

std::string HostDeaths::about(const Completion& completion, Time now) const {
  return std::visit(
      [&](const auto& done) -> std::string {
        if constexpr (requires { done.peer; }) return about(done.peer.rank, now);
        return {};
      },
      completion);
}

std::string HostDeaths::about(RankId peer, Time now) const {
  if (peer >= dies_.size() || dies_[peer] > now) return {};
  return "; the host of rank " + std::to_string(peer) + ", node " + std::to_string(placement_[peer]) + ", died at " +
         in_microseconds(dies_[peer]);
}

}  // namespace exanet
