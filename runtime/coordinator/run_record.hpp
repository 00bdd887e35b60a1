// SPDX-License-Identifier: Apache-2.0
// What is left of a run when it has ended: all that its results are made of, without the simulator that has run it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/faults/schedule.hpp"
#include "core/network/statistics.hpp"
#include "core/nic/gateway_use.hpp"
#include "core/nic/handlers/handler_units.hpp"
#include "core/protocol/host_deaths.hpp"
#include "core/protocol/matching.hpp"
#include "core/protocol/statistics.hpp"
#include "core/units/time.hpp"
#include "core/workload/background_traffic.hpp"

namespace exanet {

struct RunRecord {
  explicit RunRecord(std::size_t ranks = 0) : statistics(ranks), clocks(ranks) {}

  Statistics statistics;
  NetworkStatistics network;
  std::vector<Time> clocks;  // of the ranks, at their ends
  std::uint64_t packets = 0, payload_bytes = 0, events = 0;
  std::uint64_t reductions = 0;  // of the interfaces
  std::uint64_t page_lookups = 0, page_walks = 0;  // likewise
  std::uint64_t rounds = 0, wakes = 0, empty_wakes = 0;
  std::vector<Matching::Unmatched> blocked_sends;
  FaultRecord faults;
  std::vector<FaultInterval> fault_intervals;
  std::vector<RankDeath> deaths;  // in their order
  std::optional<BackgroundRecord> background;  // where there was any
  std::vector<GatewayUse> gateways;  // likewise
  std::optional<HandlerStatistics> handlers;  // likewise
};

template <typename V>
void visit(RunRecord& r, V&& v) {
  v("statistics", r.statistics);
  v("network", r.network);
  v("clocks", r.clocks);
  v("packets", r.packets);
  v("payload_bytes", r.payload_bytes);
  v("events", r.events);
  v("reductions", r.reductions);
  v("page_lookups", r.page_lookups);
  v("page_walks", r.page_walks);
  v("rounds", r.rounds);
  v("wakes", r.wakes);
  v("empty_wakes", r.empty_wakes);
  v("blocked_sends", r.blocked_sends);
  v("faults", r.faults);
  v("fault_intervals", r.fault_intervals);
  v("deaths", r.deaths);
  v("background", r.background);
  v("gateways", r.gateways);
  v("handlers", r.handlers);
}

}  // namespace exanet
