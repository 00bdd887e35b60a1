// SPDX-License-Identifier: Apache-2.0
// Draws faults and phases, runs LO|FA|MO on them, and compares what each node knows with what is so.
//
// Problem: awareness times depend on where faults strike and on the phases of periods, and a live node may stay
// unaware.
//
// Model: nodes and links that work form connected components. A node that witnesses a fault, as its neighbour or as
// an end of the link, is to inform its component; a node that believes in other components than there are misjudges.
//
// Limits: all faults of a draw strike in the same cycle, when every watchdog and every link has had its first period.
#include "core/lofamo/study.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <utility>

#include "core/config/error.hpp"

namespace exanet::lofamo {

namespace {

using Links = std::set<std::pair<NodeId, std::uint16_t>>;  // each by one of its ends, or by both

// Nodes that work and links that do not, as they are or as one node knows them.
struct View {
  explicit View(NodeId nodes) : works(nodes, true) {}
  bool is_cut(NodeId n, std::uint16_t port, PortRef far) const {
    return cut.contains({n, port}) || cut.contains({far.node, far.port});
  }
  std::vector<bool> works;
  Links cut;
};

// The connected components of the nodes and links that work.
class Components {
 public:
  Components(const Topology& topology, const View& view) : root_(topology.node_count(), kNoNode) {
    for (NodeId start = 0; start < root_.size(); ++start)
      if (view.works[start] && root_[start] == kNoNode) sizes_.push_back(visit(topology, view, start));
  }
  NodeId of(NodeId n) const { return root_[n]; }  // kNoNode: does not work
  std::uint32_t outside_largest() const {
    std::uint32_t all = 0, largest = 0;
    for (const std::uint32_t size : sizes_) all += size, largest = std::max(largest, size);
    return all - largest;
  }

 private:
  std::uint32_t visit(const Topology& topology, const View& view, NodeId start) {
    std::uint32_t size = 0;
    std::vector<NodeId> next{start};
    root_[start] = start;
    while (!next.empty()) {
      const NodeId n = next.back();
      next.pop_back();
      ++size;
      for (std::uint16_t p = 0; p < topology.port_count(n); ++p) {
        const PortRef far = topology.neighbour(n, p);
        if (far.node == kNoNode || !view.works[far.node] || root_[far.node] != kNoNode) continue;
        if (view.is_cut(n, p, far)) continue;
        root_[far.node] = start;
        next.push_back(far.node);
      }
    }
    return size;
  }

  std::vector<NodeId> root_;
  std::vector<std::uint32_t> sizes_;
};

// Whether a fact reports a fault, as a neighbour of the node or from one end of the link.
bool reports(const Topology& topology, const Fact& fact, const Fault& fault) {
  if (fact.port == Fact::kOwn) return false;
  const PortRef far = topology.neighbour(fact.reporter, fact.port);
  switch (fault.kind) {
    case FaultKind::kHost: return far.node == fault.node && (fact.state & (Fact::kHostFault | Fact::kSilent)) != 0;
    case FaultKind::kNi: return far.node == fault.node && (fact.state & (Fact::kNiFault | Fact::kSilent)) != 0;
    case FaultKind::kNode: return far.node == fault.node && (fact.state & Fact::kSilent) != 0;
    default: break;
  }
  const bool here = fact.reporter == fault.node && fact.port == fault.port;
  return (here || (far.node == fault.node && far.port == fault.port)) && (fact.state & Fact::kSilent) != 0;
}

View view_of(const std::vector<Fault>& faults, NodeId nodes) {
  View view(nodes);
  for (const Fault& fault : faults) {
    if (fault.kind == FaultKind::kLink)
      view.cut.insert({fault.node, fault.port});
    else
      view.works[fault.node] = false;
  }
  return view;
}

// By node: what its facts say.
std::vector<View> known_views(const Topology& topology, const std::vector<Fact>& facts) {
  std::vector<View> views(topology.node_count(), View(topology.node_count()));
  for (const Fact& fact : facts) {
    if (fact.port == Fact::kOwn) continue;
    View& view = views[fact.node];
    if ((fact.state & (Fact::kHostFault | Fact::kNiFault)) != 0)
      view.works[topology.neighbour(fact.reporter, fact.port).node] = false;
    if ((fact.state & Fact::kSilent) != 0) view.cut.insert({fact.reporter, fact.port});
  }
  return views;
}

// Whether two partitions of the nodes have the same component around node n.
bool same_around(NodeId n, const Components& a, const Components& b, NodeId nodes) {
  for (NodeId m = 0; m < nodes; ++m)
    if ((a.of(m) == a.of(n)) != (b.of(m) == b.of(n))) return false;
  return true;
}

// By node: when it first knew of a fault.
std::vector<Cycle> aware_at(const Topology& topology, const Fault& fault, const std::vector<Fact>& facts) {
  std::vector<Cycle> at(topology.node_count(), kNever);
  for (const Fact& fact : facts)
    if (reports(topology, fact, fault)) at[fact.node] = std::min(at[fact.node], fact.at);
  return at;
}

// The live nodes beside a fault, over links that work or were cut by it.
std::vector<NodeId> witnesses(const Topology& topology, const Fault& fault, const View& actual) {
  std::vector<NodeId> found;
  const auto add = [&](NodeId n) {
    if (n != kNoNode && actual.works[n]) found.push_back(n);
  };
  if (fault.kind == FaultKind::kLink) {
    add(fault.node);
    add(topology.neighbour(fault.node, fault.port).node);
    return found;
  }
  for (std::uint16_t p = 0; p < topology.port_count(fault.node); ++p) {
    const PortRef far = topology.neighbour(fault.node, p);
    if (!actual.is_cut(fault.node, p, far)) add(far.node);
  }
  return found;
}

// Adds who became aware of a fault, and when. `at`: by node.
void add_awareness(const Topology& topology, const Fault& fault, const std::vector<Cycle>& at, const View& actual,
                   const Components& components, Study& study) {
  std::set<NodeId> reached;  // components of witnesses
  Cycle first = kNever, last = 0;
  for (const NodeId n : witnesses(topology, fault, actual)) {
    reached.insert(components.of(n));
    first = std::min(first, at[n]);
  }
  if (reached.empty()) {
    ++study.unseen;
    return;
  }
  for (NodeId n = 0; n < at.size(); ++n) {
    if (!actual.works[n] || !reached.contains(components.of(n))) continue;
    if (at[n] == kNever)
      ++study.unaware;
    else
      last = std::max(last, at[n]);
  }
  if (first == kNever) return;
  study.neighbours.add(first - fault.at);
  study.global.add(last - fault.at);
}

void check(const StudyConfig& config, NodeId nodes) {
  constexpr Cycle kRegister = 0xffff'ffff;
  const AwarenessConfig& c = config.network;
  require(config.faults > 0 && config.faults <= nodes, "faults", "give from 1 fault to the number of nodes");
  require_in_range(c.watchdog, 1, kRegister, "watchdog_cycles", "the watchdogs' period");
  require_in_range(c.beat, 1, c.watchdog, "beat_cycles", "the heartbeat period, which must be within the watchdogs',");
  require_in_range(c.interval, 0, 65'535, "interval_cycles", "the interval of control words");
  require_in_range(c.silence, control_period(c) + 1, kRegister, "silence_cycles",
                   "the timeout for silence, which must exceed the period of control words,");
  require_in_range(c.line, 0, kRegister, "line_cycles", "the line's latency");
  require_in_range(c.response, 1, kRegister, "response_cycles", "the host's response time");
}

using Random = std::mt19937_64;

std::vector<Fault> draw_faults(const Topology& topology, const StudyConfig& config, Cycle at, Random& random) {
  std::vector<NodeId> places(topology.node_count());
  std::iota(places.begin(), places.end(), NodeId{0});
  std::vector<Fault> faults;
  for (std::uint32_t f = 0; f < config.faults; ++f) {
    std::swap(places[f], places[f + random() % (places.size() - f)]);
    Fault fault{config.kind, places[f], 0, at};
    if (config.kind == FaultKind::kLink) {
      do fault.port = static_cast<std::uint16_t>(random() % topology.port_count(fault.node));
      while (topology.neighbour(fault.node, fault.port).node == kNoNode);
    }
    faults.push_back(fault);
  }
  return faults;
}

}  // namespace

Cycle control_period(const AwarenessConfig& config) { return (config.interval == 0 ? 65'535 : config.interval) + 2; }

Cycle settling(const AwarenessConfig& config, NodeId nodes) {
  const Cycle hop = config.line + config.response + 200;
  return config.watchdog + 3 * config.beat + config.silence + 2 * control_period(config) +
         std::min<Cycle>(nodes, 128) * hop;
}

std::vector<Phase> draw_phases(const Topology& topology, const AwarenessConfig& config, std::mt19937_64& random) {
  const auto draw = [&](Cycle many) { return static_cast<Cycle>(random() % static_cast<std::uint64_t>(many)); };
  std::vector<Phase> phases(topology.node_count());
  for (NodeId n = 0; n < phases.size(); ++n) {
    phases[n].daemon = draw(config.beat);
    phases[n].ni = draw(config.beat);
    for (std::uint16_t p = 0; p < topology.port_count(n); ++p)
      phases[n].links.push_back({-draw(control_period(config)), static_cast<unsigned>(random() % 5)});
  }
  return phases;
}

void judge(const Topology& topology, const std::vector<Fault>& faults, const Awareness& run, Study& study) {
  const NodeId nodes = topology.node_count();
  const View actual = view_of(faults, nodes);
  const Components components(topology, actual);
  study.cut_off += components.outside_largest();
  study.packets += run.packets();
  const std::vector<View> views = known_views(topology, run.facts());
  for (NodeId n = 0; n < nodes; ++n)
    if (actual.works[n] && !same_around(n, Components(topology, views[n]), components, nodes)) ++study.misjudged;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    if (run.detected()[i] != kNever) study.local.add(run.detected()[i] - faults[i].at);
    add_awareness(topology, faults[i], aware_at(topology, faults[i], run.facts()), actual, components, study);
  }
}

Study study(const Topology& topology, const StudyConfig& config) {
  const NodeId nodes = topology.node_count();
  check(config, nodes);
  const AwarenessConfig& c = config.network;
  // All phases are drawn, so the cycle itself need not be: behind the first signs of life, and the first control words.
  const Cycle at = 2 * (c.watchdog + control_period(c));
  Random random(config.seed);
  Study made;
  for (std::uint32_t i = 0; i < config.draws; ++i) {
    std::vector<Phase> phases = draw_phases(topology, c, random);
    const std::vector<Fault> faults = draw_faults(topology, config, at, random);
    EventQueue events;
    Awareness run(events, topology, c, std::move(phases), faults);
    run.run(at + settling(c, nodes));
    judge(topology, faults, run, made);
  }
  return made;
}

FaultKind fault_kind_of(const std::string& name) {
  if (name == "host") return FaultKind::kHost;
  if (name == "ni") return FaultKind::kNi;
  if (name == "node") return FaultKind::kNode;
  if (name == "link") return FaultKind::kLink;
  throw ConfigError("kind", "there is no fault \"" + name + "\": give host, ni, node or link");
}

}  // namespace exanet::lofamo
