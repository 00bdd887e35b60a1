// SPDX-License-Identifier: Apache-2.0
// Carries out end-to-end reliability: numbers what engines inject, answers what comes, and sends again what is not
// answered in time. Model and limits: end_to_end.hpp.
//
// The user word of a packet below names the source's record of it: an index and how often that record has been used, so
// that an answer, or a copy, that comes late is not taken for another packet's.
#include "core/nic/exanet/end_to_end.hpp"

#include <utility>

#include "core/units/check.hpp"

namespace exanet {

namespace {

constexpr std::uint64_t kAnswer = 1ull << 63;
constexpr std::uint32_t kUses = 0x7fffffff;

}  // namespace

EndToEnd::EndToEnd(NicContext& context, std::size_t nodes, const PacketSink& engines)
    : context_(context),
      engines_(engines),
      ports_of_node_(static_cast<std::uint32_t>(context.router.intra_ports)),
      ports_(nodes * ports_of_node_ * 2),
      dead_(nodes),
      clock_(context, nodes, this,
             [](void* self, NodeId node, Time now) { static_cast<EndToEnd*>(self)->flush(node, now); }) {
  on_look_ = context.events.add_handler(
      [](void* self, Time now, std::uint32_t, std::uint64_t) { static_cast<EndToEnd*>(self)->look(now); }, this);
  on_own_ = context.events.add_handler([](void* self, Time now, std::uint32_t node,
                                          std::uint64_t) { static_cast<EndToEnd*>(self)->clock_.request(node, now); },
                                       this);
}

PacketSink EndToEnd::sink() {
  PacketSink own{this,
                 [](void* self, const Packet& packet, Time injected, Time now) {
                   static_cast<EndToEnd*>(self)->delivered(packet, injected, now);
                 },
                 [](void* self, NodeId node, std::uint8_t port, std::uint8_t priority, Time now) {
                   EndToEnd& layer = *static_cast<EndToEnd*>(self);
                   layer.ready(layer.place(node, port, priority), now);
                 }};
  own.gives_back = engines_.gives_back;
  return own;  // nobody hears of a loss: the timeout finds it
}

Network& EndToEnd::over(Network& network) {
  network_ = &network;
  return *this;
}

EndToEnd::Unanswered* EndToEnd::of(std::uint64_t word) {
  Unanswered& packet = unanswered_[static_cast<std::uint32_t>(word)];
  return packet.sending != 0 && packet.use == (word >> 32 & kUses) ? &packet : nullptr;
}

bool EndToEnd::inject(const Packet& packet) {
  const std::uint32_t at = place(packet.src, packet.intra_port, packet.priority);
  Port& port = ports_[at];
  if (port.blocked || !port.own.empty()) {
    port.waiting = true;
    return false;
  }
  Pair& pair = pair_of(packet);
  if (pair.window.is_full()) {
    pair.waiting.push_back(at);
    return false;
  }
  const std::uint32_t index = unanswered_.take();
  Packet below = packet;
  Unanswered& record = unanswered_[index];
  record.use = (record.use + 1) & kUses;
  below.user = word_of(index);
  if (!network_->inject(below)) {
    unanswered_.free(index);
    port.blocked = port.waiting = true;
    return false;
  }
  const Time now = context_.events.now();
  record.packet = packet;
  record.injected = now;
  record.number = pair.window.take();
  record.tries.reset();
  record.backoff.reset();
  record.has_come = false;
  sent(index, now);
  return true;
}

void EndToEnd::sent(std::uint32_t index, Time now) {
  Unanswered& record = unanswered_[index];
  record.sending = ++sendings_;
  const Time due = now + Time::ps(record.backoff.timeout(context_.config.retransmission_timeout.ps()));
  scan_.add({due.ps(), index, static_cast<std::int64_t>(record.sending)});
  arm(now);
}

// Wakes the scan when its first entry is due.
void EndToEnd::arm(Time now) {
  while (!scan_.empty()) {
    const RetransmissionScan::Entry& first = scan_.first();
    if (unanswered_[first.slot].sending == static_cast<std::uint64_t>(first.sent)) break;
    scan_.take();
  }
  if (scan_.empty() || Time::ps(scan_.first().at) >= looks_at_) return;
  looks_at_ = max(now, Time::ps(scan_.first().at));
  context_.events.schedule(looks_at_, on_look_, 0);
}

void EndToEnd::look(Time now) {
  if (now != looks_at_) return;  // an earlier look came in between
  looks_at_ = Time::never();
  while (!scan_.empty() && Time::ps(scan_.first().at) <= now) {
    const RetransmissionScan::Entry entry = scan_.take();
    if (unanswered_[entry.slot].sending == static_cast<std::uint64_t>(entry.sent)) timed_out(entry.slot, now);
  }
  arm(now);
}

void EndToEnd::timed_out(std::uint32_t index, Time now) {
  Unanswered& record = unanswered_[index];
  const Packet packet = record.packet;
  if (is_dead(packet) || record.tries.exhausted(context_.config.retransmission_tries)) {
    const bool has_come = record.has_come;
    ++statistics_.given_up;
    close(index);
    if (!has_come && engines_.lost != nullptr)
      engines_.lost(engines_.self, packet, is_dead(packet) ? Status::kNodeDown : Status::kTimedOut, now);
    return;
  }
  record.tries.raise();
  record.backoff.raise();
  record.sending = ++sendings_;  // waits for its port, not for an answer
  Packet again = packet;
  again.user = word_of(index);
  ports_[place(packet.src, packet.intra_port, packet.priority)].own.push_back(again);
  context_.events.schedule(now, on_own_, packet.src);
}

void EndToEnd::delivered(const Packet& packet, Time injected, Time now) {
  statistics_.corrupted += packet.marked != 0;
  if ((packet.notes & Packet::kTrimmed) != 0 || packet.marked != 0) return;  // as if it had not come
  if ((packet.user & kAnswer) != 0) {
    context_.listener.packet_delivered(packet, injected, now);
    return answered(packet.user);
  }
  acknowledge(packet, now);
  Unanswered* record = of(packet.user);
  if (record == nullptr || record->has_come) return void(++statistics_.duplicates);
  record->has_come = true;
  Packet above = packet;
  above.user = record->packet.user;
  engines_.delivered(engines_.self, above, record->injected, now);
}

void EndToEnd::acknowledge(const Packet& packet, Time now) {
  const Packet answer{packet.dst, packet.src, 0, kRdmaPort, 1, kAnswer | packet.user};
  ports_[place(answer.src, answer.intra_port, answer.priority)].own.push_back(answer);
  context_.events.schedule(now, on_own_, answer.src);
}

void EndToEnd::answered(std::uint64_t word) {
  if (of(word) != nullptr) close(static_cast<std::uint32_t>(word));
}

// Its number is free for another one, for which an engine may wait.
void EndToEnd::close(std::uint32_t index) {
  Unanswered& record = unanswered_[index];
  Pair& pair = pair_of(record.packet);
  pair.window.put_back(record.number);
  record.sending = 0;
  unanswered_.free(index);
  if (pair.waiting.empty() || pair.window.is_full()) return;
  const Time now = context_.events.now();
  for (const std::uint32_t at : std::exchange(pair.waiting, {})) {
    ports_[at].waiting = true;
    context_.events.schedule(now, on_own_, at / 2 / ports_of_node_);
  }
}

void EndToEnd::ready(std::uint32_t at, Time now) {
  ports_[at].blocked = false;
  clock_.request(at / 2 / ports_of_node_, now);
}

void EndToEnd::flush(NodeId node, Time now) {
  for (std::uint32_t port = ports_of_node_; port-- > 0;) {
    const auto of_node = static_cast<std::uint8_t>(port);
    flush_port(place(node, of_node, 1), now);
    flush_port(place(node, of_node, 0), now);
  }
}

void EndToEnd::flush_port(std::uint32_t at, Time now) {
  Port& port = ports_[at];
  while (!port.blocked && !port.own.empty()) {
    const Packet packet = port.own.front();
    const bool answers = (packet.user & kAnswer) != 0;
    if (!answers && of(packet.user) == nullptr) {  // answered meanwhile
      port.own.pop_front();
      continue;
    }
    if (!network_->inject(packet)) {
      port.blocked = true;
      return;
    }
    port.own.pop_front();
    context_.count(packet);
    if (answers) continue;
    ++statistics_.retransmissions;
    sent(static_cast<std::uint32_t>(packet.user), now);
  }
  if (!port.blocked && port.waiting) ask_again(at, now);
}

void EndToEnd::ask_again(std::uint32_t at, Time now) {
  ports_[at].waiting = false;
  const std::uint32_t port = at / 2;
  engines_.ready(engines_.self, port / ports_of_node_, static_cast<std::uint8_t>(port % ports_of_node_),
                 static_cast<std::uint8_t>(at % 2), now);
}

}  // namespace exanet
