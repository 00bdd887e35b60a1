// SPDX-License-Identifier: Apache-2.0
// Destinations of a multicast packet, which stand where a packet to one node has its destination. In grids they are a
// box around its source: in each dimension copies go so many hops away from the source, both ways, half way round a
// ring at most (docs/adr/0013-multicast.md). In dragonflies and fat trees they are a group of nodes, by the number
// under which it was made (docs/adr/0018-multicast-groups.md).
#pragma once

#include <cstdint>
#include <vector>

#include "core/topology/topology.hpp"

namespace exanet {

inline constexpr NodeId kMulticast = 1u << 31;  // in a packet's destination: a box or a group, not a node
inline constexpr std::uint32_t kMostHops = 255;  // in each dimension of a box
inline constexpr std::uint32_t kBoxDimensions = 3;
inline constexpr std::uint16_t kFromInterface = 0xffff;  // in place of the port by which a packet comes

inline bool is_multicast(NodeId dst) { return dst >= kMulticast; }
// Contract: none above kMostHops.
constexpr NodeId multicast_box(std::uint32_t x, std::uint32_t y = 0, std::uint32_t z = 0) {
  return kMulticast | x | y << 8 | z << 16;
}
constexpr NodeId multicast_group(std::uint32_t number) { return kMulticast | number; }
constexpr std::uint32_t group_number(NodeId to) { return to & ~kMulticast; }
constexpr std::uint32_t box_hops(NodeId box, std::uint32_t dimension) { return box >> 8 * dimension & 0xff; }

// All nodes that get a copy, each as often as it gets one, in the order of the tree. Contract: topology.multicasts().
inline std::vector<NodeId> multicast_destinations(const Topology& topology, NodeId src, NodeId to) {
  struct Arrived {
    NodeId node;
    std::uint16_t port;
  };
  std::vector<Arrived> open{{src, kFromInterface}};
  std::vector<NodeId> nodes;
  for (std::size_t i = 0; i < open.size(); ++i) {
    const Copies copies = topology.copies(open[i].node, open[i].port, src, to);
    if (copies.here) nodes.push_back(open[i].node);
    for (std::uint16_t port = 0; port < 16; ++port) {
      if ((copies.ports >> port & 1) == 0) continue;
      const PortRef far = topology.neighbour(open[i].node, port);
      open.push_back({far.node, far.port});
    }
  }
  return nodes;
}

}  // namespace exanet
