// SPDX-License-Identifier: Apache-2.0
#include "core/faults/schedule.hpp"

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/config/error.hpp"
#include "core/faults/held.hpp"

namespace exanet {

namespace {

bool of_interfaces(FaultKind kind) { return kind == FaultKind::kInterface || kind == FaultKind::kImpairment; }
bool of_endpoints(FaultKind kind) { return of_interfaces(kind) || kind == FaultKind::kHost; }

// What an event names, all of it failing at time 0. Throws std::invalid_argument, saying what to do.
FaultPlan named(const FaultEvent& event, const Topology& shape) {
  FaultPlan part;
  if (of_interfaces(event.kind) && event.what == "all") {
    for (NodeId node = 0; node < shape.endpoint_count(); ++node) part.add({Time(), node});
    return part;
  }
  part.fail(shape, event.what);
  if (!of_endpoints(event.kind)) return part;
  for (const FaultChange& change : part.changes())
    if (change.port != LinkStates::kNode || change.node >= shape.endpoint_count())
      throw std::invalid_argument("\"" + event.what + "\" has no " +
                                  (event.kind == FaultKind::kHost ? "host" : "interface") +
                                  ": name a node of endpoints like \"" + shape.node_name(0) + "\"" +
                                  (event.kind == FaultKind::kHost ? "" : ", or all"));
  return part;
}

// `change`, as the event makes it.
FaultChange changed(FaultChange change, const FaultEvent& event) {
  change.up = change.up || event.up;
  if (change.kind != FaultKind::kState) return change;
  change.kind = event.kind;
  if (change.up) return change;
  change.loss = event.loss;
  change.rate = event.rate;
  change.impairment = event.impairment;
  change.impairment.seed = event.loss.seed;
  return change;
}

}  // namespace

std::vector<FaultChange> changes_of(const FaultEvent& event, const FaultPlan& part) {
  std::vector<FaultChange> found;
  for (FaultChange change : part.changes()) {
    if (change.kind != FaultKind::kState && event.kind != FaultKind::kState)
      throw std::invalid_argument("\"" + event.what +
                                  "\" says itself what becomes of its links: write it behind 'down'");
    // Some names stand for what repairs itself.
    if (change.up && (event.kind != FaultKind::kState || event.up)) continue;
    change.at = change.at + event.at;
    found.push_back(changed(change, event));
  }
  if (event.lasts == Time()) return found;
  FaultEvent end = event;
  end.at = event.at + event.lasts;
  end.up = true;
  end.lasts = Time();
  for (const FaultChange& change : changes_of(end, part)) found.push_back(change);
  return found;
}

FaultPlan plan_of(const FaultSchedule& schedule, const Topology& shape) {
  FaultPlan plan;
  std::vector<FaultChange> all;
  std::vector<ConfigProblem> problems;
  std::map<std::pair<std::string, FaultKind>, FaultPlan> parts;  // names are looked for once
  for (std::size_t i = 0; i < schedule.events.size(); ++i) {
    const FaultEvent& event = schedule.events[i];
    const std::string place = "faults.events." + std::to_string(i);
    try {
      const auto key = std::pair(event.what, event.kind);
      auto part = parts.find(key);
      if (part == parts.end()) part = parts.emplace(key, named(event, shape)).first;
      std::vector<FaultChange> changes = changes_of(event, part->second);
      if (all.size() + changes.size() > kMostChanges) {
        problems.push_back({place, "the file makes more than " + std::to_string(kMostChanges) +
                                       " changes, up to here: let fewer things fail, or fewer times"});
        break;
      }
      const std::uint32_t fault = event.up ? 0 : plan.new_fault();
      for (FaultChange& change : changes) change.fault = fault;
      all.insert(all.end(), changes.begin(), changes.end());
    } catch (const std::invalid_argument& error) {
      problems.push_back({place, error.what()});
    }
  }
  if (!problems.empty()) throw ConfigError(std::move(problems));
  plan.add(all);
  for (std::size_t i = 0; i < schedule.drawn.size(); ++i) {
    try {
      plan.draw(shape, schedule.drawn[i].rate, schedule.drawn[i].until);
    } catch (const std::invalid_argument& error) {
      throw ConfigError({{"faults.drawn." + std::to_string(i), error.what()}});
    }
  }
  return plan;
}

std::vector<FaultState> reached_states(const std::vector<FaultChange>& changes, const Topology& shape) {
  const auto working = [&](const LinkStates& links) {
    std::vector<bool> ports;
    for (NodeId node = 0; node < shape.node_count(); ++node)
      for (std::uint16_t port = 0; port < shape.port_count(node); ++port)
        ports.push_back(links.works(shape, node, port));
    return ports;
  };
  HeldFaults held(shape);
  std::vector<FaultState> states{{Time(), held.links()}};
  std::set<std::vector<bool>> seen{working(held.links())};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (changes[i].kind == FaultKind::kState) held.change(changes[i]);
    if (i + 1 < changes.size() && changes[i + 1].at == changes[i].at) continue;
    if (seen.insert(working(held.links())).second) states.push_back({changes[i].at, held.links()});
  }
  return states;
}

}  // namespace exanet
