// SPDX-License-Identifier: Apache-2.0
// Carries the messages of jobs' ranks: packets from interfaces without costs (packet_transport.cpp), flows
// (flow_transport.cpp), or the message library of core/protocol over interfaces with costs (library_transport.cpp).
//
// Contract: a rank begins a step by begin_step(), posts its messages, and ends by doorbell(); all at the queue's
// present time, which is the same for the three. arrived() comes once for each message, from the queue, when its
// receiver may go on with it. busy() is true while its interface still has to send more of the rank's awaited messages
// than its FIFO holds, or its processor works on them; resumed() says, from the queue, that this is over.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/event_queue.hpp"
#include "core/faults/status.hpp"
#include "core/faults/target.hpp"
#include "core/network/model.hpp"
#include "core/nic/nic.hpp"
#include "core/topology/topology.hpp"

namespace exanet {

struct RankMessage {
  std::uint32_t from, to;  // ranks of all jobs
  std::uint64_t step;  // of the receiver, to which the message belongs
  std::uint64_t bytes;
  std::uint8_t priority;
  std::uint32_t id;  // handed back on arrival
  bool awaited;  // the sender's step lasts at least until the message has left
};

class TransportListener {
 public:
  virtual ~TransportListener() = default;
  virtual void arrived(std::uint32_t message, Time now) = 0;
  virtual void failed(std::uint32_t message, Status why, Time now) = 0;  // it will not arrive
  virtual void resumed(std::uint32_t rank, Time now) = 0;
};

class MessageTransport {
 public:
  struct Totals {
    std::uint64_t packets = 0, packet_hops = 0;
    double packet_ps = 0;  // injection to delivery, of all packets; 0 where nothing is known of it
  };

  virtual ~MessageTransport() = default;
  virtual void begin_step(std::uint32_t /*rank*/, std::uint64_t /*step*/, std::uint32_t /*receives*/, Time /*now*/) {}
  virtual void post(const RankMessage& message) = 0;
  virtual void doorbell(std::uint32_t rank) = 0;
  virtual bool busy(std::uint32_t) const { return false; }
  virtual void advance() {}  // after each event of the queue
  // Once no event is left: nothing is under way. Throws ConfigError when a message has failed on the network.
  virtual void check_done() const = 0;
  virtual Totals totals() const = 0;
  virtual PageStatistics pages() const { return {}; }  // of interfaces that translate addresses
  virtual ReliabilityStatistics reliability() const { return {}; }  // of interfaces that retransmit
  virtual std::vector<LinkCount> link_counts(Time now) const = 0;  // in the order of each_link()
  virtual const NetworkModel* model() const { return nullptr; }  // none at flow level
  virtual FaultTarget& links() = 0;  // for a plan of faults
  std::uint64_t lost() const { return model() != nullptr ? model()->lost() : 0; }  // packets
};

// Parts of which a transport is made; references outlive it.
struct TransportSetup {
  EventQueue& queue;
  const Topology& topology;
  const NetworkConfig& network;
  const NiConfig& interface;
  const NicKind& nic;
  std::uint16_t packet_bytes;
  std::vector<NodeId> endpoints;  // by rank of all jobs
  TransportListener& listener;
};

// All throw ConfigError on a figure that cannot be built.
std::unique_ptr<MessageTransport> make_packet_transport(const TransportSetup& setup);
std::unique_ptr<MessageTransport> make_flow_transport(const TransportSetup& setup);
std::unique_ptr<MessageTransport> make_library_transport(const TransportSetup& setup);

}  // namespace exanet
