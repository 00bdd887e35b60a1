// SPDX-License-Identifier: Apache-2.0
#include "core/nic/interfaces.hpp"

#include <algorithm>
#include <stdexcept>

namespace exanet {
namespace {

// What a packet carries, in the two top bits of Packet::user; the rest is a transfer's number or the control message's user word.
constexpr std::uint64_t kControl = 0, kData = 1ull << 62, kAck = 2ull << 62, kKindMask = 3ull << 62;
constexpr std::uint8_t kMailboxPort = 0, kRdmaPort = 1;
constexpr std::uint64_t kLastOfEdge = 0x100;

NiConfig checked(const NiConfig& ni, const RouterConfig& router) {
  const auto require = [](bool condition, const char* what) {
    if (!condition) throw std::invalid_argument(what);
  };
  require(router.intra_ports >= 2, "intra_ports must be at least 2: one for mailboxes and one for RDMA");
  require(std::int64_t{ni.packet_max_bytes} <= router.max_payload_bytes, "packet_max is more than the router's max_payload");
  require(std::int64_t{ni.envelope_bytes} + ni.eager_max_bytes <= router.max_payload_bytes,
          "envelope and eager_max together are more than the router's max_payload: an eager message is one packet");
  require(router.max_payload_bytes > 0, "max_payload must not be 0");
  require(ni.dma_block_bytes > 0, "dma_block must not be 0");
  require(ni.dma_window_blocks > 0, "dma_window must be at least one block");
  require(ni.clock >= Time(), "the interface's clock must not be negative");
  return ni;
}

FabricConfig with_priority(FabricConfig fabric) {
  fabric.priority = true;  // acknowledgements
  return fabric;
}

}  // namespace

Interfaces::Interfaces(EventQueue& events, const Topology& topology, const FabricConfig& fabric, const NiConfig& config,
                       InterfaceListener& listener, const MakeNetwork& make)
    : events_(events),
      config_(checked(config, fabric.router)),
      max_payload_(static_cast<std::uint32_t>(fabric.router.max_payload_bytes)),
      listener_(listener),
      network_(make(events, topology, with_priority(fabric),
                    FabricSink{this,
                               [](void* self, const Packet& p, Time injected, Time now) {
                                 static_cast<Interfaces*>(self)->delivered(p, injected, now);
                               },
                               [](void* self, NodeId node, std::uint8_t port, std::uint8_t priority, Time now) {
                                 static_cast<Interfaces*>(self)->port_ready(node, port, priority, now);
                               }})),
      nodes_(topology.node_count()) {
  on_control_ = events_.add_handler(
      [](void* self, Time now, std::uint32_t, std::uint64_t user) {
        auto* me = static_cast<Interfaces*>(self);
        --me->active_;
        me->listener_.control_arrived(user, now);
      },
      this);
  on_pump_ = events_.add_handler(
      [](void* self, Time now, std::uint32_t node, std::uint64_t) { static_cast<Interfaces*>(self)->look(node, kRdmaPort, now); }, this);
  on_edge_ = events_.add_handler(
      [](void* self, Time now, std::uint32_t node, std::uint64_t what) {
        static_cast<Interfaces*>(self)->edge(node, static_cast<std::uint8_t>(what & 0xff), what & kLastOfEdge, now);
      },
      this);
  on_data_ = events_.add_handler(
      [](void* self, Time now, std::uint32_t id, std::uint64_t) { static_cast<Interfaces*>(self)->finish(id, now); }, this);
  on_ack_instant_ = events_.add_handler(
      [](void* self, Time now, std::uint32_t id, std::uint64_t) { static_cast<Interfaces*>(self)->ack_packet(id, now); }, this);
}

void Interfaces::send_control(NodeId src, NodeId dst, std::uint32_t bytes, std::uint64_t user) {
  ++active_;
  if (instant_) {
    events_.schedule(events_.now(), on_control_, 0, user);
    return;
  }
  send_packet(Packet{src, dst, static_cast<std::uint16_t>(bytes), kMailboxPort, 0, kControl | user});
}

void Interfaces::port_ready(NodeId node, std::uint8_t port, std::uint8_t priority, Time now) {
  Node& n = nodes_[node];
  (port == kMailboxPort ? n.control_stalled : priority != 0 ? n.acks_stalled : n.stalled) = false;
  look(node, port, now);
}

// Something may be sendable at `port`: sends it now or, with a clock, at the next edge.
void Interfaces::look(NodeId node, std::uint8_t port, Time now) {
  if (config_.clock == Time()) {
    if (port == kMailboxPort) pump_control(node);
    else pump(node, now);
    return;
  }
  const Time at = Time::ps((now.ps() + config_.clock.ps() - 1) / config_.clock.ps() * config_.clock.ps());
  if (nodes_[node].look_at[port] == at) return;
  nodes_[node].look_at[port] = at;
  events_.schedule(at, on_edge_, node, port);
}

// The first event of an edge puts a second one behind all that had been scheduled for the edge before it.
void Interfaces::edge(NodeId node, std::uint8_t port, bool last, Time now) {
  if (!last) {
    events_.schedule(now, on_edge_, node, kLastOfEdge | port);
    return;
  }
  nodes_[node].look_at[port] = Time::ps(-1);
  if (port == kMailboxPort) pump_control(node);
  else pump(node, now);
}

void Interfaces::send_packet(const Packet& packet) {
  ++packets_;
  payload_bytes_ += packet.payload_bytes;
  nodes_[packet.src].control.push_back(packet);
  look(packet.src, kMailboxPort, events_.now());
}

void Interfaces::pump_control(NodeId node_id) {
  Node& node = nodes_[node_id];
  while (!node.control_stalled && !node.control.empty()) {
    if (network_->inject(node.control.front())) node.control.pop_front();
    else node.control_stalled = true;
  }
}

std::uint32_t Interfaces::allocate() {
  if (free_.empty()) {
    transfers_.emplace_back();
    return static_cast<std::uint32_t>(transfers_.size() - 1);
  }
  const std::uint32_t id = free_.back();
  free_.pop_back();
  return id;
}

void Interfaces::start_transfer(NodeId src, NodeId dst, std::uint64_t bytes, bool acknowledged, bool reads_memory, std::uint64_t user) {
  const std::uint32_t id = allocate();
  const Time now = events_.now();
  ++active_;
  transfers_[id] = Transfer{src, dst, bytes, 0, 0, 0, 0, acknowledged, false,
                            now + config_.dma_start + (reads_memory ? config_.translation + config_.memory_read : Time()), user};
  if (instant_) {
    events_.schedule(now, on_data_, id);
    return;
  }
  Node& node = nodes_[src];
  auto lane = std::find_if(node.lanes.begin(), node.lanes.end(), [dst](const Lane& l) { return l.dst == dst; });
  if (lane == node.lanes.end()) lane = node.lanes.insert(node.lanes.end(), Lane{dst, {}});
  lane->waiting.push_back(id);
  events_.schedule(transfers_[id].ready_at, on_pump_, src);
}

bool Interfaces::sendable(const Transfer& t, Time now) const {
  return t.ready_at <= now && (!t.acknowledged || t.blocks_sent - t.blocks_acked < config_.dma_window_blocks);
}

std::uint32_t Interfaces::next_payload(const Transfer& t) const {
  // Packets never straddle a block, so that each block's acknowledgement covers whole packets.
  const std::uint64_t in_block = config_.dma_block_bytes - t.sent % config_.dma_block_bytes;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>({t.bytes - t.sent, max_payload_, in_block}));
}

void Interfaces::pump(NodeId node_id, Time now) {
  Node& node = nodes_[node_id];
  while (!node.acks_stalled && !node.acks.empty()) {
    if (network_->inject(node.acks.front())) node.acks.pop_front();
    else node.acks_stalled = true;
  }
  std::size_t passed = 0;  // lanes in a row that had nothing to send
  while (!node.stalled && passed < node.lanes.size()) {
    if (node.turn >= node.lanes.size()) node.turn = 0;
    Lane& lane = node.lanes[node.turn];
    const std::uint32_t id = lane.waiting.front();
    Transfer& t = transfers_[id];
    if (!sendable(t, now)) {
      ++passed;
      ++node.turn;
      continue;
    }
    const std::uint32_t bytes = next_payload(t);
    if (!network_->inject(Packet{t.src, t.dst, static_cast<std::uint16_t>(bytes), kRdmaPort, 0, kData | id})) {
      node.stalled = true;
      break;
    }
    passed = 0;
    ++packets_;
    payload_bytes_ += bytes;
    t.begun = true;
    t.sent += bytes;
    if (t.sent % config_.dma_block_bytes == 0 || t.sent == t.bytes) ++t.blocks_sent;
    if (t.sent == t.bytes) {
      lane.waiting.pop_front();
      if (lane.waiting.empty()) {
        node.lanes.erase(node.lanes.begin() + static_cast<std::ptrdiff_t>(node.turn));
        continue;
      }
    }
    ++node.turn;
  }
}

void Interfaces::delivered(const Packet& packet, Time injected, Time now) {
  listener_.packet_delivered(now - injected);
  const std::uint64_t user = packet.user & ~kKindMask;
  switch (packet.user & kKindMask) {
    case kData: data_packet(static_cast<std::uint32_t>(user), packet.payload_bytes, now); break;
    case kAck: ack_packet(static_cast<std::uint32_t>(user), now); break;
    default: {
      // Messages are written one after another, so that a short one cannot overtake a long one.
      Time& idle = nodes_[packet.dst].mailbox_idle;
      idle = max(idle, now) + config_.mailbox_word * ((packet.payload_bytes + 15) / 16);
      events_.schedule(idle + config_.mailbox, on_control_, 0, user);
    }
  }
}

void Interfaces::data_packet(std::uint32_t id, std::uint32_t bytes, Time now) {
  Transfer& t = transfers_[id];
  t.received += bytes;
  if (t.received == t.bytes) {
    events_.schedule(now + config_.memory_write, on_data_, id);
  } else if (t.acknowledged && t.received % config_.dma_block_bytes == 0) {
    send_ack(id, now);
  }
}

void Interfaces::send_ack(std::uint32_t id, Time now) {
  const Transfer& t = transfers_[id];
  ++packets_;
  nodes_[t.dst].acks.push_back(Packet{t.dst, t.src, 0, kRdmaPort, 1, kAck | id});
  look(t.dst, kRdmaPort, now);
}

void Interfaces::finish(std::uint32_t id, Time now) {
  // Copied: the listener may start transfers and so move the table.
  const Transfer t = transfers_[id];
  if (!t.acknowledged) {
    free_.push_back(id);
    --active_;
  }
  listener_.data_arrived(t.user, now);
  if (!t.acknowledged) return;
  if (!t.begun) {
    // It never was on the network. One that was ends there, even if all that follows is instant.
    Transfer& own = transfers_[id];
    own.blocks_sent = own.blocks_acked + 1;
    events_.schedule(now, on_ack_instant_, id);
  } else {
    send_ack(id, now);
  }
}

void Interfaces::ack_packet(std::uint32_t id, Time now) {
  Transfer& t = transfers_[id];
  ++t.blocks_acked;
  const bool whole = t.received == t.bytes || !t.begun;
  if (whole && t.blocks_acked == t.blocks_sent && (t.sent == t.bytes || !t.begun)) {
    const std::uint64_t user = t.user;
    free_.push_back(id);
    --active_;
    listener_.data_acknowledged(user, now);
  } else {
    look(t.src, kRdmaPort, now);
  }
}

}  // namespace exanet
