// SPDX-License-Identifier: Apache-2.0
// Finds the levels at which outputs and the space behind them give: problem, model and limits are in round_robin.hpp.
#include "core/flow/round_robin.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace exanet {

namespace {

constexpr double kAll = std::numeric_limits<double>::infinity();
constexpr double kSettled = 1e-6;  // relative change of a level
constexpr int kMostRounds = 32;

}  // namespace

void RoundRobin::clear() {
  inputs_.clear();
  uses_.clear();
  resources_.clear();
}

std::uint32_t RoundRobin::add_resource(double capacity) {
  resources_.push_back({std::max(capacity, 0.0), kAll, 0, 0});
  return static_cast<std::uint32_t>(resources_.size() - 1);
}

void RoundRobin::add_input(double most) { inputs_.push_back({most, static_cast<std::uint32_t>(uses_.size())}); }

void RoundRobin::ask(std::uint32_t resource, double share) {
  uses_.push_back({static_cast<std::uint32_t>(inputs_.size() - 1), resource, share});
  ++resources_[resource].uses;
}

const std::vector<double>& RoundRobin::solve() {
  amounts_.clear();
  for (const Input& input : inputs_) amounts_.push_back(input.most);
  asked_.assign(resources_.size(), 0);
  for (const Use& use : uses_) asked_[use.resource] += amounts_[use.input] * use.share;
  if (all_fits()) return amounts_;
  order_by_resource();
  for (int round = 0; round < kMostRounds; ++round) {
    bool settled = true;
    for (Resource& resource : resources_) {
      const double level = find_level(resource);
      if (level != resource.level && !(std::abs(level - resource.level) <= kSettled * level)) settled = false;
      resource.level = level;
    }
    ++rounds_;
    if (settled) break;
  }
  for (const Use& use : uses_)
    amounts_[use.input] = std::min(amounts_[use.input], resources_[use.resource].level / use.share);
  fit();
  return amounts_;
}

bool RoundRobin::all_fits() const {
  for (std::size_t r = 0; r < resources_.size(); ++r)
    if (asked_[r] > resources_[r].capacity) return false;
  return true;
}

void RoundRobin::order_by_resource() {
  std::uint32_t next = 0;
  for (Resource& resource : resources_) {
    resource.first = next;
    next += resource.uses;
    resource.uses = 0;
  }
  of_resource_.resize(uses_.size());
  for (std::uint32_t u = 0; u < uses_.size(); ++u) {
    Resource& resource = resources_[uses_[u].resource];
    of_resource_[resource.first + resource.uses++] = u;
  }
}

// Rate that an input could pass on if it were not for this one of its destinations.
double RoundRobin::least_of_others(const Use& use) const {
  const Input& input = inputs_[use.input];
  const std::uint32_t end =
      use.input + 1 < inputs_.size() ? inputs_[use.input + 1].first : static_cast<std::uint32_t>(uses_.size());
  double least = input.most;
  for (std::uint32_t u = input.first; u < end; ++u)
    if (uses_[u].resource != use.resource)
      least = std::min(least, resources_[uses_[u].resource].level / uses_[u].share);
  return least;
}

// As much for each that asks for as much or more; the rest get what they ask for.
double RoundRobin::find_level(const Resource& resource) {
  double sum = 0, level = 0, free = resource.capacity;
  asked_.clear();
  for (std::uint32_t i = 0; i < resource.uses; ++i) {
    const Use& use = uses_[of_resource_[resource.first + i]];
    asked_.push_back(least_of_others(use) * use.share);
    sum += asked_.back();
  }
  if (sum <= resource.capacity) return kAll;
  for (std::size_t open = asked_.size(); open > 0;) {
    level = free / static_cast<double>(open);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < open; ++i)
      if (asked_[i] < level)
        free -= asked_[i];
      else
        asked_[kept++] = asked_[i];
    if (kept == open) break;
    open = kept;
  }
  return level;
}

// Where the search was ended before its end, takes back what is too much.
void RoundRobin::fit() {
  for (const Resource& resource : resources_) {
    double sum = 0;
    for (std::uint32_t i = 0; i < resource.uses; ++i) {
      const Use& use = uses_[of_resource_[resource.first + i]];
      sum += amounts_[use.input] * use.share;
    }
    if (sum <= resource.capacity) continue;
    if (resource.capacity > 0) excess_ = std::max(excess_, sum / resource.capacity - 1);
    for (std::uint32_t i = 0; i < resource.uses; ++i)
      amounts_[uses_[of_resource_[resource.first + i]].input] *= resource.capacity / sum;
  }
}

}  // namespace exanet
