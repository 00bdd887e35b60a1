// SPDX-License-Identifier: Apache-2.0
// The RDMA engines: transfers cut into packets, grouped into blocks that the far end acknowledges, with a window of
// blocks in flight.
//
// Transfers between the same two nodes start and arrive in the order in which they were given, which is what the
// ordering of atomics needs; between different destinations an engine takes turns packet by packet. Read requests are
// control, as acknowledgements are: a packet each of the class that has priority, in no order with the transfers before
// it, which does not wait for a rate control. Where nodes have several rails and a policy spreads a pair over them,
// transfers on different rails start independently and arrive in order.
//
// A transfer to several nodes goes once, as any other, but that nobody acknowledges its blocks: it is complete at each
// node when all of it is there, and at its source when its last packet is in the network.
//
// Data come out of, and go to, the memories that a transfer's buffers name (core/nic/targets). With a rate control
// (core/nic/pacing) packets wait for its allowance, and the blocks of all transfers to one node are acknowledged;
// acknowledgements bring back what routers have noted.
//
// Nothing is sent again. A transfer of which a packet is lost is given up: what has not been sent stays where it is,
// and once all that has been sent has arrived or is lost it completes with its status, at its destination and, if it is
// acknowledged, at its source. A lost acknowledgement fails the source alone, unless it waits for that one to send
// more.
//
// Limits: the receiving side takes data at port rate; address translation always hits; a source knows of a loss at
// once.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/engine/pool.hpp"
#include "core/nic/exanet/engine.hpp"
#include "core/nic/in_order.hpp"
#include "core/nic/pacing/paced_flows.hpp"
#include "core/nic/targets/memory_target.hpp"

namespace exanet {

class RdmaEngine {
  // Of an acknowledgement's user word, above the number of its transfer: the number of its report, and that it is for
  // no transfer, but brings a report, or a control packet's stamp.
  static constexpr std::uint64_t kNoTransfer = 1ull << 61, kControl = 1ull << 60;
  static constexpr unsigned kReportShift = 32;
  static constexpr std::uint32_t kMostReports = (1u << 28) - 1;

 public:
  RdmaEngine(NicContext& context, std::size_t nodes);

  // From now on a rate control decides what may go; before the first post.
  void set_pacing(const PacingKind& kind, const PacingSetup& setup);

  void post(const RdmaTransfer& transfer);
  void ready(NodeId node, std::uint8_t priority, Time now);  // the network has space again
  // The last word of a packet comes in `tail`, which is known then or before.
  void data_arrives(const Packet& packet, Time injected, Time tail);
  void ack_arrives(const Packet& packet, Time tail);
  [[gnu::cold, gnu::noinline]] void data_lost(const Packet& packet, Status why, Time now);
  [[gnu::cold, gnu::noinline]] void ack_lost(const Packet& packet, Status why, Time now);

  std::uint64_t unsent(NodeId node) const;  // bytes of its transfers

 private:
  struct Block {
    std::uint64_t number;
    std::uint32_t missing;  // bytes
  };
  // What an acknowledgement reports to a rate control, beside what routers have noted, which is in its packet.
  struct Report {
    NodeId src, dst;  // of the data
    Feedback feedback;
    std::uint32_t next = 0;  // of those not in use
  };
  // Of a transfer that is paced: what has come since the last report, and the one that its last acknowledgement brings.
  struct Paced {
    Feedback seen{};
    std::uint32_t report = 0;  // behind its number; 0: none
  };
  // Of a transfer to several nodes.
  struct Copies {
    std::uint32_t left;  // nodes that have not all of it
    std::vector<std::uint64_t> received;  // bytes, by node
    std::vector<Status> status = {};  // by node, once a packet is lost
  };
  struct Progress {
    NodeId src, dst;
    std::uint64_t bytes, sent = 0, received = 0;
    std::uint32_t send_left, receive_left;  // bytes of the block that is being sent, and received, as if it were whole
    std::uint32_t blocks_sent = 0, blocks_acked = 0, acks_sent = 0;
    std::uint32_t behind = 0;  // the next one of its channel, if it is not the last
    Time ready_at;
    std::uint64_t user;
    bool acknowledged, begun = false;
    bool completed = false;  // at its destination
    bool request;  // of a read
    bool own_streams, target_streams;  // else each packet asks its memory
    std::uint8_t own_memory, target_memory;  // kinds
    Status status = Status::kOk, ack_status = Status::kOk;  // of the data, and of their acknowledgements
    std::uint64_t own, target;  // addresses in the memories
    Time read_begins;
    Time written = {};  // what has arrived is in memory, where that is asked for each packet
    Time tail = {};  // of the last packet that has come, or will, where packets may be lost
  };
  struct Transfer : Progress {
    std::vector<Block> blocks;  // begun and not yet acknowledged, where packets overtake each other
    std::unique_ptr<Copies> copies;  // null: it goes to one node
  };
  struct Channel {
    NodeId dst;
    std::uint32_t first, last;
  };  // transfers to one destination, in order, at least one
  struct Node {
    std::deque<Packet> control;  // acknowledgements, requests of reads and a rate control's packets, waiting for space
    std::vector<Channel> channels;  // those with work
    std::size_t turn = 0;
    bool blocked = false;  // data ...
    bool control_blocked = false;  // ... and control, which has priority
    Time wake_at = Time::never();  // the next look for the sake of a rate control
  };

  std::uint32_t allocate();
  void inject(NodeId node, Time now);
  void inject_control(Node& node);
  bool sendable(NodeId node, const Transfer& t, Time now);
  void took(NodeId node, Transfer& t, const Packet& packet, Time now);
  bool leave(Node& node, std::size_t channel);
  [[gnu::noinline]] void read_next(NodeId node, Transfer& t, Time now);
  [[gnu::cold, gnu::noinline]] void give_up(std::uint32_t id, Status why);
  void write(Transfer& t, std::uint32_t id, Time now);
  void acknowledge(std::uint32_t id, Status status, Time now);
  std::uint32_t next_payload(const Transfer& t) const;
  Time read_time(const Transfer& t) const;
  void send_ack(std::uint32_t id, std::uint32_t report, Time now);
  void queue_control(const Packet& packet, Time now);
  void ack_arrived(std::uint32_t id, Time now);
  bool fills_next_block(Transfer& t, const Packet& packet) const;
  bool fills_block(Transfer& t, const Packet& packet) const;
  [[gnu::noinline]] Block& block_of(Transfer& t, std::uint64_t number) const;
  void complete(std::uint32_t id, Time now);
  [[gnu::noinline]] void copy_arrives(Transfer& t, std::uint32_t id, const Packet& packet, Time tail);
  [[gnu::noinline]] void complete_copy(std::uint32_t id, NodeId node, Time now);

  // rdma_pacing.cpp
  [[gnu::noinline]] bool may_send(NodeId node, const Transfer& t, Time now);
  [[gnu::noinline]] void note(std::uint32_t id, const Packet& packet, Time injected, Time now);
  [[gnu::noinline]] std::uint32_t report_on(std::uint32_t id);
  [[gnu::noinline]] void attach(Packet& ack, std::uint32_t report) const;
  [[gnu::noinline]] void send_report(std::uint32_t report, Time now);
  [[gnu::noinline]] void heard(const Packet& ack, Time now);
  [[gnu::noinline]] void take_report(std::uint32_t report, Time now);
  [[gnu::noinline]] void send_control(NodeId node, Time now);
  void wake(NodeId node, Time at);

  NicContext& context_;
  MemoryTargets memory_;
  std::uint32_t max_payload_;
  std::vector<Node> nodes_;
  std::vector<Transfer> transfers_;
  std::vector<std::uint32_t> free_;
  InOrder<std::uint32_t> order_;  // transfers on their way, where packets overtake each other
  std::unique_ptr<PacedFlows> paced_;  // null: nothing is paced
  std::vector<Paced> paced_transfers_;
  Pool<Report, &Report::next> reports_;  // on their way
  PortClock port_;
  std::uint32_t on_ready_, on_request_, on_complete_, on_block_, on_ack_, on_copy_, on_sent_, on_wake_ = 0;
};

}  // namespace exanet
