// SPDX-License-Identifier: Apache-2.0
#include "core/lofamo/awareness.hpp"

#include <algorithm>
#include <utility>

#include "core/units/check.hpp"

namespace exanet::lofamo {

namespace {

// Registers of the gateware, in cycles.
constexpr Cycle kExpires = 2;  // node_watchdog: the period's end to the fault
constexpr Cycle kToHealth = 1;  // node_lofamo: a fault to the word that links are given
constexpr Cycle kToFar =
    3;  // a control word taken by the register of the line to what the far end's registers show, without the line
constexpr Cycle kToSilent = kExpires + 1;  // the last control word's period ends, to `silent`
constexpr Cycle kRouter =
    2;  // a header at a port of the router to its first grant, and a grant to the header at the next port
constexpr Cycle kToReceived = 5;  // Start taken to the header at the far router's port, without the line
constexpr Cycle kPacketWords = 2;  // header and footer
constexpr Cycle kSlotBack = 2;  // Start taken to the next grant of the same output
constexpr Cycle kLineWords = 2;  // of a word of the router
// A daemon's accesses over AXI4-Lite, one after the other, from the cycle in which it begins: its beat, and what two reads show.
constexpr Cycle kBeatAt = 2, kFaultsAt = 4, kNeighboursAt = 7, kReadingCycles = 8;

enum Health : unsigned { kHost = 1, kNi = 2, kLinkDown = 8 };  // bits of health in spec/packet.yaml

}  // namespace

Awareness::Awareness(const Topology& topology, const AwarenessConfig& config, std::vector<Phase> phases,
                     std::vector<Fault> faults)
    : config_(config), phases_(std::move(phases)), faults_(std::move(faults)), found_(faults_.size(), kNever) {
  std::size_t rows = 0;
  for (NodeId n = 0; n < topology.node_count(); ++n) {
    first_row_.push_back(rows);
    rows += topology.port_count(n);
  }
  nodes_.resize(topology.node_count());
  for (NodeId n = 0; n < topology.node_count(); ++n) {
    Node& node = nodes_[n];
    node.table.resize(rows);
    for (std::uint16_t p = 0; p < topology.port_count(n); ++p) {
      const Phase::Link& link = phases_[n].links[p];
      node.ports.emplace_back(topology.neighbour(n, p), ControlWords(config.interval, link.told, link.report));
    }
  }
  for (std::uint32_t i = 0; i < faults_.size(); ++i) schedule(faults_[i].at, false, Kind::kFault, i);
  for (NodeId n = 0; n < topology.node_count(); ++n) schedule(phases_[n].daemon, false, Kind::kReads, n);
}

void Awareness::schedule(Cycle cycle, bool behind, Kind kind, std::uint32_t a, std::uint32_t b) {
  events_.push({2 * cycle + behind, ++order_, kind, a, b});
}

std::uint32_t Awareness::keep(const Packet& packet) {
  if (unused_.empty()) {
    packets_kept_.push_back(packet);
    return static_cast<std::uint32_t>(packets_kept_.size() - 1);
  }
  const std::uint32_t at = unused_.back();
  unused_.pop_back();
  packets_kept_[at] = packet;
  return at;
}

void Awareness::run(Cycle until) {
  while (!events_.empty() && events_.top().half < 2 * until) {
    const Event event = events_.top();
    events_.pop();
    handle(event.half / 2, event);
  }
}

void Awareness::handle(Cycle now, const Event& event) {
  const NodeId n = event.a;
  switch (event.kind) {
    case Kind::kFault: return strike(now, event.a);
    case Kind::kReads: return read(now, n);
    case Kind::kFaultsRead:
      nodes_[n].read_ni_fault = nodes_[n].ni_fault;
      for (Port& port : nodes_[n].ports) port.read_silent = port.silent;
      return;
    case Kind::kNeighboursRead:
      for (Port& port : nodes_[n].ports) port.read_health = port.far_health;
      return;
    case Kind::kReadingEnds: return end_reading(now, n);
    case Kind::kHealth: nodes_[n].ni_fault |= (event.b & kNi) != 0; return add_health(now + kToHealth, n, event.b);
    case Kind::kPoke: return poke(now, n, event.b);
    case Kind::kFar: nodes_[n].ports[event.b >> 8].far_health = event.b & 0xff; return;
    case Kind::kSilent: nodes_[n].ports[event.b].silent = true; return add_health(now + kToHealth, n, kLinkDown);
    case Kind::kArbitrate:
      if (nodes_[n].arbitrate_at == now) arbitrate(now, n);
      return;
    case Kind::kActs:
    case Kind::kArrives: {
      const Packet packet = packets_kept_[event.a];
      unused_.push_back(event.a);
      if (event.kind == Kind::kActs) return act(now, packet);
      return learn(now, packet.node, packet);
    }
  }
}

// -- faults ------------------------------------------------------------------------------------------------------------------------

void Awareness::strike(Cycle now, std::uint32_t index) {
  const Fault& fault = faults_[index];
  Node& node = nodes_[fault.node];
  const auto found = [&](Cycle at, unsigned bits) {
    found_[index] = at;
    schedule(at, false, Kind::kHealth, fault.node, bits);
  };
  if (fault.kind == FaultKind::kLink) return cut(now, fault.node, fault.port, index);
  if (fault.kind == FaultKind::kHost) found(node.host_beat + config_.watchdog + kExpires, kHost);
  if (fault.kind == FaultKind::kNi) {
    const Cycle first = phases_[fault.node].ni;
    found(first + (now - 1 - first) / config_.beat * config_.beat + config_.watchdog + kExpires, kNi);
  }
  if (fault.kind != FaultKind::kNi) node.host_dead = std::min(node.host_dead, now);
  if (fault.kind != FaultKind::kHost) node.ni_dead = std::min(node.ni_dead, now);
  if (fault.kind == FaultKind::kNode)
    for (std::uint32_t p = 0; p < node.ports.size(); ++p) cut(now, fault.node, p, index);
}

// Both directions of a link are lost from now on; each end finds it silent its period behind the last control word that came.
void Awareness::cut(Cycle now, NodeId n, std::uint32_t port, std::uint32_t index) {
  const PortRef far = nodes_[n].ports[port].far;
  if (far.node == kNoNode) return;
  for (const auto& [from, p] : {std::pair{n, port}, std::pair{far.node, std::uint32_t{far.port}}}) {
    Port& sender = nodes_[from].ports[p];
    if (sender.cut <= now) continue;
    sender.cut = now;
    advance(from, p, now - 2);
    const Cycle heard = sender.words.told_before(now - 1) + kToFar + config_.line;
    const Cycle silent = heard + config_.silence + kToSilent;
    found_[index] = std::min(found_[index], silent);
    schedule(silent, false, Kind::kSilent, sender.far.node, sender.far.port);
  }
}

// -- health words ------------------------------------------------------------------------------------------------------------------

void Awareness::add_health(Cycle from, NodeId n, unsigned bits) {
  Node& node = nodes_[n];
  if ((node.health | bits) == node.health) return;
  node.health |= bits;
  for (std::uint32_t p = 0; p < node.ports.size(); ++p) {
    Port& port = node.ports[p];
    if (port.far.node == kNoNode) continue;
    port.words.set_health(from, node.health);
    if (!port.poked) schedule(from + 2, false, Kind::kPoke, n, p);
    port.poked = true;
  }
}

// Looks, a cycle at a time, until the link has told what is new.
void Awareness::poke(Cycle now, NodeId n, std::uint32_t p) {
  Port& port = nodes_[n].ports[p];
  advance(n, p, now - 1);
  port.poked = !port.words.settled();
  if (port.poked) schedule(now + 1, false, Kind::kPoke, n, p);
}

void Awareness::advance(NodeId n, std::uint32_t p, Cycle until) {
  Port& port = nodes_[n].ports[p];
  port.words.advance(until, [&](Cycle told, unsigned health) {
    if (told + 1 < port.cut)
      schedule(told + kToFar + config_.line, false, Kind::kFar, port.far.node,
               std::uint32_t{port.far.port} << 8 | health);
  });
}

// -- daemons -----------------------------------------------------------------------------------------------------------------------

void Awareness::read(Cycle now, NodeId n) {
  if (nodes_[n].host_dead <= now) return;
  nodes_[n].host_beat = now + kBeatAt;
  schedule(now + kFaultsAt, true, Kind::kFaultsRead, n);
  schedule(now + kNeighboursAt, true, Kind::kNeighboursRead, n);
  schedule(now + kReadingCycles, true, Kind::kReadingEnds, n);
  schedule(now + config_.beat, false, Kind::kReads, n);
}

void Awareness::end_reading(Cycle now, NodeId n) {
  Node& node = nodes_[n];
  if (node.host_dead <= now) return;
  if (node.read_ni_fault && !std::exchange(node.own_told, true))
    facts_.push_back({now, n, n, Fact::kOwn, Fact::kNiFault});
  const auto state_of = [](const Port& port) {
    return static_cast<std::uint8_t>((port.read_health & (kHost | kNi)) | (port.read_silent ? Fact::kSilent : 0u));
  };
  for (Port& port : node.ports) port.held = port.far.node != kNoNode && state_of(port) == 0;
  for (std::uint16_t p = 0; p < node.ports.size(); ++p) {
    const Row& known = row(node, n, p);
    const std::uint8_t state = state_of(node.ports[p]);
    if (state != known.state)
      learn(now, n, {.reporter = n, .port = p, .row = {static_cast<std::uint16_t>(known.number + 1), state}});
  }
}

// A fact that is newer than what is known goes on to all neighbours that are held for alive, but to the one that sent it.
void Awareness::learn(Cycle now, NodeId n, const Packet& fact) {
  Node& node = nodes_[n];
  Row& known = row(node, fact.reporter, fact.port);
  if (fact.from != Fact::kOwn && (node.host_dead <= now || node.ni_dead <= now)) return;
  if (fact.row.number <= known.number) return;
  known = fact.row;
  facts_.push_back({now, n, fact.reporter, fact.port, fact.row.state});
  Packet next = fact;
  next.node = n;
  next.targets = 0;
  for (std::uint16_t p = 0; p < node.ports.size(); ++p)
    if (p != fact.from && node.ports[p].held) next.targets |= std::uint64_t{1} << p;
  schedule(now + config_.response, false, Kind::kActs, keep(next));
}

void Awareness::act(Cycle now, const Packet& fact) {
  Node& node = nodes_[fact.node];
  if (node.host_dead <= now || node.ni_dead <= now) return;
  for (std::uint32_t p = 0; p < node.ports.size(); ++p) {
    if ((fact.targets >> p & 1) == 0) continue;
    const Cycle header = std::max(now, node.input_free);
    node.input_free = header + kPacketWords;
    send(fact.node, p, header, fact);
  }
}

// -- packets: the rules of docs/microarchitecture.md for those that go one hop -------------------------------------------------------

void Awareness::send(NodeId n, std::uint32_t p, Cycle header, const Packet& fact) {
  Node& node = nodes_[n];
  Port& port = node.ports[p];
  const Cycle granted = std::max({header + kRouter, node.idle_at, port.output_free});
  node.idle_at = granted + kPacketWords;
  const Cycle start = port.words.add_packet(granted + kRouter);
  port.output_free = std::max(node.idle_at, start + kSlotBack);
  ++packets_;
  Cycle lost = port.cut;
  for (const Fault& fault : faults_) {  // those to come, too
    const bool hits =
        fault.kind == FaultKind::kNode
            ? fault.node == n || fault.node == port.far.node
            : fault.kind == FaultKind::kLink && ((fault.node == n && fault.port == p) ||
                                                 (fault.node == port.far.node && fault.port == port.far.port));
    if (hits) lost = std::min(lost, fault.at);
  }
  const Cycle last = start + 1 + kPacketWords * kLineWords;  // word on the line
  amid_ += start < lost && last >= lost;
  if (last >= lost) return;
  Packet packet = fact;
  packet.node = port.far.node;
  packet.from = port.far.port;
  packet.request = start + kToReceived + config_.line + kRouter;
  packet.tail = packet.request + kLineWords;
  nodes_[port.far.node].ports[port.far.port].queue.push_back(packet);
  wake(packet.request, port.far.node);
}

void Awareness::wake(Cycle at, NodeId n) {
  if (at >= nodes_[n].arbitrate_at) return;
  nodes_[n].arbitrate_at = at;
  schedule(at, false, Kind::kArbitrate, n);
}

// The network interface's output takes one of the packets that ask for it: those that are due before others, behind the one that was granted last.
// Where nobody is due, all that ask become so.
void Awareness::arbitrate(Cycle now, NodeId n) {
  Node& node = nodes_[n];
  node.arbitrate_at = kNever;
  if (now < node.output_free) return wake(node.output_free, n);
  std::uint32_t chosen = ~0u;
  int best = -1, others = -1;
  Cycle next = kNever;
  const auto asks = [](const Port& port) { return std::max(port.queue.front().request, port.idle_at); };
  for (std::uint32_t p = 0; p < node.ports.size(); ++p) {
    const Port& port = node.ports[p];
    if (port.queue.empty()) continue;
    if (asks(port) > now) {
      next = std::min(next, asks(port));
      continue;
    }
    ++others;
    const int its = port.due * 2 + (node.granted != ~0u && p > node.granted);
    if (its > best) best = its, chosen = p;
  }
  if (chosen == ~0u) return next == kNever ? void() : wake(next, n);
  Port& port = node.ports[chosen];
  if (others > 0 && !port.due)
    for (Port& other : node.ports)
      if (!other.queue.empty() && asks(other) <= now) other.due = true;
  port.due = false;
  node.granted = chosen;
  const Packet packet = port.queue.front();
  port.queue.pop_front();
  const Cycle left = std::max(now + kPacketWords, packet.tail);
  node.output_free = port.idle_at = left;
  port.words.add_credit(left + 1);
  schedule(left + 1, false, Kind::kArrives, keep(packet));
  for (const Port& other : node.ports)
    if (!other.queue.empty()) next = std::min(next, asks(other));
  if (next != kNever) wake(std::max(next, left), n);
}

}  // namespace exanet::lofamo
