// SPDX-License-Identifier: Apache-2.0
#include "core/nic/transfers/transfer_sender.hpp"

#include <algorithm>
#include <utility>

#include "core/nic/messages/config.hpp"
#include "core/nic/transfers/block_receiver.hpp"

namespace exanet {

namespace {

constexpr std::uint8_t kMostDoublings = 5, kMostTries = 15;
constexpr std::uint32_t kBlock = 4096, kPacket = 512, kFence = 8, kRequest = 16;  // bytes
constexpr std::uint32_t kServesWaiting = 31;
constexpr std::uint8_t kMostRefusals = 4;
constexpr Cycle kVisits = 16;  // cycles between two
constexpr Cycle kYields = 4;  // from when a visit is owed on, in which it lets a new transfer go first
constexpr std::int64_t kRounds = 4096;  // they wrap
constexpr unsigned kAdmits = 1, kEmits = 2, kBegins = 4;  // kinds of steps that take turns

}  // namespace

TransferSender::TransferSender(EventQueue& events, const TransfersConfig& config, std::size_t nodes, void* self,
                               Ended ended, Served served)
    : events_(events),
      config_(config),
      self_(self),
      on_ended_(ended),
      on_served_(served),
      pages_(events, config, nodes),
      gather_(
          events, config, nodes, pages_, this,
          [](void* its, NodeId node) { static_cast<TransferSender*>(its)->wake(node); },
          [](void* its, NodeId node, const Gather::Unread& unread) {
            static_cast<TransferSender*>(its)->nodes_[node].unread.push_back(unread);
            static_cast<TransferSender*>(its)->wake(node);
          }),
      nodes_(nodes) {
  on_event_ = events.add_handler(
      [](void* its, Time, std::uint32_t node, std::uint64_t) { static_cast<TransferSender*>(its)->event(node); }, this);
  on_end_ = events.add_handler(
      [](void* its, Time, std::uint32_t node, std::uint64_t) {
        TransferSender& sender = *static_cast<TransferSender*>(its);
        sender.nodes_[node].end_event = kUnknown;
        sender.offer_ends(node, sender.nodes_[node]);
      },
      this);
  pages_.join(Pages::kEnd, {this,
                            [](void* its, NodeId node, Cycle cycle) {
                              TransferSender& sender = *static_cast<TransferSender*>(its);
                              Node& n = sender.nodes_[node];
                              if (sender.end_known(node, n, cycle)) sender.offer_ends(node, n);
                            },
                            [](void* its, NodeId node) {
                              TransferSender& sender = *static_cast<TransferSender*>(its);
                              sender.offer_ends(node, sender.nodes_[node]);
                            },
                            [](void* its, NodeId node) {
                              const TransferSender& sender = *static_cast<TransferSender*>(its);
                              const Node& n = sender.nodes_[node];
                              if (n.end_looked) return kUnknown;
                              return std::max(n.end_drained, sender.written_->ends_written(node));
                            }});
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

const TransferSender::Goal& TransferSender::goal(NodeId node, NodeId dst, const WriteWord& word) const {
  const std::size_t at = word.number % kGoals;
  const auto& piece = nodes_[node].numbers.at(dst).goals[at / kPiece];
  EXANET_CHECK(piece && (*piece)[at % kPiece].number == word.number,
               "a packet comes of a block that nobody knows any more", events_.now().ps(), node, word.number);
  return (*piece)[at % kPiece];
}

std::uint64_t TransferSender::target(NodeId node, NodeId dst, const WriteWord& word) const {
  const std::uint64_t target = goal(node, dst, word).target;
  return word.index == word.first() ? target : target / kBlock * kBlock + kPacket * word.index;
}

bool TransferSender::is_free(NodeId node) {
  Node& n = nodes_[node];
  for (; !n.owns_less.empty() && n.owns_less.front() <= now() + 1; n.owns_less.pop_front()) --n.owns;
  return n.owns + config_.kept_channels < config_.channels;
}

// What was stored counts three cycles later, and what has begun its step two: the interface says a cycle ahead what it takes.
bool TransferSender::takes_stores(NodeId node) const {
  const Node& n = nodes_[node];
  const Cycle cycle = now();
  const auto waits = std::count_if(n.intakes.begin(), n.intakes.end(),
                                   [&](const Valid<TransferStore>& intake) { return intake.from <= cycle - 1; });
  return static_cast<std::size_t>(waits) + (n.owned >= cycle - 1 ? 1 : 0) < kIntakes;
}

bool TransferSender::store(NodeId node, const TransferStore& transfer) {
  Node& n = nodes_[node];
  n.handed_before = n.handed;
  n.handed = now() + 1;
  if (!is_free(node)) {
    ++refused_;
    wake(node);
    return false;
  }
  ++n.owns;
  n.intakes.push_back({transfer, now() + 2});
  wake(node);
  return true;
}

// Whether there is a channel was settled a cycle before.
bool TransferSender::serve(NodeId node, NodeId reader, const WriteWord& request) {
  Node& n = nodes_[node];
  const auto found = reads_.find({reader, node, request.number});
  const Read read = found->second;
  reads_.erase(found);
  const Cycle cycle = now();
  for (; !n.serves_less.empty() && n.serves_less.front() <= cycle - 1; n.serves_less.pop_front()) --n.served;
  for (; !n.admitted.empty() && n.admitted.front() <= cycle - 2; n.admitted.pop_front()) {
  }
  if (n.served >= config_.kept_channels || n.serves.size() + n.admitted.size() >= kServesWaiting) return false;
  ++n.served;
  n.serves.push_back({read, cycle + 1});
  n.serves.back().what.store = {.dst = reader,
                                .own = read.store.target,
                                .target = read.store.own,
                                .length = read.store.length,
                                .notify = false,
                                .user = 0,
                                .fence = true,
                                .domain = read.store.domain};
  wake(node);
  if (on_served_ != nullptr) on_served_(self_, read.store.user);
  return true;
}

void TransferSender::read_ended(NodeId node, NodeId server, const WriteWord& response, Cycle cycle) {
  const auto found = reads_.find({server, node, response.number});
  nodes_[node].read_ends.push_back({server, found->second.number, found->second.slot, response.failure, cycle + 1});
  reads_.erase(found);
  wake(node);
}

// Schedules the first cycle in which a step may begin, as far as that is known.
void TransferSender::wake(NodeId node) {
  Node& n = nodes_[node];
  Cycle cycle = kUnknown;
  const auto from = [&](Cycle a, Cycle b) { cycle = std::min(cycle, std::max(a, b)); };
  if (answers_->front(node, AnswerPorts::kOfBlocks) != nullptr) from(answers_->load(node) + 1, n.free);
  if (!n.read_ends.empty()) from(n.read_ends.front().valid, n.free);
  if (!n.unread.empty()) from(n.unread.front().from, n.free);
  if (!n.intakes.empty() && !n.spare.empty()) from(n.intakes.front().from, n.spare.front().from);
  if (!n.serves.empty() && !n.spare.empty()) from(n.serves.front().from, n.spare.front().from);
  if (!n.emit.empty()) from(n.emit.front().from, gather_.room_from(node));
  if (!n.begin.empty()) from(n.begin.front().from, gather_.room_from(node));
  // Whether a visit begins beside a store is settled in its cycle.
  if (n.handed > now() && n.handed >= n.free && (n.handed - config_.begins) % kVisits < kYields)
    from(n.handed, n.handed);
  if (cycle != kUnknown) {
    cycle = behind_visits(n, std::max({cycle, n.free, now()}));
    if (cycle < n.event) {
      n.event = cycle;
      events_.schedule(time_of(cycle, config_.cycle), on_event_, node);
    }
  }
  await_visit(node, n);
}

// A visit that finds something to do is far away most often: one event awaits the first of them where no step comes before.
void TransferSender::await_visit(NodeId node, Node& n) {
  while (!n.due.empty() && !waits(n, n.due.front())) {
    std::pop_heap(n.due.begin(), n.due.end());
    n.due.pop_back();
  }
  if (n.due.empty()) return;
  const Cycle cycle = std::max({owed(n.due.front().number), n.free, now()});
  if (cycle >= std::min(n.event, n.visit_event)) return;
  n.visit_event = cycle;
  events_.schedule(time_of(cycle, config_.cycle), on_event_, node);
}

// A cycle, or the first one behind it in which a visit that has nothing to do, and is owed by then, lets a step begin. Whether it lets one go first is settled
// in its own cycle.
Cycle TransferSender::behind_visits(const Node& n, Cycle cycle) const {
  const std::int64_t last = (cycle - config_.begins) / kVisits - 1;
  if (last < n.visited || (!n.due.empty() && n.due.front().number <= last)) return cycle;
  const Cycle starts = std::max(owed(last), n.free);
  if (starts == cycle && cycle < owed(last) + kYields) return cycle;
  return std::max(cycle, starts + 3);
}

void TransferSender::event(NodeId node) {
  Node& n = nodes_[node];
  const Cycle cycle = now();
  if (cycle != n.event && cycle != n.visit_event) return;  // one that is earlier was scheduled behind it
  if (cycle == n.event) n.event = kUnknown;
  if (cycle == n.visit_event) n.visit_event = kUnknown;
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
  if (starts == cycle && cycle < owed(last) + kYields && yields(node, n, cycle)) {
    n.visited = last;  // those before it had nothing to do
    n.free = cycle + 1;
    return false;
  }
  n.visited = last + 1;
  n.free = std::max(n.free, starts + 3);
  while (!n.due.empty() && n.due.front().number <= last) {
    const Visit visit = n.due.front();
    std::pop_heap(n.due.begin(), n.due.end());
    n.due.pop_back();
    if (!waits(n, visit)) continue;
    if ((n.channels[visit.slot / 4].queued >> visit.slot % 4 & 1) != 0) {
      // A request that was answered before it could be sent again.
      n.due.push_back({visit.number + config_.slots(), visit.slot, visit.sent});
      std::push_heap(n.due.begin(), n.due.end());
      continue;
    }
    take_step(node, n, starts, Step::kVisit, visit.slot, {});
  }
  return n.free > cycle;
}

// Whether a visit lets a transfer go first that is to begin now, or in the next cycle; it does not where an answer waits.
bool TransferSender::yields(NodeId node, const Node& n, Cycle cycle) const {
  Step step;
  const bool others = choose(node, n, cycle, step);
  if (others && step == Step::kAnswer) return false;
  return (others && step == Step::kAdmit) || n.handed == cycle || n.handed_before == cycle;
}

// What is before others: answers, then what has not had its turn.
bool TransferSender::choose(NodeId node, const Node& n, Cycle cycle, Step& step) const {
  step = Step::kAnswer;
  if (!n.read_ends.empty() && n.read_ends.front().valid <= cycle) return true;
  if (!n.unread.empty() && n.unread.front().from <= cycle) return true;
  if (answers_->front(node, AnswerPorts::kOfBlocks) != nullptr && answers_->load(node) + 1 <= cycle) return true;
  const bool room = gather_.room_from(node) <= cycle;
  unsigned ready = 0;
  const bool intakes =
      (!n.intakes.empty() && n.intakes.front().from <= cycle) || (!n.serves.empty() && n.serves.front().from <= cycle);
  if (intakes && !n.spare.empty() && n.spare.front().from <= cycle) ready |= kAdmits;
  if (room && !n.emit.empty() && n.emit.front().from <= cycle) ready |= kEmits;
  if (room && !n.begin.empty() && n.begin.front().from <= cycle) ready |= kBegins;
  const unsigned turns = (ready & ~n.turn) != 0 ? ready & ~n.turn : ready;
  step = (turns & kAdmits) != 0 ? Step::kAdmit : (turns & kEmits) != 0 ? Step::kEmit : Step::kBegin;
  return turns != 0;
}

void TransferSender::begin(NodeId node, Node& n, Cycle cycle, Step step) {
  std::uint32_t slot = 0;
  Answer answer;
  switch (step) {
    case Step::kAdmit: {
      Channel& channel = n.channels[n.spare.front().what];
      slot = 4 * n.spare.front().what;
      const bool own = !n.intakes.empty() && n.intakes.front().from <= cycle;
      channel.serves = !n.serves.empty() && n.serves.front().from <= cycle && !(own && n.served_last);
      n.served_last = channel.serves;
      if (channel.serves) {
        const Read& read = n.serves.front().what;
        channel.store = read.store;
        channel.request_number = read.number;
        channel.request_slot = read.slot;
        n.serves.pop_front();
        n.admitted.push_back(cycle);
      } else {
        channel.store = n.intakes.front().what;
        n.intakes.pop_front();
        n.owned = cycle;
      }
      channel.own = channel.store.own;
      channel.target = channel.store.target;
      channel.left = channel.store.read ? 1 : channel.store.length;  // a request is a block of one packet
      channel.fence = channel.store.fence && !channel.store.read;
      channel.fences = channel.accepted = channel.refused = false;
      channel.refusals = 0;
      if (channel.left == 0) fence(channel);
      channel.active = true;
      channel.busy = channel.queued = channel.faulted = channel.keeps = channel.renumbers = 0;
      channel.waits = channel.sending = false;
      channel.sent_slot = 0;
      channel.failure = TransferEnding::kWhole;
      n.spare.pop_front();
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
      const auto is_for = [&](NodeId from, std::uint32_t number) {
        const Channel& channel = n.channels[slot / 4];
        return channel.blocks[slot % 4].number == number && channel.store.dst == from &&
               (channel.busy >> slot % 4 & 1) != 0;
      };
      if (!n.read_ends.empty() && n.read_ends.front().valid <= cycle) {
        const ReadEnd end = n.read_ends.front();
        n.read_ends.pop_front();
        slot = end.slot;
        if (is_for(end.from, end.number) && n.channels[slot / 4].store.read) answer = {Said::kEnd, end.failure};
      } else if (!n.unread.empty() && n.unread.front().from <= cycle) {
        const Gather::Unread unread = n.unread.front();
        n.unread.pop_front();
        slot = unread.word.slot;
        const Channel& channel = n.channels[slot / 4];
        // The target may have all of a block that was sent again: it keeps its number.
        const bool keeps = channel.blocks[slot % 4].tries != 0, rests = (channel.faulted >> slot % 4 & 1) != 0;
        if (is_for(channel.store.dst, unread.word.number) && !is_unnumbered(channel, slot) && !rests)
          answer = {Said::kFault, unread.fault, keeps};
        gather_.unread_taken(node, cycle);
      } else {
        const Packet& packet = *answers_->front(node, AnswerPorts::kOfBlocks);
        const BlockAnswer said = BlockAnswer::unpack(packet.user);
        slot = said.slot;
        const Channel& channel = n.channels[slot / 4];
        if (is_for(packet.src, said.number) && !channel.accepted && !channel.refused && !is_unnumbered(channel, slot))
          answer = said.outcome == BlockOutcome::kGood       ? Answer{Said::kAck, TransferEnding::kWhole}
                   : said.outcome == BlockOutcome::kRefused  ? Answer{Said::kBusy, TransferEnding::kWhole}
                   : said.outcome == BlockOutcome::kUnmapped ? Answer{Said::kFault, TransferEnding::kUnmapped}
                                                             : Answer{Said::kFault, TransferEnding::kReadOnly};
        answers_->take(node, cycle);
      }
      stale_ += answer.said == Said::kNone;
    }
  }
  n.free = cycle + 3;
  take_step(node, n, cycle, step, slot, answer);
}

// What a step does that begins in this cycle, by the gateware's third and fourth.
void TransferSender::take_step(NodeId node, Node& n, Cycle cycle, Step step, std::uint32_t slot, Answer answer) {
  const std::uint32_t number = slot / 4;
  Channel& channel = n.channels[number];
  Numbers& numbers = n.numbers[channel.store.dst];
  const auto is_open = [&](std::uint32_t at) { return (numbers.open >> at % kWindow & 1) != 0; };
  const bool failed = channel.failure != TransferEnding::kWhole, reads = channel.store.read;
  if (failed && channel.serves && channel.fence) {
    // What has not begun of a read that has failed comes no more, but for its end.
    channel.left = 0;
    fence(channel);
  }
  const bool waits_for_others = channel.fences && (channel.faulted | channel.renumbers) != 0;
  const bool may_begin = (!failed || (channel.serves && (channel.busy | channel.queued) == 0)) && !waits_for_others;
  const auto usable = static_cast<unsigned>(~(channel.busy | channel.queued) & 15);
  const bool room = gather_.room_from(node) <= cycle;
  const bool begins = (step == Step::kAdmit || step == Step::kBegin) && room && channel.left != 0 && may_begin &&
                      usable != 0 && !channel.sending && !is_open(numbers.next);
  if (begins) slot = 4 * number + static_cast<std::uint32_t>(__builtin_ctz(usable));
  const auto bit = static_cast<std::uint8_t>(1u << slot % 4);
  Block& block = channel.blocks[slot % 4];
  const bool busy = (channel.busy & bit) != 0;
  const bool rests = channel.accepted || channel.refused, tell = channel.serves && block.fence;
  const bool faulted = (channel.faulted & bit) != 0, keeps = (channel.keeps & bit) != 0;
  const bool renumber = (channel.renumbers & bit) != 0;
  const bool may_emit = step == Step::kEmit && busy && !rests && (!failed || tell);
  const bool waits_for_number = may_emit && renumber && is_open(numbers.next),
             renumbers = may_emit && renumber && !waits_for_number;
  const bool emits = may_emit && !faulted && !waits_for_number;
  const auto elapsed = (round(n) - block.round + kRounds) % kRounds;
  const bool visited = step == Step::kVisit && busy && (channel.queued & bit) == 0;
  const bool unnumbered = is_unnumbered(channel, slot);
  const bool overdue = visited && !rests && elapsed >= std::int64_t{config_.patience} << block.doublings;
  const bool abandons = busy && failed && !tell && (step == Step::kEmit || (visited && faulted));
  const bool accepts = answer.said == Said::kAck && reads, refuses = answer.said == Said::kBusy;
  const bool faults = answer.said == Said::kFault && (!failed || tell) && (block.faults < config_.fault_tries || tell);
  const bool waited =
      visited && channel.accepted && config_.read_patience != 0 && elapsed >> config_.read_patience != 0;
  const bool retries = visited && channel.refused && elapsed << 1 >> channel.refusals != 0;
  // A fence is not sent again before its transfer's other blocks have been answered.
  const bool waits = overdue && block.fence && (channel.busy & ~bit) != 0, due = overdue && !waits && !abandons;
  // One that will not be taken, as a block before it has no number any more, gives its own back.
  const bool yields = waits && !unnumbered && (numberless(channel) & ~bit) != 0;
  const bool gives_up = (due && !faulted && config_.tries != 0 && block.tries == config_.tries) || waited;
  const bool repeats = due && !gives_up;
  const bool frees = (answer.said != Said::kNone && !accepts && !refuses && !faults) || gives_up || abandons;

  bool final_packet = false;
  if (begins) {
    const auto offset = static_cast<std::uint32_t>(channel.target % kBlock);
    const std::uint32_t bytes = std::min(channel.left, kBlock - offset);
    block.own = channel.own;
    block.target = channel.target;
    block.last_byte = static_cast<std::uint16_t>(offset + bytes - 1);
    block.at = static_cast<std::uint8_t>(offset / kPacket);
    block.tries = block.doublings = block.faults = 0;
    if (!reads) {
      channel.own += bytes;
      channel.target = (channel.target / kBlock + 1) * kBlock;
    }
    channel.left -= bytes;
    block.fence = channel.fences;
    if (channel.left == 0) fence(channel);
    channel.busy |= bit;
    channel.sent_slot = static_cast<std::uint8_t>(slot % 4);
  }
  const std::uint32_t old_number = block.number;
  if (begins || renumbers) {
    block.number = numbers.next;
    const std::size_t at = block.number % kGoals;
    std::unique_ptr<std::array<Goal, kPiece>>& piece = numbers.goals[at / kPiece];
    if (!piece) piece = std::make_unique<std::array<Goal, kPiece>>();
    (*piece)[at % kPiece] = {block.target, block.number, channel.store.domain};
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
    const bool tells = channel.serves && block.fence;
    const WriteKind kind = reads ? WriteKind::kReadRequest : tells ? WriteKind::kReadResponse : WriteKind::kWrite;
    const WriteWord word{block.number, slot,      at,   place,
                         final_packet, from % 16, kind, tells ? channel.failure : TransferEnding::kWhole};
    if (begins && reads) reads_[{node, channel.store.dst, block.number}] = {channel.store, block.number, slot};
    if (renumbers && tells) reads_.erase({node, channel.store.dst, old_number});
    if ((begins || renumbers) && tells)
      reads_[{node, channel.store.dst, block.number}] = {{}, channel.request_number, channel.request_slot};
    gather_.push(node,
                 {node, channel.store.dst, static_cast<std::uint16_t>(reads ? kRequest : bytes), kTransferPort, 0,
                  word.packed()},
                 block.own + (from - offset), block.fence || reads, cycle + 4, channel.store.domain);
    ++packets_;
    block.at = static_cast<std::uint8_t>((at + 1) % 8);
    block.round = static_cast<std::uint16_t>(round(n) % kRounds);
    if (begins) channel.sending = !final_packet;
    if (final_packet) {
      visit_later(n, slot, std::int64_t{config_.patience} << block.doublings);
    }
  }
  if (waits) {
    n.due.push_back({n.visited - 1 + config_.slots(), slot, block.sent});
    std::push_heap(n.due.begin(), n.due.end());
  }
  if (repeats) {
    block.at = static_cast<std::uint8_t>(block.target % kBlock / kPacket);
    block.round = static_cast<std::uint16_t>(round(n) % kRounds);
    if (!faulted)
      block.tries = std::min<std::uint8_t>(block.tries + 1, kMostTries);
    else if (!keeps)
      block.tries = 0;
    block.doublings = std::min<std::uint8_t>(block.doublings + 1, kMostDoublings);
    ++repeated_;
  }
  if (faults) {
    block.round = static_cast<std::uint16_t>(round(n) % kRounds);
    ++block.faults;
    channel.faulted |= bit;
    visit_later(n, slot, std::int64_t{config_.patience} << block.doublings);
  }
  if (yields) channel.faulted |= bit;
  if (frees || retries) channel.busy &= static_cast<std::uint8_t>(~bit);
  if (accepts || refuses || (faults && !answer.keeps) || yields || (frees && !rests && !unnumbered))
    numbers.open &= ~(1u << block.number % kWindow);
  if (accepts || refuses) {
    block.round = static_cast<std::uint16_t>(round(n) % kRounds);
    (accepts ? channel.accepted : channel.refused) = true;
    if (refuses) channel.refusals = std::min<std::uint8_t>(channel.refusals + 1, kMostRefusals);
    const std::int64_t patience = accepts ? std::int64_t{1} << config_.read_patience : (1 << channel.refusals) / 2;
    if (refuses || config_.read_patience != 0) visit_later(n, slot, patience);
  }
  if (retries) {
    channel.refused = false;
    channel.left = 1;
  }
  if (faults) channel.keeps = static_cast<std::uint8_t>(answer.keeps ? channel.keeps | bit : channel.keeps & ~bit);
  if (frees || (repeats && faulted)) {
    channel.faulted &= static_cast<std::uint8_t>(~bit);
    channel.keeps &= static_cast<std::uint8_t>(~bit);
  }
  if (frees || renumbers) channel.renumbers &= static_cast<std::uint8_t>(~bit);
  if (repeats && faulted && !keeps) channel.renumbers |= bit;
  if (step == Step::kEmit) channel.queued &= static_cast<std::uint8_t>(~bit);
  if ((begins && !final_packet) || (emits && !final_packet) || repeats || waits_for_number) {
    channel.queued |= bit;
    n.emit.push_back({slot, cycle + 5});
  }
  if ((frees || faults || (emits && final_packet)) && channel.sent_slot == slot % 4) channel.sending = false;
  if (!failed && !faults) channel.failure = gives_up ? TransferEnding::kSilent : answer.failure;
  // What rests of a transfer that has failed goes when it is next looked at.
  for (std::uint32_t i = 0; i < 4 && !failed && channel.failure != TransferEnding::kWhole; ++i)
    if ((channel.faulted >> i & 1) != 0 && !(channel.serves && channel.blocks[i].fence))
      visit_later(n, 4 * number + i, 0);
  if (step == Step::kBegin) channel.waits = false;
  // In the queue while it has bytes left and a slot for them, and no block that is being sent.
  const bool goes_on =
      channel.failure == TransferEnding::kWhole || (channel.serves && (channel.busy | channel.queued) == 0);
  const bool waits_for_number_of_others = channel.fences && (channel.faulted | channel.renumbers) != 0;
  if (channel.left != 0 && goes_on && !waits_for_number_of_others && (channel.busy | channel.queued) != 15 &&
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

// The block in this slot is looked at when so many rounds are over, and not before for what it was sent for.
void TransferSender::visit_later(Node& n, std::uint32_t slot, std::int64_t patience) {
  const std::uint32_t sent = ++n.channels[slot / 4].blocks[slot % 4].sent;
  n.due.push_back({visit_of(n, slot, patience), slot, sent});
  std::push_heap(n.due.begin(), n.due.end());
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
std::int64_t TransferSender::visit_of(const Node& n, std::uint32_t slot, std::int64_t patience) const {
  const auto slots = std::int64_t{config_.slots()};
  const std::int64_t sent = round(n), own = slot == slots - 1 ? 1 : 0;
  const std::int64_t due = sent + patience - own;
  const std::int64_t next = (n.visited - slot + slots - 1) / slots;
  return slot + slots * std::max({due, next, std::int64_t{0}});
}

void TransferSender::offer_ends(NodeId node, Node& n) {
  while (!n.ends.empty() && !n.offers) {
    const auto& end = n.ends.front();
    Cycle from = std::max(end.from, n.end_free);
    if (n.launches && n.launches->asked >= kLaunches) {
      const std::uint64_t before = n.launches->asked - kLaunches;
      if (before >= n.launches->read) return;
      from = std::max(from, n.launches->read_at[before % kLaunches] + 1);
    }
    const Cycle offered = from + 1;
    const TransferStore& store = n.channels[end.what.channel].store;
    if (store.message && !n.claims) {
      n.claims = true;
      launcher_.claim(launcher_.self, node, store, end.what.failure, offered);
    }
    if (store.notify && config_.translate) {
      if (!look_end_up(node, n, std::max(offered, pages_.open_from(node, Pages::kEnd)), store)) return;
    } else {
      n.offers = true;
      if (!end_known(node, n, offered)) return;
    }
  }
}

// False when it is not known yet whether the end may be written, or when it has been offered.
bool TransferSender::look_end_up(NodeId node, Node& n, Cycle cycle, const TransferStore& store) {
  if (cycle > now()) {
    // Whether an invalidation is under way is known in its own cycle.
    if (cycle != n.end_event) events_.schedule(time_of(cycle, config_.cycle), on_end_, node);
    n.end_event = cycle;
    return false;
  }
  if (pages_.held(node, Pages::kEnd)) return false;
  n.offers = n.end_looked = true;
  if (pages_.look(node, Pages::kEnd, store.domain, store.end_word >> 12)) return end_known(node, n, cycle + 1);
  pages_.walk(node, Pages::kEnd, cycle + 1);
  return false;
}

// Where the end goes is known in this cycle: it is offered, when its message has been claimed; true where it is not to be written, and the next one follows.
bool TransferSender::end_known(NodeId node, Node& n, Cycle cycle) {
  const TransferStore& store = n.channels[n.ends.front().what.channel].store;
  if (store.message) {
    if (n.claimed == kUnknown) {
      n.known = cycle;
      return false;
    }
    cycle = std::max(cycle, n.claimed);
  }
  if (store.notify && (!config_.translate || pages_.fault(node, Pages::kEnd) == TransferEnding::kWhole)) {
    written_->offer_end(node, cycle, n.found);
    return false;
  }
  n.offers = false;
  const bool looked = std::exchange(n.end_looked, false);
  if (looked) n.end_drained = cycle + 1;
  release(node, n, cycle, false);
  if (looked) pages_.settle(node, Pages::kEnd);
  return true;
}

void TransferSender::claimed(NodeId node, bool found, Cycle at) {
  Node& n = nodes_[node];
  n.claimed = at + 2;
  n.found = found;
  if (n.known == kUnknown) return;
  if (end_known(node, n, std::exchange(n.known, kUnknown))) offer_ends(node, n);
}

void TransferSender::end_written(NodeId node, Cycle cycle) {
  Node& n = nodes_[node];
  n.offers = n.end_looked = false;
  n.end_drained = cycle + 1;
  release(node, n, cycle, true);
  if (config_.translate) pages_.settle(node, Pages::kEnd);
  offer_ends(node, n);
}

void TransferSender::end_answered(NodeId node, Cycle cycle) {
  Launches& launches = *nodes_[node].launches;
  launches.answered.push_back(cycle);
  launch_next(node, launches);
  offer_ends(node, nodes_[node]);
}

void TransferSender::launched(NodeId node, Cycle at) {
  Node& n = nodes_[node];
  n.launches->launching = false;
  n.launches->free = at + 1;
  launch_next(node, *n.launches);
  offer_ends(node, n);
}

// It is read where it waits, and launched from the cycle behind.
void TransferSender::launch_next(NodeId node, Launches& launches) {
  if (launches.launching || launches.waiting.empty()) return;
  const auto [launch, from] = launches.waiting.front();
  Cycle cycle = std::max(from, launches.free);
  if (launch.written) {
    if (launches.answered.empty()) return;
    cycle = std::max(cycle, launches.answered.front() + 1);
    launches.answered.pop_front();
  }
  launches.waiting.pop_front();
  launches.read_at[launches.read++ % kLaunches] = cycle;
  launches.launching = true;
  launcher_.launch(launcher_.self, node, launch.slot, cycle + 1);
}

void TransferSender::release(NodeId node, Node& n, Cycle cycle, bool written) {
  const End end = n.ends.front().what;
  n.ends.pop_front();
  n.end_free = cycle + 1;
  n.spare.push_back({end.channel, cycle + 1});
  (n.channels[end.channel].serves ? n.serves_less : n.owns_less).push_back(cycle + 1);
  ++ended_;
  const Channel& channel = n.channels[end.channel];
  if (channel.serves) return wake(node);
  if (n.found) {
    if (!n.launches) n.launches = std::make_unique<Launches>();
    ++n.launches->asked;
    n.launches->waiting.push_back({{channel.store.message_slot, written}, cycle + 1});
    launch_next(node, *n.launches);
  }
  n.claims = n.found = false;
  n.claimed = kUnknown;
  on_ended_(self_, node, channel.store.user, end.failure, cycle);
  wake(node);
}

}  // namespace exanet
