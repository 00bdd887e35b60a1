// SPDX-License-Identifier: Apache-2.0
// Carries out the RDMA engines by times: channels by destination take turns packet by packet at the router's port; a
// received block or transfer leads to an acknowledgement, which goes before data, as read requests do. Model and
// limits: rdma_engine.hpp; rate control: rdma_pacing.cpp.
#include "core/nic/exanet/rdma_engine.hpp"

#include <algorithm>

#include "core/topology/multicast.hpp"
#include "core/units/check.hpp"

namespace exanet {

RdmaEngine::RdmaEngine(NicContext& context, std::size_t nodes)
    : context_(context),
      memory_(context.config, nodes),
      max_payload_(static_cast<std::uint32_t>(context.router.max_payload_bytes)),
      nodes_(nodes),
      port_(context, nodes, this,
            [](void* self, NodeId node, Time now) { static_cast<RdmaEngine*>(self)->inject(node, now); }) {
  on_ready_ =
      context.events.add_handler([](void* self, Time now, std::uint32_t node,
                                    std::uint64_t) { static_cast<RdmaEngine*>(self)->port_.request(node, now); },
                                 this);
  on_request_ = context.events.add_handler(
      [](void* self, Time now, std::uint32_t id, std::uint64_t) {
        RdmaEngine& engine = *static_cast<RdmaEngine*>(self);
        Transfer& t = engine.transfers_[id];
        t.begun = true;
        engine.queue_control({t.src, t.dst, 0, kRdmaPort, 1, kDataPacket | id}, now);
      },
      this);
  on_complete_ = context.events.add_handler(
      [](void* self, Time now, std::uint32_t id, std::uint64_t) { static_cast<RdmaEngine*>(self)->complete(id, now); },
      this);
  on_block_ = context.events.add_handler(
      [](void* self, Time now, std::uint32_t id, std::uint64_t report) {
        static_cast<RdmaEngine*>(self)->send_ack(id, static_cast<std::uint32_t>(report), now);
      },
      this);
  on_ack_ = context.events.add_handler([](void* self, Time now, std::uint32_t id,
                                          std::uint64_t) { static_cast<RdmaEngine*>(self)->ack_arrived(id, now); },
                                       this);
  on_copy_ = context.events.add_handler(
      [](void* self, Time now, std::uint32_t id, std::uint64_t node) {
        static_cast<RdmaEngine*>(self)->complete_copy(id, static_cast<NodeId>(node), now);
      },
      this);
  on_sent_ = context.events.add_handler(
      [](void* self, Time now, std::uint32_t, std::uint64_t user) {
        static_cast<RdmaEngine*>(self)->context_.listener.multicast_sent(user, Status::kOk, now);
      },
      this);
}

std::uint32_t RdmaEngine::allocate() {
  if (free_.empty()) {
    transfers_.emplace_back();
    if (paced_) paced_transfers_.emplace_back();
    return static_cast<std::uint32_t>(transfers_.size() - 1);
  }
  const std::uint32_t id = free_.back();
  free_.pop_back();
  return id;
}

void RdmaEngine::post(const RdmaTransfer& t) {
  const std::uint32_t id = allocate();
  const NiConfig& cost = context_.config;
  const Time now = context_.events.now();
  const Time begins = now + cost.dma_start + (t.reads_memory ? cost.translation : Time());
  Transfer& own = transfers_[id];
  static_cast<Progress&>(own) = {.src = t.src,
                                 .dst = t.dst,
                                 .bytes = t.bytes,
                                 .send_left = cost.dma_block_bytes,
                                 .receive_left = cost.dma_block_bytes,
                                 .ready_at = begins,
                                 .user = t.user,
                                 .acknowledged = t.acknowledged,
                                 .request = t.part == RdmaTransfer::Part::kRequest,
                                 .own_streams = !t.reads_memory || memory_.streams(t.own.memory),
                                 .target_streams = memory_.streams(t.target.memory),
                                 .own_memory = t.own.memory,
                                 .target_memory = t.target.memory,
                                 .own = t.own.address,
                                 .target = t.target.address,
                                 .read_begins = begins};
  own.blocks.clear();
  if (paced_) paced_transfers_[id] = {};
  if (is_multicast(t.dst)) {
    EXANET_CHECK(!context_.zero_cost && !t.acknowledged && t.bytes > 0, "a transfer that cannot go to several nodes",
                 now.ps(), t.src, t.bytes);
    own.copies = std::make_unique<Copies>(Copies{t.copies, std::vector<std::uint64_t>(nodes_.size())});
  }
  if (context_.zero_cost) {
    context_.events.schedule(now, on_complete_, id);
    return;
  }
  if (own.request) {
    EXANET_CHECK(t.bytes == 0 && !t.acknowledged && !t.reads_memory, "a read request is one packet", now.ps(), t.src,
                 t.bytes);
    return void(context_.events.schedule(begins, on_request_, id));
  }
  if (!context_.keeps_order && !is_multicast(t.dst)) order_.sent(context_.node_of(t.src), context_.node_of(t.dst), id);
  if (t.reads_memory) own.ready_at = read_time(own);
  std::vector<Channel>& channels = nodes_[t.src].channels;
  auto channel = std::find_if(channels.begin(), channels.end(), [&](const Channel& c) { return c.dst == t.dst; });
  if (channel == channels.end()) {
    channels.push_back({t.dst, id, id});
  } else {
    transfers_[channel->last].behind = id;
    channel->last = id;
  }
  context_.events.schedule(own.ready_at, on_ready_, t.src);
}

std::uint64_t RdmaEngine::unsent(NodeId node) const {
  std::uint64_t bytes = 0;
  for (const Channel& channel : nodes_[node].channels)
    for (std::uint32_t id = channel.first;; id = transfers_[id].behind) {
      bytes += transfers_[id].bytes - transfers_[id].sent;
      if (id == channel.last) break;
    }
  return bytes;
}

void RdmaEngine::ready(NodeId node, std::uint8_t priority, Time now) {
  (priority != 0 ? nodes_[node].control_blocked : nodes_[node].blocked) = false;
  port_.request(node, now);
}

bool RdmaEngine::sendable(NodeId node, const Transfer& t, Time now) {
  return t.ready_at <= now && (!t.acknowledged || t.blocks_sent - t.blocks_acked < context_.config.dma_window_blocks) &&
         (!paced_ || may_send(node, t, now));
}

// When the data of the next packet are out of memory.
Time RdmaEngine::read_time(const Transfer& t) const {
  MemoryTarget& memory = memory_.of(t.own_memory);
  return memory.read({t.src, t.own + t.sent, t.own_streams ? t.bytes : next_payload(t), t.user, t.sent, t.bytes},
                     t.read_begins);
}

std::uint32_t RdmaEngine::next_payload(const Transfer& t) const {
  // Packets never straddle a block, so that each block's acknowledgement covers whole packets.
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(t.bytes - t.sent, std::min(max_payload_, t.send_left)));
}

void RdmaEngine::inject_control(Node& node) {
  while (!node.control_blocked && !node.control.empty()) {
    if (context_.network->inject(node.control.front()))
      node.control.pop_front();
    else
      node.control_blocked = true;
  }
}

void RdmaEngine::inject(NodeId node_id, Time now) {
  Node& node = nodes_[node_id];
  if (paced_) send_control(node_id, now);
  inject_control(node);
  std::size_t passed = 0;  // channels in a row that had nothing to send
  while (!node.blocked && passed < node.channels.size()) {
    if (node.turn >= node.channels.size()) node.turn = 0;
    Channel& channel = node.channels[node.turn];
    const std::uint32_t id = channel.first;
    Transfer& t = transfers_[id];
    if (!sendable(node_id, t, now)) {
      ++passed;
      ++node.turn;
      continue;
    }
    const std::uint32_t bytes = next_payload(t);
    const std::uint64_t block = context_.keeps_order ? 0 : t.sent / context_.config.dma_block_bytes;
    const Packet packet{t.src, t.dst, static_cast<std::uint16_t>(bytes), kRdmaPort, 0, kDataPacket | block << 32 | id};
    if (!context_.network->inject(packet)) {
      node.blocked = true;
      break;
    }
    passed = 0;
    took(node_id, t, packet, now);
    if (t.sent == t.bytes) {
      if (is_multicast(t.dst)) context_.events.schedule(now, on_sent_, 0, t.user);
      if (leave(node, node.turn)) {
        if (paced_ && !is_multicast(packet.dst)) [[unlikely]]
          paced_->ended(node_id, packet.dst, now);
        continue;
      }
    }
    ++node.turn;
  }
  if (!paced_) return;
  send_control(node_id, now);  // what the questions above led to
  inject_control(node);
}

// The network has a packet of a transfer.
inline void RdmaEngine::took(NodeId node, Transfer& t, const Packet& packet, Time now) {
  context_.count(packet);
  t.begun = true;
  t.sent += packet.payload_bytes;
  t.send_left -= packet.payload_bytes;
  if (t.send_left == 0 || t.sent == t.bytes) {
    ++t.blocks_sent;
    t.send_left = context_.config.dma_block_bytes;
  }
  if (paced_ && !is_multicast(t.dst)) [[unlikely]]
    paced_->sent(node, t.dst, packet.payload_bytes, now);
  if (!t.own_streams) [[unlikely]]
    read_next(node, t, now);
}

// Of a memory that is asked for each packet.
void RdmaEngine::read_next(NodeId node, Transfer& t, Time now) {
  if (t.sent == t.bytes) return;
  t.ready_at = read_time(t);
  if (t.ready_at > now) context_.events.schedule(t.ready_at, on_ready_, node);
}

// The first transfer of a channel has been sent, or is given up. True: it was the channel's last.
inline bool RdmaEngine::leave(Node& node, std::size_t index) {
  Channel& channel = node.channels[index];
  if (channel.first == channel.last) {
    node.channels.erase(node.channels.begin() + static_cast<std::ptrdiff_t>(index));
    return true;
  }
  channel.first = transfers_[channel.first].behind;
  return false;
}

void RdmaEngine::data_arrives(const Packet& packet, Time injected, Time tail) {
  const auto id = static_cast<std::uint32_t>(packet.user);
  Transfer& t = transfers_[id];
  if (is_multicast(t.dst)) return copy_arrives(t, id, packet, tail);
  if (!t.target_streams) [[unlikely]]
    t.written = max(
        t.written, memory_.of(t.target_memory)
                       .write({t.dst, t.target + t.received, packet.payload_bytes, t.user, t.received, t.bytes}, tail));
  t.received += packet.payload_bytes;
  if (paced_ && !t.request) [[unlikely]]
    note(id, packet, injected, tail);
  const bool ordered = context_.keeps_order;
  if (!ordered) t.tail = max(t.tail, tail);
  if (t.received == t.bytes) return write(t, id, tail);
  if (!t.acknowledged && !paced_) return;
  if (!(ordered ? fills_next_block(t, packet) : fills_block(t, packet))) return;
  const std::uint32_t report = paced_ ? report_on(id) : 0;
  if (t.acknowledged)
    context_.events.schedule(tail, on_block_, id, report);
  else
    send_report(report, tail);
}

// All of it is there, or lost: the last word is written once what was sent before it is there, too.
inline void RdmaEngine::write(Transfer& t, std::uint32_t id, Time now) {
  if (paced_ && !transfers_[id].request) paced_transfers_[id].report = report_on(id);
  const auto last = [&](std::uint32_t whole) {
    const Transfer& w = transfers_[whole];
    const Time there =
        w.target_streams ? memory_.of(w.target_memory).write({w.dst, w.target, w.bytes}, now) : max(w.written, now);
    context_.events.schedule(there, on_complete_, whole);
  };
  if (context_.keeps_order || t.request) return last(id);
  order_.arrived(context_.node_of(t.src), context_.node_of(t.dst), id, t.status,
                 [&](std::uint32_t whole, Status) { last(whole); });
}

// What has not been sent is not sent any more.
void RdmaEngine::give_up(std::uint32_t id, Status why) {
  Transfer& t = transfers_[id];
  t.status = why;
  if (t.sent == t.bytes) return;
  Node& node = nodes_[t.src];
  t.bytes = t.sent;
  for (std::size_t i = 0; i < node.channels.size(); ++i) {
    if (node.channels[i].dst != t.dst) continue;
    if (leave(node, i) && paced_) paced_->ended(t.src, t.dst, context_.events.now());
    break;
  }
  port_.request(t.src, context_.events.now());
}

void RdmaEngine::data_lost(const Packet& packet, Status why, Time now) {
  const auto id = static_cast<std::uint32_t>(packet.user);
  Transfer& t = transfers_[id];
  if (is_multicast(t.dst)) {
    t.copies->status.resize(nodes_.size(), Status::kOk);
    t.copies->status[packet.dst] = why;
    return copy_arrives(t, id, packet, now);
  }
  if (t.status == Status::kOk) give_up(id, why);
  t.received += packet.payload_bytes;
  if (context_.keeps_order) fills_next_block(t, packet);
  if (paced_) paced_transfers_[id].seen.bytes += packet.payload_bytes;
  if (t.received == t.bytes) write(t, id, max(t.tail, now));
}

void RdmaEngine::ack_lost(const Packet& packet, Status why, Time now) {
  if (paced_) heard(packet, now);  // its source knows of the loss
  if ((packet.user & kNoTransfer) != 0) return;
  const auto id = static_cast<std::uint32_t>(packet.user);
  Transfer& t = transfers_[id];
  t.ack_status = why;
  if (t.sent < t.bytes) {
    give_up(id, why);
    if (t.received == t.bytes) write(t, id, max(t.tail, now));
  }
  ack_arrived(id, now);
}

void RdmaEngine::ack_arrives(const Packet& packet, Time tail) {
  if (paced_) heard(packet, tail);
  if ((packet.user & kNoTransfer) == 0)
    context_.events.schedule(tail, on_ack_, static_cast<std::uint32_t>(packet.user));
}

void RdmaEngine::copy_arrives(Transfer& t, std::uint32_t id, const Packet& packet, Time tail) {
  std::uint64_t& received = t.copies->received[packet.dst];
  received += packet.payload_bytes;
  if (received != t.bytes) return;
  const Time there = memory_.of(t.target_memory).write({packet.dst, t.target, t.bytes}, tail);
  context_.events.schedule(there, on_copy_, id, packet.dst);
}

void RdmaEngine::complete_copy(std::uint32_t id, NodeId node, Time now) {
  Transfer& t = transfers_[id];
  const std::uint64_t user = t.user;  // the listener may start transfers and so move the table
  const Status status = t.copies->status.empty() ? Status::kOk : t.copies->status[node];
  if (--t.copies->left == 0) {
    t.copies.reset();
    free_.push_back(id);
  }
  --context_.active;
  context_.listener.multicast_completed(user, node, status, now);
}

// Whether all of the block that comes is there, of packets that come in order.
inline bool RdmaEngine::fills_next_block(Transfer& t, const Packet& packet) const {
  t.receive_left -= packet.payload_bytes;
  if (t.receive_left != 0) return false;
  t.receive_left = context_.config.dma_block_bytes;
  return true;
}

// Whether all of the packet's block is there, whatever is missing of others.
inline bool RdmaEngine::fills_block(Transfer& t, const Packet& packet) const {
  const std::uint64_t number = (packet.user & ~kPacketKind) >> 32;
  const bool is_last = !t.blocks.empty() && t.blocks.back().number == number;  // most often
  Block& block = is_last ? t.blocks.back() : block_of(t, number);
  block.missing -= packet.payload_bytes;
  if (block.missing != 0) return false;
  if (is_last)
    t.blocks.pop_back();
  else
    t.blocks.erase(t.blocks.begin() + (&block - t.blocks.data()));
  return true;
}

// A block of which packets have come, or, with its first one, a new one.
RdmaEngine::Block& RdmaEngine::block_of(Transfer& t, std::uint64_t number) const {
  for (Block& block : t.blocks)
    if (block.number == number) return block;
  const std::uint64_t left = t.bytes - number * context_.config.dma_block_bytes;
  return t.blocks.emplace_back(
      Block{number, static_cast<std::uint32_t>(std::min<std::uint64_t>(left, context_.config.dma_block_bytes))});
}

void RdmaEngine::send_ack(std::uint32_t id, std::uint32_t report, Time now) {
  Transfer& t = transfers_[id];
  if (t.status != Status::kOk) {
    if (report != 0) take_report(report, now);
    return;
  }
  ++t.acks_sent;
  Packet ack{t.dst, t.src, 0, kRdmaPort, 1, kAckPacket | id};
  if (report != 0) attach(ack, report);
  queue_control(ack, now);
}

void RdmaEngine::queue_control(const Packet& packet, Time now) {
  context_.count(packet);
  nodes_[packet.src].control.push_back(packet);
  port_.request(packet.src, now);
}

void RdmaEngine::complete(std::uint32_t id, Time now) {
  // Copied: the listener may start transfers and so move the table.
  Transfer& t = transfers_[id];
  const bool acknowledged = t.acknowledged, begun = t.begun;
  const std::uint64_t user = t.user;
  const std::uint32_t report = paced_ ? paced_transfers_[id].report : 0;
  const Status status = t.status;
  t.completed = true;
  if (!acknowledged) {
    free_.push_back(id);
    --context_.active;
  }
  context_.listener.transfer_completed(user, status, now);
  if (status != Status::kOk) [[unlikely]] {
    if (report != 0) take_report(report, now);
    if (acknowledged && transfers_[id].blocks_acked == transfers_[id].acks_sent) acknowledge(id, status, now);
  } else if (!acknowledged) {
    if (report != 0) send_report(report, now);
  } else if (!begun) {
    // It never was on the network. One that was ends there, even if a zero-cost phase follows.
    Transfer& own = transfers_[id];
    own.blocks_sent = own.blocks_acked + 1;
    context_.events.schedule(now, on_ack_, id);
  } else {
    send_ack(id, report, now);
  }
}

void RdmaEngine::ack_arrived(std::uint32_t id, Time now) {
  Transfer& t = transfers_[id];
  ++t.blocks_acked;
  const bool whole = t.received == t.bytes || !t.begun;
  if (t.status != Status::kOk) {
    if (t.completed && t.blocks_acked == t.acks_sent) acknowledge(id, t.status, now);
  } else if (whole && t.blocks_acked == t.blocks_sent && (t.sent == t.bytes || !t.begun)) {
    acknowledge(id, t.ack_status, now);
  } else {
    port_.request(t.src, now);
  }
}

void RdmaEngine::acknowledge(std::uint32_t id, Status status, Time now) {
  const std::uint64_t user = transfers_[id].user;
  free_.push_back(id);
  --context_.active;
  context_.listener.transfer_acknowledged(user, status, now);
}

}  // namespace exanet
