// SPDX-License-Identifier: Apache-2.0
#include "core/workload/link_use.hpp"

namespace exanet {

std::vector<LinkStats> link_counts(const Topology& topology, const Network& network) {
  std::vector<LinkStats> counts;
  each_link(topology, [&](NodeId node, std::uint16_t port, NodeId) { counts.push_back(network.link_stats(node, port)); });
  return counts;
}

std::vector<LinkUse> link_use(const Topology& topology, const std::vector<LinkStats>& before, const std::vector<LinkStats>& after, Time between) {
  std::vector<LinkUse> rows;
  rows.reserve(after.size());
  each_link(topology, [&](NodeId node, std::uint16_t port, NodeId far) {
    const LinkStats now = after[rows.size()], then = before.empty() ? LinkStats{} : before[rows.size()];
    const double busy_ps = static_cast<double>((now.busy - then.busy).ps());
    rows.push_back({node, far, port, topology.link_class(node, port), now.packets - then.packets, now.payload_bytes - then.payload_bytes,
                    between > Time() ? busy_ps / static_cast<double>(between.ps()) : 0});
  });
  return rows;
}

}  // namespace exanet
