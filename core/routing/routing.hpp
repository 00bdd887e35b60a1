// SPDX-License-Identifier: Apache-2.0
// Routing that takes a packet's history or the state of the network into account. Without it a packet follows
// Topology::next_hop().
//
// Contract: choose() is asked once at each router that a packet passes (and again while it is blocked there, where
// may_reroute() says so), with the state that it answered at the router before; 0 at the source. It is a pure function
// of its arguments and of what the view shows. find_cycle() answers whether packets that follow it can wait for each
// other in a cycle.
#pragma once

#include <cstdint>
#include <vector>

#include "core/engine/random.hpp"
#include "core/routing/channel_graph.hpp"
#include "core/topology/topology.hpp"
#include "core/units/time.hpp"

namespace exanet {

// A router's view of its outputs, and, for those who know all, of those of others.
class CongestionView {
 public:
  virtual ~CongestionView() = default;
  // Payload words before a packet that takes this port: taken in the buffers beyond, and in the FIFOs here whose fronts
  // wait for it.
  virtual std::uint32_t queued_words(NodeId node, std::uint16_t port) const = 0;
  // The same of one virtual channel.
  virtual std::uint32_t channel_words(NodeId node, Hop hop) const = 0;
  // Whether the buffer beyond has space for a packet, the largest whatever this one's length: else an output would not
  // grant it.
  virtual bool has_credit(NodeId node, Hop hop) const = 0;
};

struct RouteRequest {
  NodeId at, dst;  // at != dst
  std::uint32_t payload_words;
  std::uint64_t draw;  // a random number of this packet's own, the same at each router
};

// A packet's own random number: the same at each router, however the network is divided. `number`: its place among
// those that its injection port has taken at the same time, as a message's packets are.
inline std::uint64_t draw_of(NodeId src, NodeId dst, Time injected, std::uint16_t number) {
  const std::uint64_t first = Random(std::uint64_t{src} << 32 | dst, static_cast<std::uint64_t>(injected.ps())).next();
  return number == 0 ? first : Random(first, number).next();
}

// The same of packets whose interface chooses among routes: a hash, as of switches with ECMP.
inline std::uint64_t draw_by_entropy(NodeId src, NodeId dst, std::uint16_t entropy) {
  return Random(std::uint64_t{src} << 32 | dst, entropy).next();
}

class Routing {
 public:
  virtual ~Routing() = default;
  virtual std::uint8_t virtual_channels() const = 0;
  virtual bool adaptive() const = 0;  // choose() asks the view
  virtual bool needs_global_state() const { return false; }  // ... of other routers than its own
  virtual bool may_reroute() const { return false; }  // ... and may change its mind while the packet is blocked
  virtual bool spreads() const { return false; }  // packets of one pair may begin by any link of their endpoint
  virtual Hop choose(const RouteRequest& request, std::uint32_t& state, const CongestionView& view) const = 0;
  // In the order of dependency; empty: free of deadlock.
  virtual std::vector<Channel> find_cycle(const CheckProgress& progress) const = 0;
};

}  // namespace exanet
