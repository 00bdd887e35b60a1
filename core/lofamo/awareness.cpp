// SPDX-License-Identifier: Apache-2.0
// The steps from a fault to a fact at every node: detection, health words, daemons, packets.
//
// Problem: each step takes the cycles of the gateware, and an idle link or interface must cost no events.
//
// Model: an event is a step of one node. A node has events for its daemon's readings and for what is under way; a link
// has one per cycle only while it has changed health to send. Cycles of packets are computed when the packet is sent.
//
// Limits: see awareness.hpp. A packet of diagnosis goes one hop, so a router's input holds packets for its own node
// alone.
#include "core/lofamo/awareness.hpp"

#include <algorithm>
#include <utility>

namespace exanet::lofamo {

namespace {

constexpr Time kHalfCycle = Time::ps(kCycle.ps() / 2);

// Registers of the gateware, in cycles.
constexpr Cycle kExpires = 2;  // node_watchdog: the period's end to the fault
constexpr Cycle kToHealth = 1;  // node_lofamo: a fault to the word that links are given
// A control word taken by the register of the line to what the far end's registers show, without the line.
constexpr Cycle kToFar = 3;
constexpr Cycle kToSilent = kExpires + 1;  // the last control word's period ends, to `silent`
// A header at a port of the router to its first grant, and a grant to the header at the next port.
constexpr Cycle kRouter = 2;
constexpr Cycle kToReceived = 5;  // Start taken to the header at the far router's port, without the line
constexpr Cycle kPacketWords = 2;  // header and footer
constexpr Cycle kSlotBack = 2;  // Start taken to the next grant of the same output
constexpr Cycle kLineWords = 2;  // of a word of the router
// A daemon's accesses over AXI4-Lite, one after the other, from the cycle in which it begins: its beat, and what two
// reads show.
constexpr Cycle kBeatAt = 2, kFaultsAt = 4, kNeighboursAt = 7, kReadingCycles = 8;

enum Health : unsigned { kHost = 1, kNi = 2, kLinkDown = 8 };  // bits of health in spec/packet.yaml

}  // namespace

Awareness::Awareness(EventQueue& events, const Topology& topology, const AwarenessConfig& config,
                     std::vector<Phase> phases, std::vector<Fault> faults)
    : events_(events),
      config_(config),
      phases_(std::move(phases)),
      faults_(std::move(faults)),
      detected_(faults_.size(), kNever) {
  std::size_t entries = 0;
  for (NodeId n = 0; n < topology.node_count(); ++n) {
    first_entry_.push_back(entries);
    entries += topology.port_count(n);
  }
  nodes_.resize(topology.node_count());
  for (NodeId n = 0; n < topology.node_count(); ++n) {
    Node& node = nodes_[n];
    node.table.resize(entries);
    for (std::uint16_t p = 0; p < topology.port_count(n); ++p) {
      const Phase::Link& link = phases_[n].links[p];
      node.ports.emplace_back(topology.neighbour(n, p), ControlWords(config.interval, link.sent, link.report));
    }
  }
  register_events();
  for (std::uint32_t i = 0; i < faults_.size(); ++i) schedule(faults_[i].at, handlers_.fault, i);
  for (NodeId n = 0; n < topology.node_count(); ++n) schedule(phases_[n].daemon, handlers_.read, n);
}

// Registers a handler that calls `step`, which captures nothing, with this object and the cycle.
template <typename Step>
std::uint32_t Awareness::add_handler(Step) {
  return events_.add_handler(
      [](void* self, Time now, std::uint32_t a, std::uint64_t b) {
        Step{}(*static_cast<Awareness*>(self), now.ps() / kCycle.ps(), a, static_cast<std::uint32_t>(b));
      },
      this);
}

void Awareness::register_events() {
  using Self = Awareness;
  using Word = std::uint32_t;
  handlers_ = {
      .fault = add_handler([](Self& s, Cycle now, Word index, Word) { s.strike(now, index); }),
      .read = add_handler([](Self& s, Cycle now, Word n, Word) { s.read(now, n); }),
      .sample_faults = add_handler([](Self& s, Cycle, Word n, Word) { s.sample_faults(n); }),
      .sample_neighbours = add_handler([](Self& s, Cycle, Word n, Word) { s.sample_neighbours(n); }),
      .end_reading = add_handler([](Self& s, Cycle now, Word n, Word) { s.end_reading(now, n); }),
      .forward = add_handler([](Self& s, Cycle now, Word index, Word) { s.forward(now, s.take(index)); }),
      .fault_found = add_handler([](Self& s, Cycle now, Word n, Word bits) {
        s.nodes_[n].ni_fault |= (bits & kNi) != 0;
        s.add_health(now + kToHealth, n, bits);
      }),
      .send_health = add_handler([](Self& s, Cycle now, Word n, Word port) { s.send_health(now, n, port); }),
      .far_health =
          add_handler([](Self& s, Cycle, Word n, Word what) { s.nodes_[n].ports[what >> 8].far_health = what & 0xff; }),
      .silent = add_handler([](Self& s, Cycle now, Word n, Word port) {
        s.nodes_[n].ports[port].silent = true;
        s.add_health(now + kToHealth, n, kLinkDown);
      }),
      .arbitrate = add_handler([](Self& s, Cycle now, Word n, Word) {
        if (s.nodes_[n].arbitrate_at == now) s.arbitrate(now, n);
      }),
      .arrive = add_handler([](Self& s, Cycle now, Word index, Word) {
        const Packet packet = s.take(index);
        s.learn(now, packet.node, packet);
      }),
  };
}

void Awareness::schedule(Cycle cycle, std::uint32_t handler, std::uint32_t a, std::uint32_t b) {
  events_.schedule(start_of(cycle), handler, a, b);
}

// Schedules an event behind all those of its cycle.
void Awareness::schedule_behind(Cycle cycle, std::uint32_t handler, NodeId n) {
  events_.schedule(start_of(cycle) + kHalfCycle, handler, n);
}

Awareness::Packet Awareness::take(std::uint32_t index) {
  const Packet packet = pending_[index];
  pending_.free(index);
  return packet;
}

// -- faults -----------------------------------------------------------------------------------------------------------

void Awareness::strike(Cycle now, std::uint32_t index) {
  const Fault& fault = faults_[index];
  Node& node = nodes_[fault.node];
  const auto detect = [&](Cycle at, unsigned bits) {
    detected_[index] = at;
    if (at >= now) schedule(at, handlers_.fault_found, fault.node, bits);  // else an earlier fault of the same host was
  };
  if (fault.kind == FaultKind::kLink) return cut(now, fault.node, fault.port, index);
  if (fault.kind == FaultKind::kHost) detect(node.host_beat + config_.watchdog + kExpires, kHost);
  if (fault.kind == FaultKind::kNi) {
    const Cycle first = phases_[fault.node].ni;
    detect(first + (now - 1 - first) / config_.beat * config_.beat + config_.watchdog + kExpires, kNi);
  }
  if (fault.kind != FaultKind::kNi) node.host_dead = std::min(node.host_dead, now);
  if (fault.kind != FaultKind::kHost) node.ni_dead = std::min(node.ni_dead, now);
  if (fault.kind == FaultKind::kNode)
    for (std::uint32_t p = 0; p < node.ports.size(); ++p) cut(now, fault.node, p, index);
}

// Both directions of a link are lost from now on; each end finds it silent its period behind the last control word that
// came.
void Awareness::cut(Cycle now, NodeId n, std::uint32_t port, std::uint32_t index) {
  const PortRef far = nodes_[n].ports[port].far;
  if (far.node == kNoNode) return;
  for (const auto& [from, p] : {std::pair{n, port}, std::pair{far.node, std::uint32_t{far.port}}}) {
    Port& sender = nodes_[from].ports[p];
    if (sender.cut <= now) continue;
    sender.cut = now;
    advance(from, p, now - 2);
    const Cycle received = sender.words.last_before(now - 1) + kToFar + config_.line;
    const Cycle silent = received + config_.silence + kToSilent;
    detected_[index] = std::min(detected_[index], silent);
    schedule(silent, handlers_.silent, sender.far.node, sender.far.port);
  }
}

// -- health words -----------------------------------------------------------------------------------------------------

void Awareness::add_health(Cycle from, NodeId n, unsigned bits) {
  Node& node = nodes_[n];
  if ((node.health | bits) == node.health) return;
  node.health |= bits;
  for (std::uint32_t p = 0; p < node.ports.size(); ++p) {
    Port& port = node.ports[p];
    if (port.far.node == kNoNode) continue;
    port.words.set_health(from, node.health);
    if (!port.health_pending) schedule(from + 2, handlers_.send_health, n, p);
    port.health_pending = true;
  }
}

// Advances the link a cycle at a time until it has sent the changed health.
void Awareness::send_health(Cycle now, NodeId n, std::uint32_t p) {
  Port& port = nodes_[n].ports[p];
  advance(n, p, now - 1);
  port.health_pending = !port.words.settled();
  if (port.health_pending) schedule(now + 1, handlers_.send_health, n, p);
}

void Awareness::advance(NodeId n, std::uint32_t p, Cycle until) {
  Port& port = nodes_[n].ports[p];
  port.words.advance(until, [&](Cycle sent, unsigned health) {
    if (sent + 1 < port.cut)
      schedule(sent + kToFar + config_.line, handlers_.far_health, port.far.node,
               std::uint32_t{port.far.port} << 8 | health);
  });
}

// -- daemons ----------------------------------------------------------------------------------------------------------

void Awareness::read(Cycle now, NodeId n) {
  if (nodes_[n].host_dead <= now) return;
  nodes_[n].host_beat = now + kBeatAt;
  schedule_behind(now + kFaultsAt, handlers_.sample_faults, n);
  schedule_behind(now + kNeighboursAt, handlers_.sample_neighbours, n);
  schedule_behind(now + kReadingCycles, handlers_.end_reading, n);
  schedule(now + config_.beat, handlers_.read, n);
}

void Awareness::sample_faults(NodeId n) {
  nodes_[n].read_ni_fault = nodes_[n].ni_fault;
  for (Port& port : nodes_[n].ports) port.read_silent = port.silent;
}

void Awareness::sample_neighbours(NodeId n) {
  for (Port& port : nodes_[n].ports) port.read_health = port.far_health;
}

void Awareness::end_reading(Cycle now, NodeId n) {
  Node& node = nodes_[n];
  if (node.host_dead <= now) return;
  if (node.read_ni_fault && !std::exchange(node.own_reported, true))
    facts_.push_back({now, n, n, Fact::kOwn, Fact::kNiFault});
  const auto state_of = [](const Port& port) {
    return static_cast<std::uint8_t>((port.read_health & (kHost | kNi)) | (port.read_silent ? Fact::kSilent : 0u));
  };
  for (Port& port : node.ports) port.alive = port.far.node != kNoNode && state_of(port) == 0;
  for (std::uint16_t p = 0; p < node.ports.size(); ++p) {
    const Entry& known = entry(node, n, p);
    const std::uint8_t state = state_of(node.ports[p]);
    if (state != known.state)
      learn(now, n, {.reporter = n, .port = p, .entry = {static_cast<std::uint16_t>(known.sequence + 1), state}});
  }
}

// Forwards a fact that is newer than what is known to all neighbours that are believed alive but the one that sent it.
void Awareness::learn(Cycle now, NodeId n, const Packet& fact) {
  Node& node = nodes_[n];
  Entry& known = entry(node, fact.reporter, fact.port);
  if (fact.from != Fact::kOwn && (node.host_dead <= now || node.ni_dead <= now)) return;
  if (fact.entry.sequence <= known.sequence) return;
  known = fact.entry;
  facts_.push_back({now, n, fact.reporter, fact.port, fact.entry.state});
  Packet next = fact;
  next.node = n;
  next.targets = 0;
  for (std::uint16_t p = 0; p < node.ports.size(); ++p)
    if (p != fact.from && node.ports[p].alive) next.targets |= std::uint64_t{1} << p;
  schedule(now + config_.response, handlers_.forward, pending_.add(next));
}

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

// -- packets: the rules of docs/microarchitecture.md for those that go one hop --------------------------------------

void Awareness::send(NodeId n, std::uint32_t p, Cycle header, const Packet& fact) {
  Node& node = nodes_[n];
  Port& port = node.ports[p];
  const Cycle granted = std::max({header + kRouter, node.idle_at, port.output_free});
  node.idle_at = granted + kPacketWords;
  const Cycle start = port.words.add_packet(granted + kRouter);
  port.output_free = std::max(node.idle_at, start + kSlotBack);
  ++packets_;
  const Cycle lost = lost_from(n, p), last = start + 1 + kPacketWords * kLineWords;  // word on the line
  packets_cut_ += start < lost && last >= lost;
  if (last >= lost) return;
  Packet packet = fact;
  packet.node = port.far.node;
  packet.from = port.far.port;
  packet.request = start + kToReceived + config_.line + kRouter;
  packet.tail = packet.request + kLineWords;
  nodes_[port.far.node].ports[port.far.port].queue.push_back(packet);
  request_arbitration(packet.request, port.far.node);
}

// The cycle from which on words of a link are lost, by faults that are to come, too.
Cycle Awareness::lost_from(NodeId n, std::uint32_t p) const {
  const Port& port = nodes_[n].ports[p];
  const auto hits = [&](const Fault& fault) {
    if (fault.kind == FaultKind::kNode) return fault.node == n || fault.node == port.far.node;
    if (fault.kind != FaultKind::kLink) return false;
    return (fault.node == n && fault.port == p) || (fault.node == port.far.node && fault.port == port.far.port);
  };
  Cycle lost = port.cut;
  for (const Fault& fault : faults_)
    if (hits(fault)) lost = std::min(lost, fault.at);
  return lost;
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
