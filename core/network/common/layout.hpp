// SPDX-License-Identifier: Apache-2.0
// Laying out a network's arrays for a topology: what every model asks of it, and the ports and queues of input-queued
// switches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/error.hpp"
#include "core/network/config.hpp"
#include "core/topology/topology.hpp"

namespace exanet {

// Throws ConfigError unless there are as many virtual channels as the topology's routing needs.
inline void require_channels(const Topology& topology, std::uint32_t channels) {
  if (channels < topology.virtual_channels())
    throw ConfigError("router.virtual_channels", "the topology's routing needs " +
                                                     std::to_string(topology.virtual_channels()) +
                                                     " virtual channels: set virtual_channels to that or more");
}

// The class of the link beyond a port. Throws ConfigError when only `described` classes of links are.
inline std::uint8_t described_link_class(const Topology& topology, NodeId node, std::uint32_t port,
                                         std::size_t described) {
  const std::uint8_t link_class = topology.link_class(node, static_cast<std::uint16_t>(port));
  if (link_class >= described)
    throw ConfigError("links", "the topology has links of class " + std::to_string(link_class) + ", but only " +
                                   std::to_string(described) + " links are described: describe one for each class");
  return link_class;
}

// Intra-tile ports of an endpoint: so many for each rail, rail by rail.
inline std::uint32_t intra_ports_of(const Topology& topology, const RouterConfig& router) {
  const std::int64_t ports = router.intra_ports * topology.rails();
  if (ports > 256)
    throw ConfigError("router.intra_ports", std::to_string(ports) +
                                                " ports to an endpoint's interface, as many for each of its links into "
                                                "the network: use fewer; a packet names one of 256");
  return static_cast<std::uint32_t>(ports);
}

// Intra-tile ports of each rail, by which a packet says the rail that it takes; 0 where there is one, or the pair's is
// taken.
inline std::uint32_t rail_ports_of(const Topology& topology, const NetworkConfig& config) {
  return config.rails_by_port && topology.rails() > 1 ? static_cast<std::uint32_t>(config.router.intra_ports) : 0;
}

struct PortsAndQueues {
  std::uint32_t ports = 0, queues = 0;
};

// Numbers the ports of all switches, inter-tile before intra-tile ones, and their queues: one for each lane of an
// input, or one for each lane and output. Appends a Node with first_port, ports and first_queue for each.
template <typename Node>
PortsAndQueues lay_out_switches(const Topology& topology, std::uint32_t intra_ports, std::uint32_t lanes,
                                bool virtual_output_queues, std::vector<Node>& nodes) {
  PortsAndQueues all;
  for (NodeId node = 0; node < topology.node_count(); ++node) {
    const std::uint32_t own = topology.port_count(node) + (node < topology.endpoint_count() ? intra_ports : 0);
    Node& made = nodes.emplace_back();
    made.first_port = all.ports;
    made.ports = own;
    made.first_queue = all.queues;
    all.ports += own;
    all.queues += own * lanes * (virtual_output_queues ? own : 1);
  }
  return all;
}

}  // namespace exanet
