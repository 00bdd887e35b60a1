// SPDX-License-Identifier: Apache-2.0
#include "core/msg/engine.hpp"

#include <algorithm>
#include <cerrno>

namespace exanet {
namespace {

constexpr std::uint64_t kDeliveryAck = 1ull << 40;  // in a control message's user word: not the message itself but its acknowledgement

}  // namespace

MessageEngine::MessageEngine(EventQueue& events, const Topology& topology, const FabricConfig& fabric, const NiConfig& config,
                             std::vector<NodeId> placement, Host& host, const MakeNetwork& make)
    : events_(events),
      config_(config),
      host_(host),
      interfaces_(events, topology, fabric, config, *this, make),
      ranks_(placement.size()),
      atomic_unit_(topology.node_count()) {
  for (std::size_t r = 0; r < placement.size(); ++r) ranks_[r].node = placement[r];
  on_execute_ = events_.add_handler(
      [](void* self, Time now, std::uint32_t id, std::uint64_t) { static_cast<MessageEngine*>(self)->execute(id, now); }, this);
  on_progress_ = events_.add_handler(
      [](void* self, Time now, std::uint32_t rank, std::uint64_t) { static_cast<MessageEngine*>(self)->progress(rank, now); }, this);
  on_fetched_ = events_.add_handler(
      [](void* self, Time now, std::uint32_t id, std::uint64_t) { static_cast<MessageEngine*>(self)->fetched(id, now); }, this);
  on_step_ = events_.add_handler(
      [](void* self, Time, std::uint32_t id, std::uint64_t) {
        auto* me = static_cast<MessageEngine*>(self);
        const Op& op = *me->ops_[id];
        const NodeId there = me->node(op.c.peer.rank), here = me->node(op.rank);
        switch (op.stage) {
          case Stage::read_request: me->interfaces_.start_transfer(there, here, 0, false, false, id); break;
          case Stage::final_ack: me->interfaces_.send_control(there, here, me->config_.envelope_bytes, id); break;
          default: me->interfaces_.start_transfer(there, here, op.result_bytes, false, false, id); break;  // atomic_reply
        }
      },
      this);
}

MessageEngine::~MessageEngine() = default;

void MessageEngine::set_instant(bool instant) {
  instant_ = instant;
  interfaces_.set_instant(instant);
}

Time MessageEngine::lookahead() const {
  const Time stores = config_.store_word * ((config_.envelope_bytes + 15) / 16);
  const Time least = min(min(send_cpu() + stores + config_.packetizer, rdma_cpu()),
                         packet_cpu() + config_.store_word + config_.packetizer);
  return max(least, Time::ps(1));
}

std::uint32_t MessageEngine::allocate(RankId rank, const Command& c) {
  std::uint32_t id;
  if (free_.empty()) {
    id = static_cast<std::uint32_t>(ops_.size());
    ops_.push_back(std::make_unique<Op>());
  } else {
    id = free_.back();
    free_.pop_back();
  }
  Op& op = *ops_[id];
  std::vector<std::byte> payload = std::move(op.payload);  // keeps its capacity over lives
  op = Op{};
  op.c = c;
  op.rank = rank;
  payload.assign(c.payload, c.payload + c.payload_bytes);
  op.payload = std::move(payload);
  op.c.payload = nullptr;
  return id;
}

void MessageEngine::recycle(std::uint32_t id) {
  ops_[id]->stage = Stage::idle;
  free_.push_back(id);
}

void MessageEngine::finish(std::uint32_t id) {
  Op& op = *ops_[id];
  op.done = true;
  --live_;
  if (op.holds == 0) recycle(id);
}

void MessageEngine::drop_hold(std::uint32_t id) {
  Op& op = *ops_[id];
  if (--op.holds == 0 && op.done) recycle(id);
}

MessageEngine::Endpoint* MessageEngine::endpoint(RankId rank, std::uint16_t ep) {
  if (rank >= ranks_.size() || ep >= ranks_[rank].endpoints.size() || !ranks_[rank].endpoints[ep].open) return nullptr;
  return &ranks_[rank].endpoints[ep];
}

MessageEngine::Endpoint& MessageEngine::open_endpoint(RankId rank, std::uint16_t ep) {
  auto& endpoints = ranks_[rank].endpoints;
  if (ep >= endpoints.size()) endpoints.resize(ep + 1u);
  endpoints[ep] = Endpoint{};
  endpoints[ep].open = true;
  return endpoints[ep];
}

void MessageEngine::close_endpoint(RankId rank, std::uint16_t ep) {
  Endpoint* e = endpoint(rank, ep);
  if (!e) return;
  for (int tagged = 0; tagged < 2; ++tagged) {
    while (e->posted[tagged].head != kNone) {
      const std::uint32_t id = e->posted[tagged].head;
      remove(e->posted[tagged], id);
      ops_[id]->done = true;
      if (ops_[id]->holds == 0) recycle(id);
    }
    while (e->unexpected[tagged].head != kNone) {
      const std::uint32_t id = e->unexpected[tagged].head;
      take_waiting(e->unexpected[tagged], id);
      refuse(id, -ECONNRESET);
    }
  }
  while (e->claimed.head != kNone) {
    const std::uint32_t id = e->claimed.head;
    take_waiting(e->claimed, id);
    refuse(id, -ECONNRESET);
  }
  e->open = false;
}

void MessageEngine::submit(RankId rank, const Command& c) {
  Rank& r = ranks_[rank];
  switch (c.kind) {
    case CommandKind::ep_open: open_endpoint(rank, c.ep).raw = c.raw; return;
    case CommandKind::mem_register: r.memory.add(c.ignore, c.tag, c.len, c.access); return;
    case CommandKind::receive: post_receive(rank, c); return;
    default: break;
  }
  const std::uint32_t id = allocate(rank, c);
  ++live_;
  if (c.kind == CommandKind::mem_deregister) ops_[id]->result_bytes = r.memory.serial(c.ignore);
  const bool packetized = c.kind == CommandKind::send || c.kind == CommandKind::packet;
  const Time at = instant_ ? events_.now() : c.time + (packetized ? config_.packetizer : Time());
  events_.schedule(max(events_.now(), at), on_execute_, id);
}

void MessageEngine::execute(std::uint32_t id, Time now) {
  Op& op = *ops_[id];
  const Command& c = op.c;
  const bool outbound = c.kind == CommandKind::send || c.kind == CommandKind::packet || c.kind == CommandKind::put ||
                        c.kind == CommandKind::get || c.kind == CommandKind::atomic;
  if (outbound && c.peer.rank >= ranks_.size()) {
    fail(id, -EHOSTUNREACH, now);
    return;
  }
  switch (c.kind) {
    case CommandKind::send: {
      const bool eager = c.len <= config_.eager_max_bytes;
      op.stage = eager ? Stage::eager : Stage::request_to_send;
      if (eager && c.delivered) op.holds = 1;
      interfaces_.send_control(node(op.rank), node(c.peer.rank),
                               config_.envelope_bytes + (eager ? static_cast<std::uint32_t>(c.len) : 0), id);
      return;
    }
    case CommandKind::packet:
      op.stage = Stage::eager;
      interfaces_.send_control(node(op.rank), node(c.peer.rank), static_cast<std::uint32_t>(c.len), id);
      return;
    case CommandKind::put: start_put(id); return;
    case CommandKind::get: start_request(id, Stage::get_request, 0); return;
    case CommandKind::atomic: start_request(id, Stage::atomic_request, op.payload.size()); return;
    case CommandKind::peek: peek(id, now); break;
    case CommandKind::cancel: cancel(id, now); break;
    case CommandKind::ep_close: close_endpoint(op.rank, c.ep); break;
    case CommandKind::mem_deregister: ranks_[op.rank].memory.remove(c.ignore, op.result_bytes); break;
    default: break;
  }
  finish(id);
}

Completion MessageEngine::completion(const Op& op, CompletionKind kind, Time at) const {
  Completion done;
  done.kind = kind;
  done.ep = op.c.ep;
  done.status = op.status;
  done.time = at;
  done.cpu = config_.mailbox_read + config_.library_receive;
  done.peer = op.c.peer;
  done.cookie = op.c.cookie;
  done.len = op.c.len;
  done.tagged = op.c.tagged;
  return done;
}

Time MessageEngine::consume_cpu(std::uint64_t bytes) const {
  const std::int64_t lines = static_cast<std::int64_t>((bytes + 63) / 64);
  return config_.mailbox_read * std::max<std::int64_t>(lines, 1) + config_.library_receive;
}

void MessageEngine::complete_initiator(std::uint32_t id, CompletionKind kind, Time at) {
  const Op& op = *ops_[id];
  if (op.status == 0 ? !op.c.silent : !told(op)) host_.complete(op.rank, completion(op, kind, at));
}

// The sender of a message that was carried by value has its buffer back, and knows it, as soon as it is stored: nobody is left to tell of
// an error, unless he asked for delivery and has not been told of that.
bool MessageEngine::told(const Op& op) const {
  if (op.c.kind == CommandKind::packet || op.stage == Stage::unexpected) return true;
  const bool by_value = op.c.len <= config_.eager_max_bytes || !op.payload.empty();
  return op.c.kind == CommandKind::send && by_value && !op.c.delivered;
}

// At the initiator.
void MessageEngine::fail(std::uint32_t id, std::int32_t status, Time now) {
  Op& op = *ops_[id];
  op.status = status;
  static constexpr CompletionKind kinds[] = {CompletionKind::send, CompletionKind::receive, CompletionKind::peek, CompletionKind::none,
                                             CompletionKind::put, CompletionKind::get, CompletionKind::atomic, CompletionKind::send};
  complete_initiator(id, kinds[static_cast<int>(op.c.kind)], now);
  finish(id);
}

// At a message's destination: the sender hears of it by the same way as of an acknowledgement.
void MessageEngine::refuse(std::uint32_t id, std::int32_t status) {
  Op& op = *ops_[id];
  if (told(op)) {
    finish(id);
    return;
  }
  op.status = status;
  op.stage = Stage::final_ack;
  interfaces_.send_control(node(op.c.peer.rank), node(op.rank), 0, id);
}

void MessageEngine::control_arrived(std::uint64_t user, Time now) {
  const std::uint32_t id = static_cast<std::uint32_t>(user);
  Op& op = *ops_[id];
  if (user & kDeliveryAck) {
    complete_initiator(id, CompletionKind::send, now);
    drop_hold(id);
    return;
  }
  if (op.stage == Stage::final_ack) {
    complete_initiator(id, CompletionKind::send, now);
    finish(id);
    return;
  }
  if (op.c.kind == CommandKind::packet) {
    Endpoint* e = endpoint(op.c.peer.rank, op.c.peer.ep);
    if (e && e->raw) {
      Completion done = completion(op, CompletionKind::packet, now);
      done.ep = op.c.peer.ep;
      done.peer = Address{op.rank, op.c.ep};
      done.cpu = consume_cpu(op.c.len);
      done.payload = op.payload.data();
      done.payload_bytes = static_cast<std::uint32_t>(op.payload.size());
      host_.complete(op.c.peer.rank, done);
      host_.record(MessageRecord{op.rank, op.c.peer.rank, op.c.len, 0, Protocol::eager, op.c.time, now});
    }
    finish(id);
    return;
  }
  Endpoint* e = endpoint(op.c.peer.rank, op.c.peer.ep);
  if (!e || e->raw) {
    op.holds = 0;
    refuse(id, -ECONNREFUSED);
    return;
  }
  if (op.stage == Stage::eager && op.c.delivered) {
    interfaces_.send_control(node(op.c.peer.rank), node(op.rank), 0, id | kDeliveryAck);
  }
  message_arrived(id, *e, now);
}

void MessageEngine::data_arrived(std::uint64_t user, Time now) {
  const std::uint32_t id = static_cast<std::uint32_t>(user);
  Op& op = *ops_[id];
  switch (op.stage) {
    case Stage::read_request:  // at the sender's interface: its engine serves the read without its processor
      op.stage = Stage::read_data;
      ++op.holds;
      interfaces_.start_transfer(node(op.rank), node(op.c.peer.rank), std::min(op.c.len, op.room), true, op.payload.empty(), id);
      return;
    case Stage::read_data: {
      const std::uint64_t bytes = std::min(op.c.len, op.room);
      // Once the endpoint is closed its buffers are the program's again.
      const bool closed = !endpoint(op.c.peer.rank, op.c.peer.ep);
      const bool copied = closed             ? true
                          : op.payload.empty() ? copy(op.rank, op.c.addr, op.c.peer.rank, op.into, bytes)
                                               : host_.write(op.c.peer.rank, op.into, op.payload.data(), bytes);
      op.status = closed ? -ECONNRESET : copied ? 0 : -EFAULT;
      op.stage = Stage::read_done;
      events_.schedule(now + (instant_ ? Time() : config_.dma_completion), on_fetched_, id);
      return;
    }
    case Stage::put_data: put_arrived(id, now); return;
    case Stage::get_request: get_requested(id, now); return;
    case Stage::get_data: case Stage::get_refused: get_arrived(id, now); return;
    case Stage::atomic_request: atomic_requested(id, now); return;
    case Stage::atomic_reply: atomic_replied(id, now); return;
    default: return;
  }
}

void MessageEngine::data_acknowledged(std::uint64_t user, Time now) {
  const std::uint32_t id = static_cast<std::uint32_t>(user);
  if (ops_[id]->stage == Stage::put_data) {
    complete_initiator(id, CompletionKind::put, instant_ ? now : now + config_.dma_completion);
    finish(id);
  } else {
    drop_hold(id);
  }
}

}  // namespace exanet
