// SPDX-License-Identifier: Apache-2.0
// What each kind of step of ni_transfers does to the slot that it is for, a function a case, named as in the gateware.
//
// Every step but a scan or answer that finds nothing to do changes one slot of one channel, and perhaps the window of
// PSNs of the channel's node. All of them end in settle(): the channel is queued for its next block, or its transfer
// has ended. Limits: as of transfer_sender.hpp.
#include <algorithm>

#include "core/nic/transfers/transfer_sender.hpp"

namespace exanet {

namespace {

constexpr std::uint8_t kMostNacks = 4;
constexpr std::uint32_t kFence = 8, kRequest = 16;  // bytes

}  // namespace

// Does what a step does that begins in this cycle, by the gateware's third and fourth.
void TransferSender::take_step(NodeId node, Node& n, Cycle cycle, Step step, std::uint32_t slot, Answer answer) {
  Channel& channel = n.channels[slot / 4];
  const At at{node, n, cycle, slot, channel, n.windows[channel.store.dst]};
  if (channel.failed() && channel.serves && channel.fence) {
    // What has not begun of a read that has failed comes no more, but for its end.
    channel.left = 0;
    begin_fence(channel);
  }
  switch (step) {
    case Step::kBegin: channel.waits = false; [[fallthrough]];
    case Step::kAdmit: begin(at); break;
    case Step::kEmit: emit(at); break;
    case Step::kScan: scan(at); break;
    case Step::kAnswer:
      if (answer.kind == AnswerKind::kAck) ack(at);
      if (answer.kind == AnswerKind::kNackBusy) nack(at);
      if (answer.kind == AnswerKind::kNackFault) fault(at, answer);
      if (answer.kind == AnswerKind::kEnd) release_slot(at, answer.failure);
      break;
  }
  settle(at);
}

// Begins the channel's next block in a free slot, where there are a PSN and space for its first packet.
void TransferSender::begin(At at) {
  Channel& channel = at.channel;
  const bool waits_for_psn_of_others = channel.fences && (channel.parked | channel.needs_psn) != 0;
  const bool may_begin =
      (!channel.failed() || (channel.serves && (channel.busy | channel.queued) == 0)) && !waits_for_psn_of_others;
  const auto usable = static_cast<unsigned>(~(channel.busy | channel.queued) & 15);
  const bool space = reader_.space_from(at.node) <= at.cycle;
  if (!space || channel.left == 0 || !may_begin || usable == 0 || channel.sending || at.window.is_full()) return;
  at.slot = at.slot / 4 * 4 + static_cast<std::uint32_t>(__builtin_ctz(usable));
  Block& block = at.block();
  const auto offset = static_cast<std::uint32_t>(channel.target % kBlock);
  const std::uint32_t bytes = std::min(channel.left, kBlock - offset);
  block.own = channel.own;
  block.target = channel.target;
  block.last_byte = static_cast<std::uint16_t>(offset + bytes - 1);
  block.at = static_cast<std::uint8_t>(offset / kPacket);
  block.tries.reset();
  block.backoff.reset();
  block.faults = 0;
  if (!channel.store.read) {
    channel.own += bytes;
    channel.target = (channel.target / kBlock + 1) * kBlock;
  }
  channel.left -= bytes;
  block.fence = channel.fences;
  if (channel.left == 0) begin_fence(channel);
  channel.busy |= at.bit();
  channel.sent_slot = static_cast<std::uint8_t>(at.slot % 4);
  assign_psn(at);
  if (channel.store.read) reads_[{at.node, channel.store.dst, block.psn}] = {channel.store, block.psn, at.slot};
  channel.sending = !send_packet(at, block.fence ? fence_dependencies(channel, at.slot) : 0);
  if (channel.sending) queue(at);
}

// Sends the next packet of a block, with a PSN of its own first where it has lost the one that it had.
void TransferSender::emit(At at) {
  Channel& channel = at.channel;
  const Block& block = at.block();
  channel.queued &= static_cast<std::uint8_t>(~at.bit());
  if (!at.in(channel.busy)) return;
  if (at.failed()) return release_slot(at, TransferEnding::kWhole);
  if (channel.answered()) return;
  if (at.in(channel.needs_psn)) {
    if (at.window.is_full()) return queue(at);
    const std::uint32_t old = block.psn;
    assign_psn(at);
    channel.needs_psn &= static_cast<std::uint8_t>(~at.bit());
    if (at.is_response()) reads_.erase({at.node, channel.store.dst, old});
  }
  if (at.in(channel.parked)) return;
  if (!send_packet(at, 0)) return queue(at);
  if (channel.sent_slot == at.slot % 4) channel.sending = false;
}

// Gives a block the next PSN of its node's window.
void TransferSender::assign_psn(At at) {
  PsnWindow& window = at.window;
  Block& block = at.block();
  block.psn = window.take();
  const std::size_t place = block.psn % kTargets;
  std::unique_ptr<std::array<Target, kPiece>>& piece = window.targets[place / kPiece];
  if (!piece) piece = std::make_unique<std::array<Target, kPiece>>();
  (*piece)[place % kPiece] = {block.target, block.psn, at.channel.store.domain};
  if (at.is_response())
    reads_[{at.node, at.channel.store.dst, block.psn}] = {{}, at.channel.request_psn, at.channel.request_slot};
}

// Hands the block's next packet to the DMA reader. True when it is the block's last one.
bool TransferSender::send_packet(At at, std::uint32_t dependencies) {
  Channel& channel = at.channel;
  Block& block = at.block();
  const auto offset = static_cast<std::uint32_t>(block.target % kBlock);
  const std::uint32_t first = offset / kPacket, last = block.last_byte / kPacket, index = block.at;
  const std::uint32_t from = index == first ? offset : kPacket * index;
  const std::uint32_t bytes = (index == last ? block.last_byte : kPacket * index + kPacket - 1) - from + 1;
  const bool final_packet = index == last, response = at.is_response(), reads = channel.store.read;
  const std::uint32_t place = block.fence ? WriteWord::kFence | dependencies : WriteWord::place_of(first, last);
  const WriteKind kind = reads ? WriteKind::kReadRequest : response ? WriteKind::kReadResponse : WriteKind::kWrite;
  const WriteWord word{block.psn,    at.slot,   index, place,
                       final_packet, from % 16, kind,  response ? channel.failure : TransferEnding::kWhole};
  reader_.push(at.node,
               {at.node, channel.store.dst, static_cast<std::uint16_t>(reads ? kRequest : bytes), kTransferPort, 0,
                word.packed()},
               block.own + (from - offset), block.fence || reads, at.cycle + 4, channel.store.domain);
  ++packets_;
  block.at = static_cast<std::uint8_t>((index + 1) % 8);
  block.round = round_of(at.n);
  if (final_packet) scan_later(at.n, at.slot, timeout(block));
  return final_packet;
}

// Looks at a block that waits for its answer, or at a request that waits for its read's end or to be sent anew.
void TransferSender::scan(At at) {
  Channel& channel = at.channel;
  Block& block = at.block();
  if (!at.in(channel.busy) || at.in(channel.queued)) return;
  const std::int64_t elapsed = (round(at.n) - block.round + kRounds) % kRounds;
  if (channel.acked && config_.read_timeout != 0 && elapsed >> config_.read_timeout != 0)
    return release_slot(at, TransferEnding::kSilent);
  if (channel.nacked && elapsed << 1 >> channel.nacks != 0) return retry(at);
  const bool abandons = at.failed() && at.in(channel.parked);
  if (!channel.answered() && elapsed >= timeout(block)) {
    // A fence is not sent again before its transfer's other blocks have been answered.
    if (block.fence && (channel.busy & ~at.bit()) != 0)
      postpone(at);
    else if (!abandons) {
      const bool exhausted = block.tries.exhausted(config_.tries) && !at.in(channel.parked);
      return exhausted ? release_slot(at, TransferEnding::kSilent) : retransmit(at);
    }
  }
  if (abandons) release_slot(at, TransferEnding::kWhole);
}

// Looks at a fence again in the next round. One that will not be taken, as a block before it lacks its PSN, gives its
// own back.
void TransferSender::postpone(At at) {
  Channel& channel = at.channel;
  at.n.pending.add({at.n.scanned - 1 + config_.slots(), at.slot, at.block().sent});
  if (lacks_psn(channel, at.slot) || (without_psn(channel) & ~at.bit()) == 0) return;
  channel.parked |= at.bit();
  return_psn(at);
}

// Queues a block whose time is over from its first packet on; one that was parked gets a new PSN, unless it has kept
// its own.
void TransferSender::retransmit(At at) {
  Channel& channel = at.channel;
  Block& block = at.block();
  const bool parked = at.in(channel.parked), keeps_psn = at.in(channel.keeps_psn);
  block.at = static_cast<std::uint8_t>(block.target % kBlock / kPacket);
  block.round = round_of(at.n);
  if (!parked)
    block.tries.raise();
  else if (!keeps_psn)
    block.tries.reset();
  block.backoff.raise();
  ++repeated_;
  if (parked && !keeps_psn) channel.needs_psn |= at.bit();
  if (parked) unpark(at);
  queue(at);
}

// Sends a request anew that was NACKed.
void TransferSender::retry(At at) {
  at.channel.busy &= static_cast<std::uint8_t>(~at.bit());
  at.channel.nacked = false;
  at.channel.left = 1;
}

// Takes an Ack: the block is done, or the request's read goes on at its target, without a PSN.
void TransferSender::ack(At at) {
  if (!at.channel.store.read) return release_slot(at, TransferEnding::kWhole);
  return_psn(at);
  at.block().round = round_of(at.n);
  at.channel.acked = true;
  if (config_.read_timeout != 0) scan_later(at.n, at.slot, std::int64_t{1} << config_.read_timeout);
}

// Takes a Nack of a target that has no channel to serve the request.
void TransferSender::nack(At at) {
  Channel& channel = at.channel;
  return_psn(at);
  at.block().round = round_of(at.n);
  channel.nacked = true;
  channel.nacks = std::min<std::uint8_t>(channel.nacks + 1, kMostNacks);
  scan_later(at.n, at.slot, (1 << channel.nacks) / 2);
}

// Takes a page fault, here or at the target: parks the block, or fails its transfer when that has happened too often.
void TransferSender::fault(At at, Answer answer) {
  Channel& channel = at.channel;
  Block& block = at.block();
  if (at.failed() || (block.faults >= config_.fault_tries && !at.is_response()))
    return release_slot(at, answer.failure);
  block.round = round_of(at.n);
  ++block.faults;
  channel.parked |= at.bit();
  if (answer.keeps_psn)
    channel.keeps_psn |= at.bit();
  else {
    channel.keeps_psn &= static_cast<std::uint8_t>(~at.bit());
    return_psn(at);
  }
  scan_later(at.n, at.slot, timeout(block));
  if (channel.sent_slot == at.slot % 4) channel.sending = false;
}

// The block's slot is free; its transfer has failed where this was not its Ack.
void TransferSender::release_slot(At at, TransferEnding failure) {
  Channel& channel = at.channel;
  if (!channel.answered() && !lacks_psn(channel, at.slot)) return_psn(at);
  channel.busy &= static_cast<std::uint8_t>(~at.bit());
  channel.needs_psn &= static_cast<std::uint8_t>(~at.bit());
  unpark(at);
  if (channel.sent_slot == at.slot % 4) channel.sending = false;
  if (channel.failed() || failure == TransferEnding::kWhole) return;
  channel.failure = failure;
  // Parked blocks of a transfer that has failed go when they are scanned next.
  for (std::uint32_t i = 0; i < 4; ++i)
    if ((channel.parked >> i & 1) != 0 && !(channel.serves && channel.blocks[i].fence))
      scan_later(at.n, at.slot / 4 * 4 + i, 0);
}

void TransferSender::unpark(At at) {
  at.channel.parked &= static_cast<std::uint8_t>(~at.bit());
  at.channel.keeps_psn &= static_cast<std::uint8_t>(~at.bit());
}

void TransferSender::return_psn(At at) { at.window.put_back(at.block().psn); }

// Queues the block for its next packet.
void TransferSender::queue(At at) {
  at.channel.queued |= at.bit();
  at.n.emit.push_back({at.slot, at.cycle + 5});
}

// Queues the channel while it has bytes left and a slot for them, and no block that is being sent, or ends its
// transfer.
void TransferSender::settle(At at) {
  Channel& channel = at.channel;
  const std::uint32_t number = at.slot / 4;
  const bool goes_on = !channel.failed() || (channel.serves && (channel.busy | channel.queued) == 0);
  const bool waits_for_psn_of_others = channel.fences && (channel.parked | channel.needs_psn) != 0;
  if (channel.left != 0 && goes_on && !waits_for_psn_of_others && (channel.busy | channel.queued) != 15 &&
      !channel.sending && !channel.waits) {
    channel.waits = true;
    at.n.begin.push_back({number, at.cycle + 5});
  }
  if (channel.active && channel.busy == 0 && channel.queued == 0 && !channel.waits) {
    channel.active = false;
    at.n.ends.push_back({{number, channel.failure}, at.cycle + 4});
    offer_ends(at.node, at.n);
  }
}

// Scans the block in this slot when so many rounds are over, and not before for what it was sent for.
void TransferSender::scan_later(Node& n, std::uint32_t slot, std::int64_t timeout) {
  const std::uint32_t sent = ++n.channels[slot / 4].blocks[slot % 4].sent;
  n.pending.add({scan_of(n, slot, timeout), slot, sent});
}

// What is left of the transfer is its fence, if it has one.
void TransferSender::begin_fence(Channel& channel) {
  channel.fences = channel.fence;
  channel.fence = false;
  if (!channel.fences) return;
  channel.target = channel.store.fence_word;
  channel.left = kFence;
}

// The blocks that a fence in this slot is behind, as a packet names them.
std::uint32_t TransferSender::fence_dependencies(const Channel& channel, std::uint32_t slot) {
  std::uint32_t place = 0;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const std::uint32_t other = (slot + 1 + i) % 4;
    if ((channel.busy >> other & 1) == 0) continue;
    place |= (channel.blocks[slot % 4].psn - channel.blocks[other].psn) % kWindow << 5 * i;
  }
  return place;
}

// The first scan, of those that are to come, that finds the block due. That of the last slot is the next round's
// already.
std::int64_t TransferSender::scan_of(const Node& n, std::uint32_t slot, std::int64_t timeout) const {
  const auto slots = std::int64_t{config_.slots()};
  const std::int64_t sent = round(n), own = slot == slots - 1 ? 1 : 0;
  const std::int64_t due = sent + timeout - own;
  const std::int64_t next = (n.scanned - slot + slots - 1) / slots;
  return slot + slots * std::max({due, next, std::int64_t{0}});
}

}  // namespace exanet
