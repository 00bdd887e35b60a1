// SPDX-License-Identifier: Apache-2.0
// Decides which step a transfer engine takes in a cycle: scans that are pending, answers, then admissions, packets and
// blocks in turn; and takes stores and others' reads in. What a step does is in transfer_steps.cpp, how a transfer ends
// in transfer_ends.cpp. Model and limits: transfer_sender.hpp.
#include "core/nic/transfers/transfer_sender.hpp"

#include <algorithm>
#include <utility>

#include "core/nic/messages/config.hpp"
#include "core/nic/transfers/block_receiver.hpp"

namespace exanet {

namespace {

constexpr std::uint32_t kServesWaiting = 31;
constexpr Cycle kScans = 16;  // cycles between two
constexpr Cycle kYields = 4;  // from when a scan is pending, in which it lets a new transfer go first
constexpr std::uint64_t kAddresses = std::uint64_t{1} << 48;

bool is_beyond(std::uint64_t address, std::uint32_t length) { return address + length > kAddresses; }

}  // namespace

TransferSender::TransferSender(EventQueue& events, const TransfersConfig& config, std::size_t nodes, void* self,
                               Ended ended, Served served)
    : events_(events),
      config_(config),
      self_(self),
      on_ended_(ended),
      on_served_(served),
      pages_(events, config, nodes),
      reader_(
          events, config, nodes, pages_, this,
          [](void* its, NodeId node) { static_cast<TransferSender*>(its)->wake(node); },
          [](void* its, NodeId node, const DmaReader::Unread& unread) {
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
  reader_.attach(network);
}

const TransferSender::Target& TransferSender::target_of(NodeId node, NodeId dst, const WriteWord& word) const {
  const std::size_t at = word.number % kTargets;
  const auto& piece = nodes_[node].windows.at(dst).targets[at / kPiece];
  EXANET_CHECK(piece && (*piece)[at % kPiece].psn == word.number,
               "a packet comes of a block that nobody knows any more", events_.now().ps(), node, word.number);
  return (*piece)[at % kPiece];
}

std::uint64_t TransferSender::target(NodeId node, NodeId dst, const WriteWord& word) const {
  const std::uint64_t target = target_of(node, dst, word).address;
  return word.index == word.first() ? target : target / kBlock * kBlock + kPacket * word.index;
}

bool TransferSender::is_free(NodeId node) {
  Node& n = nodes_[node];
  for (; !n.owns_less.empty() && n.owns_less.front() <= now() + 1; n.owns_less.pop_front()) --n.owns;
  return n.owns + config_.kept_channels < config_.channels;
}

// What was stored counts three cycles later, and what has begun its step two: the interface says a cycle ahead what it
// takes.
bool TransferSender::takes_stores(NodeId node) const {
  const Node& n = nodes_[node];
  const Cycle cycle = now();
  const auto waits =
      std::count_if(n.submissions.begin(), n.submissions.end(),
                    [&](const Valid<TransferStore>& submission) { return submission.from <= cycle - 1; });
  return static_cast<std::size_t>(waits) + (n.owned >= cycle - 1 ? 1 : 0) < kSubmissions;
}

bool TransferSender::store(NodeId node, const TransferStore& transfer) {
  Node& n = nodes_[node];
  n.handed_before = n.handed;
  n.handed = now() + 1;
  if (is_beyond(transfer.own, transfer.length) || is_beyond(transfer.target, transfer.length)) {
    ++beyond_;
    wake(node);
    return false;
  }
  if (!is_free(node)) {
    ++busy_;
    wake(node);
    return false;
  }
  ++n.owns;
  n.submissions.push_back({transfer, now() + 2});
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
  nodes_[node].read_ends.push_back({server, found->second.psn, found->second.slot, response.failure, cycle + 1});
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
  if (!n.submissions.empty() && !n.spare.empty()) from(n.submissions.front().from, n.spare.front().from);
  if (!n.serves.empty() && !n.spare.empty()) from(n.serves.front().from, n.spare.front().from);
  if (!n.emit.empty()) from(n.emit.front().from, reader_.space_from(node));
  if (!n.begin.empty()) from(n.begin.front().from, reader_.space_from(node));
  // Whether a scan begins beside a store is settled in its cycle.
  if (n.handed > now() && n.handed >= n.free && (n.handed - config_.begins) % kScans < kYields)
    from(n.handed, n.handed);
  if (cycle != kUnknown) {
    cycle = behind_scans(n, std::max({cycle, n.free, now()}));
    if (cycle < n.event) {
      n.event = cycle;
      events_.schedule(time_of(cycle, config_.cycle), on_event_, node);
    }
  }
  await_scan(node, n);
}

// A scan that finds something to do is far away most often: one event awaits the first of them where no step comes
// before.
void TransferSender::await_scan(NodeId node, Node& n) {
  while (!n.pending.empty() && !waits(n, n.pending.first())) n.pending.take();
  if (n.pending.empty()) return;
  const Cycle cycle = std::max({pending_from(n.pending.first().at), n.free, now()});
  if (cycle >= std::min(n.event, n.scan_event)) return;
  n.scan_event = cycle;
  events_.schedule(time_of(cycle, config_.cycle), on_event_, node);
}

// A cycle, or the first one behind it in which a scan that has nothing to do, and is pending by then, lets a step
// begin. Whether it lets one go first is settled in its own cycle.
Cycle TransferSender::behind_scans(const Node& n, Cycle cycle) const {
  const std::int64_t last = (cycle - config_.begins) / kScans - 1;
  if (last < n.scanned || (!n.pending.empty() && n.pending.first().at <= last)) return cycle;
  const Cycle starts = std::max(pending_from(last), n.free);
  if (starts == cycle && cycle < pending_from(last) + kYields) return cycle;
  return std::max(cycle, starts + 3);
}

void TransferSender::event(NodeId node) {
  Node& n = nodes_[node];
  const Cycle cycle = now();
  if (cycle != n.event && cycle != n.scan_event) return;  // one that is earlier was scheduled behind it
  if (cycle == n.event) n.event = kUnknown;
  if (cycle == n.scan_event) n.scan_event = kUnknown;
  Step step;
  if (n.free <= cycle && !scan_turn(node, n, cycle) && choose(node, n, cycle, step)) start_step(node, n, cycle, step);
  wake(node);
}

// Lets scans that are pending in this cycle have their cycles. True when the last of them goes on, or begins, in this
// cycle.
bool TransferSender::scan_turn(NodeId node, Node& n, Cycle cycle) {
  const std::int64_t last = (cycle - config_.begins) / kScans - 1;
  if (last < n.scanned) return false;
  const Cycle starts = std::max(pending_from(last), n.free);
  if (starts > cycle) return false;
  if (starts == cycle && cycle < pending_from(last) + kYields && yields(node, n, cycle)) {
    n.scanned = last;  // those before it had nothing to do
    n.free = cycle + 1;
    return false;
  }
  n.scanned = last + 1;
  n.free = std::max(n.free, starts + 3);
  while (!n.pending.empty() && n.pending.first().at <= last) {
    const RetransmissionScan::Entry scan = n.pending.take();
    if (!waits(n, scan)) continue;
    if ((n.channels[scan.slot / 4].queued >> scan.slot % 4 & 1) != 0) {
      // A request that was answered before it could be sent again.
      n.pending.add({scan.at + config_.slots(), scan.slot, scan.sent});
      continue;
    }
    take_step(node, n, starts, Step::kScan, scan.slot, {});
  }
  return n.free > cycle;
}

// Whether a scan lets a transfer go first that is to begin now, or in the next cycle; it does not where an answer
// waits.
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
  const bool submissions = (!n.submissions.empty() && n.submissions.front().from <= cycle) ||
                           (!n.serves.empty() && n.serves.front().from <= cycle);
  const bool admits = submissions && !n.spare.empty() && n.spare.front().from <= cycle;
  const bool space = reader_.space_from(node) <= cycle;
  const bool emits = space && !n.emit.empty() && n.emit.front().from <= cycle;
  // Blocks that begin and those that go on have one order.
  const bool begins = space && !n.begin.empty() && n.begin.front().from <= cycle &&
                      (n.emit.empty() || n.begin.front().from < n.emit.front().from);
  step = admits && !(n.admitted_last && (emits || begins)) ? Step::kAdmit : begins ? Step::kBegin : Step::kEmit;
  return admits || emits || begins;
}

// Begins a step: takes what it is for out of its queue, then does what it does.
void TransferSender::start_step(NodeId node, Node& n, Cycle cycle, Step step) {
  std::uint32_t slot = 0;
  Answer answer;
  switch (step) {
    case Step::kAdmit:
      slot = admit(n, cycle);
      n.admitted_last = true;
      break;
    case Step::kEmit:
      slot = n.emit.front().what;
      n.emit.pop_front();
      n.admitted_last = false;
      break;
    case Step::kBegin:
      slot = 4 * n.begin.front().what;
      n.begin.pop_front();
      n.admitted_last = false;
      break;
    case Step::kAnswer:
      answer = take_answer(node, n, cycle, slot);
      unexpected_acks_ += answer.kind == AnswerKind::kUnexpected;
      break;
    case Step::kScan: break;  // is not chosen: scan_turn takes it
  }
  n.free = cycle + 3;
  take_step(node, n, cycle, step, slot, answer);
}

// Gives a free channel to a transfer of the node's own, or to a read that it serves; in turn where both wait.
std::uint32_t TransferSender::admit(Node& n, Cycle cycle) {
  const std::uint32_t number = n.spare.front().what;
  n.spare.pop_front();
  Channel& channel = n.channels[number];
  const bool own = !n.submissions.empty() && n.submissions.front().from <= cycle;
  channel.serves = !n.serves.empty() && n.serves.front().from <= cycle && !(own && n.served_last);
  n.served_last = channel.serves;
  if (channel.serves) {
    const Read& read = n.serves.front().what;
    channel.store = read.store;
    channel.request_psn = read.psn;
    channel.request_slot = read.slot;
    n.serves.pop_front();
    n.admitted.push_back(cycle);
  } else {
    channel.store = n.submissions.front().what;
    n.submissions.pop_front();
    n.owned = cycle;
  }
  channel.own = channel.store.own;
  channel.target = channel.store.target;
  channel.left = channel.store.read ? 1 : channel.store.length;  // a request is a block of one packet
  channel.fence = channel.store.fence && !channel.store.read;
  channel.fences = channel.acked = channel.nacked = false;
  channel.nacks = 0;
  if (channel.left == 0) begin_fence(channel);
  channel.active = true;
  channel.busy = channel.queued = channel.parked = channel.keeps_psn = channel.needs_psn = 0;
  channel.waits = channel.sending = false;
  channel.sent_slot = 0;
  channel.failure = TransferEnding::kWhole;
  return 4 * number;
}

// Takes the answer that comes first: the end of a read, a packet that memory rejected, or an Ack or Nack.
TransferSender::Answer TransferSender::take_answer(NodeId node, Node& n, Cycle cycle, std::uint32_t& slot) {
  Answer answer;
  const auto expected = [&](NodeId from, std::uint32_t psn) {
    const Channel& channel = n.channels[slot / 4];
    return channel.blocks[slot % 4].psn == psn && channel.store.dst == from && (channel.busy >> slot % 4 & 1) != 0;
  };
  if (!n.read_ends.empty() && n.read_ends.front().valid <= cycle) {
    const ReadEnd end = n.read_ends.front();
    n.read_ends.pop_front();
    slot = end.slot;
    if (expected(end.from, end.psn) && n.channels[slot / 4].store.read) answer = {AnswerKind::kEnd, end.failure};
  } else if (!n.unread.empty() && n.unread.front().from <= cycle) {
    const DmaReader::Unread unread = n.unread.front();
    n.unread.pop_front();
    slot = unread.word.slot;
    const Channel& channel = n.channels[slot / 4];
    // The target may have all of a block that was sent again: it keeps its PSN.
    const bool keeps_psn = channel.blocks[slot % 4].tries.any(), parked = (channel.parked >> slot % 4 & 1) != 0;
    if (expected(unread.to, unread.word.number) && !lacks_psn(channel, slot) && !parked)
      answer = {AnswerKind::kNackFault, unread.fault, keeps_psn};
    reader_.unread_taken(node, cycle);
  } else {
    const Packet& packet = *answers_->front(node, AnswerPorts::kOfBlocks);
    const BlockAnswer word = BlockAnswer::unpack(packet.user);
    slot = word.slot;
    const Channel& channel = n.channels[slot / 4];
    if (expected(packet.src, word.number) && !channel.answered() && !lacks_psn(channel, slot))
      answer = word.outcome == BlockOutcome::kGood       ? Answer{AnswerKind::kAck, TransferEnding::kWhole}
               : word.outcome == BlockOutcome::kBusy     ? Answer{AnswerKind::kNackBusy, TransferEnding::kWhole}
               : word.outcome == BlockOutcome::kUnmapped ? Answer{AnswerKind::kNackFault, TransferEnding::kUnmapped}
                                                         : Answer{AnswerKind::kNackFault, TransferEnding::kReadOnly};
    answers_->take(node, cycle);
  }
  return answer;
}

}  // namespace exanet
