// SPDX-License-Identifier: Apache-2.0
// Packets of diagnosis: from a host over the router and a line to the next host.
//
// Model: the rules of docs/microarchitecture.md for packets that go one hop. The cycles of a packet are computed when
// it is sent, and those of its last stretch when the network interface's output takes it.
//
// Limits: see awareness.hpp. A router's input holds packets for its own node alone.
#include <algorithm>

#include "core/lofamo/awareness.hpp"

namespace exanet::lofamo {

namespace {

// Registers of the gateware, in cycles.
// A header at a port of the router to its first grant, and a grant to the header at the next port.
constexpr Cycle kRouter = 2;
constexpr Cycle kToReceived = 5;  // Start taken to the header at the far router's port, without the line
constexpr Cycle kPacketWords = 2;  // header and footer
constexpr Cycle kSlotBack = 2;  // Start taken to the next grant of the same output
constexpr Cycle kLineWords = 2;  // of a word of the router

}  // namespace

void Awareness::forward(Cycle now, const Packet& fact) {
  Node& node = nodes_[fact.node];
  if (node.host_dead <= now || node.ni_dead <= now) return;
  for (std::uint32_t p = 0; p < node.ports.size(); ++p) {
    if ((fact.targets >> p & 1) == 0) continue;
    const Cycle header = std::max(now, node.input_free);
    node.input_free = header + kPacketWords;
    send(fact.node, p, header, fact);
  }
}

void Awareness::send(NodeId n, std::uint32_t p, Cycle header, const Packet& fact) {
  Node& node = nodes_[n];
  Port& port = node.ports[p];
  const Cycle granted = std::max({header + kRouter, node.idle_at, port.output_free});
  node.idle_at = granted + kPacketWords;
  const Cycle start = port.words.add_packet(granted + kRouter);
  port.output_free = std::max(node.idle_at, start + kSlotBack);
  ++packets_;
  const Cycle last = start + 1 + kPacketWords * kLineWords;  // word on the line
  for (const auto& [from, until] : port.cuts) {
    if (last < from || start >= until) continue;
    packets_cut_ += start < from;
    return;
  }
  Packet packet = fact;
  packet.node = port.far.node;
  packet.from = port.far.port;
  packet.request = start + kToReceived + config_.line + kRouter;
  packet.tail = packet.request + kLineWords;
  nodes_[port.far.node].ports[port.far.port].queue.push_back(packet);
  request_arbitration(packet.request, port.far.node);
}

void Awareness::request_arbitration(Cycle at, NodeId n) {
  if (at >= nodes_[n].arbitrate_at) return;
  nodes_[n].arbitrate_at = at;
  schedule(at, handlers_.arbitrate, n);
}

// The network interface's output takes one of the packets that request it.
void Awareness::arbitrate(Cycle now, NodeId n) {
  Node& node = nodes_[n];
  node.arbitrate_at = kNever;
  if (now < node.output_free) return request_arbitration(node.output_free, n);
  const std::uint32_t chosen = choose(now, n);
  Cycle free = now;
  if (chosen != kNoPort) {
    Port& port = node.ports[chosen];
    const Packet packet = port.queue.front();
    port.queue.pop_front();
    free = node.output_free = port.idle_at = std::max(now + kPacketWords, packet.tail);
    port.words.add_credit(free + 1);
    schedule(free + 1, handlers_.arrive, pending_.add(packet));
  }
  Cycle next = kNever;
  for (const Port& port : node.ports)
    if (!port.queue.empty()) next = std::min(next, requests_at(port));
  if (next != kNever) request_arbitration(std::max(next, free), n);
}

// Chooses an input among those that request: one that is due before others, behind the one that was granted last. Where
// none is due, all that request become so.
std::uint32_t Awareness::choose(Cycle now, NodeId n) {
  Node& node = nodes_[n];
  const auto requests = [&](const Port& port) { return !port.queue.empty() && requests_at(port) <= now; };
  std::uint32_t chosen = kNoPort, count = 0;
  int best = -1;
  for (std::uint32_t p = 0; p < node.ports.size(); ++p) {
    const Port& port = node.ports[p];
    if (!requests(port)) continue;
    ++count;
    const int priority = port.due * 2 + (node.granted != kNoPort && p > node.granted);
    if (priority > best) best = priority, chosen = p;
  }
  if (chosen == kNoPort) return kNoPort;
  Port& port = node.ports[chosen];
  if (count > 1 && !port.due)
    for (Port& other : node.ports)
      if (requests(other)) other.due = true;
  port.due = false;
  node.granted = chosen;
  return chosen;
}

}  // namespace exanet::lofamo
