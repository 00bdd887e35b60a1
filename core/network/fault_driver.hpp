// SPDX-License-Identifier: Apache-2.0
// Applies a plan of faults to a network and to the routes of its topology, change by change.
//
// Contract: apply(now) is called at each next(), as FaultTarget wants it: by an event of the network's queue
// (run_on()), or, where the network is divided among threads, between windows that end there. Routes that follow states
// of links (Topology::follow) do so when the fabric's manager has come to know of a change (NoticedFaults::routes);
// adaptive routings see at once which outputs are down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "core/engine/event_queue.hpp"
#include "core/faults/held.hpp"
#include "core/faults/interval.hpp"
#include "core/faults/noticed.hpp"
#include "core/faults/schedule.hpp"
#include "core/faults/target.hpp"
#include "core/network/config.hpp"

namespace exanet {

// A machine whose links fail in the run, if the schedule says any: routes follow, and the network takes changes.
inline TopologySpec following(TopologySpec spec, const FaultSchedule& schedule) {
  spec.follows = spec.follows || !schedule.empty();
  return spec;
}
NetworkConfig failing(NetworkConfig network, const FaultSchedule& schedule);
// The same. Throws ConfigError where links have too many different rates.
NetworkConfig failing(NetworkConfig network, const FaultPlan& plan);

class FaultDriver {
 public:
  // All outlive the driver. Throws ConfigError where the network refuses.
  FaultDriver(FaultTarget& network, Topology& topology, FaultPlan plan, NoticedFaults noticed);
  FaultDriver(FaultTarget& network, Topology& topology, const FaultPlan& plan, Time reaction)
      : FaultDriver(network, topology, plan, noticed_after(plan, reaction)) {}
  FaultDriver(const FaultDriver&) = delete;
  FaultDriver& operator=(const FaultDriver&) = delete;

  Time next() const;  // when something changes next: a link, or routes; Time::never(): nothing does
  void apply(Time now);
  void run_on(EventQueue& events);  // calls apply() by itself from now on; once
  void hold_until(Time until) { held_until_ = until; }  // nothing changes before; what would have does so then

  // Says what has been lost, sent again and waited for until a time: called at each change. Before the first one.
  using Count = std::function<FaultInterval(Time now)>;
  void count_with(Count count) { count_ = std::move(count); }
  // What has come about in each interval between changes, up to `end`; the first one is that before any change.
  std::vector<FaultInterval> intervals(Time end) const;

  const LinkStates& states() const { return held_.links(); }
  // What has come of the plan by now.
  FaultRecord record(std::uint64_t lost, std::uint64_t failed, const ReliabilityStatistics& reliability) const;

 private:
  void apply(const FaultChange& change, Time now);
  void change_state(const FaultChange& change, Time now);
  std::uint32_t rate_of(PortRef link) const;

  FaultTarget& network_;
  Topology& topology_;
  FaultPlan plan_;
  NoticedFaults noticed_;
  HeldFaults held_, followed_;  // now, and as routes know
  std::vector<double> rates_;  // of slow links
  Count count_;
  std::vector<FaultInterval> totals_;  // until each time of changes
  std::size_t done_ = 0, known_ = 0;  // changes that have happened, and that routes know
  EventQueue* events_ = nullptr;
  std::uint32_t event_ = 0;
  Time held_until_;
};

}  // namespace exanet
