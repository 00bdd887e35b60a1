// SPDX-License-Identifier: Apache-2.0
// Endpoints with several links into the network, which are called rails: each leads into a plane of its own, a whole
// copy of the switches.
//
// A pair of endpoints has one rail, so that its packets keep their order, and any pair may have any. Which one is round
// robin: the endpoints of a block, `rails` of them by number, take the rails in turn, beginning with one that is drawn
// for the block, and once more for what they receive. So each endpoint sends to as many others by one rail as by
// another, and receives so; shifts, transposes and neighbours of a grid, which would all fall on one rail if the turn
// depended on the sum of both numbers alone, are spread as if drawn.
#pragma once

#include <cstdint>
#include <memory>

#include "core/topology/topology.hpp"

namespace exanet {

inline constexpr std::uint32_t kMostRails = 8;

// Turn at an endpoint, as one end of a pair.
inline std::uint32_t rail_turn(NodeId endpoint, std::uint32_t rails, std::uint64_t end) {
  std::uint64_t drawn = (std::uint64_t{endpoint / rails} << 1 | end) + 0x9e3779b97f4a7c15u;
  drawn = (drawn ^ drawn >> 30) * 0xbf58476d1ce4e5b9u;
  drawn = (drawn ^ drawn >> 27) * 0x94d049bb133111ebu;
  return static_cast<std::uint32_t>((endpoint + (drawn >> 33)) % rails);
}

inline std::uint32_t rail_of_pair(NodeId src, NodeId dst, std::uint32_t rails) {
  return (rail_turn(src, rails, 0) + rail_turn(dst, rails, 1)) % rails;
}

// Of a pair on a topology with several: the first link of its route. None has to be taken from an endpoint to itself.
inline std::uint32_t rail_of(const Topology& topology, NodeId src, NodeId dst) {
  return src == dst ? 0 : topology.next_hop(src, dst).port;
}

// `inner` with its switches `rails` times: nodes are the endpoints, then the switches of each plane. Throws
// ConfigError, saying what to do, where endpoints hang on no switches, or there would be too many nodes.
std::unique_ptr<Topology> with_rails(std::unique_ptr<Topology> inner, std::uint32_t rails);

}  // namespace exanet
