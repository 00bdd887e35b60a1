// SPDX-License-Identifier: Apache-2.0
// Carries out the receiving side of transfers: a packet is decided on by what is known of its sender's last blocks,
// written, and answered when its block is whole and memory has answered. Model and limits: block_receiver.hpp.
#include "core/nic/transfers/block_receiver.hpp"

#include <algorithm>

#include "core/nic/messages/config.hpp"
#include "core/nic/transfers/transfer_sender.hpp"

namespace exanet {

namespace {

constexpr std::uint64_t kPacketWords = 32;  // of the largest

}  // namespace

BlockReceiver::BlockReceiver(EventQueue& events, const TransfersConfig& config, std::size_t nodes, void* self,
                             Written written)
    : events_(events), config_(config), self_(self), on_written_(written), nodes_(nodes) {
  config_.memory_answer = std::max<Cycle>(config.memory_answer, 1);
  on_write_ = events.add_handler(
      [](void* its, Time, std::uint32_t node, std::uint64_t) { static_cast<BlockReceiver*>(its)->write(node); }, this);
  on_answer_ = events.add_handler(
      [](void* its, Time, std::uint32_t node, std::uint64_t) { static_cast<BlockReceiver*>(its)->pump(node); }, this);
}

void BlockReceiver::attach(Network& network, AnswerPorts& answers, TransferSender& ends) {
  network_ = &network;
  answers_ = &answers;
  answers.join_answering(AnswerPorts::kOfBlocks, {this, [](void* self, NodeId node) {
                                                    BlockReceiver& its = *static_cast<BlockReceiver*>(self);
                                                    Node& n = its.nodes_[node];
                                                    n.offers = false;
                                                    n.port_free = its.answers_->taken(node, AnswerPorts::kOfBlocks) + 1;
                                                    its.pump(node);
                                                  }});
  ends_ = &ends;
  ends.pages().join(Pages::kWrite, {this,
                                    [](void* self, NodeId node, Cycle cycle) {
                                      BlockReceiver& its = *static_cast<BlockReceiver*>(self);
                                      its.nodes_[node].walks = false;
                                      its.nodes_[node].decides = std::max(its.nodes_[node].decides, cycle);
                                      its.pump(node);
                                    },
                                    [](void* self, NodeId node) { static_cast<BlockReceiver*>(self)->pump(node); },
                                    [](void* self, NodeId node) {
                                      const BlockReceiver& its = *static_cast<BlockReceiver*>(self);
                                      return its.drained(its.nodes_[node]);
                                    }});
}

void BlockReceiver::arrived(const Packet& packet, Cycle footer) {
  if (packet.marked != 0)
    return network_->give_back(packet.dst, packet.intra_port, time_of(EjectPort::dropped(footer), config_.cycle));
  nodes_[packet.dst].arrivals.push_back({packet.src, packet.payload_bytes, WriteWord::unpack(packet.user), footer});
  pump(packet.dst);
}

// Works out all that is known: packets that begin and are decided on, what memory does, and answers.
void BlockReceiver::pump(NodeId node) {
  Node& n = nodes_[node];
  std::uint64_t answered;
  do {
    answered = n.answered;
    while (n.deciding ? decide(node, n) : begin(node, n)) {
    }
    load(node, n);
    answer(node, n);
  } while (n.answered != answered);  // a fence may wait for it
  schedule_writer(node, n);
  if (config_.translate) {
    ends_->pages().settle(node, Pages::kWrite);
    ends_->pages().settle(node, Pages::kEnd);
  }
}

// The first beat of the packet that is next, on its way to the port's register.
void BlockReceiver::load(NodeId node, Node& n) {
  const std::size_t next = n.deciding ? 1 : 0;
  if (n.arrivals.size() <= next || n.arrivals[next].load != kUnknown) return;
  Arrival& arrival = n.arrivals[next];
  const std::uint32_t words = words_of(arrival.bytes);
  arrival.load = n.eject.load(arrival.footer, words);
  if (words > 1) return;
  n.eject.last_load = arrival.load;
  network_->give_back(node, kTransferPort, time_of(arrival.load + 1, config_.cycle));
}

// False while it is not known when the first packet begins, or there is none.
bool BlockReceiver::begin(NodeId node, Node& n) {
  if (n.arrivals.empty()) return false;
  load(node, n);
  const Arrival& arrival = n.arrivals.front();
  const std::uint32_t words = words_of(arrival.bytes);
  // A largest packet's words are free.
  Cycle space = kLongAgo;
  if (n.words > kWords - kPacketWords) {
    space = n.read.of(n.words - (kWords - kPacketWords) - 1);
    if (space == kUnknown) return false;
  }
  Cycle cycle = std::max({arrival.load + 1, n.idle_from, space + 1});
  if (arrival.word.fence()) {
    if (n.answered != n.decided) return false;
    cycle = std::max(cycle, n.answered_at + 1);
  }
  if (config_.translate) {
    // Whether an invalidation is under way is known in its own cycle.
    cycle = std::max(cycle, ends_->pages().open_from(node, Pages::kWrite));
    if (cycle > now()) {
      if (cycle != n.begin_event) events_.schedule(time_of(cycle, config_.cycle), on_answer_, node);
      n.begin_event = cycle;
      return false;
    }
    if (ends_->pages().held(node, Pages::kWrite)) return false;
  }
  const Cycle last = n.eject.take(arrival.load, cycle, words);
  if (words > 1) network_->give_back(node, kTransferPort, time_of(last + 1, config_.cycle));
  n.begins[n.begun++ % kBegins] = cycle;
  n.words += words;
  n.decides = cycle + std::max<Cycle>(kToDecide, words);  // and all of it has come
  n.deciding = true;
  if (config_.translate) look(node, n, cycle);
  return true;
}

// Nobody changes what is known of its node before it is decided on.
bool BlockReceiver::drops(const Past& past, const WriteWord& word) {
  const std::uint32_t ahead = past.window.ahead(word.number), behind = past.window.behind(word.number);
  const bool later = past.window.is_later(word.number);
  bool drops = past.window.is_too_old(word.number);
  // A fence is behind whole blocks. One that has not come yet has its place from a block before it, one that is too old
  // from one behind it.
  for (unsigned i = 0; i < 3 && word.fence(); ++i) {
    const std::uint32_t back = word.behind(i);
    if (back == 0) continue;
    drops |=
        past.blocks[(word.number - back) % kWindow].come != 0xff || (later ? ahead >= back : behind + back >= kWindow);
  }
  return drops;
}

// The page of a packet that begins; it is walked to where the packet is to be written.
void BlockReceiver::look(NodeId node, Node& n, Cycle begins) {
  const Arrival& arrival = n.arrivals.front();
  const WriteWord& word = arrival.word;
  const std::uint64_t target = ends_->target(arrival.src, node, word);
  const bool needed = word.kind == WriteKind::kWrite;
  const bool hit =
      ends_->pages().look(node, Pages::kWrite, ends_->domain(arrival.src, node, word), target >> 12, needed);
  if (hit || !needed) return;
  const Past& past = n.pasts[arrival.src];
  const Block& block = past.blocks[word.number % kWindow];
  const bool fresh = past.window.is_later(word.number) || !block.begun;
  if (drops(past, word) || (!fresh && (block.come >> word.index & 1) != 0) || spoilt(past, word) != BlockOutcome::kGood)
    return;
  n.walks = true;
  ends_->pages().walk(node, Pages::kWrite, begins + kToDecide);
}

// What has become of the blocks that a fence is behind, where one of them is not good.
BlockOutcome BlockReceiver::spoilt(const Past& past, const WriteWord& word) {
  BlockOutcome outcome = BlockOutcome::kGood;
  for (unsigned i = 0; i < 3 && word.fence(); ++i) {
    if (word.behind(i) == 0) continue;
    const Block& named = past.blocks[(word.number - word.behind(i)) % kWindow];
    const bool may_come_again = outcome == BlockOutcome::kUnmapped || outcome == BlockOutcome::kReadOnly;
    if (named.outcome != BlockOutcome::kGood && !may_come_again) outcome = named.outcome;
  }
  return outcome;
}

Cycle BlockReceiver::drained(const Node& n) const {
  return n.deciding || n.answered != n.decided ? kUnknown : std::max(n.idle_from, n.answered_at + 1);
}

// False while it is not known when there is space for what memory is to do.
bool BlockReceiver::decide(NodeId node, Node& n) {
  if (n.walks) return false;
  Cycle cycle = n.decides;
  if (n.decided >= kJobs) {
    if (n.done <= n.decided - kJobs) return false;
    cycle = std::max(cycle, n.done_at[n.decided % kJobs] + 1);
  }
  load(node, n);
  const Arrival arrival = n.arrivals.front();
  const WriteWord& word = arrival.word;
  if (word.kind == WriteKind::kReadRequest && cycle > now()) {
    // Whether it can be served is known in its own cycle.
    if (cycle != n.decide_event) events_.schedule(time_of(cycle, config_.cycle), on_answer_, node);
    n.decide_event = cycle;
    return false;
  }
  n.arrivals.pop_front();
  n.deciding = false;
  n.idle_from = cycle + 1;
  ++n.decided;

  Past& past = n.pasts[arrival.src];
  const bool later = past.window.is_later(word.number);
  const bool dropped = drops(past, word);
  const BlockOutcome spoils = spoilt(past, word);
  Block block = past.blocks[word.number % kWindow];
  if (later || !block.begun) {
    block = {true, 0};
    for (std::uint32_t i = 0; i < 8; ++i)
      if (i < word.first() || i > word.last()) block.come |= static_cast<std::uint8_t>(1u << i);
  }
  const auto own = static_cast<std::uint8_t>(1u << word.index);
  const bool repeated = (block.come & own) != 0;
  const bool completes = !repeated && (block.come | own) == 0xff;
  const bool takes = !dropped && !repeated, good = spoils == BlockOutcome::kGood;
  const bool would_write = takes && good && word.kind == WriteKind::kWrite;
  BlockOutcome outcome = spoils;
  if (would_write && config_.translate) outcome = outcome_of(ends_->pages().fault(node, Pages::kWrite));
  const bool writes = would_write && outcome == BlockOutcome::kGood;
  if (takes && word.kind == WriteKind::kReadRequest && !ends_->serve(node, arrival.src, word))
    outcome = BlockOutcome::kBusy;
  if (takes && good && word.kind == WriteKind::kReadResponse) ends_->read_ended(node, arrival.src, word, cycle);
  if (block.outcome == BlockOutcome::kGood) block.outcome = outcome;
  const bool acks = !dropped && (completes || (block.come == 0xff && word.final_packet));
  if (!dropped) {
    if (later) {
      // Numbers that are left out are yet to begin.
      for (std::uint32_t i = 0; i < past.window.skipped(word.number); ++i)
        past.blocks[(past.window.next() + i) % kWindow] = {};
      past.window.advance(word.number);
    }
    block.come |= own;
    past.blocks[word.number % kWindow] = block;
  }
  written_count_ += writes;
  repeated_ += !dropped && repeated;
  dropped_ += dropped;
  const std::uint32_t words = words_of(arrival.bytes), beats = writes ? words_of(word.shift + arrival.bytes) : words;
  n.jobs.push_back({writes,
                    words,
                    beats,
                    {acks, arrival.src, {word.number, word.slot, block.outcome}},
                    {node, arrival.src, word, arrival.bytes, 0, ends_->pages().frame(node, Pages::kWrite)},
                    cycle + 1});
  return true;
}

// From when on there is space for another answer to wait.
Cycle BlockReceiver::pending_space(const Node& n) const {
  if (n.pended < kPending) return kLongAgo;
  const std::uint64_t before = n.pended - kPending;
  return before < n.taken ? n.taken_at[before % kPending] + 1 : kUnknown;
}

void BlockReceiver::offer_end(NodeId node, Cycle cycle, bool message) {
  nodes_[node].end_from = cycle;
  nodes_[node].end_message = message;
  schedule_writer(node, nodes_[node]);
}

// When what memory is to do next has to be looked at: the last cycle of what it does, if something waits by then, else
// the first one of something.
void BlockReceiver::schedule_writer(NodeId node, Node& n) {
  Cycle cycle = kUnknown;
  const bool follows = n.end_from <= n.busy_until || (!n.jobs.empty() && n.jobs.front().valid <= n.busy_until + 1);
  if (n.busy_until >= now() && follows) {
    cycle = n.busy_until;
  } else if (n.end_chosen != kUnknown) {
    return write_end(node, n);
  } else {
    const Cycle job = n.jobs.empty() ? kUnknown : std::max(n.jobs.front().valid, n.writer_free);
    const Cycle end = n.end_from == kUnknown ? kUnknown : std::max(n.end_from, n.writer_free);
    cycle = job <= end ? (job == kUnknown ? kUnknown : std::max(job, pending_space(n))) : end;
  }
  if (cycle == kUnknown) return;
  cycle = std::max(cycle, now());
  if (cycle >= n.writer_event) return;
  n.writer_event = cycle;
  events_.schedule(time_of(cycle, config_.cycle), on_write_, node);
}

// Packets go on one behind the other; an end goes where it waits when one is done, or none is there.
void BlockReceiver::write(NodeId node) {
  Node& n = nodes_[node];
  const Cycle cycle = now();
  if (cycle != n.writer_event) return;  // one that is earlier was scheduled behind it
  n.writer_event = kUnknown;
  const bool done = n.busy_until == cycle;
  if (done || n.writer_free <= cycle) {
    const bool job = !n.jobs.empty() && n.jobs.front().valid <= cycle + done;
    if (n.end_from <= cycle && (done || !job)) {
      n.busy_until = kLongAgo;
      n.end_chosen = cycle + 1;
      n.end_from = kUnknown;
      write_end(node, n);
    } else if (job && pending_space(n) <= cycle + done) {
      start(node, n, cycle + done);
    } else if (done) {
      n.busy_until = kLongAgo;
    }
  }
  pump(node);
}

void BlockReceiver::start(NodeId node, Node& n, Cycle cycle) {
  Job job = n.jobs.front();
  n.jobs.pop_front();
  n.read.add(job.words, cycle, kWords);
  n.busy_until = cycle + job.beats - 1;
  n.writer_free = n.busy_until + 1;
  n.done_at[n.done++ % kJobs] = n.busy_until;
  pend(n, true, job.writes, job.answer, n.busy_until);
  if (!job.writes) return;
  job.written.at = n.busy_until;
  on_written_(self_, job.written);
}

// One beat, once there is space for its answer to wait.
void BlockReceiver::write_end(NodeId node, Node& n) {
  const Cycle space = pending_space(n);
  if (space == kUnknown) return;
  const Cycle cycle = std::max(n.end_chosen, space);
  n.end_chosen = kUnknown;
  n.writer_free = cycle + 1;
  pend(n, false, true, {false, 0, {}}, cycle);
  ends_->end_written(node, cycle);
}

void BlockReceiver::pend(Node& n, bool packet, bool waits, const Answer& answer, Cycle cycle) {
  n.pending.push_back({packet, waits, !packet && n.end_message, answer, cycle});
  n.ends_unanswered += !packet;
  ++n.pended;
}

// What waits goes in order, each behind what memory says to it. A block's answer takes three cycles, and the first one
// where no packet begins.
void BlockReceiver::answer(NodeId node, Node& n) {
  while (true) {
    if (n.pending.empty()) return;
    const Pending& front = n.pending.front();
    const Cycle before = n.taken == 0 ? kLongAgo : n.taken_at[(n.taken - 1) % kPending];
    Cycle cycle = std::max(front.at, before) + 1;
    if (front.waits) cycle = std::max(cycle, std::max(front.at + config_.memory_answer, n.memory_free) + 1);
    if (front.answer.acks) {
      if (n.offers) return;  // until that has been taken
      cycle = std::max(cycle, n.port_free);
      // Whether a packet begins in it is known when it has come.
      while (cycle <= now() && std::find(n.begins.begin(), n.begins.end(), cycle) != n.begins.end()) ++cycle;
      if (cycle > now()) {
        if (cycle == n.answer_event) return;
        n.answer_event = cycle;
        events_.schedule(time_of(cycle, config_.cycle), on_answer_, node);
        return;
      }
      cycle += 2;
      ++answered_;
      const Packet packet{node, front.answer.to, 0, kAnswerPort, 1, front.answer.word.packed() | AnswerPorts::kToBlock};
      const Cycle taken = answers_->offer(node, AnswerPorts::kOfBlocks, packet, cycle + 1);
      n.offers = taken == kUnknown;
      if (!n.offers) n.port_free = taken + 1;
    }
    if (front.waits) n.memory_free = cycle + 1;
    if (front.packet) {
      ++n.answered;
      n.answered_at = cycle;
    } else {
      --n.ends_unanswered;
      n.end_answered_at = cycle;
    }
    n.taken_at[n.taken++ % kPending] = cycle;
    const bool message = front.message;
    n.pending.pop_front();
    if (message) ends_->end_answered(node, cycle);
  }
}

}  // namespace exanet
