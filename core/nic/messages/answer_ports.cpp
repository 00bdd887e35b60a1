// SPDX-License-Identifier: Apache-2.0
// Shares the port of answers between messages and blocks, in both directions: who offers one learns the cycle in which
// it is taken when that is known. Model and limits: answer_ports.hpp.
#include "core/nic/messages/answer_ports.hpp"

#include <algorithm>

namespace exanet {

AnswerPorts::AnswerPorts(EventQueue& events, Time period, std::size_t nodes)
    : events_(events),
      period_(period),
      inject_(events, period, nodes, this,
              [](void* its, NodeId node) { static_cast<AnswerPorts*>(its)->advance(node); }),
      nodes_(nodes) {
  on_choose_ = events.add_handler(
      [](void* its, Time, std::uint32_t node, std::uint64_t) { static_cast<AnswerPorts*>(its)->advance(node); }, this);
}

Cycle AnswerPorts::offer(NodeId node, Kind kind, const Packet& packet, Cycle from) {
  Node& n = nodes_[node];
  n.offers[kind] = {packet, from, kUnknown};
  for (Kind settled; settle(node, n, settled); answering_[settled].call(answering_[settled].self, node))
    if (settled == kind) return n.offers[kind].taken;
  return kUnknown;
}

// Chooses the answer that goes next, in the cycle in which one is there and the port free. False while that is to come.
bool AnswerPorts::choose(NodeId node, Node& n) {
  if (n.chosen >= 0) return true;
  const Cycle cycle = std::max(n.free, std::min(n.offers[kOfMessages].from, n.offers[kOfBlocks].from));
  if (cycle == kUnknown) return false;
  if (both() && cycle_of(events_.now(), period_) < cycle) {
    if (cycle < n.event) events_.schedule(time_of(cycle, period_), on_choose_, node), n.event = cycle;
    return false;
  }
  n.event = kUnknown;
  const bool message = n.offers[kOfMessages].from <= cycle, block = n.offers[kOfBlocks].from <= cycle;
  n.chosen = block && (n.blocks_turn || !message) ? kOfBlocks : kOfMessages;
  n.chosen_from = cycle;
  return true;
}

// True when it is known when the next answer is taken, of this kind.
bool AnswerPorts::settle(NodeId node, Node& n, Kind& kind) {
  if (!choose(node, n)) return false;
  const Cycle taken = inject_.taken_from(node, n.chosen_from);
  if (taken == kUnknown) return false;
  kind = static_cast<Kind>(n.chosen);
  Offer& offer = n.offers[kind];
  inject_.hand_over(node, offer.packet, taken);
  offer.from = kUnknown;
  offer.taken = taken;
  n.blocks_turn = kind == kOfMessages;
  n.free = taken + 1;
  n.chosen = -1;
  return true;
}

void AnswerPorts::advance(NodeId node) {
  Node& n = nodes_[node];
  if (n.event <= cycle_of(events_.now(), period_)) n.event = kUnknown;
  Kind kind;
  while (settle(node, n, kind)) answering_[kind].call(answering_[kind].self, node);
}

void AnswerPorts::arrived(const Packet& packet, Cycle footer) {
  if (packet.marked != 0)
    return network_->give_back(packet.dst, kAnswerPort, time_of(EjectPort::dropped(footer), period_));
  Node& n = nodes_[packet.dst];
  n.arrivals.push_back({packet, footer});
  if (n.arrivals.size() == 1) load_first(packet.dst, n);
}

const Packet* AnswerPorts::front(NodeId node, Kind kind) const {
  const Node& n = nodes_[node];
  return n.arrivals.empty() || kind_of(n.arrivals.front().packet) != kind ? nullptr : &n.arrivals.front().packet;
}

void AnswerPorts::take(NodeId node, Cycle cycle) {
  Node& n = nodes_[node];
  n.eject.take(n.load, cycle, 0);
  n.arrivals.pop_front();
  n.load = kUnknown;
  if (!n.arrivals.empty()) load_first(node, n);
}

// The first one gets to the port's register, and its slot is given back.
void AnswerPorts::load_first(NodeId node, Node& n) {
  n.load = n.eject.load(n.arrivals.front().footer, 0);
  network_->give_back(node, kAnswerPort, time_of(n.load + 1, period_));
  const User& user = asking_[kind_of(n.arrivals.front().packet)];
  user.call(user.self, node);
}

}  // namespace exanet
