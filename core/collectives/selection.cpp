// SPDX-License-Identifier: Apache-2.0
// Finds the algorithm of a call, and plans it.
//
// Problem: an algorithm is chosen by the user, or by rules, for each collective. Model: a choice by name goes first,
// where the algorithm can carry the call out beside others; else the rules of an MPI library name one. Limits: a
// collective without data is begun only where the library begins it.
#include "core/collectives/selection.hpp"

#include <algorithm>

#include "core/collectives/registry.hpp"
#include "core/config/names.hpp"

namespace exanet {

const char* collective_name(Collective collective) {
  switch (collective) {
    case Collective::barrier: return "barrier";
    case Collective::bcast: return "bcast";
    case Collective::gather: return "gather";
    case Collective::gatherv: return "gatherv";
    case Collective::scatter: return "scatter";
    case Collective::scatterv: return "scatterv";
    case Collective::allgather: return "allgather";
    case Collective::allgatherv: return "allgatherv";
    case Collective::alltoall: return "alltoall";
    case Collective::alltoallv:
    case Collective::alltoallw: return "alltoallv";
    case Collective::reduce: return "reduce";
    case Collective::allreduce: return "allreduce";
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block: return "reduce-scatter";
    case Collective::scan:
    case Collective::exscan: return "scan";
  }
  return "";
}

namespace {

// Whether nobody has data, as far as each rank can know it for all.
bool is_empty(Collective collective, const CollectiveCall& c) {
  const auto none = [](const std::vector<std::uint64_t>& sizes) {
    return std::all_of(sizes.begin(), sizes.end(), [](std::uint64_t bytes) { return bytes == 0; });
  };
  const bool known = collective == Collective::allgatherv || collective == Collective::reduce_scatter ||
                     collective == Collective::reduce_scatter_block;
  if (known) return none(c.received);
  return c.bytes == 0 && c.sent.empty() && c.received.empty();
}

}  // namespace

void check_choices(const CollectiveChoices& choices) {
  for (const auto& [collective, name] : choices) {
    if (find_algorithm(collective, name) != nullptr) continue;
    std::string known, of_it;
    for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
      known.append(known.empty() ? "" : ", ").append(algorithm.collective).append("=").append(algorithm.name);
      if (collective == algorithm.collective) of_it.append(of_it.empty() ? "" : ", ").append(algorithm.name);
    }
    std::string text = of_it.empty() ? "there is no collective \"" : collective;
    if (of_it.empty())
      text.append(collective).append("\": use some of ").append(known);
    else
      text.append(" by \"").append(name).append("\" is unknown").append(hint_at(name, of_it) + ": use one of " + of_it);
    throw ConfigError("collective", text);
  }
}

void check_choices_without_network(const CollectiveChoices& choices) {
  check_choices(choices);
  for (const auto& [collective, name] : choices) {
    if (!find_algorithm(collective, name)->knows_network) continue;
    std::string message = collective;
    message += " by " + name + " depends on a machine's network, which is not known here: choose another";
    throw ConfigError("collective", message);
  }
}

void plan_collective(CollectiveOperation operation, const CollectiveCall& call, const CollectiveChoices& choices,
                     const SelectionRules& rules, Schedule& out) {
  const auto [collective, waits] = operation;
  if (call.ranks < 2) return;
  if (is_empty(collective, call) && !rules.begins_empty(collective, waits)) return;
  const char* name = collective_name(collective);
  const auto chosen = choices.find(name);
  const CollectiveAlgorithm* algorithm = chosen != choices.end() ? find_algorithm(name, chosen->second) : nullptr;
  if (algorithm == nullptr || (algorithm->one_at_a_time && !waits))
    algorithm = find_algorithm(name, rules.select(collective, call, waits));
  algorithm->generate(call, out);
}

}  // namespace exanet
