// SPDX-License-Identifier: Apache-2.0
// The RDMA engines: transfers cut into packets, grouped into blocks that the far end acknowledges, with a window of blocks in flight.
//
// Transfers between the same two nodes start and arrive in the order in which they were given, whatever their kind, which is what one-sided
// ordering needs; between different destinations an engine takes turns packet by packet. RDMA requests (reads, atomics) are transfers too, so
// they cannot overtake a put. Acknowledgements go before data.
//
// A transfer to several nodes goes once, as any other, but that nobody acknowledges its blocks: it is complete at each
// node when all of it is there, and at its source when its last packet is in the network.
//
// Nothing is sent again. A transfer of which a packet is lost is given up: what has not been sent stays where it is, and once all that has been sent has
// arrived or is lost it completes with its status, at its destination and, if it is acknowledged, at its source. A lost acknowledgement fails the source alone,
// unless it waits for that one to send more.
//
// Limits: the receiving side takes data at port rate; address translation always hits; a source knows of a loss at once.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "core/nic/exanet/engine.hpp"
#include "core/nic/in_order.hpp"

namespace exanet {

class RdmaEngine {
 public:
  RdmaEngine(NicContext& context, std::size_t nodes);

  void post(const RdmaTransfer& transfer);
  void ready(NodeId node, std::uint8_t priority, Time now);  // the network has room again
  // The last word of a packet comes in `tail`, which is known then or before.
  void data_arrives(const Packet& packet, Time tail);
  void ack_arrives(std::uint32_t id, Time tail);
  void data_lost(const Packet& packet, Status why, Time now);
  void ack_lost(std::uint32_t id, Status why, Time now);

 private:
  struct Block {
    std::uint64_t number;
    std::uint32_t received;  // bytes
  };
  struct Transfer {
    NodeId src, dst;
    std::uint64_t bytes, sent, received;
    std::uint32_t blocks_sent, blocks_acked;
    bool acknowledged, begun;
    Time ready_at;
    std::uint64_t user;
    std::vector<Block> blocks = {};  // begun and not yet acknowledged, where packets overtake each other
    std::uint32_t copies_left = 0;  // nodes that have not all of it
    std::vector<std::uint64_t> received_at = {};  // of a transfer to several nodes: bytes, by node
    std::uint32_t behind = 0;  // the next one of its channel, if it is not the last
    Status status = Status::kOk, ack_status = Status::kOk;  // of the data, and of their acknowledgements
    bool completed = false;  // at its destination
    std::uint32_t acks_sent = 0;
    Time tail = {};  // of the last packet that has come, or will
    std::vector<Status> status_at = {};  // of a transfer to several nodes, once a packet is lost: by node
  };
  struct Channel {
    NodeId dst;
    std::uint32_t first, last;
  };  // transfers to one destination, in order, at least one
  struct Node {
    std::deque<Packet> acks;  // waiting for room
    std::vector<Channel> channels;  // those with work
    std::size_t turn = 0;
    bool refused = false;  // data ...
    bool acks_refused = false;  // ... and acknowledgements, which have priority
  };

  std::uint32_t allocate();
  void inject(NodeId node, Time now);
  void inject_acks(Node& node);
  void leave(Node& node, std::size_t channel);
  void give_up(std::uint32_t id, Status why);
  void write(Transfer& t, std::uint32_t id, Time now);
  void acknowledge(std::uint32_t id, Status status, Time now);
  bool sendable(const Transfer& t, Time now) const;
  std::uint32_t next_payload(const Transfer& t) const;
  void send_ack(std::uint32_t id, Time now);
  void ack_arrived(std::uint32_t id, Time now);
  bool fills_block(Transfer& t, const Packet& packet) const;
  void complete(std::uint32_t id, Time now);
  void copy_arrives(Transfer& t, std::uint32_t id, const Packet& packet, Time tail);
  void complete_copy(std::uint32_t id, NodeId node, Time now);

  NicContext& context_;
  std::uint32_t max_payload_;
  std::vector<Node> nodes_;
  std::vector<Transfer> transfers_;
  std::vector<std::uint32_t> free_;
  InOrder<std::uint32_t> order_;  // transfers on their way, where packets overtake each other
  PortClock port_;
  std::uint32_t on_ready_, on_complete_, on_block_, on_ack_, on_copy_, on_sent_;
};

}  // namespace exanet
