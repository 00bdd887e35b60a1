// SPDX-License-Identifier: Apache-2.0
// Tables of routes on any graph of routers, for topologies without arithmetic for the next hop: three to five bytes for
// each pair of routers.
//
// Shortest routes: one of the shortest for each pair, chosen by a hash, and all others that may be taken in its place.
// The virtual channel of a link is the number of links that remain behind it, so each step lowers it and no cycle can
// close; as many channels are needed as the graph is wide (a distance class: Gopal 1985). Where all shortest routes
// together close no cycle anyway, as on trees of switches with several roots, one channel is enough at any width.
//
// Up*/down* (Schroeder and others 1991): routers are ordered by their distance from a root, and by number; a packet
// goes up (towards the root's end of the order) no more once it has gone down, so one channel is enough on any graph.
// From a router from which routes down lead to the destination the shortest of those is taken, else the shortest route
// up; so the next hop depends on the present router and the destination alone, at the price of some routes that are
// longer than a packet fresh from its source would need.
#pragma once

#include <cstdint>
#include <vector>

#include "core/topology/topology.hpp"

namespace exanet {

// Tables grow with the square of the routers.
inline constexpr std::size_t kMostRouters = 8192;

// By router and port: the router beyond, and its port. kNoNode: no link.
using Adjacency = std::vector<std::vector<PortRef>>;

class RouteTables {
 public:
  // Contract: at most 8192 routers of at most 65535 ports each. False where a router is unreachable or further than
  // `widest` links away.
  bool find_shortest(const Adjacency& graph, std::uint32_t widest);
  // The same in one virtual channel, of a graph at most 255 links wide. False also where the shortest routes to the
  // routers of `ends` close a cycle, or there are too many to look at all of them.
  bool find_shortest_in_one_channel(const Adjacency& graph, const std::vector<std::uint32_t>& ends);
  bool find_up_down(const Adjacency& graph);

  // here != there
  Hop towards(std::uint32_t here, std::uint32_t there) const {
    const std::size_t pair = std::size_t{here} * routers_ + there;
    return {port_[pair], static_cast<std::uint8_t>(classes_ ? distance_[pair] - 1 : 0)};
  }
  // All ports on shortest routes; with up*/down* those behind which the routes are shorter.
  void minimal(const Adjacency& graph, std::uint32_t here, std::uint32_t there, PortList& out) const;
  // All ports on routes as long as that of towards(), in its channel: together they close no cycle.
  void equal(const Adjacency& graph, std::uint32_t here, std::uint32_t there, PortList& out) const;
  std::uint8_t virtual_channels() const { return classes_ ? width_ : 1; }

 private:
  bool closes_cycle(const Adjacency& graph, const std::vector<std::uint32_t>& ends) const;

  std::uint32_t routers_ = 0;
  std::vector<std::uint16_t> port_;  // [here][there]
  std::vector<std::uint8_t> distance_;  // the same, in links; with classes only
  std::uint8_t width_ = 1;
  bool classes_ = false;
  // With up*/down* only:
  std::vector<std::uint32_t> place_;  // by router, from the root downwards
  std::vector<std::uint16_t> length_;  // [here][there], in links
  std::vector<bool> down_;  // [here][there]: routes down lead there
};

}  // namespace exanet
