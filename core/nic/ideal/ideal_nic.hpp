// SPDX-License-Identifier: Apache-2.0
// Network interfaces that cost nothing: a message is in the network as soon as that has space for it, and complete with
// its last word.
//
// An interface cuts its messages into packets and hands over one packet of each message in turn, as an RDMA engine with
// many channels does, as fast as the router's intra-tile port takes them. A message may be paced: its packets then are
// due one by one, at a rate of its own, and the one whose turn it is holds up those behind it until it is due. With
// several rails messages take turns by the ports of their rail (injection_ports.hpp).
//
// Limits: one class of packets a node, so that a packet that was not taken holds up no other class; no port but the
// first.
#pragma once

#include <cstdint>
#include <vector>

#include "core/nic/ideal/injection_ports.hpp"
#include "core/nic/in_order.hpp"
#include "core/nic/nic.hpp"

namespace exanet {

struct IdealMessage {
  NodeId src, dst;
  std::uint64_t bytes;
  std::uint64_t user;
  std::uint8_t priority = 0;
  double next_ps = 0,
         every_ps = 0;  // paced, if `every_ps` is above 0: its first packet is due, and each one after the other
};

class IdealNic final : public Nic {
 public:
  // Packets carry up to `packet_bytes`.
  IdealNic(const NicSetup& setup, std::uint32_t packet_bytes);

  void post(const PacketizerMessage& m) override { enqueue({m.src, m.dst, m.bytes, m.user}, kMessage); }
  void post(const RdmaTransfer& t) override {
    enqueue({t.src, t.dst, t.bytes, t.user}, t.acknowledged ? kAcknowledged : kTransfer);
  }
  void post(const IdealMessage& message) { enqueue(message, kTransfer); }
  void doorbell(NodeId node) override;
  // Is called when the network has taken a message's last packet, with its user word; also from post's doorbell().
  using Injected = void (*)(void* context, std::uint64_t user);
  void on_injected(Injected injected, void* context) {
    injected_ = injected;
    injected_context_ = context;
  }
  // Something posted there, to go by the same ports as a message to `dst`, has not been injected altogether.
  bool waiting(NodeId node, NodeId dst) const { return queues_[queue_of(node, dst)].first != kNone; }

  const Network& network() const override { return *network_; }
  FaultTarget& links() override { return *network_; }
  std::uint64_t packets() const override { return packets_; }
  std::uint64_t payload_bytes() const override { return payload_bytes_; }
  std::uint64_t active() const override { return active_; }

 private:
  enum Kind : std::uint8_t { kMessage, kTransfer, kAcknowledged };
  struct Message {
    NodeId src, dst;
    std::uint32_t next;  // behind it at its interface, or the next free record
    std::uint8_t priority;
    Kind kind;
    bool injected;
    Status status;
    std::uint64_t to_inject, undelivered;  // bytes
    std::uint64_t user;
    double next_ps, every_ps;
  };
  struct Queue {  // of messages that are not yet injected altogether
    std::uint32_t first, last;
    std::uint32_t turn = 0;  // of rails
  };
  static constexpr std::uint32_t kNone = 0xffffffffu;

  PacketSink sink();
  void enqueue(const IdealMessage& message, Kind kind);
  std::uint32_t queue_of(NodeId node, NodeId dst) const { return node * ports_.queues() + ports_.queue_of(node, dst); }
  void feed_queue(NodeId node, std::uint32_t number);
  void took(Queue& queue, NodeId node, std::uint32_t bytes);
  void delivered(const Packet& packet, Time injected, Time tail);
  void lost(const Packet& packet, Status why, Time now);
  void check(const Packet& packet, Time now) const;
  void settle(const Packet& packet, Time now);

  EventQueue& events_;
  NicListener& listener_;
  std::uint32_t packet_bytes_;
  std::unique_ptr<Network> network_;
  Injected injected_ = nullptr;
  void* injected_context_ = nullptr;
  bool in_turn_;  // messages complete in the order in which they were posted by themselves
  InjectionPorts ports_;
  std::vector<Queue> queues_;  // by node, and number of its queue
  std::vector<Message> messages_;
  InOrder<std::uint64_t>
      order_;  // messages for mailboxes on their way, by user word, where packets overtake each other
  std::uint32_t free_ = kNone, on_due_ = 0;
  std::uint64_t packets_ = 0, payload_bytes_ = 0, active_ = 0;
};

}  // namespace exanet
