// SPDX-License-Identifier: Apache-2.0
// The steps from a fault to a fact at every node: detection, health words, daemons; packets are beside this file.
//
// Problem: each step takes the cycles of the gateware, and an idle link or interface must cost no events.
//
// Model: an event is a step of one node. A node has events for its daemon's readings of what has changed, and for what
// is under way; a link has one per cycle only while it has changed health to send.
//
// Limits: see awareness.hpp.
#include "core/lofamo/awareness.hpp"

#include <algorithm>
#include <utility>

#include "core/units/check.hpp"

namespace exanet::lofamo {

namespace {

constexpr Time kHalfCycle = Time::ps(kCycle.ps() / 2);

// Registers of the gateware, in cycles.
constexpr Cycle kExpires = 2;  // node_watchdog: the period's end to the fault
constexpr Cycle kToHealth = 1;  // node_lofamo: a fault to the word that links are given
// A control word taken by the register of the line to what the far end's registers show, without the line.
constexpr Cycle kToFar = 3;
constexpr Cycle kToSilent = kExpires + 1;  // the last control word's period ends, to `silent`
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
  note_cuts();
  for (std::uint32_t i = 0; i < faults_.size(); ++i) {
    schedule(faults_[i].at, handlers_.fault, i);
    if (faults_[i].until != kNever) schedule(faults_[i].until, handlers_.repair, i);
  }
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
      .repair = add_handler([](Self& s, Cycle now, Word index, Word) { s.repair(now, index); }),
      .read = add_handler([](Self& s, Cycle now, Word n, Word) { s.read(now, n); }),
      .sample_faults = add_handler([](Self& s, Cycle, Word n, Word) { s.sample_faults(n); }),
      .sample_neighbours = add_handler([](Self& s, Cycle, Word n, Word) { s.sample_neighbours(n); }),
      .end_reading = add_handler([](Self& s, Cycle now, Word n, Word) { s.end_reading(now, n); }),
      .forward = add_handler([](Self& s, Cycle now, Word index, Word) { s.forward(now, s.take(index)); }),
      .host_fault = add_handler(
          [](Self& s, Cycle now, Word n, Word) { s.set_health(now + kToHealth, n, s.nodes_[n].health | kHost); }),
      .ni_fault = add_handler([](Self& s, Cycle now, Word n, Word again) {
        Node& node = s.nodes_[n];
        if (node.ni_again != again) return;
        node.ni_fault = true;
        s.wake(now, n);
        s.set_health(now + kToHealth, n, node.health | kNi);
      }),
      .ni_works = add_handler([](Self& s, Cycle now, Word n, Word again) {
        Node& node = s.nodes_[n];
        if (node.ni_again != again) return;
        node.ni_fault = false;
        s.wake(now, n);
        s.set_health(now + kToHealth, n, node.health & ~unsigned{kNi});
      }),
      .send_health = add_handler([](Self& s, Cycle now, Word n, Word port) { s.send_health(now, n, port); }),
      .far_health = add_handler([](Self& s, Cycle now, Word n, Word what) {
        s.nodes_[n].ports[what >> 8].far_health = what & 0xff;
        s.wake(now, n);
      }),
      .silent = add_handler([](Self& s, Cycle now, Word n, Word what) {
        Port& port = s.nodes_[n].ports[what & 0xffff];
        if ((port.heard & 0xffff) != what >> 16) return;
        port.silent = true;
        s.wake(now, n);
        s.set_health(now + kToHealth, n, s.nodes_[n].health | kLinkDown);
      }),
      .heard = add_handler([](Self& s, Cycle now, Word n, Word what) {
        Node& node = s.nodes_[n];
        Port& port = node.ports[what & 0xffff];
        if ((port.heard & 0xffff) != what >> 16) return;
        const Node& far = s.nodes_[port.far.node];
        port.silent = false;
        port.far_health = far.health;
        s.wake(now, n);
        const bool silent = std::ranges::any_of(node.ports, [](const Port& p) { return p.silent; });
        if (!silent) s.set_health(now + kToHealth, n, node.health & ~unsigned{kLinkDown});
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
  const Phase& phase = phases_[fault.node];
  const auto last_before = [&](Cycle first, Cycle at) {
    return first + (at - 1 - first) / config_.beat * config_.beat;
  };
  const auto detect = [&](Cycle beat, std::uint32_t handler, std::uint32_t again) {
    const Cycle at = detected_[index] = beat + config_.watchdog + kExpires;
    if (at >= now) schedule(at, handler, fault.node, again);  // else an earlier fault of the same host was
  };
  if (fault.kind == FaultKind::kLink) return cut(now, fault.node, fault.port, index);
  if (fault.kind == FaultKind::kHost) {
    const Cycle died = std::min(now, node.host_dead);
    detect(died > phase.daemon ? last_before(phase.daemon, died) + kBeatAt : 0, handlers_.host_fault, 0);
  }
  if (fault.kind == FaultKind::kNi) detect(last_before(phase.ni, now), handlers_.ni_fault, node.ni_again);
  if (fault.kind != FaultKind::kNi) node.host_dead = std::min(node.host_dead, now);
  if (fault.kind != FaultKind::kHost) node.ni_dead = std::min(node.ni_dead, now);
  if (fault.kind == FaultKind::kNode)
    for (std::uint32_t p = 0; p < node.ports.size(); ++p) cut(now, fault.node, p, index);
}

// What has failed works again.
void Awareness::repair(Cycle now, std::uint32_t index) {
  const Fault& fault = faults_[index];
  if (fault.kind == FaultKind::kLink) return reconnect(now, fault.node, fault.port);
  EXANET_CHECK(fault.kind == FaultKind::kNi, "a host or a node works again", start_of(now).ps(), fault.node, index);
  Node& node = nodes_[fault.node];
  const Cycle first = phases_[fault.node].ni;
  const Cycle beat = first + (now - first + config_.beat - 1) / config_.beat * config_.beat;
  node.ni_dead = kNever;
  schedule(beat + 1, handlers_.ni_works, fault.node, ++node.ni_again);
}

// Both directions of a link carry words again; each end hears the next one.
void Awareness::reconnect(Cycle now, NodeId n, std::uint32_t port) {
  const PortRef far = nodes_[n].ports[port].far;
  for (const auto& [from, p] : {std::pair{n, port}, std::pair{far.node, std::uint32_t{far.port}}}) {
    Port& sender = nodes_[from].ports[p];
    advance(from, p, now - 2);
    sender.cut = kNever;
    Port& hears = nodes_[sender.far.node].ports[sender.far.port];
    const Cycle word = std::max(sender.words.last_before(now - 1) + config_.interval + 2, now);
    schedule(word + kToFar + config_.line + 1, handlers_.heard, sender.far.node,
             (++hears.heard & 0xffff) << 16 | sender.far.port);
  }
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
    const Port& hears = nodes_[sender.far.node].ports[sender.far.port];
    schedule(silent, handlers_.silent, sender.far.node, (hears.heard & 0xffff) << 16 | sender.far.port);
  }
}

// -- health words -----------------------------------------------------------------------------------------------------

void Awareness::set_health(Cycle from, NodeId n, unsigned health) {
  Node& node = nodes_[n];
  if (node.health == health) return;
  node.health = health;
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

// Something that the daemon reads has changed: schedules the reading that is under way, which may see it still, and the
// next one.
void Awareness::wake(Cycle now, NodeId n) {
  Node& node = nodes_[n];
  const Cycle first = phases_[n].daemon;
  const Cycle begun = now < first ? first - config_.beat : first + (now - first) / config_.beat * config_.beat;
  if (begun >= first && now <= begun + kNeighboursAt && node.reading < begun) {
    node.reading = begun;
    if (now <= begun + kFaultsAt) schedule_behind(begun + kFaultsAt, handlers_.sample_faults, n);
    schedule_behind(begun + kNeighboursAt, handlers_.sample_neighbours, n);
    schedule_behind(begun + kReadingCycles, handlers_.end_reading, n);
  }
  if (node.reading >= begun + config_.beat) return;
  node.reading = begun + config_.beat;
  schedule(node.reading, handlers_.read, n);
}

void Awareness::read(Cycle now, NodeId n) {
  if (nodes_[n].host_dead <= now) return;
  schedule_behind(now + kFaultsAt, handlers_.sample_faults, n);
  schedule_behind(now + kNeighboursAt, handlers_.sample_neighbours, n);
  schedule_behind(now + kReadingCycles, handlers_.end_reading, n);
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
  if (!std::exchange(node.own_reported, node.read_ni_fault) && node.read_ni_fault)
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

// Notes at each port when what it sends is lost, by faults that are to come, too.
void Awareness::note_cuts() {
  const auto cut = [&](NodeId n, std::uint32_t p, const Fault& fault) {
    const PortRef far = nodes_[n].ports[p].far;
    if (far.node == kNoNode) return;
    nodes_[n].ports[p].cuts.emplace_back(fault.at, fault.until);
    nodes_[far.node].ports[far.port].cuts.emplace_back(fault.at, fault.until);
  };
  for (const Fault& fault : faults_) {
    if (fault.kind == FaultKind::kLink) cut(fault.node, fault.port, fault);
    for (std::uint32_t p = 0; fault.kind == FaultKind::kNode && p < nodes_[fault.node].ports.size(); ++p)
      cut(fault.node, p, fault);
  }
  for (Node& node : nodes_)
    for (Port& port : node.ports) std::ranges::sort(port.cuts);
}

}  // namespace exanet::lofamo
