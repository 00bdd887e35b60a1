// SPDX-License-Identifier: Apache-2.0
#include "core/workload/link_use.hpp"

#include <algorithm>

namespace exanet {

std::vector<LinkCount> link_counts(const Topology& topology, const Network& network, Time now) {
  std::vector<LinkCount> counts;
  each_link(topology,
            [&](NodeId node, std::uint16_t port, NodeId) { counts.push_back(network.link_count(node, port, now)); });
  return counts;
}

std::vector<LinkUse> link_use(const Topology& topology, const std::vector<LinkCount>& before,
                              const std::vector<LinkCount>& after, Time between) {
  std::vector<LinkUse> rows;
  rows.reserve(after.size());
  const auto between_ps = static_cast<double>(between.ps());
  each_link(topology, [&](NodeId node, std::uint16_t port, NodeId far) {
    const LinkCount now = after[rows.size()], then = before.empty() ? LinkCount{} : before[rows.size()];
    const auto busy_ps = static_cast<double>((now.busy - then.busy).ps());
    const auto asleep_ps = static_cast<double>((now.asleep - then.asleep).ps());
    rows.push_back({node, far, port, topology.link_class(node, port), now.packets - then.packets,
                    now.payload_bytes - then.payload_bytes, between > Time() ? std::min(1.0, busy_ps / between_ps) : 0,
                    between > Time() ? asleep_ps / between_ps : 0});
  });
  return rows;
}

LinkMeter::LinkMeter(const Topology& topology, const Network& network, Time now) : sampled_at_(now) {
  each_link(topology, [&](NodeId node, std::uint16_t port, NodeId) {
    const LinkStats& stats = network.link_stats(node, port);
    links_.push_back({&stats, stats.busy});
  });
}

void LinkMeter::sample(Time now, std::vector<float>& use) {
  const Time between = now - sampled_at_;
  for (Link& link : links_) {
    const Time busy = min(link.stats->busy - link.busy, between);  // what is more is for the next sample
    use.push_back(
        between > Time() ? static_cast<float>(static_cast<double>(busy.ps()) / static_cast<double>(between.ps())) : 0);
    link.busy += busy;
  }
  sampled_at_ = now;
}

}  // namespace exanet
