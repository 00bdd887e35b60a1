// SPDX-License-Identifier: Apache-2.0
// The network interfaces of all nodes: a descriptor goes in, packets go out, completions come back.
//
// Contract:
// - A descriptor is posted at the queue's present time, as often as its sender likes: it waits at its source's
//   interface until that takes it. doorbell() notifies the interface of what has been posted at a node; an interface
//   may begin before, and need not begin later.
// - Each descriptor leads to one completion at its destination, and, if it is acknowledged, to one at its source.
//   Completions come at the queue's present time, never from inside post() or doorbell(). `user` comes back with them;
//   its two top bits are 0.
// - A completion has a status (core/faults/status.hpp). Any but kOk: the descriptor has failed there, and nothing of it
//   may be used. What fails completes as often as what does not, when the interface at its source gives it up; a
//   transfer of which only acknowledgements fail has kOk at its destination.
// - Messages between two nodes arrive in the order in which they were posted; transfers too where the interface is
//   ordered, else it takes turns between all of them packet by packet. Between different destinations it always does. A
//   read request is in no order with other transfers, and does not wait for their data.
// - Where the interface multicasts(), a destination may be several nodes (core/topology/multicast.hpp): the descriptor
//   then leads to a completion at each node that its packets reach, in no order with other descriptors, and a transfer
//   to one at its source when its last packet has left. Nothing acknowledges it.
//
// A node has an interface for each of its rails (core/topology/rails.hpp); which one a descriptor takes says a policy
// (core/nic/rail_policy.hpp). A long transfer may be cut over all of them.
//
// To extend: an engine (core/nic/exanet) is a class in a file of its own that injects packets of a kind of its own and
// gets those that arrive. Time-out and retransmission belong to the engine that has sent: it holds a descriptor until
// the last acknowledgement, so that is what it repeats from.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/event_queue.hpp"
#include "core/faults/schedule.hpp"
#include "core/faults/status.hpp"
#include "core/network/network.hpp"
#include "core/nic/config.hpp"
#include "core/nic/gateway_use.hpp"
#include "core/nic/reductions/config.hpp"
#include "core/topology/topology.hpp"

namespace exanet {

// A message of one packet into a mailbox.
struct PacketizerMessage {
  NodeId src, dst;
  std::uint32_t bytes;  // at most the network's largest payload
  std::uint64_t user;
  std::uint32_t copies = 1;  // nodes that it reaches
};

// A packet between the units of two interfaces that reduce: of the class priority, and no message for a mailbox.
struct ReductionPacket {
  NodeId src, dst;
  std::uint32_t bytes;
  std::uint64_t user;
};

// The part of a process for its node's unit, as long as it is; the bytes move beside it.
struct ReductionCall {
  NodeId node;
  std::uint8_t tree, branch;  // of the node's unit
  ReductionShape shape;
  std::uint64_t user;
};

// Where bytes are in the memory of a process.
struct ProcessBuffer {
  std::uint32_t process = 0;
  std::uint64_t address = 0;  // virtual; 0: memory of the process's library
  std::uint8_t memory = 0;  // its kind: a number in memory_kinds() (core/nic/targets); 0: host DRAM
};

// A transfer by an RDMA engine from memory to memory, as many packets as that takes; without bytes it is one empty
// packet.
struct RdmaTransfer {
  // A read is a request and, posted when that has arrived, a reply, both with its `user`: an interface may serve it
  // without the reply.
  enum class Part : std::uint8_t { kWrite, kRequest, kReply };
  NodeId src, dst;
  std::uint64_t bytes;
  bool acknowledged;  // the source learns that it is there
  bool reads_memory;  // the data come out of the source's memory: a request carries its few words in the descriptor
  std::uint64_t user;
  std::uint32_t copies = 1;  // nodes that it reaches
  Part part = Part::kWrite;
  std::uint64_t asks_for = 0;  // bytes, of a request
  bool notifies = false;  // whoever owns the memory at the destination learns that it is there
  ProcessBuffer own{},
      target{};  // at the source and at the destination; they count where the interface translates addresses
};

class NicListener {
 public:
  virtual ~NicListener() = default;
  virtual void message_completed(std::uint64_t user, Status, Time now) = 0;  // visible in the mailbox
  virtual void transfer_completed(std::uint64_t user, Status, Time now) = 0;  // all of it in memory at the destination
  virtual void transfer_acknowledged(std::uint64_t user, Status,
                                     Time now) = 0;  // its source has the last acknowledgement
  virtual void reduction_packet_completed(std::uint64_t /*user*/, Status, Time /*now*/) {
  }  // its last word is at the unit
  virtual void reduction_completed(std::uint64_t /*user*/, Status, Time /*now*/) {}  // its result is in memory
  virtual void multicast_completed(std::uint64_t /*user*/, NodeId /*node*/, Status, Time /*now*/) {}  // at one node
  virtual void multicast_sent(std::uint64_t /*user*/, Status, Time /*now*/) {}  // all of a transfer has left
  virtual void packet_delivered(const Packet& packet, Time injected, Time now) = 0;  // statistics; acknowledgements too
};

// Pages that interfaces have looked up, one or two for each packet at each end and one for each end, and those that
// they did not know.
struct PageStatistics {
  std::uint64_t lookups = 0, walks = 0;
};

class Nic {
 public:
  virtual ~Nic() = default;
  virtual void post(const PacketizerMessage& message) = 0;
  virtual void post(const RdmaTransfer& transfer) = 0;
  virtual void doorbell(NodeId node) = 0;
  // In a zero-cost phase nothing that begins takes time or uses the network: before MPI_Init has returned and after
  // MPI_Finalize was entered. Packets on the network at a change end there. Only the message library of core/protocol
  // asks for it; an interface starts without.
  virtual void set_zero_cost(bool) {}

  // The interface of the node `by`, or all (kNoNode), know from now on that this node's does not answer: they may give
  // up what they retransmit to it.
  virtual void is_known_dead(NodeId /*node*/, NodeId /*by*/) {}

  virtual bool multicasts() const { return false; }

  // Where the interface has units that reduce: packets between two of them arrive in the order in which they were
  // posted.
  virtual bool reduces() const { return false; }
  virtual void post(const ReductionPacket&) {}

  // Where the units reduce along trees by themselves: no such packets then, but places in trees, and calls, each of
  // which ends once.
  virtual bool has_trees() const { return false; }
  virtual void open_tree(NodeId, std::uint8_t /*tree*/, const ReductionPlace&) {}
  virtual void post(const ReductionCall&) {}

  virtual const Network& network() const = 0;
  virtual FaultTarget& links() = 0;  // what a plan of faults acts on
  virtual std::uint64_t packets() const = 0;  // injected, acknowledgements included
  virtual std::uint64_t payload_bytes() const = 0;  // of these packets
  virtual PageStatistics pages() const { return {}; }  // where addresses are translated
  virtual ReliabilityStatistics reliability() const { return {}; }
  virtual std::vector<GatewayUse> gateways() const { return {}; }  // between two networks
  virtual std::uint64_t active() const = 0;  // descriptors whose completions are not all there
};

// Parts of which an interface is made. All references outlive it.
struct NicSetup {
  EventQueue& events;
  const Topology& topology;
  const NetworkConfig& network;
  const NiConfig& config;
  NicListener& listener;
  MakeNetwork make_network = exanet::make_network;
};

struct NicKind {
  const char* name;  // as --nic calls it
  const char* help;  // what it costs, as a clause
  // Ranks of jobs use it through the message library of core/protocol, at the costs of processor and protocol;
  // otherwise a message of theirs is a descriptor.
  bool message_library;
  bool ordered;  // transfers between two nodes arrive in the order in which they were posted
  std::unique_ptr<Nic> (*make)(const NicSetup& setup);  // throws ConfigError on a figure that it cannot be built with
  bool retransmits = false;  // what the network loses, whatever ni.reliability says
  bool one_rail = false;  // it rejects endpoints with several
};

const std::vector<NicKind>& nic_kinds();  // at packet level
std::vector<std::string> nic_names();
// Throws ConfigError, naming those that there are.
const NicKind& nic_kind(const std::string& name);
// That of the message library at flow level (core/nic/flow): it makes no network of packets.
const NicKind& flow_interface();

}  // namespace exanet
