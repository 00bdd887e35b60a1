// SPDX-License-Identifier: Apache-2.0
// What a router does to a packet that joins the queue of an output: mark it, stamp it, trim it to its header, or drop
// it. The counterpart at the interfaces, which makes something of it, is core/nic/pacing.
//
// Contract:
// - An action sees each packet at each router that it passes, once, with the state of the queue before the packet is in
//   it, except packets whose notes say that they are reports. It may change the packet's notes and stamp, and what it
//   keeps by output; a router's calls come in the order of virtual time. There is an object for each partition of a
//   network, which has whole routers.
// - The routers' models call it when a packet is due in the queue: input-queued switches when its header is there, the
//   ExaNet router, whose queues are at its inputs, when the packet is granted the output and leaves the others behind.
// - Only an action whose kind `discards` returns another verdict than kPass; models of switches of whole packets carry
//   that out, others refuse it. With kTrimFirst the header goes on in the highest class that there is, before data. A
//   dropped packet is lost (PacketSink::lost); of a trimmed one the header arrives, which
//   is to an interface that keeps no data to send again a loss, too.
// - No action costs nothing: a model then has none to call.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/network/network.hpp"
#include "core/topology/topology.hpp"
#include "core/units/time.hpp"

namespace exanet {

struct OutputQueue {
  NodeId node;
  std::uint16_t port;  // of an output to a link or, from port_count() on, to the network interface
  std::uint32_t words;  // of the router, that wait for the output: payload, or flits under wormhole switching
  const LinkStats& link;  // what has gone by it
  Time now;
};

class QueueAction {
 public:
  enum class Verdict : std::uint8_t { kPass, kTrim, kTrimFirst, kDrop };
  virtual ~QueueAction() = default;
  virtual Verdict join(const OutputQueue& queue, Packet& packet) = 0;
};

// Parts of which an action is made. References outlive it.
struct QueueActionSetup {
  const NetworkConfig& config;
  const Topology& topology;
};

struct QueueActionKind {
  const char* name;  // as machine files call it
  const char* help;  // what it does to packets, as a clause
  bool discards;  // it trims or drops
  std::vector<RouterConfig>
      samples;  // for the contract test, at least one of each that is made; what it reads is in them
  std::unique_ptr<QueueAction> (*make)(const QueueActionSetup& setup);  // null: nothing is done to packets
};

const std::vector<QueueActionKind>& queue_action_kinds();  // "none" first
// Throws ConfigError, naming those that there are.
const QueueActionKind& queue_action_kind(const std::string& name);

// The action of a partition, or null. Throws ConfigError, saying what to do, on a name or figure of none, and on one
// that trims or drops unless that `may_discard`.
std::unique_ptr<QueueAction> make_queue_action(const NetworkConfig& config, const Topology& topology,
                                               bool may_discard = false);

}  // namespace exanet
