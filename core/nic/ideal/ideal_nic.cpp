// SPDX-License-Identifier: Apache-2.0
// Carries out the interface without costs: each queue of an endpoint gives one packet of a message in turn. Model and
// limits: ideal_nic.hpp.
#include "core/nic/ideal/ideal_nic.hpp"

#include <algorithm>
#include <cmath>

#include "core/nic/ideal/feed.hpp"
#include "core/units/check.hpp"

namespace exanet {

PacketSink IdealNic::sink() {
  PacketSink sink{this,
                  [](void* self, const Packet& packet, Time injected, Time tail) {
                    static_cast<IdealNic*>(self)->delivered(packet, injected, tail);
                  },
                  [](void* self, NodeId node, std::uint8_t intra_port, std::uint8_t, Time) {
                    auto& nic = *static_cast<IdealNic*>(self);
                    nic.feed_queue(node, nic.ports_.queue_at(intra_port));
                  }};
  sink.lost = [](void* self, const Packet& packet, Status why, Time now) {
    static_cast<IdealNic*>(self)->lost(packet, why, now);
  };
  return sink;
}

IdealNic::IdealNic(const NicSetup& setup, std::uint32_t packet_bytes)
    : events_(setup.events),
      listener_(setup.listener),
      packet_bytes_(packet_bytes),
      network_(setup.make_network(setup.events, setup.topology, setup.network, sink())),
      in_turn_(network_->keeps_order() && !network_->may_lose()),
      ports_(setup.topology, setup.network.router),
      queues_(std::size_t{setup.topology.node_count()} * ports_.queues(), Queue{kNone, kNone}) {
  on_due_ = events_.add_handler(
      [](void* self, Time, std::uint32_t node, std::uint64_t) { static_cast<IdealNic*>(self)->doorbell(node); }, this);
}

void IdealNic::enqueue(const IdealMessage& m, Kind kind) {
  std::uint32_t id = free_;
  if (id == kNone) {
    id = static_cast<std::uint32_t>(messages_.size());
    messages_.emplace_back();
  } else {
    free_ = messages_[id].next;
  }
  messages_[id] = {m.src,       m.dst,   kNone,   m.priority, kind,      false,
                   Status::kOk, m.bytes, m.bytes, m.user,     m.next_ps, m.every_ps};
  ++active_;
  if (kind == kMessage && !in_turn_) order_.sent(m.src, m.dst, m.user);
  Queue& queue = queues_[queue_of(m.src, m.dst)];
  (queue.first == kNone ? queue.first : messages_[queue.last].next) = id;
  queue.last = id;
}

void IdealNic::doorbell(NodeId node) {
  for (std::uint32_t number = 0; number < ports_.queues(); ++number) feed_queue(node, number);
}

void IdealNic::feed_queue(NodeId node, std::uint32_t number) {
  Queue& queue = queues_[node * ports_.queues() + number];
  feed(
      *network_,
      [&](Packet& packet) {
        const std::uint32_t id = queue.first;
        if (id == kNone) return false;
        const Message& m = messages_[id];
        if (m.every_ps > 0 && m.next_ps > static_cast<double>(events_.now().ps())) return false;  // its event comes
        const auto bytes = static_cast<std::uint16_t>(std::min<std::uint64_t>(m.to_inject, packet_bytes_));
        packet = {node, m.dst, bytes, ports_.port(number, queue.turn), m.priority, id};
        return true;
      },
      [&](const Packet& packet) { took(queue, node, packet.payload_bytes); });
}

// Goes on to the next message; the one that has had its turn waits for another one behind all others.
void IdealNic::took(Queue& queue, NodeId node, std::uint32_t bytes) {
  ++packets_;
  payload_bytes_ += bytes;
  ports_.pass(queue.turn);
  const std::uint32_t id = queue.first;
  Message& m = messages_[id];
  m.to_inject -= bytes;
  m.injected = m.to_inject == 0;
  if (m.next != kNone || m.injected) {
    queue.first = m.next;
    m.next = kNone;
    if (m.injected) {
      if (injected_ != nullptr) injected_(injected_context_, m.user);
      return;
    }
    messages_[queue.last].next = id;
    queue.last = id;
  }
  if (m.every_ps == 0) return;
  m.next_ps += m.every_ps;
  events_.schedule(max(events_.now(), Time::ps(static_cast<std::int64_t>(std::ceil(m.next_ps)))), on_due_, node);
}

void IdealNic::delivered(const Packet& packet, Time injected, Time tail) {
  if ((packet.notes & Packet::kTrimmed) != 0) return lost(packet, Status::kLost, tail);
  check(packet, tail);
  listener_.packet_delivered(packet, injected, tail);
  settle(packet, tail);
}

void IdealNic::lost(const Packet& packet, Status why, Time now) {
  check(packet, now);
  messages_[packet.user].status = why;
  settle(packet, now);
}

void IdealNic::check(const Packet& packet, Time now) const {
  const auto id = static_cast<std::uint32_t>(packet.user);
  EXANET_CHECK(id < messages_.size() && messages_[id].dst == packet.dst && messages_[id].src == packet.src &&
                   messages_[id].undelivered >= packet.payload_bytes,
               "a packet of no message has arrived", now.ps(), packet.user, packet.dst);
}

// The packet is not under way any more. With the last one the message is complete.
void IdealNic::settle(const Packet& packet, Time now) {
  const auto id = static_cast<std::uint32_t>(packet.user);
  messages_[id].undelivered -= packet.payload_bytes;
  if (messages_[id].undelivered > 0 || !messages_[id].injected) return;
  const Message m = messages_[id];
  messages_[id].dst = kNoNode;
  messages_[id].next = free_;
  free_ = id;
  --active_;
  const auto report = [&](std::uint64_t user, Status status) { listener_.message_completed(user, status, now); };
  if (m.kind == kMessage)
    return in_turn_ ? report(m.user, m.status) : order_.arrived(m.src, m.dst, m.user, m.status, report);
  listener_.transfer_completed(m.user, m.status, now);
  if (m.kind == kAcknowledged) listener_.transfer_acknowledged(m.user, m.status, now);
}

namespace nics {

NicKind ideal() {
  return {"ideal", "no costs: messages are cut into packets as fast as the router takes them", false, false,
          [](const NicSetup& setup) -> std::unique_ptr<Nic> {
            return std::make_unique<IdealNic>(setup,
                                              static_cast<std::uint32_t>(setup.network.router.max_payload_bytes));
          }};
}

}  // namespace nics

}  // namespace exanet
