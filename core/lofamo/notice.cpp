// SPDX-License-Identifier: Apache-2.0
// From a plan of faults to those who know of them: transitions of links, interfaces and hosts, the facts that follow,
// and what each node makes of them.
//
// Model: a subject is a link, an interface or a host; it fails and works again by turns. The entry of a view is what
// the reporter at one port has said last. A link is down in a view while one of its ends says so, a host or an
// interface while one of its neighbours does.
#include "core/lofamo/notice.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "core/config/error.hpp"
#include "core/faults/held.hpp"
#include "core/lofamo/study.hpp"

namespace exanet::lofamo {

namespace {

constexpr NodeId kMostNodes = 2048;
constexpr std::size_t kMostNoticed = 10'000;
constexpr Time kShortest = Time::us(1), kLongest = Time::us(27'000'000);  // of registers of 32 bits
constexpr Cycle kResponse = 3 * 20 + 3 * 4;  // a processor reads and writes the three words of a packet (K06, K07)

NodeId node_named(const Topology& shape, const std::string& name) {
  for (NodeId node = 0; node < shape.node_count(); ++node)
    if (shape.node_name(node) == name) return node;
  throw ConfigError("faults.lofamo.master",
                    "\"" + name + "\" is no node of this machine: name one like \"" + shape.node_name(0) + "\"");
}

// Begins to fail, or works again.
struct Transition {
  Cycle at;
  std::size_t change;  // of the plan
  bool fails;
  std::vector<bool> known = {};  // by node
};

struct Subject {
  FaultKind kind;
  NodeId node;
  std::uint16_t port = LinkStates::kNode;
  auto operator<=>(const Subject&) const = default;
};

class Notice {
 public:
  Notice(const Lofamo& lofamo, const FaultPlan& plan, const Topology& shape)
      : lofamo_(lofamo), plan_(plan), shape_(shape), config_(config_of(lofamo)) {
    for (NodeId node = 0; node < shape.node_count(); ++node) {
      first_entry_.push_back(entries_);
      entries_ += shape.port_count(node);
    }
    begins_ = 2 * (config_.watchdog + control_period(config_));
    master_ = lofamo.master.empty() ? shape.node_count() : node_named(shape, lofamo.master);
    views_.resize(shape.node_count() + 1, std::vector<std::uint8_t>(entries_));
    find_transitions();
  }

  NoticedFaults run(Time reaction) {
    noticed_.awareness.resize(plan_.changes().size());
    std::mt19937_64 random(lofamo_.seed);
    EventQueue events;
    Awareness awareness(events, shape_, config_, draw_phases(shape_, config_, random), faults());
    std::vector<Cycle> stops;
    for (const auto& [subject, transitions] : subjects_)
      for (const Transition& transition : transitions) stops.push_back(transition.at);
    std::ranges::sort(stops);
    if (!stops.empty()) stops.push_back(stops.back() + settling(config_, shape_.node_count()));
    for (const Cycle stop : stops) {  // facts are many, and kept no longer than this
      awareness.run(stop);
      for (const Fact& fact : awareness.take_facts()) take(fact);
    }
    note_detected(awareness);
    count_unaware();
    note_deaths();
    for (FaultChange& change : noticed_.routes) change.at = change.at + reaction;
    return std::move(noticed_);
  }

 private:
  static AwarenessConfig config_of(const Lofamo& lofamo) {
    AwarenessConfig config{.watchdog = lofamo.period.ps() / kCycle.ps(), .response = kResponse};
    config.beat = config.watchdog / 2;
    config.line = (lofamo.line.ps() + kCycle.ps() - 1) / kCycle.ps();
    return config;
  }

  Cycle cycle_of(Time at) const { return begins_ + (at.ps() + kCycle.ps() - 1) / kCycle.ps(); }
  Time time_of(Cycle cycle) const { return start_of(cycle - begins_); }
  Subject link(NodeId node, std::uint16_t port) const {
    const PortRef far = shape_.neighbour(node, port);
    const bool other = far.node < node || (far.node == node && far.port < port);
    return other ? Subject{FaultKind::kLink, far.node, far.port} : Subject{FaultKind::kLink, node, port};
  }

  void find_transitions() {
    HeldFaults held(shape_);
    live_.reserve(plan_.changes().size());
    std::vector<bool> dead(shape_.node_count());
    for (std::size_t i = 0; i < plan_.changes().size(); ++i) {
      const FaultChange& change = plan_.changes()[i];
      const std::vector<std::pair<Subject, bool>> before = states(held, change);
      held.change(change);
      std::size_t at = 0;
      for (const auto& [subject, works] : states(held, change))
        if (works != before[at++].second) add(subject, change.at, i, !works);
      if (change.kind == exanet::FaultKind::kHost && !dead[change.node]) {
        dead[change.node] = true;
        add({FaultKind::kHost, change.node}, change.at, i, true);
      }
      std::vector<bool> live(shape_.node_count());
      for (NodeId node = 0; node < live.size(); ++node) live[node] = held.interface_works(node);
      if (change.kind != exanet::FaultKind::kState) live[change.node] = false;  // it is what the others learn of
      live_.push_back(std::move(live));
    }
  }

  // What a change may be about, and whether it works.
  std::vector<std::pair<Subject, bool>> states(const HeldFaults& held, const FaultChange& change) const {
    std::vector<std::pair<Subject, bool>> found;
    if (change.kind == exanet::FaultKind::kInterface || change.kind == exanet::FaultKind::kHost)
      found.emplace_back(Subject{FaultKind::kNi, change.node}, held.interface_works(change.node));
    if (change.kind != exanet::FaultKind::kState) return found;
    for (std::uint16_t port = 0; port < shape_.port_count(change.node); ++port) {
      if (change.port != LinkStates::kNode && change.port != port) continue;
      if (shape_.neighbour(change.node, port).node == kNoNode) continue;
      found.emplace_back(link(change.node, port), held.links().works(shape_, change.node, port));
    }
    return found;
  }

  void add(const Subject& subject, Time at, std::size_t change, bool fails) {
    subjects_[subject].push_back({cycle_of(at), change, fails, std::vector<bool>(shape_.node_count())});
    of_change_[change].push_back({subject, subjects_[subject].size() - 1});
  }

  std::vector<Fault> faults() {
    std::vector<Fault> found;
    for (const auto& [subject, transitions] : subjects_)
      for (std::size_t i = 0; i < transitions.size(); ++i) {
        if (!transitions[i].fails) continue;
        Fault fault{subject.kind, subject.node, subject.port, transitions[i].at};
        if (subject.kind != FaultKind::kLink) fault.port = 0;
        if (i + 1 < transitions.size()) fault.until = transitions[i + 1].at;
        if (fault.until <= fault.at) continue;
        found.push_back(fault);
        fault_changes_.push_back(transitions[i].change);
      }
    return found;
  }

  void take(const Fact& fact) {
    if (fact.port == Fact::kOwn) return;
    learn(fact.node, fact, time_of(fact.at));
    if (lofamo_.master.empty() && fact.node == fact.reporter) learn(master_, fact, time_of(fact.at) + lofamo_.service);
  }

  // A view gets a fact.
  void learn(NodeId view, const Fact& fact, Time now) {
    const PortRef far = shape_.neighbour(fact.reporter, fact.port);
    const Subject subjects[] = {
        link(fact.reporter, fact.port), {FaultKind::kHost, far.node}, {FaultKind::kNi, far.node}};
    bool before[3];
    for (std::size_t i = 0; i < 3; ++i) before[i] = down(view, subjects[i]);
    views_[view][first_entry_[fact.reporter] + fact.port] = fact.state;
    for (std::size_t i = 0; i < 3; ++i)
      if (const bool now_down = down(view, subjects[i]); now_down != before[i]) note(view, subjects[i], now_down, now);
  }

  bool says(NodeId view, PortRef reporter, std::uint8_t bit) const {
    return (views_[view][first_entry_[reporter.node] + reporter.port] & bit) != 0;
  }
  bool down(NodeId view, const Subject& subject) const {
    if (subject.kind == FaultKind::kLink)
      return says(view, {subject.node, subject.port}, Fact::kSilent) ||
             says(view, shape_.neighbour(subject.node, subject.port), Fact::kSilent);
    const std::uint8_t bit = subject.kind == FaultKind::kHost ? Fact::kHostFault : Fact::kNiFault;
    for (std::uint16_t port = 0; port < shape_.port_count(subject.node); ++port)
      if (const PortRef far = shape_.neighbour(subject.node, port); far.node != kNoNode && says(view, far, bit))
        return true;
    return false;
  }

  // A view says now that a subject is down, or up.
  void note(NodeId view, const Subject& subject, bool is_down, Time now) {
    if (view == master_) follow(subject, is_down, now);
    const auto found = subjects_.find(subject);
    if (found == subjects_.end()) return;
    Transition* latest = nullptr;
    for (Transition& transition : found->second)
      if (time_of(transition.at) <= now) latest = &transition;
    if (latest == nullptr || latest->fails != is_down) return;
    FaultAwareness& change = noticed_.awareness[latest->change];
    const bool of_node = view < shape_.node_count();
    if (of_node) latest->known[view] = true;
    if (view == master_ && change.master == Time::never() && (!of_node || knows(view, latest->change)))
      change.master = now;
    if (!of_node || !knows(view, latest->change) || !live_[latest->change][view]) return;
    change.first = min(change.first, now);
    change.last = change.aware++ == 0 ? now : max(change.last, now);
    known_at_[{latest->change, view}] = now;
  }

  bool knows(NodeId node, std::size_t change) const {
    return std::ranges::all_of(of_change_.at(change),
                               [&](const auto& part) { return subjects_.at(part.first)[part.second].known[node]; });
  }

  // The master does what the policy says.
  void follow(const Subject& subject, bool is_down, Time now) {
    const bool is_link = subject.kind == FaultKind::kLink;
    if (lofamo_.policy == Lofamo::Policy::kReport) return;
    if (!is_link && lofamo_.policy != Lofamo::Policy::kExclude) return;
    const auto number = numbers_.emplace(subject, static_cast<std::uint32_t>(numbers_.size() + 1)).first->second;
    noticed_.routes.push_back({.at = now, .node = subject.node, .port = subject.port, .up = !is_down, .fault = number});
  }

  void note_detected(const Awareness& awareness) {
    for (std::size_t i = 0; i < fault_changes_.size(); ++i) {
      if (awareness.detected()[i] == kNever) continue;
      FaultAwareness& change = noticed_.awareness[fault_changes_[i]];
      change.detected = min(change.detected, time_of(awareness.detected()[i]));
    }
  }

  void count_unaware() {
    for (const auto& [change, parts] : of_change_) {
      FaultAwareness& awareness = noticed_.awareness[change];
      const auto live = static_cast<std::uint32_t>(std::ranges::count(live_[change], true));
      awareness.unaware = live - awareness.aware;
    }
  }

  void note_deaths() {
    const Time settled = kCycle * settling(config_, shape_.node_count());
    for (const auto& [subject, transitions] : subjects_) {
      if (subject.kind != FaultKind::kHost) continue;
      const std::size_t change = transitions.front().change;
      const Time died = plan_.changes()[change].at;
      for (NodeId node = 0; node < shape_.node_count(); ++node) {
        const auto known = known_at_.find({change, node});
        noticed_.deaths.push_back({subject.node, node, known == known_at_.end() ? settled : known->second - died});
      }
    }
  }

  const Lofamo lofamo_;
  const FaultPlan& plan_;
  const Topology& shape_;
  const AwarenessConfig config_;
  Cycle begins_ = 0;  // when the run's time begins: behind the first signs of life
  NodeId master_ = kNoNode;  // its view: behind those of nodes where it is none
  std::size_t entries_ = 0;
  std::vector<std::size_t> first_entry_;  // by reporter
  std::vector<std::vector<std::uint8_t>> views_;  // [view][entry]
  std::map<Subject, std::vector<Transition>> subjects_;
  std::map<std::size_t, std::vector<std::pair<Subject, std::size_t>>> of_change_;  // its transitions
  std::vector<std::vector<bool>> live_;  // [change][node]: is to know; host and interface work after the change
  std::vector<std::size_t> fault_changes_;
  std::map<std::pair<std::size_t, NodeId>, Time> known_at_;
  std::map<Subject, std::uint32_t> numbers_;
  NoticedFaults noticed_;
};

}  // namespace

void check_notice(const FaultSchedule& schedule, const FaultPlan& plan, const Topology& shape) {
  if (!schedule.lofamo) return;
  const Lofamo& lofamo = *schedule.lofamo;
  if (shape.switched() || shape.rails() > 1)
    throw ConfigError("faults.lofamo",
                      "LO|FA|MO watches nodes that have a router each, as in a torus or a mesh; this "
                      "machine has switches or several rails: take 'lofamo' out, and give 'reaction' "
                      "and 'detection'");
  if (shape.node_count() > kMostNodes)
    throw ConfigError("faults.lofamo", "the machine has " + std::to_string(shape.node_count()) +
                                           " nodes; LO|FA|MO is simulated for at most " + std::to_string(kMostNodes) +
                                           ": take 'lofamo' out, and give 'reaction' and 'detection'");
  if (plan.changes().size() > kMostNoticed)
    throw ConfigError("faults.lofamo", "the file makes " + std::to_string(plan.changes().size()) +
                                           " changes; with 'lofamo' there are at most " + std::to_string(kMostNoticed) +
                                           ": let fewer things fail, or take 'lofamo' out");
  if (lofamo.period < kShortest || lofamo.period > kLongest)
    throw ConfigError("faults.lofamo.period", "a watchdog's period is from 1 us to 27 s");
  if (!lofamo.master.empty()) node_named(shape, lofamo.master);
}

NoticedFaults notice(const FaultSchedule& schedule, const FaultPlan& plan, const Topology& shape) {
  if (!schedule.lofamo) return noticed_after(plan, schedule.reaction, schedule.detection);
  check_notice(schedule, plan, shape);
  return Notice(*schedule.lofamo, plan, shape).run(schedule.reaction);
}

}  // namespace exanet::lofamo
