// SPDX-License-Identifier: Apache-2.0
// What a file of faults says (docs/faults.md), as the simulator takes it, and the plan that follows from it on a shape.
//
// Model: listed events name what goes down or comes up, as `--fail` names it; drawn ones follow rates up to a time.
// Whether a machine has what is named is known here first, so an event that names nothing is a problem of its place in
// the list.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/config/visit.hpp"
#include "core/faults/noticed.hpp"
#include "core/faults/plan.hpp"

namespace exanet {

struct FaultEvent {
  std::string what;  // a node, a link, or how many at random (FaultPlan::fail)
  Time at;
  bool up = false;  // ends what events of the kind have begun
  FaultKind kind = FaultKind::kState;
  LinkLoss loss = {};
  double rate = 1;  // share of a slow link's
  Impairment impairment = {};
  Time lasts = {};  // until what it begins ends; zero: until another event ends it
};

template <typename V>
void visit(FaultEvent& c, V&& v) {
  v("what", c.what);
  v("at_ps", c.at);
  v("up", c.up, kOptional);
  v("kind", c.kind, kOptional);
  v("lost_packets", c.loss.packets, kOptional);
  v("bit_errors", c.loss.bits, kOptional);
  v("seed", c.loss.seed, kOptional);
  v("rate", c.rate, kOptional);
  v("corrupted_packets", c.impairment.corrupted, kOptional);
  v("duplicated_packets", c.impairment.duplicated, kOptional);
  v("reordered_packets", c.impairment.reordered, kOptional);
  v("delay_ps", c.impairment.delay, kOptional);
  v("lasts_ps", c.lasts, kOptional);
}

struct DrawnFaults {
  FaultRate rate;
  Time until;
};

template <typename V>
void visit(DrawnFaults& c, V&& v) {
  v("links", c.rate.links);
  v("between_ps", c.rate.between);
  v("repair_ps", c.rate.repair);
  v("seed", c.rate.seed);
  v("until_ps", c.until);
}

// LO|FA|MO in place of constants (core/lofamo/notice.hpp): watchdogs of hosts and interfaces, and the silence of links.
struct Lofamo {
  // What follows when the master knows. Whoever waits for a dead rank learns by its own node in any case.
  enum class Policy : std::uint8_t {
    kReport,  // nothing
    kReroute,  // routes avoid links that are down
    kExclude,  // and the routers of nodes whose host or interface does not work
  };
  Time period;  // of the watchdogs
  Policy policy = Policy::kReroute;
  std::string master;  // a node; empty: whoever finds something reports to the master over a network of its own
  Time service;  // latency of that network
  Time line;  // of the machine's links: transceivers and line
  std::uint64_t seed = 1;  // of the phases of periods
};
template <>
inline constexpr auto kChoices<Lofamo::Policy> = choices<Lofamo::Policy>({{"report", Lofamo::Policy::kReport},
                                                                          {"reroute", Lofamo::Policy::kReroute},
                                                                          {"exclude", Lofamo::Policy::kExclude}});

template <typename V>
void visit(Lofamo& c, V&& v) {
  v("period_ps", c.period);
  v("policy", c.policy);
  v("master", c.master);
  v("service_ps", c.service);
  v("line_ps", c.line);
  v("seed", c.seed);
}

struct FaultSchedule {
  std::vector<FaultEvent> events;
  std::vector<DrawnFaults> drawn;
  Time reaction;  // of routes that follow states of links
  Time detection = Time::us(1000);  // from a host's death until all others know of it
  std::optional<Lofamo> lofamo;  // in place of both; `reaction` is then the time from what the master knows

  bool empty() const { return events.empty() && drawn.empty(); }
};

template <typename V>
void visit(FaultSchedule& c, V&& v) {
  v("events", c.events, kOptional);
  v("drawn", c.drawn, kOptional);
  v("reaction_ps", c.reaction, kOptional);
  v("detection_ps", c.detection, kOptional);
  v("lofamo", c.lofamo, kOptional);
}

// What interfaces that retransmit end to end have done (NiConfig::Reliability).
struct ReliabilityStatistics {
  bool retransmits = false;  // the machine has such interfaces
  std::uint64_t retransmissions = 0;  // packets sent again
  std::uint64_t duplicates = 0;  // packets that came again, and were dropped
  std::uint64_t corrupted = 0;  // packets that came with wrong bits, and were dropped
  std::uint64_t given_up = 0;  // packets
};

template <typename V>
void visit(ReliabilityStatistics& r, V&& v) {
  v("retransmits", r.retransmits);
  v("retransmissions", r.retransmissions);
  v("duplicates", r.duplicates);
  v("corrupted", r.corrupted);
  v("given_up", r.given_up);
}

// What has come of a schedule by the end of a run.
struct FaultRecord {
  std::vector<FaultChange> changes;  // that have happened, in their order
  std::uint64_t lost = 0;  // packets
  std::uint64_t failed = 0;  // operations, at each end, that completed with a status
  ReliabilityStatistics reliability = {};
  std::vector<FaultAwareness> awareness = {};  // of the changes, by LO|FA|MO
};

template <typename V>
void visit(FaultRecord& r, V&& v) {
  v("changes", r.changes);
  v("lost", r.lost);
  v("failed", r.failed);
  v("reliability", r.reliability);
  v("awareness", r.awareness);
}

// A state of links that a plan reaches, and when it does so first.
struct FaultState {
  Time at;
  LinkStates links;
};

// Of links as routes know them (NoticedFaults::routes): each state once, the whole machine's first; changes at one time
// make one state.
std::vector<FaultState> reached_states(const std::vector<FaultChange>& changes, const Topology& shape);

// What an event makes of `part`, the changes that its name stands for, with their end where it lasts for a time. Throws
// std::invalid_argument, saying what to do, where a name that says itself what becomes of its links is given to another
// kind of event.
std::vector<FaultChange> changes_of(const FaultEvent& event, const FaultPlan& part);

// Throws ConfigError with every event that names nothing, by `faults.events.NUMBER`, and where there are more than
// kMostChanges.
FaultPlan plan_of(const FaultSchedule& schedule, const Topology& shape);

}  // namespace exanet
