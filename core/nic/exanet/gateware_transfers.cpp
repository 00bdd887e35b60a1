// SPDX-License-Identifier: Apache-2.0
#include "core/nic/exanet/gateware_transfers.hpp"

#include <algorithm>

#include "core/units/check.hpp"

namespace exanet {

namespace {

constexpr std::uint64_t kPiece = std::uint64_t{1} << 30;  // bytes; a store's length has 32 bits
// Rounds of blocks until one comes again. Without losses none has to, but a fence that has overtaken its transfer's bytes: the longest where that cannot be,
// so that what waits in a congested network is not sent twice.
constexpr std::uint32_t kLongestPatience = 63, kPatience = 8;
// As many serve others' reads as stores have: whoever finds none asks again a round later, which is 105 us at 156.25 MHz.
constexpr std::uint32_t kChannels = 256, kKept = kChannels / 2;
constexpr std::uint64_t kWord = 8;  // bytes: what a fence and an end write

}  // namespace

TransfersConfig GatewareTransfers::config() const {
  const Time cycle = context_.router.cycle;
  const auto cycles = [&](Time time) { return std::max<Cycle>(1, cycle_of(next_edge(cycle, time), cycle)); };
  TransfersConfig config;
  config.cycle = cycle;
  config.channels = kChannels;
  config.kept_channels = kKept;
  config.patience = context_.network->keeps_order() ? kLongestPatience : kPatience;
  config.memory_read = cycles(context_.config.memory_read);
  config.memory_answer = cycles(context_.config.memory_write);
  return config;
}

GatewareTransfers::GatewareTransfers(NicContext& context, std::size_t nodes, AnswerPorts& answers)
    : context_(context),
      nodes_(nodes),
      sender_{context.events,
              config(),
              nodes,
              this,
              [](void* self, NodeId node, std::uint64_t id, TransferEnding ending, Cycle at) {
                EXANET_CHECK(ending == TransferEnding::kWhole, "a transfer that failed", at, node, id);
                static_cast<GatewareTransfers*>(self)->ended(static_cast<std::uint32_t>(id), node, at);
              },
              [](void* self, std::uint64_t id) {
                static_cast<GatewareTransfers*>(self)->served(static_cast<std::uint32_t>(id));
              }},
      receiver_{context.events, config(), nodes, this, [](void* self, const WrittenPacket& packet) {
                  static_cast<GatewareTransfers*>(self)->written(packet);
                }} {
  on_store_ = context.events.add_handler(
      [](void* self, Time, std::uint32_t node, std::uint64_t) { static_cast<GatewareTransfers*>(self)->store(node); },
      this);
  on_arrived_ = context.events.add_handler(
      [](void* self, Time, std::uint32_t id, std::uint64_t) { static_cast<GatewareTransfers*>(self)->arrived(id); },
      this);
  on_ended_ = context.events.add_handler(
      [](void* self, Time, std::uint32_t id, std::uint64_t) { static_cast<GatewareTransfers*>(self)->source_told(id); },
      this);
  sender_.attach(*context.network, answers, receiver_);
  receiver_.attach(*context.network, answers, sender_);
}

std::uint32_t GatewareTransfers::allocate(const RdmaTransfer& transfer) {
  if (free_.empty()) {
    transfers_.emplace_back();
    free_.push_back(static_cast<std::uint32_t>(transfers_.size() - 1));
  }
  const std::uint32_t id = free_.back();
  free_.pop_back();
  transfers_[id] = {transfer};
  return id;
}

void GatewareTransfers::release(std::uint32_t id) { free_.push_back(id); }

void GatewareTransfers::post(const RdmaTransfer& transfer) {
  const bool replies = transfer.part == RdmaTransfer::Part::kReply;
  if (const auto read = reads_.find(transfer.user); replies && read != reads_.end()) {
    transfers_[read->second].what.acknowledged = transfer.acknowledged;  // its data are on their way
    return;
  }
  const std::uint32_t id = allocate(transfer);
  // One whose request took no time takes none, whatever has begun meanwhile.
  if (context_.instant || replies) return void(context_.events.schedule(context_.events.now(), on_arrived_, id));
  store_pieces(id);
}

void GatewareTransfers::store_pieces(std::uint32_t id) {
  Transfer& t = transfers_[id];
  const RdmaTransfer& what = t.what;
  const bool read = reads(t);
  const std::uint64_t bytes = read ? what.asks_for : what.bytes;
  t.on_network = true;
  t.pieces = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, (bytes + kPiece - 1) / kPiece));
  t.fenced = !read && (what.told || bytes == 0);
  t.left = read || t.fenced ? t.pieces : bytes;
  if (read)
    reads_[what.user] = id;
  else
    order_.sent(what.src, what.dst, id);
  Node& node = nodes_[what.src];
  for (std::uint64_t at = 0, piece = 0; piece < t.pieces; ++piece, at += kPiece) {
    const Cycle now = cycle_of(next_edge(context_.router.cycle, context_.events.now()), context_.router.cycle);
    node.last = std::max(now, node.last) + 1;  // the bus takes a store in a cycle, as of messages
    node.waiting.push_back({{.dst = what.dst,
                             .own = at,
                             .target = at,
                             .length = static_cast<std::uint32_t>(std::min(kPiece, bytes - at)),
                             .notify = what.acknowledged || read,
                             .user = id,
                             .fence = t.fenced,
                             .fence_word = kWord * id,
                             .end_word = kWord * id,
                             .read = read},
                            node.last});
  }
  look(what.src, node.last);
}

// Looks at the first transfer that waits, not before it is at the interface.
void GatewareTransfers::look(NodeId id, Cycle at) {
  Node& node = nodes_[id];
  if (node.waiting.empty()) return;
  at = std::max(at, node.waiting.front().at);
  if (at >= node.event) return;
  node.event = at;
  context_.events.schedule(time_of(at, context_.router.cycle), on_store_, id);
}

void GatewareTransfers::store(NodeId id) {
  Node& node = nodes_[id];
  const Cycle now = cycle_of(context_.events.now(), context_.router.cycle);
  if (now != node.event) return;  // an earlier look came in between
  node.event = kUnknown;
  if (node.waiting.empty() || !sender_.is_free(id)) return;  // until the end of another frees a channel
  sender_.store(id, node.waiting.front().piece);
  node.waiting.pop_front();
  look(id, now + 1);
}

void GatewareTransfers::delivered(const Packet& packet, Time now) {
  context_.count(packet);
  receiver_.arrived(packet, cycle_of(now, context_.router.cycle) - 1);
}

Time GatewareTransfers::visible(Cycle at) const {
  return time_of(at, context_.router.cycle) + context_.config.memory_write;
}

// Those of a read are told of by its end.
void GatewareTransfers::written(const WrittenPacket& packet) {
  const TransferStore* const store = sender_.own(packet.src, packet.word.slot);
  if (store == nullptr) return;
  const auto id = static_cast<std::uint32_t>(store->user);
  Transfer& t = transfers_[id];
  if (t.fenced != packet.word.fence()) return;
  t.left -= t.fenced ? 1 : packet.bytes;
  if (t.left == 0) context_.events.schedule(visible(packet.at), on_arrived_, id);
}

void GatewareTransfers::ended(std::uint32_t id, NodeId node, Cycle at) {
  look(node, at + 1);
  Transfer& t = transfers_[id];
  if (--t.pieces == 0) context_.events.schedule(visible(at), reads(t) ? on_arrived_ : on_ended_, id);
}

// The request of a read has come, of its first piece at least: whoever owns the bytes replies at once.
void GatewareTransfers::served(std::uint32_t id) {
  Transfer& t = transfers_[id];
  if (t.served) return;
  t.served = true;
  --context_.active;
  context_.listener.transfer_arrived(t.what.user, context_.events.now());
}

void GatewareTransfers::arrived(std::uint32_t id) {
  const Transfer& t = transfers_[id];
  if (!t.on_network || reads(t)) return tell(id, true);
  order_.arrived(t.what.src, t.what.dst, id, [&](std::uint32_t due) { tell(due, transfers_[due].ended); });
}

void GatewareTransfers::tell(std::uint32_t id, bool ends) {
  Transfer& t = transfers_[id];
  t.told = true;
  const std::uint64_t user = t.what.user;  // the listener may post transfers and so move the table
  if (t.on_network && reads(t)) reads_.erase(user);
  if (!t.what.acknowledged) --context_.active;
  if (ends) t.what.acknowledged ? void(context_.events.schedule(context_.events.now(), on_ended_, id)) : release(id);
  context_.listener.transfer_arrived(user, context_.events.now());
}

// Whoever sent it is told no earlier than the other one.
void GatewareTransfers::source_told(std::uint32_t id) {
  Transfer& t = transfers_[id];
  t.ended = true;
  if (!t.told) return;
  const std::uint64_t user = t.what.user;
  const bool acknowledged = t.what.acknowledged;
  release(id);
  if (!acknowledged) return;
  --context_.active;
  context_.listener.transfer_acknowledged(user, context_.events.now());
}

}  // namespace exanet
