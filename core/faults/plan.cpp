// SPDX-License-Identifier: Apache-2.0
// Reads and draws plans of faults.
//
// Problem: `--fail`, `topology.failed` and plans over time name the same things, and drawn faults must be the same
// whatever else is drawn. Model: changes in a vector that is kept in the order of time; a stream of random numbers for
// each drawn thing (core/engine/random.hpp). Limits: names are looked for one by one, which is quick enough for what a
// person lists; failures are independent of each other.
#include "core/faults/plan.hpp"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <set>
#include <stdexcept>
#include <utility>

#include "core/engine/random.hpp"
#include "core/faults/held.hpp"

namespace exanet {

namespace {

struct Thing {
  NodeId node;
  std::uint16_t port;
};

// What may be drawn: switches where there are any, and links between routers, each once.
std::vector<Thing> things(const Topology& shape, bool links) {
  std::vector<Thing> found;
  for (NodeId node = 0; node < shape.node_count(); ++node) {
    if (switch_of(shape, node) != kNoNode) continue;
    if (!links && (!shape.switched() || node >= shape.endpoint_count())) found.push_back({node, LinkStates::kNode});
    for (std::uint16_t port = 0; links && port < shape.port_count(node); ++port) {
      const PortRef far = shape.neighbour(node, port);
      if (far.node != kNoNode && switch_of(shape, far.node) == kNoNode &&
          (far.node > node || (far.node == node && far.port > port)))
        found.push_back({node, port});
    }
  }
  return found;
}

// Exponentially distributed; at least a picosecond.
Time drawn_time(Random& random, Time mean) {
  const double ps = random.exponential(static_cast<double>(mean.ps()));
  return Time::ps(std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(ps, 4e18))));
}

bool earlier(const FaultChange& a, const FaultChange& b) { return a.at < b.at; }

// Numbers behind colons, of which the last ones may be left out: those keep what they have.
void read_figures(const std::string& kind, const std::string& text, std::initializer_list<std::uint32_t*> figures) {
  const char *at = text.data(), *end = at + text.size();
  std::from_chars_result parsed{at, std::errc::invalid_argument};
  for (std::uint32_t* figure : figures) {
    parsed = std::from_chars(at, end, *figure);
    if (parsed.ec != std::errc() || parsed.ptr == end || *parsed.ptr != ':') break;
    at = parsed.ptr + 1;
  }
  if (parsed.ec != std::errc() || parsed.ptr != end)
    throw std::invalid_argument(kind + ":" + text +
                                " is not understood: give a number, then optionally a colon and a seed");
}

std::vector<Thing> drawn(const Topology& shape, bool links, std::uint32_t number, std::uint32_t seed) {
  std::vector<Thing> choice = things(shape, links);
  if (number > choice.size())
    throw std::invalid_argument(std::to_string(number) + (links ? " links" : " nodes") +
                                " are to fail, but this machine has " + std::to_string(choice.size()));
  Random random(seed, links ? 0xfa11 : 0xfa12);
  for (std::uint32_t i = 0; i < number; ++i)
    std::swap(choice[i], choice[i + random.below(static_cast<std::uint32_t>(choice.size() - i))]);
  choice.resize(number);
  return choice;
}

// NUMBER[:SEED]
void fail_at_random(FaultPlan& plan, const Topology& shape, bool links, const std::string& figures, Time at) {
  std::uint32_t number = 0, seed = 1;
  read_figures(links ? "links" : "nodes", figures, {&number, &seed});
  for (const Thing& thing : drawn(shape, links, number, seed)) plan.add({at, thing.node, thing.port, false});
}

// What "NAME:FIGURES" stands for: adds to the plan what fails, from `at` on, and works again. Throws
// std::invalid_argument, saying what to do.
struct Kind {
  const char* name;
  void (*add)(FaultPlan& plan, const Topology& shape, const std::string& figures, Time at);
};

constexpr Kind kKinds[] = {
    {"links", [](FaultPlan& plan, const Topology& shape, const std::string& figures,
                 Time at) { fail_at_random(plan, shape, true, figures, at); }},
    {"nodes", [](FaultPlan& plan, const Topology& shape, const std::string& figures,
                 Time at) { fail_at_random(plan, shape, false, figures, at); }},
};

}  // namespace

NodeId switch_of(const Topology& shape, NodeId node) {
  if (node >= shape.endpoint_count() || !shape.switched() || shape.port_count(node) != 1) return kNoNode;
  return shape.neighbour(node, 0).node;
}

void FaultPlan::add(const FaultChange& change) {
  changes_.insert(std::upper_bound(changes_.begin(), changes_.end(), change, earlier), change);
}

void FaultPlan::add(const std::vector<FaultChange>& changes) {
  changes_.insert(changes_.end(), changes.begin(), changes.end());
  std::stable_sort(changes_.begin(), changes_.end(), earlier);
}

void FaultPlan::fail(const Topology& shape, const std::string& what, Time at) {
  for (const Kind& kind : kKinds)
    if (const std::string name = std::string(kind.name) + ":"; what.starts_with(name))
      return kind.add(*this, shape, what.substr(name.size()), at);
  for (NodeId node = 0; node < shape.node_count(); ++node) {
    const std::string name = shape.node_name(node);
    if (!what.starts_with(name)) continue;
    if (what == name) return add({at, node, LinkStates::kNode, false});
    for (std::uint16_t port = 0; port < shape.port_count(node); ++port)
      if (what.substr(name.size()) == " " + shape.port_name(node, port) && shape.neighbour(node, port).node != kNoNode)
        return add({at, node, port, false});
  }
  const NodeId last = shape.node_count() - 1;
  throw std::invalid_argument("\"" + what + "\" is neither a node nor a link: name a failure like \"" +
                              shape.node_name(last) + "\" or \"" + shape.node_name(last) + " " +
                              shape.port_name(last, 0) + "\", or say how many, e.g. links:2 or nodes:1");
}

void FaultPlan::draw(const Topology& shape, const FaultRate& rate, Time until) {
  const std::uint32_t fault = new_fault();  // those of one thing never overlap
  for (const Thing& thing : things(shape, rate.links)) {
    Random random(rate.seed, (std::uint64_t{thing.node} << 16 | thing.port) + 0xfa13);
    Time at;
    for (bool up = false;; up = !up) {
      const Time mean = up ? rate.repair : rate.between;
      if (mean == Time()) break;
      at = at + min(drawn_time(random, mean), Time::never() - at);
      if (at > until) break;
      if (changes_.size() == kMostChanges)
        throw std::invalid_argument(
            "more than " + std::to_string(kMostChanges) +
            " changes follow from these rates: make 'mtbf' or 'repair' longer, or 'until' earlier");
      changes_.push_back({.at = at, .node = thing.node, .port = thing.port, .up = up, .fault = fault});
    }
  }
  std::stable_sort(changes_.begin(), changes_.end(), earlier);
}

LinkStates FaultPlan::states_at(const Topology& shape, Time at) const {
  HeldFaults held(shape);
  for (const FaultChange& change : changes_) {
    if (change.at > at) break;
    if (change.kind == FaultKind::kState) held.change(change);
  }
  return held.links();
}

std::vector<double> FaultPlan::rates() const {
  std::set<double> found;
  for (const FaultChange& change : changes_)
    if (change.kind == FaultKind::kRate && !change.up) found.insert(change.rate);
  return {found.begin(), found.end()};
}

std::vector<FaultChange> FaultPlan::dying_hosts() const {
  std::vector<FaultChange> found;
  std::set<NodeId> dead;
  for (const FaultChange& change : changes_)
    if (change.kind == FaultKind::kHost && !change.up && dead.insert(change.node).second) found.push_back(change);
  return found;
}

bool FaultPlan::impairs() const {
  return std::any_of(changes_.begin(), changes_.end(),
                     [](const FaultChange& change) { return change.kind == FaultKind::kImpairment; });
}

}  // namespace exanet
