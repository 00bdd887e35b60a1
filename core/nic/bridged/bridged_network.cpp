// SPDX-License-Identifier: Apache-2.0
#include "core/nic/bridged/bridged_network.hpp"

#include "core/units/check.hpp"

namespace exanet {

bool BridgedNetwork::inject(const Packet& packet) {
  EXANET_CHECK(false, "a packet for two networks at once", 0, packet.src, packet.dst);
  return false;
}

const LinkStats& BridgedNetwork::link_stats(NodeId node, std::uint16_t port) const {
  const std::uint32_t here = topology_.network_of(node);
  if (!topology_.is_gateway_port(node, port)) return of(here).link_stats(topology_.within(node), port);
  const GatewayUse& use = gateways_.use(topology_.gateway_at(node));
  return here == 0 ? use.from_first : use.from_second;
}

Time BridgedNetwork::asleep(NodeId node, std::uint16_t port, Time now) const {
  if (topology_.is_gateway_port(node, port)) return {};
  return of(topology_.network_of(node)).asleep(topology_.within(node), port, now);
}

std::uint64_t BridgedNetwork::discarded(NodeId node) const {
  return of(topology_.network_of(node)).discarded(topology_.within(node));
}

void BridgedNetwork::set_link(PortRef, bool, Time) {
  throw ConfigError("faults", "nothing fails in a run on two networks that gateways join: leave the faults out");
}

}  // namespace exanet
