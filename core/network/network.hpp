// SPDX-License-Identifier: Apache-2.0
// Carries packets between network interfaces: the model of core/network/exanet, or the Verilated gateware behind the
// same calls.
//
// The interfaces above know nothing else of a network, so a program meets the same machine over either. One virtual
// call a packet; whoever uses the model alone calls ExanetNetwork itself, which is final.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/config/error.hpp"
#include "core/engine/event_queue.hpp"
#include "core/faults/status.hpp"
#include "core/faults/target.hpp"
#include "core/network/config.hpp"
#include "core/topology/topology.hpp"
#include "core/units/time.hpp"

namespace exanet {

class NodeBuses;

struct Packet {
  NodeId src;
  NodeId dst;  // or, until it is delivered, several nodes (core/topology/multicast.hpp), where the network multicasts()
  std::uint16_t payload_bytes;  // 0..max_payload_bytes
  std::uint8_t intra_port;  // both where it enters and where it leaves; with several rails those of rail 0 first
  std::uint8_t priority;  // class: 0 bulk, 1 priority, which has queues of its own and goes first
  std::uint64_t user;  // handed back on delivery
  // Payload words whose lower and upper half equals Magic, which the line of a link sends twice:
  // docs/microarchitecture.md.
  std::uint8_t magic_lower = 0, magic_upper = 0;
  std::uint8_t marked = 0;  // delivered with wrong bits, which a link has seen
  // What routers note of congestion (core/network/queue_actions), and a word whose meaning is that of the rate control
  // and the action.
  static constexpr std::uint8_t kCongested = 1;
  static constexpr std::uint8_t kTrimmed = 2;  // its header alone comes: `payload_bytes` is what that says
  static constexpr std::uint8_t kReport = 4;  // brings notes and stamp back to a source: routers leave them alone
  static constexpr std::uint8_t kLastHop = 8;  // trimmed by the router before its destination
  std::uint8_t notes = 0;
  // Chosen by interfaces that spread packets (core/nic/ultra_ethernet): those of a pair with the same one take the same
  // route, where routing draws routes. 0: none.
  std::uint16_t entropy = 0;
  std::uint64_t stamp = 0;
};

// Who receives what the network has carried.
struct PacketSink {
  void* self = nullptr;
  // `packet`'s last word has left its destination's intra-tile output at `tail`; called exactly then (now == tail), or,
  // with `early`, perhaps as soon as that is known.
  void (*delivered)(void* self, const Packet& packet, Time injected, Time tail) = nullptr;
  // The intra-tile port has space for the class again after inject() returned false; called once for each such packet,
  // at the time that it has space. Where both classes have been refused, priority packets are asked for first.
  void (*ready)(void* self, NodeId node, std::uint8_t intra_port, std::uint8_t priority, Time now) = nullptr;
  bool early = false;
  // Intra-tile ports, of each rail alike, a bit each, whose slots (interface_slots) the interface gives back itself, by
  // Network::give_back().
  std::uint16_t gives_back = 0;
  // The network has lost `packet`, and says why: called at the time at which that happens, never from inside inject().
  // Of a packet to several nodes, which its `dst` then is one of, once for each that it does not reach. nullptr: who
  // injects has no use for it.
  void (*lost)(void* self, const Packet& packet, Status why, Time now) = nullptr;
};

struct LinkStats {
  std::uint64_t packets = 0;
  std::uint64_t payload_bytes = 0;
  Time busy;  // time in which the link carried words (framing and pauses included)
  Time waited;  // time for which this output or its link kept packets standing at their routers
};

// What has gone by a link until some moment.
struct LinkCount : LinkStats {
  Time asleep;
};

class Network : public FaultTarget {
 public:
  // Contract: called at the queue's present time. False when the intra-tile port has no space for the whole packet,
  // and, if it is bulk, for a largest priority packet besides: keep it, wait for ready(). A packet of the other class
  // may go meanwhile.
  virtual bool inject(const Packet& packet) = 0;

  // From now to `until` the network interface gives back no slot of an intra-tile port behind which packets arrive;
  // then one each cycle. Where slots are not modelled nothing happens.
  virtual void stall(NodeId /*node*/, std::uint8_t /*intra_port*/, Time /*until*/) {}

  // Gives back the oldest slot that is taken at a port of PacketSink::gives_back, in the cycle that begins at `at`, not
  // before now.
  virtual void give_back(NodeId /*node*/, std::uint8_t /*intra_port*/, Time /*at*/) {}

  // What stands on the line when the link goes down is lost, but for packets whose beginning the next router has
  // granted already, which come whole; so is what a router sends by it until routes avoid it. Credits beyond the link
  // are known again with its first packet, as after a restart of the line. Contract, of before_routes_change(), too:
  // NetworkConfig::links_fail; no event runs but, in a network in one part, the one that calls.
  void set_link(PortRef /*link*/, bool /*up*/, Time /*now*/) override {
    throw ConfigError("fabric", "links of this network model cannot fail during a run: use a model with routers");
  }

  // Carries packets to several nodes (core/topology/multicast.hpp), of which each copy is delivered.
  virtual bool multicasts() const { return false; }

  // Packets of a class from one intra-tile port arrive at one endpoint in the order in which they were injected.
  virtual bool keeps_order() const { return true; }

  // Packets may be lost: PacketSink::lost is called then. A network that answers false never calls it.
  virtual bool may_lose() const { return false; }

  virtual const LinkStats& link_stats(NodeId node,
                                      std::uint16_t port) const = 0;  // of the outgoing direction; stays where it is
  // For how long the link has slept by `now`.
  virtual Time asleep(NodeId /*node*/, std::uint16_t /*port*/, Time /*now*/) const { return Time(); }
  LinkCount link_count(NodeId node, std::uint16_t port, Time now) const {
    return {link_stats(node, port), asleep(node, port, now)};
  }
  virtual std::uint64_t packet_hops() const = 0;
  virtual std::uint64_t discarded(NodeId) const { return 0; }  // packets that had no route on from there
  virtual std::uint64_t lost() const { return 0; }  // packets that links lost: a model of events counts them
  virtual std::uint64_t in_flight() const = 0;  // injected and not yet delivered
  // Where the nodes' network interfaces are part of it: packets are theirs then, and inject() is not called.
  virtual NodeBuses* buses() { return nullptr; }
  virtual std::uint64_t cycles() const {
    return 0;
  }  // clock cycles that were evaluated one by one; a model of events has none
};

// Makes the network of a machine. Throws ConfigError, saying what to do, when it cannot be this one's.
using MakeNetwork = std::function<std::unique_ptr<Network>(EventQueue& events, const Topology& topology,
                                                           const NetworkConfig& config, PacketSink sink)>;

// The model of the routers that the machine has: see model.hpp.
std::unique_ptr<Network> make_network(EventQueue& events, const Topology& topology, const NetworkConfig& config,
                                      PacketSink sink);

}  // namespace exanet
