// SPDX-License-Identifier: Apache-2.0
// Carries out the packetizer's three machines, which share a node's slots: the emitter sends what is in the queue, the
// retransmission scan queues what is not answered, and answers free slots. Each settles its future as far as nothing
// can change it. Model and limits: message_sender.hpp.
#include "core/nic/messages/message_sender.hpp"

#include <algorithm>

namespace exanet {

namespace {

constexpr std::uint64_t kApproved = 3;  // messages that wait for their frames, when another one is popped

}  // namespace

MessageSender::MessageSender(EventQueue& events, const MessagesConfig& config, std::size_t nodes, void* self,
                             Answered answered)
    : events_(events),
      config_(config),
      self_(self),
      on_answered_(answered),
      inject_(events, config.cycle, nodes, this,
              [](void* its, NodeId node) { static_cast<MessageSender*>(its)->advance(node); }),
      nodes_(nodes) {
  const auto handler = [&]<void (MessageSender::*kStep)(NodeId)>() {
    return events.add_handler(
        [](void* its, Time, std::uint32_t node, std::uint64_t) { (static_cast<MessageSender*>(its)->*kStep)(node); },
        this);
  };
  on_decide_ = handler.template operator()<&MessageSender::advance>();
  on_again_ = handler.template operator()<&MessageSender::go_again>();
  on_claim_ = handler.template operator()<&MessageSender::go_claim>();
  on_launch_ = handler.template operator()<&MessageSender::go_launch>();
  on_scan_ = handler.template operator()<&MessageSender::scan>();
  on_reply_ = handler.template operator()<&MessageSender::reply>();
}

void MessageSender::attach(Network& network, AnswerPorts& answers) {
  inject_.network = &network;
  answers_ = &answers;
  answers.join_asking(AnswerPorts::kOfMessages,
                      {this, [](void* self, NodeId node) { static_cast<MessageSender*>(self)->come(node); }});
}

MessageSender::Slot& MessageSender::slot_of(Node& n, std::uint32_t slot) {
  if (slot >= n.slots.size()) n.slots.resize(slot / 4 * 4 + 4);
  return n.slots[slot];
}

const MessageStore* MessageSender::find(NodeId node, std::uint32_t slot, std::uint32_t number) const {
  const Node& n = nodes_[node];
  if (slot >= n.slots.size() || n.slots[slot].number != number) return nullptr;
  return &n.slots[slot].message;
}

bool MessageSender::store(NodeId node, std::uint32_t context, const MessageStore& message) {
  Node& n = nodes_[node];
  const Cycle cycle = now();
  // What the scan found in the cycle before, and what was launched then, is in the queue before this message.
  if (n.launches[0].from < cycle) go_launch(node);
  if (n.scan_event <= cycle) scan(node);
  if (context >= n.fill.size()) n.fill.resize(context + 1);
  const std::uint32_t index = 4 * context + n.fill[context];
  Slot& slot = slot_of(n, index);
  n.fills = {cycle, n.fills[0]};  // busy or not
  if (message.bytes > MessageStore::kMost || !slot.is_free(cycle)) {
    ++busy_;
    return false;
  }
  n.fill[context] = (n.fill[context] + 1) % 4;
  slot.message = message;
  slot.filled = cycle;
  slot.freed = slot.first_sent = slot.sent = slot.nacked = slot.renewed = kUnknown;
  slot.stays = message.behind;
  slot.failure = MessageAnswer::kStored;
  if (message.behind) return true;
  enqueue(n, index, cycle);
  slot.in_queue = true;
  advance(node);
  return true;
}

void MessageSender::claim(NodeId node, std::uint32_t slot, std::uint16_t pdid, MessageAnswer failure, Cycle from) {
  nodes_[node].claim = {slot, pdid, failure};
  at(from + 2, on_claim_, node);
}

// What was known of the slot two cycles before is changed in the one before, if no store came in it.
void MessageSender::go_claim(NodeId node) {
  Node& n = nodes_[node];
  const Cycle cycle = now() - 1;
  if (n.fills[0] == cycle || n.fills[1] == cycle) return at(cycle + 2, on_claim_, node);
  Slot& slot = slot_of(n, n.claim.slot);
  const bool found = slot.stays && slot.filled < cycle - 1 && slot.message.pdid == n.claim.pdid;
  if (found) {
    slot.stays = false;
    slot.failure = n.claim.failure;
  }
  on_claimed_(transfers_, node, found, cycle);
}

void MessageSender::launch(NodeId node, std::uint32_t slot, Cycle from) {
  Node& n = nodes_[node];
  n.launches = {Node::Launch{slot, from}, n.launches[0]};
  at(from + 1, on_launch_, node);
}

// What is asked for goes to the end of the queue in the cycle before, if no store came in it, nor a message that goes
// there again.
void MessageSender::go_launch(NodeId node) {
  Node& n = nodes_[node];
  Node::Launch& launch = n.launches[0];
  const Cycle cycle = now() - 1;
  if (launch.from > cycle || launch.taken != kUnknown || launch.tried == cycle) return;  // done before a store
  launch.tried = cycle;
  if (n.fills[0] == cycle || n.fills[1] == cycle || n.again == cycle) return at(cycle + 2, on_launch_, node);
  launch.taken = cycle;
  enqueue(n, launch.slot, cycle);
  n.slots[launch.slot].in_queue = true;
  on_launched_(transfers_, node, cycle);
  advance(node);
}

bool MessageSender::is_free(NodeId node, std::uint32_t context) const {
  const Node& n = nodes_[node];
  if (context >= n.fill.size()) return true;
  const std::uint32_t index = 4 * context + n.fill[context];
  if (index >= n.slots.size()) return true;
  return n.slots[index].is_free(now());
}

void MessageSender::enqueue(Node& n, std::uint32_t slot, Cycle written) {
  auto place = n.queue.end();
  while (place != n.queue.begin() && std::prev(place)->written > written) --place;
  if (place == n.queue.end())
    return n.queue.push_back({slot, written});  // insert() would go before it, and take memory each time
  n.queue.insert(place, {slot, written});
}

// Settles all that is known of what the emitter does, message by message: the front of the queue is popped, its peer
// looked up in the next cycle, and decided on in the one behind.
void MessageSender::advance(NodeId node) {
  Node& n = nodes_[node];
  while (true) {
    fetch_frames(node, n);
    if (n.emitter != Emitter::kPop || n.queue.empty()) return;
    if (n.sends >= n.fetches + kApproved) return;  // until a frame before has gone
    const Cycle space = n.sends < kApproved ? kLongAgo : n.fetched[(n.sends - kApproved) % 4] + 1;
    const Cycle pop = std::max({n.pop_from, n.queue.front().written + 2, space});
    const Slot& slot = n.slots[n.queue.front().slot];
    const bool full = n.windows[slot.message.dst].is_full();
    const bool settled = slot.failure == MessageAnswer::kStored && slot.fresh(pop + 2) && !full;
    if (n.last_pop != pop) {
      n.last_pop = pop;
      n.pops[n.popped++ % n.pops.size()] = pop;
      if (!settled && now() < pop + 2) return at(pop + 2, on_decide_, node);
    } else if (now() < pop + 2) {
      return;
    }
    if (!decide(node, n, pop)) return;
  }
}

// Returns whether the emitter pops the next one.
bool MessageSender::decide(NodeId node, Node& n, Cycle pop) {
  const Cycle cycle = pop + 2;
  const std::uint32_t index = n.queue.front().slot;
  Slot& slot = n.slots[index];
  n.queue.pop_front();
  n.pop_from = cycle + 1;
  const bool busy = slot.busy(cycle), needs_number = slot.fresh(cycle) || slot.turned_down(cycle);
  const bool fails = slot.failure != MessageAnswer::kStored;
  if (busy && needs_number && !fails) {
    if (n.windows[slot.message.dst].is_full()) {
      n.emitter = Emitter::kAgain;
      n.emitted = index;
      n.again = cycle + 1;
      at(n.again + 1, on_again_, node);
      return false;
    }
  } else if (busy && (fails || slot.tries.exhausted(config_.tries))) {
    n.emitter = Emitter::kGiveUp;
    n.emitted = index;
    n.gives_up_from = cycle + 1;
    // An answer that is read from then on waits.
    const bool waits = n.reply == Reply::kRead || n.reply == Reply::kCheck;
    if (n.reply == Reply::kIdle || (waits && n.read >= n.gives_up_from)) next_reply(node, n);
    return false;
  }
  slot.in_queue = false;
  slot.popped = cycle;
  if (busy)
    send(node, n, index, cycle);
  else if (on_freed_ != nullptr)
    on_freed_(self_, node, cycle);
  return true;
}

// The slot goes to the end of the queue in the cycle before, if no store came in it.
void MessageSender::go_again(NodeId node) {
  Node& n = nodes_[node];
  if (n.fills[0] == n.again || n.fills[1] == n.again) return at(++n.again + 1, on_again_, node);
  enqueue(n, n.emitted, n.again);
  n.emitter = Emitter::kPop;
  n.pop_from = n.again + 1;
  advance(node);
}

void MessageSender::send(NodeId node, Node& n, std::uint32_t index, Cycle cycle) {
  Slot& slot = n.slots[index];
  const bool fresh = slot.fresh(cycle), turned_down = slot.turned_down(cycle);
  if (fresh || turned_down) {
    slot.number_before = slot.number;
    slot.number = n.windows[slot.message.dst].take();
    slot.renumbered = cycle;
    slot.tries.reset();
  } else {
    slot.tries.raise();
    ++repeated_;
  }
  fresh ? slot.backoff.reset() : slot.backoff.raise();
  if (fresh) slot.first_sent = cycle;
  if (turned_down) slot.renewed = cycle;
  slot.sent = cycle;
  ++sent_;
  ++n.sends;
  const MessageStore& message = slot.message;
  const MessageWord word{slot.number, index, message.mailbox, message.pdid};
  n.approved.push_back({{node, message.dst, message.bytes, kMessagePort, 0, word.packed()}, cycle, index});
  ++slot.frames;
  n.pending.add({scan_of(n, index, cycle), index, cycle});
  schedule_scan(node, n);
}

// Frames of messages that are to go, beat by beat out of the slots' memory, as far as it is known when they are taken.
void MessageSender::fetch_frames(NodeId node, Node& n) {
  while (!n.approved.empty()) {
    const Approved& front = n.approved.front();
    const std::uint32_t last = std::max(words_of(front.packet.payload_bytes), 1u) - 1;
    if (n.fetch == kUnknown) n.fetch = std::max(front.at + 1, n.register_free);
    while (true) {
      if (n.beat == last && n.fetches < n.sends - n.approved.size() + 1) {
        n.fetched[n.fetches++ % 4] = n.fetch;
        Slot& slot = n.slots[front.slot];
        slot.framed = n.fetch;
        if (--slot.frames == 0 && slot.freed != kUnknown && on_freed_ != nullptr) on_freed_(self_, node, n.fetch);
      }
      const Cycle taken = inject_.taken_from(node, n.fetch + 1);
      if (taken == kUnknown) return;
      if (n.beat == last) {
        n.register_free = taken;
        inject_.hand_over(node, front.packet, taken);
        break;
      }
      n.fetch = taken;
      ++n.beat;
    }
    n.beat = 0;
    n.fetch = kUnknown;
    n.approved.pop_front();
  }
}

// When the scan looks at the slot for the first time that the message, sent in `sent`, is due. It looks at a slot in
// two cycles, in turn, and a cycle longer where what it would queue finds no space in that cycle.
Cycle MessageSender::scan_of(const Node& n, std::uint32_t slot, Cycle sent) const {
  const auto delays = static_cast<Cycle>(std::lower_bound(n.delays.begin(), n.delays.end(), sent) - n.delays.begin());
  const Cycle around = 2 * Cycle{config_.slots()};
  const Cycle round = (sent - delays - config_.begins) / around;
  const Cycle due = round + n.slots[slot].backoff.timeout(config_.timeout);
  const auto place = config_.begins + 2 * Cycle{slot} + 1;
  const Cycle at = place + due * around;
  return at > sent - delays ? at : at + around;
}

void MessageSender::schedule_scan(NodeId node, Node& n) {
  if (n.pending.empty()) return;
  const Cycle cycle = n.pending.first().at + static_cast<Cycle>(n.delays.size()) + 1;
  if (cycle >= n.scan_event) return;
  n.scan_event = cycle;
  at(cycle, on_scan_, node);
}

// Queues what was due in the cycles before.
void MessageSender::scan(NodeId node) {
  Node& n = nodes_[node];
  if (n.scan_event > now()) return;  // done before a store
  n.scan_event = kUnknown;
  while (!n.pending.empty()) {
    const RetransmissionScan::Entry next = n.pending.first();
    const Cycle cycle = next.at + static_cast<Cycle>(n.delays.size());
    Slot& slot = n.slots[next.slot];
    const bool waits = slot.sent == next.sent && slot.busy(cycle);
    if (waits && cycle >= now()) break;
    const bool due = waits && !slot.queued(cycle);
    if (due && pushed_in(n, cycle)) {
      n.delays.push_back(cycle);
      n.pending.move([&](const auto& entry) { return entry.sent > cycle; },
                     [&](const auto& entry) { return scan_of(n, entry.slot, entry.sent); });
      continue;
    }
    n.pending.take();
    if (!due) continue;
    enqueue(n, next.slot, cycle);
    slot.in_queue = true;
  }
  schedule_scan(node, n);
  advance(node);
}

// Whether the table of peers is not the emitter's in this cycle. All pops before it are known.
bool MessageSender::table_free(const Node& n, Cycle c) {
  for (std::uint64_t i = 1; i <= n.pops.size() && i <= n.popped; ++i) {
    const Cycle pop = n.pops[(n.popped - i) % n.pops.size()];
    if (pop == c - 1 || pop == c - 2) return false;
    if (pop < c - 2) return true;
  }
  return true;
}

// The first answer that has come is for a message.
void MessageSender::come(NodeId node) {
  Node& n = nodes_[node];
  if (n.reply == Reply::kIdle) next_reply(node, n);
}

// Begins with what is next: a message that is given up, else the first answer, if there is one.
void MessageSender::next_reply(NodeId node, Node& n) {
  n.reply = Reply::kIdle;
  if (n.gives_up_from != kUnknown) {
    n.reply = Reply::kGiveUp;
    return at(n.event = std::max(n.gives_up_from, n.idle_from) + 1, on_reply_, node);
  }
  if (answers_->front(node, AnswerPorts::kOfMessages) == nullptr) return;
  n.read = std::max(answers_->load(node) + 1, n.idle_from);
  // Where the next one may be for a block, it has to be known that this one has left the port's register.
  n.reply = answers_->both() ? Reply::kRead : Reply::kCheck;
  at(n.event = n.read + (n.reply == Reply::kCheck), on_reply_, node);
}

void MessageSender::take(NodeId node, Node& n) {
  const Packet& packet = *answers_->front(node, AnswerPorts::kOfMessages);
  const MessageWord word = MessageWord::unpack(packet.user);
  n.answer = {packet.src, word.slot, word.number, static_cast<MessageAnswer>(word.mailbox)};
  answers_->take(node, n.read);
}

void MessageSender::reply(NodeId node) {
  Node& n = nodes_[node];
  const Cycle cycle = now();
  if (cycle != n.event) return;  // it waits for a message that is given up
  n.event = kUnknown;
  if (n.reply == Reply::kGiveUp) {
    give_up(node, n);
    return next_reply(node, n);
  }
  if (n.reply == Reply::kRead) {
    take(node, n);
    n.reply = Reply::kCheck;
    return at(n.event = cycle + 1, on_reply_, node);
  }
  if (n.reply == Reply::kCheck) {
    if (!answers_->both()) take(node, n);
    const Answer& answer = n.answer;
    const Slot* slot = answer.slot < n.slots.size() ? &n.slots[answer.slot] : nullptr;
    if (slot == nullptr || !slot->busy(cycle) || slot->fresh(cycle) || slot->turned_down(cycle) ||
        slot->number_at(n.read) != answer.number || slot->message.dst != answer.from) {
      ++unexpected_acks_;
      n.idle_from = cycle + 1;
      return next_reply(node, n);
    }
    n.reply = Reply::kApply;
  }
  if (!table_free(n, cycle)) return at(n.event = cycle + 1, on_reply_, node);
  apply(node, n, cycle + 1);
  next_reply(node, n);
}

// The number is not under way any more, and the slot free, or its message to be sent under another one.
void MessageSender::apply(NodeId node, Node& n, Cycle cycle) {
  const Answer& answer = n.answer;
  n.idle_from = cycle + 1;
  Slot& slot = n.slots[answer.slot];
  n.windows[answer.from].put_back(answer.number);
  if (answer.answer == MessageAnswer::kFull) {
    slot.nacked = cycle;
    slot.renewed = kUnknown;
  } else {
    slot.freed = cycle;
  }
  on_answered_(self_, node, answer.slot, slot.message.user, answer.answer, cycle);
}

// It is looked at in this cycle: an answer may have come while the emitter waited.
void MessageSender::give_up(NodeId node, Node& n) {
  Slot& slot = n.slots[n.emitted];
  const bool waits = slot.busy(now());
  const Cycle done = now() + waits;
  slot.in_queue = false;
  slot.popped = done;
  n.idle_from = n.pop_from = done + 1;
  n.gives_up_from = kUnknown;
  n.emitter = Emitter::kPop;
  if (waits) {
    if (!slot.turned_down(done) && !slot.fresh(done)) n.windows[slot.message.dst].put_back(slot.number);
    slot.freed = done;
    const bool fails = slot.failure != MessageAnswer::kStored;
    on_answered_(self_, node, n.emitted, slot.message.user, fails ? slot.failure : MessageAnswer::kSilent, done);
  }
  advance(node);
}

}  // namespace exanet
