// SPDX-License-Identifier: Apache-2.0
// Carries out the mailbox unit: a message is looked up, stored or NACKed, and answered, one after the other, each in
// the cycles that the two jobs before it leave. Model and limits: message_receiver.hpp.
#include "core/nic/messages/message_receiver.hpp"

#include <algorithm>

namespace exanet {

namespace {

constexpr std::uint64_t kAnswers = 8;  // that wait at most
constexpr Cycle kRelease = 2;  // a store at the interface to the mailbox's table, which takes one in as many cycles

}  // namespace

MessageReceiver::MessageReceiver(EventQueue& events, const MessagesConfig& config, std::size_t nodes, void* self,
                                 Stored stored)
    : events_(events), config_(config), self_(self), on_stored_(stored), nodes_(nodes) {
  on_look_ = events.add_handler(
      [](void* its, Time, std::uint32_t node, std::uint64_t) { static_cast<MessageReceiver*>(its)->pump(node); }, this);
}

void MessageReceiver::attach(Network& network, AnswerPorts& answers) {
  network_ = &network;
  answers_ = &answers;
  answers.join_answering(AnswerPorts::kOfMessages, {this, [](void* self, NodeId node) {
                                                      MessageReceiver& its = *static_cast<MessageReceiver*>(self);
                                                      gone(its.nodes_[node],
                                                           its.answers_->taken(node, AnswerPorts::kOfMessages));
                                                      its.pump(node);
                                                    }});
}

void MessageReceiver::open(NodeId node, std::uint32_t mailbox, std::uint32_t pdid, std::uint32_t entries) {
  nodes_[node].mailboxes[mailbox] = {entries, pdid, 0, 0, {}};
}

void MessageReceiver::release(NodeId node, std::uint32_t mailbox, std::uint32_t place) {
  Node& n = nodes_[node];
  n.released = std::max(now(), n.released) + kRelease;
  n.mailboxes.at(mailbox).releases.push_back({n.released, place});
}

void MessageReceiver::arrived(const Packet& packet, Cycle footer) {
  if (packet.marked != 0)
    return network_->give_back(packet.dst, packet.intra_port, time_of(EjectPort::dropped(footer), config_.cycle));
  nodes_[packet.dst].arrivals.push_back({packet.src, packet.payload_bytes, MessageWord::unpack(packet.user), footer});
  pump(packet.dst);
}

void MessageReceiver::pump(NodeId node) {
  Node& n = nodes_[node];
  send_answers(node, n);
  while (!n.arrivals.empty() && settle(node, n)) send_answers(node, n);
}

MessageReceiver::Mailbox* MessageReceiver::find(Node& n, std::uint32_t mailbox) {
  const auto found = n.mailboxes.find(mailbox);
  return found == n.mailboxes.end() || found->second.entries == 0 ? nullptr : &found->second;
}

bool MessageReceiver::is_full(const Mailbox& box) {
  return ((box.written - box.read) & (2 * box.entries - 1)) >= box.entries;
}

// Settles what becomes of the first arrival. False while that is not known.
bool MessageReceiver::settle(NodeId node, Node& n) {
  Arrival& arrival = n.arrivals.front();
  const std::uint32_t words = words_of(arrival.bytes);
  if (arrival.taken == kUnknown) {
    load(node, n, arrival);
    if (n.answers_made >= n.answers_gone + kAnswers) return false;  // until an answer goes
    const Cycle answers = n.answers_made < kAnswers ? kLongAgo : n.gone[n.answers_made % kAnswers] + 1;
    arrival.taken = std::max({arrival.load + 1, n.idle_from, n.jobs[1] + 1, answers});
    const Cycle last = n.eject.take(arrival.load, arrival.taken, words);
    if (!arrival.gave_back) network_->give_back(node, kMessagePort, time_of(last + 1, config_.cycle));
  }
  // Its mailbox and its past are looked up with its first beat, and it is whole a cycle behind its last one.
  const Cycle whole = std::max(arrival.taken + 2, arrival.taken + Cycle{std::max(words, 1u)});
  Mailbox* const box = find(n, arrival.word.mailbox);
  for (; box != nullptr && !box->releases.empty() && box->releases.front().at <= arrival.taken;
       box->releases.pop_front())
    box->read = box->releases.front().place;
  if (box != nullptr && now() < arrival.taken && is_full(*box)) {
    events_.schedule(time_of(arrival.taken, config_.cycle), on_look_, node);
    // It waits; the first beat of the one behind it may get to the port's register all the same.
    if (n.arrivals.size() > 1) load(node, n, n.arrivals[1]);
    return false;
  }
  decide(node, n, arrival, whole);
  n.arrivals.pop_front();
  return true;
}

void MessageReceiver::load(NodeId node, Node& n, Arrival& arrival) {
  if (arrival.load != kUnknown) return;
  const std::uint32_t words = words_of(arrival.bytes);
  arrival.load = n.eject.load(arrival.footer, words);
  if (words > 1) return;
  arrival.gave_back = true;
  n.eject.last_load = arrival.load;
  network_->give_back(node, kMessagePort, time_of(arrival.load + 1, config_.cycle));
}

void MessageReceiver::decide(NodeId node, Node& n, const Arrival& arrival, Cycle cycle) {
  const MessageWord& word = arrival.word;
  const std::uint32_t words = words_of(arrival.bytes);
  Past& past = n.pasts[arrival.src];
  const std::uint32_t ahead = past.window.ahead(word.number), behind = past.window.behind(word.number);
  const bool later = past.window.is_later(word.number), drops = past.window.is_too_old(word.number);
  const bool seen = !later && !drops && (past.come >> behind & 1) != 0;
  Mailbox* const box = find(n, word.mailbox);
  MessageAnswer answer = MessageAnswer::kStored;
  if (box == nullptr)
    answer = MessageAnswer::kClosed;
  else if (box->pdid != word.pdid)
    answer = MessageAnswer::kDomain;
  else if (is_full(*box))
    answer = MessageAnswer::kFull;
  // One that has come and was not stored is reported as it would be NACKed now, and that it is to be sent again where
  // it would not.
  if (seen && past.stored[word.number % kWindow])
    answer = MessageAnswer::kStored;
  else if (seen && answer == MessageAnswer::kStored)
    answer = MessageAnswer::kFull;
  const bool stores = !drops && !seen && answer == MessageAnswer::kStored;
  if (later) {
    past.come = (ahead < kWindow - 1 ? past.come << (ahead + 1) : 0) | 1;
    past.window.advance(word.number);
  } else if (!drops) {
    past.come |= 1u << behind;
  }
  if (!drops && !seen) past.stored[word.number % kWindow] = stores;

  n.idle_from = cycle + 1;
  n.jobs = {std::max(cycle, n.jobs[0]) + 1 + words, n.jobs[0]};
  dropped_ += drops;
  repeated_ += seen;
  stored_count_ += stores;
  nacked_ += !drops && !seen && !stores;
  if (drops) return;
  const Cycle memory = stores ? n.jobs[0] + config_.memory_answer : kLongAgo;
  n.answers.push_back(
      {arrival.src, {word.number, word.slot, static_cast<std::uint32_t>(answer), word.pdid}, cycle + 1, memory});
  ++n.answers_made;
  if (!stores) return;
  on_stored_(self_, {node, arrival.src, word, box->written, n.jobs[0]});
  box->written = (box->written + 1) % (1u << 14);
}

// Answers go in the order of their messages, one that was stored when memory has said so, which it does for one after
// the other. Stops where it is not known when the port takes the next one.
bool MessageReceiver::send_answers(NodeId node, Node& n) {
  while (!n.answers.empty()) {
    if (n.offers) return false;
    const Answer& answer = n.answers.front();
    const Cycle before = n.answers_gone == 0 ? kLongAgo : n.gone[(n.answers_gone - 1) % kAnswers];
    Cycle cycle = std::max(answer.ready, before + 1);
    if (answer.memory != kLongAgo) cycle = std::max(cycle, std::max(answer.memory, n.memory_free + 1) + 1);
    n.offers = true;
    const Packet packet{node, answer.to, 0, kAnswerPort, 1, answer.word.packed()};
    cycle = answers_->offer(node, AnswerPorts::kOfMessages, packet, cycle);
    if (cycle == kUnknown) return false;
    gone(n, cycle);
  }
  return true;
}

void MessageReceiver::gone(Node& n, Cycle cycle) {
  if (n.answers.front().memory != kLongAgo) n.memory_free = cycle;
  n.gone[n.answers_gone++ % kAnswers] = cycle;
  n.answers.pop_front();
  n.offers = false;
}

}  // namespace exanet
