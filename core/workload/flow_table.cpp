// SPDX-License-Identifier: Apache-2.0
#include "core/workload/flow_table.hpp"

#include <algorithm>
#include <limits>

#include "core/flow/max_min.hpp"
#include "core/nic/rail_policy.hpp"

namespace exanet {

namespace {

double ns(Time time) { return static_cast<double>(time.ps()) * 1e-3; }

// The max-min shares of the flows while all of them run, and which of them are victims.
void add_shares(const FlowNetwork& network, std::uint16_t packet_bytes, std::vector<FlowRow>& rows) {
  MaxMin sharing = sharing_of(network);
  std::vector<std::vector<ResourceId>> paths(rows.size());
  for (FlowId f = 0; f < rows.size(); ++f) {
    network.route(rows[f].src, rows[f].dst, paths[f]);
    sharing.add(f, paths[f]);
  }
  sharing.solve();
  std::vector<Rate> least(network.resource_count(), std::numeric_limits<Rate>::max());
  for (FlowId f = 0; f < rows.size(); ++f)
    for (const ResourceId r : paths[f]) least[r] = std::min(least[r], sharing.rate(f));
  for (FlowId f = 0; f < rows.size(); ++f) {
    const Rate rate = sharing.rate(f);
    rows[f].share_gbps = static_cast<double>(rate) * 1e-15 * 8 * packet_bytes / network.volume_bits(packet_bytes);
    rows[f].victim = std::any_of(paths[f].begin(), paths[f].end(),
                                 [&](ResourceId r) { return least[r] + rate / MaxMin::kSlack + 1 < rate; });
  }
}

}  // namespace

bool FlowTable::has_shares(const MessageConfig& config, const FlowNetwork& network) {
  return network.fixed_routes() &&
         (network.topology().rails() == 1 || !rail_policy_kind(config.interface.rail_policy).spreads);
}

std::vector<FlowRow> FlowTable::table(const MessageConfig& config, const MessagePlan& plan, const MessageTimes& times,
                                      const FlowNetwork& network) const {
  std::map<std::pair<NodeId, NodeId>, FlowRow> flows;
  for (std::size_t m = 0; m < plan.messages.size(); ++m) {
    const MessagePlan::Message& message = plan.messages[m];
    if (config.load > 0 && (message.start < times.begin || message.start >= times.end)) continue;
    FlowRow& row = flows.try_emplace({message.src, message.dst}, FlowRow{message.src, message.dst}).first->second;
    const double begun = ns(times.ready[m]);
    row.start_ns = row.messages == 0 ? begun : std::min(row.start_ns, begun);
    ++row.messages;
    if (times.arrived[m] == Time::never()) continue;
    ++row.arrived;
    row.bytes += message.bytes;
    row.end_ns = std::max(row.end_ns, ns(times.arrived[m]));
    row.slowdown += static_cast<double>((times.arrived[m] - times.ready[m]).ps()) / alone_ps(network, message);
  }
  std::vector<FlowRow> rows;
  rows.reserve(flows.size());
  for (auto& [ends, row] : flows) {
    if (row.arrived > 0) {
      row.slowdown /= row.arrived;
      row.gbps = static_cast<double>(row.bytes) * 8 / (row.end_ns - row.start_ns);
    }
    if (const auto found = flows_.find(ends); found != flows_.end()) {
      const Flow& seen = found->second;
      row.packets = seen.packets;
      row.marks = seen.marks;
      row.fabric_ns = seen.total_ps * 1e-3 / static_cast<double>(seen.packets);
      row.fabric_p99_ns = static_cast<double>(seen.in_fabric.quantile(0.99)) * 1e-3;
    }
    rows.push_back(row);
  }
  if (config.load == 0 && has_shares(config, network)) add_shares(network, config.packet_bytes, rows);
  return rows;
}

}  // namespace exanet
