// SPDX-License-Identifier: Apache-2.0
#include "core/lofamo/study.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "core/config/error.hpp"

namespace exanet::lofamo {

namespace {

// Sets of nodes that are joined by links that work, over nodes that do.
class Joined {
 public:
  Joined(const Topology& topology, std::vector<bool> works, const std::set<std::pair<NodeId, std::uint16_t>>& cut)
      : set_(topology.node_count(), kNoNode) {
    for (NodeId start = 0; start < set_.size(); ++start) {
      if (!works[start] || set_[start] != kNoNode) continue;
      sizes_.push_back(0);
      std::vector<NodeId> next{start};
      set_[start] = start;
      while (!next.empty()) {
        const NodeId n = next.back();
        next.pop_back();
        ++sizes_.back();
        for (std::uint16_t p = 0; p < topology.port_count(n); ++p) {
          const PortRef far = topology.neighbour(n, p);
          if (far.node == kNoNode || !works[far.node] || set_[far.node] != kNoNode) continue;
          if (cut.contains({n, p}) || cut.contains({far.node, far.port})) continue;
          set_[far.node] = start;
          next.push_back(far.node);
        }
      }
    }
  }
  NodeId set_of(NodeId n) const { return set_[n]; }  // kNoNode: does not work
  const std::vector<std::uint32_t>& sizes() const { return sizes_; }

 private:
  std::vector<NodeId> set_;
  std::vector<std::uint32_t> sizes_;
};

// Whether a fact is about a fault: it is a neighbour's, or of one end of a link.
bool shows(const Topology& topology, const Fact& fact, const Fault& fault) {
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

// What one node knows: nodes that do not work, and links that are silent.
struct View {
  std::vector<bool> works;
  std::set<std::pair<NodeId, std::uint16_t>> silent;
};

}  // namespace

void judge(const Topology& topology, const std::vector<Fault>& faults, const Awareness& run, Study& study) {
  const NodeId nodes = topology.node_count();
  std::vector<bool> works(nodes, true);
  std::set<std::pair<NodeId, std::uint16_t>> cut;
  for (const Fault& fault : faults) {
    if (fault.kind == FaultKind::kLink)
      cut.insert({fault.node, fault.port});
    else
      works[fault.node] = false;
  }
  const Joined joined(topology, works, cut);
  const auto& sizes = joined.sizes();
  const std::uint32_t largest = sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
  for (const std::uint32_t size : sizes) study.cut_off += size;
  study.cut_off -= largest;
  study.packets += run.packets();

  std::vector<View> views(nodes, {std::vector<bool>(nodes, true), {}});
  std::vector<std::vector<Cycle>> known(faults.size(), std::vector<Cycle>(nodes, kNever));
  for (const Fact& fact : run.facts()) {
    for (std::size_t i = 0; i < faults.size(); ++i)
      if (shows(topology, fact, faults[i])) known[i][fact.node] = std::min(known[i][fact.node], fact.at);
    if (fact.port == Fact::kOwn) continue;
    View& view = views[fact.node];
    if ((fact.state & (Fact::kHostFault | Fact::kNiFault)) != 0)
      view.works[topology.neighbour(fact.reporter, fact.port).node] = false;
    if ((fact.state & Fact::kSilent) != 0) view.silent.insert({fact.reporter, fact.port});
  }
  for (NodeId n = 0; n < nodes; ++n) {
    if (!works[n]) continue;
    const Joined seen(topology, views[n].works, views[n].silent);
    for (NodeId m = 0; m < nodes; ++m)
      if ((seen.set_of(m) == seen.set_of(n)) != (joined.set_of(m) == joined.set_of(n))) {
        ++study.misjudged;
        break;
      }
  }
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const Fault& fault = faults[i];
    if (run.found()[i] != kNever) study.local.add(run.found()[i] - fault.at);
    // Those beside it, and whom they are joined to.
    std::set<NodeId> told;
    Cycle first = kNever, last = 0;
    const auto beside = [&](NodeId n) {
      if (n == kNoNode || !works[n]) return;
      told.insert(joined.set_of(n));
      first = std::min(first, known[i][n]);
    };
    if (fault.kind == FaultKind::kLink) {
      beside(fault.node);
      beside(topology.neighbour(fault.node, fault.port).node);
    } else {
      for (std::uint16_t p = 0; p < topology.port_count(fault.node); ++p) {
        const PortRef far = topology.neighbour(fault.node, p);
        if (far.node != kNoNode && !cut.contains({fault.node, p}) && !cut.contains({far.node, far.port}))
          beside(far.node);
      }
    }
    if (told.empty()) {
      ++study.unseen;
      continue;
    }
    for (NodeId n = 0; n < nodes; ++n) {
      if (!works[n] || !told.contains(joined.set_of(n))) continue;
      if (known[i][n] == kNever)
        ++study.unaware;
      else
        last = std::max(last, known[i][n]);
    }
    if (first == kNever) continue;
    study.neighbours.add(first - fault.at);
    study.global.add(last - fault.at);
  }
}

Study study(const Topology& topology, const StudyConfig& config) {
  const AwarenessConfig& c = config.network;
  const NodeId nodes = topology.node_count();
  if (config.faults == 0 || config.faults > nodes)
    throw ConfigError("faults", "give from 1 fault to as many as there are nodes");
  std::mt19937_64 random(config.seed);
  const auto draw = [&](Cycle many) { return static_cast<Cycle>(random() % static_cast<std::uint64_t>(many)); };
  Study made;
  for (std::uint32_t i = 0; i < config.draws; ++i) {
    const Cycle period = (c.interval == 0 ? 65'535 : c.interval) + 2;
    std::vector<Phase> phases(nodes);
    for (NodeId n = 0; n < nodes; ++n) {
      phases[n].daemon = draw(c.beat);
      phases[n].ni = draw(c.beat);
      for (std::uint16_t p = 0; p < topology.port_count(n); ++p)
        phases[n].links.push_back({-draw(period), static_cast<unsigned>(random() % 5)});
    }
    // All phases are drawn, so the cycle itself need not be: behind the first signs of life, and the first control words.
    const Cycle at = 2 * (c.watchdog + period);
    std::vector<NodeId> places(nodes);
    for (NodeId n = 0; n < nodes; ++n) places[n] = n;
    std::vector<Fault> faults;
    for (std::uint32_t f = 0; f < config.faults; ++f) {
      std::swap(places[f], places[f + random() % (nodes - f)]);
      Fault fault{config.kind, places[f], 0, at};
      if (config.kind == FaultKind::kLink) {
        do fault.port = static_cast<std::uint16_t>(random() % topology.port_count(fault.node));
        while (topology.neighbour(fault.node, fault.port).node == kNoNode);
      }
      faults.push_back(fault);
    }
    Awareness run(topology, c, std::move(phases), faults);
    const Cycle hop = c.line + c.response + 200;
    run.run(at + c.watchdog + 3 * c.beat + c.silence + 2 * period + std::min<Cycle>(nodes, 128) * hop);
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
