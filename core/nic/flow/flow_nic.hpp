// SPDX-License-Identifier: Apache-2.0
// The ExaNet interfaces over flows: the costs of core/nic/exanet, with transfers that move at rates in the place of
// their packets.
//
// Problem: a first answer for a program whose bulk data takes millions of packets. Model: what fits one packet
// (messages, requests, acknowledgements) takes what a packet takes in an empty network, behind the packets sent before
// it (FlowLinks); a longer transfer is a flow at its max-min fair rate (FlowSimulator), and is there when its last bit
// has passed the bottleneck and then the rest of the way. Transfers between two nodes go one after the other, as they
// do in an engine; read requests wait for none of them, as there.
//
// Limits: no queues but at the sender, so packets do not wait behind transfers nor transfers behind packets; routes
// that look at queues are rejected; the window of blocks of a transfer limits nothing; a change of rates is up to a
// nanosecond late. Nothing retransmits what a link that is down loses: its operation completes with a status.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "core/flow/flow_simulator.hpp"
#include "core/nic/exanet/engine.hpp"
#include "core/nic/exanet/mailbox.hpp"
#include "core/nic/flow/flow_links.hpp"
#include "core/nic/in_order.hpp"
#include "core/nic/nic.hpp"
#include "core/nic/targets/memory_target.hpp"

namespace exanet {

class FlowNic final : public Nic {
 public:
  // Throws ConfigError as ExanetNic does, and on routing that looks at queues.
  explicit FlowNic(const NicSetup& setup);

  void post(const PacketizerMessage& message) override;
  void post(const RdmaTransfer& transfer) override;
  void post(const ReductionPacket& packet) override;
  void doorbell(NodeId) override {}
  void set_zero_cost(bool zero_cost) override { context_.zero_cost = zero_cost; }

  bool reduces() const override { return context_.config.reduction_trees > 0; }

  const Network& network() const override { return links_; }
  FaultTarget& links() override { return links_; }
  Network& network() { return links_; }
  std::uint64_t packets() const override { return context_.packets; }
  std::uint64_t payload_bytes() const override { return context_.payload_bytes; }
  std::uint64_t active() const override { return context_.active; }

 private:
  struct Message {
    NodeId src, dst;
    std::uint32_t bytes;
    std::uint64_t user;
    bool operator==(const Message&) const = default;
  };
  struct Transfer {
    NodeId src, dst;
    std::uint64_t bytes;
    bool acknowledged, request, begun, arrived;
    Status status;
    Time ready_at;
    std::uint64_t user;
    ProcessBuffer target;
  };
  // Of one node to another one: transfers until they arrive, in order.
  struct Channel {
    std::deque<std::uint32_t> transfers;
    std::size_t begun = 0;  // the first so many of them
    bool moving = false;  // the last of those begun is a flow that has not left its sender
  };

  static std::uint64_t pair_of(const Transfer& t) { return std::uint64_t{t.src} << 32 | t.dst; }
  std::uint32_t mailbox_of(const Message& message) const;
  std::uint64_t packets_of(std::uint64_t bytes) const;
  FlowLinks::Sent send(NodeId src, NodeId dst, std::uint32_t bytes);
  void schedule(const FlowLinks::Sent& sent, std::uint32_t event, std::uint32_t id);
  void links_changed(Time now);
  void begin_due(Channel& channel);
  void begin(Channel& channel, std::uint32_t id);
  void send_whole(std::uint32_t id);
  void expect_flows();
  void move_flows(Time now);
  void take_arrivals(Time now);
  void arrived(std::uint32_t id, Status status, Time now);
  void write(std::uint32_t id, Time now);
  void complete(std::uint32_t id, Time now);
  void acknowledged(std::uint32_t id, Status status, Time now);

  NicContext context_;
  const std::uint64_t max_payload_;
  FlowLinks links_;
  FlowSimulator flows_;
  MemoryTargets memory_;
  Mailbox mailbox_;
  InOrder<std::uint32_t> order_;  // messages on their way, by number
  std::vector<Message> messages_;
  std::vector<std::uint32_t> free_messages_;
  std::vector<Transfer> transfers_;
  std::vector<std::uint32_t> free_transfers_;
  std::unordered_map<std::uint64_t, Channel> channels_;  // with transfers on their way, by pair of nodes
  std::vector<std::uint32_t> transfer_of_;  // by flow
  Time expected_ = Time::never();  // of the flows' next event that is in the queue
  std::uint32_t on_message_, on_ready_, on_flows_, on_arrived_, on_complete_, on_acknowledged_, on_reduction_;
};

}  // namespace exanet
