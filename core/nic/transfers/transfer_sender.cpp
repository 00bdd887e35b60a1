// SPDX-License-Identifier: Apache-2.0
#include "core/nic/transfers/transfer_sender.hpp"

#include <algorithm>

#include "core/nic/messages/config.hpp"
#include "core/nic/transfers/block_receiver.hpp"

namespace exanet {

namespace {

constexpr std::uint8_t kMostDoublings = 5;
constexpr std::uint32_t kBlock = 4096, kPacket = 512, kFence = 8;  // bytes
constexpr Cycle kVisits = 16;  // cycles between two
constexpr std::int64_t kRounds = 4096;  // they wrap
constexpr unsigned kAdmits = 1, kEmits = 2, kBegins = 4;  // kinds of steps that take turns

}  // namespace

TransferSender::TransferSender(EventQueue& events, const TransfersConfig& config, std::size_t nodes, void* self,
                               Ended ended)
    : events_(events),
      config_(config),
      self_(self),
      on_ended_(ended),
      gather_(events, config, nodes, this,
              [](void* its, NodeId node) { static_cast<TransferSender*>(its)->wake(node); }),
      nodes_(nodes) {
  on_event_ = events.add_handler(
      [](void* its, Time, std::uint32_t node, std::uint64_t) { static_cast<TransferSender*>(its)->event(node); }, this);
  for (Node& n : nodes_) {
    n.channels.resize(config.channels);
    n.free = config.begins;
    for (std::uint32_t channel = 0; channel < config.channels; ++channel) n.spare.push_back({channel, config.begins});
  }
}

void TransferSender::attach(Network& network, AnswerPorts& answers, BlockReceiver& ends) {
  written_ = &ends;
  answers_ = &answers;
  answers.join_asking(AnswerPorts::kOfBlocks,
                      {this, [](void* self, NodeId node) { static_cast<TransferSender*>(self)->wake(node); }});
  gather_.attach(network);
}

std::uint64_t TransferSender::target(NodeId node, const WriteWord& word) const {
  const Block& block = nodes_[node].channels[word.slot / 4].blocks[word.slot % 4];
  return word.index == word.first() ? block.target : block.target / kBlock * kBlock + kPacket * word.index;
}

bool TransferSender::store(NodeId node, const TransferStore& transfer) {
  Node& n = nodes_[node];
  const Cycle claims = now() + 1;
  const auto spare = static_cast<std::size_t>(
      std::count_if(n.spare.begin(), n.spare.end(), [&](const auto& channel) { return channel.from <= claims; }));
  if (spare <= n.intakes.size()) {
    ++refused_;
    return false;
  }
  n.intakes.push_back({transfer, claims + 1});
  wake(node);
  return true;
}

// Schedules the first cycle in which a step may begin, as far as that is known.
void TransferSender::wake(NodeId node) {
  Node& n = nodes_[node];
  Cycle cycle = kUnknown;
  const auto from = [&](Cycle a, Cycle b) { cycle = std::min(cycle, std::max(a, b)); };
  if (answers_->front(node, AnswerPorts::kOfBlocks) != nullptr) from(answers_->load(node) + 1, n.free);
  if (!n.intakes.empty() && !n.spare.empty()) from(n.intakes.front().from, n.spare.front().from);
  if (!n.emit.empty()) from(n.emit.front().from, gather_.room_from(node));
  if (!n.begin.empty()) from(n.begin.front().from, gather_.room_from(node));
  if (!n.due.empty()) from(owed(n.due.front().number), n.free);
  if (cycle == kUnknown) return;
  cycle = std::max({cycle, n.free, now()});
  if (cycle >= n.event) return;
  n.event = cycle;
  events_.schedule(time_of(cycle, config_.cycle), on_event_, node);
}

void TransferSender::event(NodeId node) {
  Node& n = nodes_[node];
  const Cycle cycle = now();
  if (cycle != n.event) return;  // one that is earlier was scheduled behind it
  n.event = kUnknown;
  Step step;
  if (n.free <= cycle && !visits(node, n, cycle) && choose(node, n, cycle, step)) begin(node, n, cycle, step);
  wake(node);
}

// Lets visits have their cycles that were owed up to this one. True when the last of them goes on, or begins, in this cycle.
bool TransferSender::visits(NodeId node, Node& n, Cycle cycle) {
  const std::int64_t last = (cycle - config_.begins) / kVisits - 1;
  if (last < n.visited) return false;
  const Cycle starts = std::max(owed(last), n.free);
  if (starts > cycle) return false;
  n.visited = last + 1;
  n.free = std::max(n.free, starts + 3);
  while (!n.due.empty() && n.due.front().number <= last) {
    const Visit visit = n.due.front();
    std::pop_heap(n.due.begin(), n.due.end());
    n.due.pop_back();
    const Channel& channel = n.channels[visit.slot / 4];
    const bool waits = (channel.busy >> visit.slot % 4 & 1) != 0 && (channel.queued >> visit.slot % 4 & 1) == 0 &&
                       channel.blocks[visit.slot % 4].sent == visit.sent;
    if (waits) take_step(node, n, starts, Step::kVisit, visit.slot, false);
  }
  return n.free > cycle;
}

// What is before others: answers, then what has not had its turn.
bool TransferSender::choose(NodeId node, const Node& n, Cycle cycle, Step& step) const {
  step = Step::kAnswer;
  if (answers_->front(node, AnswerPorts::kOfBlocks) != nullptr && answers_->load(node) + 1 <= cycle) return true;
  const bool room = gather_.room_from(node) <= cycle;
  unsigned ready = 0;
  if (!n.intakes.empty() && n.intakes.front().from <= cycle && !n.spare.empty() && n.spare.front().from <= cycle)
    ready |= kAdmits;
  if (room && !n.emit.empty() && n.emit.front().from <= cycle) ready |= kEmits;
  if (room && !n.begin.empty() && n.begin.front().from <= cycle) ready |= kBegins;
  const unsigned turns = (ready & ~n.turn) != 0 ? ready & ~n.turn : ready;
  step = (turns & kAdmits) != 0 ? Step::kAdmit : (turns & kEmits) != 0 ? Step::kEmit : Step::kBegin;
  return turns != 0;
}

void TransferSender::begin(NodeId node, Node& n, Cycle cycle, Step step) {
  std::uint32_t slot = 0;
  bool fits = false;
  switch (step) {
    case Step::kAdmit: {
      Channel& channel = n.channels[n.spare.front().what];
      slot = 4 * n.spare.front().what;
      channel.store = n.intakes.front().what;
      channel.own = channel.store.own;
      channel.target = channel.store.target;
      channel.left = channel.store.length;
      channel.fence = channel.store.fence;
      channel.fences = false;
      if (channel.left == 0) fence(channel);
      channel.active = true;
      channel.busy = channel.queued = 0;
      channel.waits = channel.sending = false;
      channel.sent_slot = 0;
      channel.failure = TransferEnding::kWhole;
      n.spare.pop_front();
      n.intakes.pop_front();
      n.turn = kAdmits;
      break;
    }
    case Step::kEmit:
      slot = n.emit.front().what;
      n.emit.pop_front();
      n.turn = kAdmits | kEmits;
      break;
    case Step::kBegin:
      slot = 4 * n.begin.front().what;
      n.begin.pop_front();
      n.turn = 0;
      break;
    default: {
      const Packet& packet = *answers_->front(node, AnswerPorts::kOfBlocks);
      const BlockAnswer answer = BlockAnswer::unpack(packet.user);
      slot = answer.slot;
      const Channel& channel = n.channels[slot / 4];
      fits = channel.blocks[slot % 4].number == answer.number && channel.store.dst == packet.src &&
             (channel.busy >> slot % 4 & 1) != 0;
      stale_ += !fits;
      answers_->take(node, cycle);
    }
  }
  n.free = cycle + 3;
  take_step(node, n, cycle, step, slot, fits);
}

// What a step does that begins in this cycle, by the gateware's third and fourth.
void TransferSender::take_step(NodeId node, Node& n, Cycle cycle, Step step, std::uint32_t slot, bool fits) {
  const std::uint32_t number = slot / 4;
  Channel& channel = n.channels[number];
  Numbers& numbers = n.numbers[channel.store.dst];
  const auto is_open = [&](std::uint32_t at) { return (numbers.open >> at % kWindow & 1) != 0; };
  const bool failed = channel.failure != TransferEnding::kWhole;
  const auto usable = static_cast<unsigned>(~(channel.busy | channel.queued) & 15);
  const bool room = gather_.room_from(node) <= cycle;
  const bool begins = (step == Step::kAdmit || step == Step::kBegin) && room && channel.left != 0 && !failed &&
                      usable != 0 && !channel.sending && !is_open(numbers.next);
  if (begins) slot = 4 * number + static_cast<std::uint32_t>(__builtin_ctz(usable));
  const auto bit = static_cast<std::uint8_t>(1u << slot % 4);
  Block& block = channel.blocks[slot % 4];
  const bool busy = (channel.busy & bit) != 0;
  const bool emits = step == Step::kEmit && busy && !failed, abandons = step == Step::kEmit && busy && failed;
  const auto elapsed = (round(n) - block.round + kRounds) % kRounds;
  const bool overdue = step == Step::kVisit && busy && (channel.queued & bit) == 0 &&
                       elapsed >= std::int64_t{config_.patience} << block.doublings;
  // A fence is not sent again before its transfer's other blocks have been answered.
  const bool waits = overdue && block.fence && (channel.busy & ~bit) != 0, due = overdue && !waits;
  const bool gives_up = due && config_.tries != 0 && block.tries == config_.tries;
  const bool repeats = due && !gives_up, frees = fits || gives_up || abandons;

  bool final_packet = false;
  if (begins) {
    const auto offset = static_cast<std::uint32_t>(channel.target % kBlock);
    const std::uint32_t bytes = std::min(channel.left, kBlock - offset);
    block.own = channel.own;
    block.target = channel.target;
    block.last_byte = static_cast<std::uint16_t>(offset + bytes - 1);
    block.number = numbers.next;
    block.at = static_cast<std::uint8_t>(offset / kPacket);
    block.tries = block.doublings = 0;
    channel.own += bytes;
    channel.target = (channel.target / kBlock + 1) * kBlock;
    channel.left -= bytes;
    block.fence = channel.fences;
    if (channel.left == 0) fence(channel);
    channel.busy |= bit;
    channel.sent_slot = static_cast<std::uint8_t>(slot % 4);
    numbers.open |= 1u << numbers.next % kWindow;
    numbers.next = (numbers.next + 1) % kNumbers;
  }
  if (begins || emits) {
    const auto offset = static_cast<std::uint32_t>(block.target % kBlock);
    const std::uint32_t first = offset / kPacket, last = block.last_byte / kPacket, at = block.at;
    const std::uint32_t from = at == first ? offset : kPacket * at;
    const std::uint32_t bytes = (at == last ? block.last_byte : kPacket * at + kPacket - 1) - from + 1;
    final_packet = at == last;
    const std::uint32_t place =
        block.fence ? WriteWord::kFence | (begins ? named(channel, slot) : 0) : WriteWord::place_of(first, last);
    const WriteWord word{block.number, slot, at, place, final_packet, from % 16};
    gather_.push(node, {node, channel.store.dst, static_cast<std::uint16_t>(bytes), kTransferPort, 0, word.packed()},
                 block.own + (from - offset), block.fence, cycle + 4);
    ++packets_;
    block.at = static_cast<std::uint8_t>((at + 1) % 8);
    block.round = static_cast<std::uint16_t>(round(n) % kRounds);
    if (begins) channel.sending = !final_packet;
    if (final_packet) {
      ++block.sent;
      n.due.push_back({visit_of(n, slot, block), slot, block.sent});
      std::push_heap(n.due.begin(), n.due.end());
    }
  }
  if (waits) {
    n.due.push_back({n.visited - 1 + config_.slots(), slot, block.sent});
    std::push_heap(n.due.begin(), n.due.end());
  }
  if (repeats) {
    block.at = static_cast<std::uint8_t>(block.target % kBlock / kPacket);
    block.round = static_cast<std::uint16_t>(round(n) % kRounds);
    ++block.tries;
    block.doublings = std::min<std::uint8_t>(block.doublings + 1, kMostDoublings);
    ++repeated_;
  }
  if (frees) {
    channel.busy &= static_cast<std::uint8_t>(~bit);
    numbers.open &= ~(1u << block.number % kWindow);
  }
  if (step == Step::kEmit) channel.queued &= static_cast<std::uint8_t>(~bit);
  if ((begins && !final_packet) || (emits && !final_packet) || repeats) {
    channel.queued |= bit;
    n.emit.push_back({slot, cycle + 5});
  }
  if ((frees || (emits && final_packet)) && channel.sent_slot == slot % 4) channel.sending = false;
  if (!failed && gives_up) channel.failure = TransferEnding::kSilent;
  if (step == Step::kBegin) channel.waits = false;
  // In the queue while it has bytes left and a slot for them, and no block that is being sent.
  if (channel.left != 0 && channel.failure == TransferEnding::kWhole && (channel.busy | channel.queued) != 15 &&
      !channel.sending && !channel.waits) {
    channel.waits = true;
    n.begin.push_back({number, cycle + 5});
  }
  if (channel.active && channel.busy == 0 && channel.queued == 0 && !channel.waits) {
    channel.active = false;
    n.ends.push_back({{number, channel.failure}, cycle + 4});
    offer_ends(node, n);
  }
}

// What is left of the transfer is its fence, if it has one.
void TransferSender::fence(Channel& channel) {
  channel.fences = channel.fence;
  channel.fence = false;
  if (!channel.fences) return;
  channel.target = channel.store.fence_word;
  channel.left = kFence;
}

// The blocks that a fence in this slot is behind, as a packet names them.
std::uint32_t TransferSender::named(const Channel& channel, std::uint32_t slot) {
  std::uint32_t place = 0;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const std::uint32_t other = (slot + 1 + i) % 4;
    if ((channel.busy >> other & 1) == 0) continue;
    place |= (channel.blocks[slot % 4].number - channel.blocks[other].number) % kWindow << 5 * i;
  }
  return place;
}

// The first visit, of those that are to come, that finds the block due. That of the last slot is the next round's already.
std::int64_t TransferSender::visit_of(const Node& n, std::uint32_t slot, const Block& block) const {
  const auto slots = std::int64_t{config_.slots()};
  const std::int64_t sent = round(n), own = slot == slots - 1 ? 1 : 0;
  const std::int64_t due = sent + (std::int64_t{config_.patience} << block.doublings) - own;
  const std::int64_t next = (n.visited - slot + slots - 1) / slots;
  return slot + slots * std::max({due, next, std::int64_t{0}});
}

void TransferSender::offer_ends(NodeId node, Node& n) {
  while (!n.ends.empty() && !n.offers) {
    const auto& end = n.ends.front();
    const Cycle offered = std::max(end.from, n.end_free) + 1;
    if (n.channels[end.what.channel].store.notify) {
      n.offers = true;
      written_->offer_end(node, offered);
    } else {
      release(node, n, offered);
    }
  }
}

void TransferSender::end_written(NodeId node, Cycle cycle) {
  Node& n = nodes_[node];
  n.offers = false;
  release(node, n, cycle);
  offer_ends(node, n);
}

void TransferSender::release(NodeId node, Node& n, Cycle cycle) {
  const End end = n.ends.front().what;
  n.ends.pop_front();
  n.end_free = cycle + 1;
  n.spare.push_back({end.channel, cycle + 1});
  ++ended_;
  on_ended_(self_, node, n.channels[end.channel].store.user, end.failure, cycle);
  wake(node);
}

}  // namespace exanet
