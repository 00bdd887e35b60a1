// SPDX-License-Identifier: Apache-2.0
// Cuts descriptors into pieces for the channels of interfaces in the gateware's cycles, and puts together what becomes
// of these: arrivals in order, ends, fences, reads that others serve. Model and limits: gateware_transfers.hpp.
#include "core/nic/exanet/gateware_transfers.hpp"

#include <algorithm>

#include "core/units/check.hpp"

namespace exanet {

namespace {

constexpr std::uint64_t kPiece = std::uint64_t{1} << GatewareInterfaces::kPieceBits;  // bytes
constexpr std::size_t kMostPieces = std::size_t{1} << 17;  // at once, by the addresses that there are

}  // namespace

GatewareTransfers::GatewareTransfers(NicContext& context, std::size_t nodes, NodeBus& bus,
                                     GatewareInterfaces& interfaces)
    : context_(context), bus_(bus), interfaces_(interfaces), nodes_(nodes) {
  on_arrived_ = context.events.add_handler(
      [](void* self, Time, std::uint32_t id, std::uint64_t) { static_cast<GatewareTransfers*>(self)->arrived(id); },
      this);
  on_ended_ =
      context.events.add_handler([](void* self, Time, std::uint32_t id,
                                    std::uint64_t) { static_cast<GatewareTransfers*>(self)->source_notified(id); },
                                 this);
  on_served_ = context.events.add_handler(
      [](void* self, Time, std::uint32_t id, std::uint64_t) { static_cast<GatewareTransfers*>(self)->asked(id); },
      this);
  if (context.config.pages_bytes != 0) buffers_.emplace(context.config.pages_bytes, nodes);
  bus.join(*this);
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

void GatewareTransfers::post(const RdmaTransfer& transfer) {
  const bool replies = transfer.part == RdmaTransfer::Part::kReply;
  if (const auto read = reads_.find(transfer.user); replies && read != reads_.end()) {
    transfers_[read->second].what.acknowledged = transfer.acknowledged;  // its data are on their way
    return;
  }
  const std::uint32_t id = allocate(transfer);
  // One whose request took no time takes none, whatever has begun meanwhile.
  if (context_.zero_cost || replies) return void(context_.events.schedule(context_.events.now(), on_arrived_, id));
  store_pieces(id);
}

std::uint32_t GatewareTransfers::allocate_piece(std::uint32_t id) {
  if (free_pieces_.empty()) {
    EXANET_CHECK(pieces_.size() < kMostPieces, "more transfers at once than there are addresses for", pieces_.size(), 0,
                 0);
    free_pieces_.push_back(static_cast<std::uint32_t>(pieces_.size()));
    pieces_.push_back(0);
  }
  const std::uint32_t piece = free_pieces_.back();
  free_pieces_.pop_back();
  pieces_[piece] = id;
  return piece;
}

void GatewareTransfers::store_pieces(std::uint32_t id) {
  Transfer& t = transfers_[id];
  const RdmaTransfer& what = t.what;
  const bool read = reads(t);
  const std::uint64_t bytes = read ? what.asks_for : what.bytes;
  t.on_network = true;
  t.pieces = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, (bytes + kPiece - 1) / kPiece));
  t.fenced = !read && (what.notifies || bytes == 0);
  t.left = read || t.fenced ? t.pieces : bytes;
  if (read)
    reads_[what.user] = id;
  else
    order_.sent(what.src, what.dst, id);
  for (std::uint64_t at = 0, left = t.pieces; left > 0; at += kPiece, --left) {
    const std::uint32_t piece = allocate_piece(id);
    nodes_[what.src].waiting.push_back({.dst = what.dst,
                                        .own = piece * kPiece,
                                        .target = piece * kPiece,
                                        .length = static_cast<std::uint32_t>(std::min(kPiece, bytes - at)),
                                        .notify = true,
                                        .user = piece,
                                        .fence = t.fenced,
                                        .fence_word = GatewareInterfaces::fence_word(piece),
                                        .end_word = GatewareInterfaces::end_word(piece),
                                        .read = read});
    if (buffers_) translate(nodes_[what.src].waiting.back(), what, bytes, at);
  }
  bus_.posted(what.src);
}

// A piece that begins so far behind the beginning of both buffers.
void GatewareTransfers::translate(TransferStore& piece, const RdmaTransfer& what, std::uint64_t bytes,
                                  std::uint64_t at) {
  piece.own = buffers_->of(what.src, what.own, bytes) + at;
  piece.target = buffers_->of(what.dst, what.target, bytes) + at;
  piece.end_word = buffers_->word(what.src, what.own.process, piece.user);
  piece.fence_word = buffers_->word(what.dst, what.target.process, piece.user);
}

std::uint32_t GatewareTransfers::free_channels(NodeId id) {
  Node& node = nodes_[id];
  for (const Cycle now = bus_.cycle(); !node.freed.empty() && node.freed.front() <= now; node.freed.pop_front())
    ++node.channels;
  return node.channels;
}

std::uint32_t GatewareTransfers::beats(NodeId id) {
  const Node& node = nodes_[id];
  if (node.waiting.empty() || free_channels(id) == 0) return 0;
  return GatewareInterfaces::beats(node.waiting.front());
}

void GatewareTransfers::go(NodeId id, Cycle from) {
  Node& node = nodes_[id];
  --node.channels;
  const TransferStore piece = node.waiting.front();
  node.waiting.pop_front();
  interfaces_.store(id, piece, from);
}

// Those of a read are reported by its end.
void GatewareTransfers::written(std::uint64_t piece, bool fence, std::uint32_t bytes, Cycle at) {
  const std::uint32_t id = pieces_[piece];
  Transfer& t = transfers_[id];
  if (reads(t) || t.fenced != fence) return;
  t.left -= t.fenced ? 1 : bytes;
  if (t.left == 0) context_.events.schedule(visible_at(context_, at, context_.config.memory_write), on_arrived_, id);
}

void GatewareTransfers::ended(NodeId node, std::uint64_t piece, TransferEnding ending, Cycle at) {
  nodes_[node].freed.push_back(at + 1);
  bus_.look(node, at + 1);
  const std::uint32_t id = pieces_[piece];
  free_pieces_.push_back(static_cast<std::uint32_t>(piece));
  Transfer& t = transfers_[id];
  if (ending != TransferEnding::kWhole) t.status = status_of(ending);
  if (--t.pieces > 0) return;
  const bool missing = !reads(t) && t.status != Status::kOk && t.left > 0;
  t.ended |= missing;
  context_.events.schedule(visible_at(context_, at, context_.config.memory_write),
                           reads(t) || missing ? on_arrived_ : on_ended_, id);
}

// The request of a read has come in the present cycle, of its first piece at least.
void GatewareTransfers::served(std::uint64_t piece) {
  const std::uint32_t id = pieces_[piece];
  if (transfers_[id].served) return;
  transfers_[id].served = true;
  context_.events.schedule(time_of(bus_.cycle() + 1, context_.router.cycle), on_served_, id);
}

// Whoever owns the bytes replies at once.
void GatewareTransfers::asked(std::uint32_t id) {
  --context_.active;
  context_.listener.transfer_completed(transfers_[id].what.user, Status::kOk, context_.events.now());
}

void GatewareTransfers::arrived(std::uint32_t id) {
  const Transfer& t = transfers_[id];
  if (!t.on_network || reads(t)) return notify(id, t.status, true);
  const Status status = t.left > 0 ? t.status : Status::kOk;
  order_.arrived(t.what.src, t.what.dst, id, status,
                 [&](std::uint32_t due, Status its) { notify(due, its, transfers_[due].ended); });
}

void GatewareTransfers::notify(std::uint32_t id, Status status, bool ends) {
  Transfer& t = transfers_[id];
  t.notified = true;
  const std::uint64_t user = t.what.user;  // the listener may post transfers and so move the table
  if (t.on_network && reads(t)) reads_.erase(user);
  if (!t.what.acknowledged) --context_.active;
  if (ends) t.what.acknowledged ? void(context_.events.schedule(context_.events.now(), on_ended_, id)) : release(id);
  context_.listener.transfer_completed(user, status, context_.events.now());
}

// Whoever sent it is notified no earlier than the other one.
void GatewareTransfers::source_notified(std::uint32_t id) {
  Transfer& t = transfers_[id];
  t.ended = true;
  if (!t.notified) return;
  const std::uint64_t user = t.what.user;
  const bool acknowledged = t.what.acknowledged;
  const Status status = t.status;
  release(id);
  if (!acknowledged) return;
  --context_.active;
  context_.listener.transfer_acknowledged(user, status, context_.events.now());
}

}  // namespace exanet
