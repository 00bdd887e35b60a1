// SPDX-License-Identifier: Apache-2.0
#include "core/faults/schedule.hpp"

#include <set>
#include <stdexcept>
#include <utility>

#include "core/config/error.hpp"

namespace exanet {

FaultPlan plan_of(const FaultSchedule& schedule, const Topology& shape) {
  FaultPlan plan;
  std::vector<ConfigProblem> problems;
  for (std::size_t i = 0; i < schedule.events.size(); ++i) {
    const FaultEvent& event = schedule.events[i];
    FaultPlan part;
    try {
      part.fail(shape, event.what, event.at);
    } catch (const std::invalid_argument& error) {
      problems.push_back({"faults.events." + std::to_string(i), error.what()});
      continue;
    }
    for (FaultChange change : part.changes()) {
      const bool ends = event.up || (event.lossy && !event.loss.any());
      if (change.up && (event.lossy || ends)) continue;  // of a kind that repairs what it breaks
      change.up = change.up || ends;
      change.lossy = event.lossy;
      change.loss = event.loss;
      plan.add(change);
    }
  }
  if (!problems.empty()) throw ConfigError(std::move(problems));
  for (const DrawnFaults& drawn : schedule.drawn) plan.draw(shape, drawn.rate, drawn.until);
  return plan;
}

std::vector<FaultState> reached_states(const FaultPlan& plan, const Topology& shape) {
  const auto working = [&](const LinkStates& links) {
    std::vector<bool> ports;
    for (NodeId node = 0; node < shape.node_count(); ++node)
      for (std::uint16_t port = 0; port < shape.port_count(node); ++port)
        ports.push_back(links.works(shape, node, port));
    return ports;
  };
  LinkStates links(shape);
  std::vector<FaultState> states{{Time(), links}};
  std::set<std::vector<bool>> seen{working(links)};
  const std::vector<FaultChange>& changes = plan.changes();
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (!changes[i].lossy) links.change(shape, changes[i].node, changes[i].port, changes[i].up);
    if (i + 1 < changes.size() && changes[i + 1].at == changes[i].at) continue;
    if (seen.insert(working(links)).second) states.push_back({changes[i].at, links});
  }
  return states;
}

}  // namespace exanet
