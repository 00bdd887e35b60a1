// SPDX-License-Identifier: Apache-2.0
#include "core/faults/schedule.hpp"

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

}  // namespace exanet
