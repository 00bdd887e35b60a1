// SPDX-License-Identifier: Apache-2.0
// Routing that takes a packet's history or the state of the network into account. Without it a packet follows Topology::next_hop().
//
// Contract: choose() is asked once at each router that a packet passes (and again while it is blocked there, where looks_again() says so), with
// the state that it answered at the router before; 0 at the source. It is a pure function of its arguments and of what the outlook shows.
// find_cycle() answers whether packets that follow it can wait for each other in a circle.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/random.hpp"
#include "core/routing/channel_graph.hpp"
#include "core/topology/topology.hpp"
#include "core/units/time.hpp"

namespace exanet {

// What a router sees of its outputs, and, for those who know all, of those of others.
class Outlook {
 public:
  virtual ~Outlook() = default;
  // Payload words before a packet that takes this port: taken in the buffers beyond, and in the FIFOs here whose fronts wait for it.
  virtual std::uint32_t queued_words(NodeId node, std::uint16_t port) const = 0;
  // The same of one virtual channel.
  virtual std::uint32_t channel_words(NodeId node, Hop hop) const = 0;
  // Whether the buffer beyond has room for a packet, the largest whatever this one's length: else an output would not grant it.
  virtual bool room(NodeId node, Hop hop) const = 0;
};

struct RouteRequest {
  NodeId at, dst;               // at != dst
  std::uint32_t payload_words;
  std::uint64_t draw;           // a random number of this packet's own, the same at each router
};

// A packet's own random number: the same at each router, however the network is divided.
inline std::uint64_t draw_of(NodeId src, NodeId dst, Time injected) {
  return Random(std::uint64_t{src} << 32 | dst, static_cast<std::uint64_t>(injected.ps())).next();
}

class Routing {
 public:
  virtual ~Routing() = default;
  virtual std::uint8_t virtual_channels() const = 0;
  virtual bool looks() const = 0;                        // choose() asks the outlook
  virtual bool looks_far() const { return false; }       // ... of other routers than its own
  virtual bool looks_again() const { return false; }     // ... and may change its mind while the packet is blocked
  virtual Hop choose(const RouteRequest& request, std::uint32_t& state, const Outlook& outlook) const = 0;
  // In the order of dependency; empty: free of deadlock.
  virtual std::vector<Channel> find_cycle(const CheckProgress& progress) const = 0;
};

// Names besides "": the topology's own ways.
std::vector<std::string> routing_names();

// Throws std::invalid_argument, saying what to do, on an unknown name, or one that is not made for this topology. `topology` outlives it.
std::unique_ptr<Routing> make_routing(const std::string& name, const Topology& topology);

}  // namespace exanet
