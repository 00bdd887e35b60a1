// SPDX-License-Identifier: Apache-2.0
// The network interfaces of all nodes: packetizers, mailboxes and RDMA engines above the fabric.
//
// A *control* message is one packetizer packet into a mailbox (router port 0). A *transfer* is what an RDMA engine moves (port 1): cut into
// packets, grouped into blocks that the far end acknowledges, with a window of blocks in flight. Transfers between the same two nodes start
// and arrive in the order in which they were given, whatever their kind, which is what one-sided ordering needs; between different
// destinations an engine takes turns packet by packet. RDMA requests (reads, atomics) are transfers too, so they cannot overtake a put.
//
// An interface with a clock looks at its ports at clock edges, and last of all that happens at an edge: what it sends then depends on what has
// come and what room there is by that edge, and not on the order in which the network has told it of them.
//
// Limits: the receiving side takes data at port rate; address translation always hits.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/engine/event_queue.hpp"
#include "core/fabric/fabric.hpp"
#include "core/nic/config.hpp"
#include "core/topology/topology.hpp"

namespace exanet {

// Contract: called at the queue's present time, never from inside send_control() or start_transfer().
class InterfaceListener {
 public:
  virtual ~InterfaceListener() = default;
  virtual void control_arrived(std::uint64_t user, Time now) = 0;       // visible in the mailbox
  virtual void data_arrived(std::uint64_t user, Time now) = 0;          // whole transfer in memory at the destination
  virtual void data_acknowledged(std::uint64_t user, Time now) = 0;     // the source has the last acknowledgement
  virtual void packet_delivered(Time latency) = 0;                      // statistics
};

class Interfaces {
 public:
  // Throws std::invalid_argument when a figure of `config` cannot be built on this router, or `make` throws it.
  Interfaces(EventQueue& events, const Topology& topology, const FabricConfig& fabric, const NiConfig& config,
             InterfaceListener& listener, const MakeNetwork& make = make_fabric);

  void send_control(NodeId src, NodeId dst, std::uint32_t bytes, std::uint64_t user);
  // `reads_memory`: the data come out of the source's memory (a request carries its few words in the descriptor).
  void start_transfer(NodeId src, NodeId dst, std::uint64_t bytes, bool acknowledged, bool reads_memory, std::uint64_t user);

  // While instant, nothing that begins takes time or uses the fabric: before MPI_Init has returned and after MPI_Finalize was entered.
  // What is on the network at a change ends there.
  void set_instant(bool instant) { instant_ = instant; }
  const Network& network() const { return *network_; }
  std::uint64_t packets() const { return packets_; }
  std::uint64_t payload_bytes() const { return payload_bytes_; }  // of these packets
  // Transfers and control messages under way.
  std::uint64_t active() const { return active_; }

 private:
  struct Transfer {
    NodeId src, dst;
    std::uint64_t bytes, sent, received;
    std::uint32_t blocks_sent, blocks_acked;
    bool acknowledged, begun;
    Time ready_at;
    std::uint64_t user;
  };
  struct Lane { NodeId dst; std::deque<std::uint32_t> waiting; };   // transfers to one destination, in order
  struct Node {
    std::deque<Packet> control;        // refused by port 0
    std::deque<Packet> acks;           // refused by port 1
    std::vector<Lane> lanes;           // lanes with work
    std::size_t turn = 0;
    bool stalled = false;              // port 1 refused data ...
    bool acks_stalled = false;         // ... and acknowledgements, which have priority
    bool control_stalled = false;
    Time look_at[2] = {Time::ps(-1), Time::ps(-1)};  // the edge at which a port will be looked at, if one is due
    Time mailbox_idle;                 // the writer of mailbox messages into the cache is free from then on
  };

  void port_ready(NodeId node, std::uint8_t port, std::uint8_t priority, Time now);
  void send_packet(const Packet& packet);
  void send_ack(std::uint32_t id, Time now);
  void look(NodeId node, std::uint8_t port, Time now);
  void edge(NodeId node, std::uint8_t port, bool last, Time now);
  void pump_control(NodeId node);
  void pump(NodeId node, Time now);
  bool sendable(const Transfer& t, Time now) const;
  std::uint32_t next_payload(const Transfer& t) const;
  void delivered(const Packet& packet, Time injected, Time now);
  void data_packet(std::uint32_t id, std::uint32_t bytes, Time now);
  void ack_packet(std::uint32_t id, Time now);
  void finish(std::uint32_t id, Time now);
  std::uint32_t allocate();

  EventQueue& events_;
  NiConfig config_;
  std::uint32_t max_payload_;
  InterfaceListener& listener_;
  std::unique_ptr<Network> network_;
  std::vector<Node> nodes_;
  std::vector<Transfer> transfers_;
  std::vector<std::uint32_t> free_;
  std::uint32_t on_control_, on_pump_, on_edge_, on_data_, on_ack_instant_;
  std::uint64_t packets_ = 0, payload_bytes_ = 0, active_ = 0;
  bool instant_ = true;
};

}  // namespace exanet
