// SPDX-License-Identifier: Apache-2.0
// Puts the ranks of jobs on endpoints.
#include <algorithm>
#include <numeric>

#include "core/config/names.hpp"
#include "core/engine/random.hpp"
#include "core/topology/bridged.hpp"
#include "core/workload/closed_loop.hpp"

namespace exanet {

namespace {

constexpr const char* kMappings[] = {"linear", "switch", "node", "random"};

// Endpoints that hang on one switch, with several rails by the first; one each where there are no switches.
std::vector<std::vector<NodeId>> by_switch(const Topology& topology) {
  std::vector<std::vector<NodeId>> groups(topology.node_count());
  for (NodeId endpoint = 0; endpoint < topology.endpoint_count(); ++endpoint) {
    const NodeId beyond =
        topology.port_count(endpoint) == topology.rails() ? topology.neighbour(endpoint, 0).node : kNoNode;
    if (!takes_ranks(topology, endpoint)) continue;
    groups[beyond != kNoNode && beyond >= topology.endpoint_count() ? beyond : endpoint].push_back(endpoint);
  }
  std::erase_if(groups, [](const auto& group) { return group.empty(); });
  return groups;
}

}  // namespace

bool takes_ranks(const Topology& topology, NodeId endpoint) {
  const BridgedTopology* two = topology.bridged();
  return topology.alive(endpoint) && (two == nullptr || two->gateway_at(endpoint) == kNoNode);
}

std::vector<std::string> mapping_names() { return {std::begin(kMappings), std::end(kMappings)}; }

std::vector<std::vector<NodeId>> map_jobs(const std::string& mapping, const std::vector<std::uint32_t>& ranks,
                                          const Topology& topology, std::uint64_t seed,
                                          const std::vector<NodeId>& taken) {
  if (std::find(std::begin(kMappings), std::end(kMappings), mapping) == std::end(kMappings))
    reject_name("mapping", "is no mapping", mapping, "linear, switch, node, random");
  std::vector<std::vector<NodeId>> groups;  // handed out whole
  if (mapping == "switch") {
    groups = by_switch(topology);
  } else {
    std::vector<NodeId> order(topology.endpoint_count());
    std::iota(order.begin(), order.end(), 0u);
    Random random(seed, 0x3a9);
    if (mapping == "random")
      for (auto i = static_cast<std::uint32_t>(order.size()); i-- > 1;) std::swap(order[i], order[random.below(i + 1)]);
    for (const NodeId endpoint : order)
      if (takes_ranks(topology, endpoint)) groups.push_back({endpoint});
  }
  if (!taken.empty()) {
    std::vector<bool> away(topology.endpoint_count());
    for (const NodeId endpoint : taken) away.at(endpoint) = true;
    for (auto& group : groups) std::erase_if(group, [&away](NodeId endpoint) { return away[endpoint]; });
    std::erase_if(groups, [](const auto& group) { return group.empty(); });
  }
  std::uint64_t there = 0;
  for (const auto& group : groups) there += group.size();
  const std::uint64_t wanted = std::accumulate(ranks.begin(), ranks.end(), std::uint64_t{0});
  if (wanted > there)
    throw ConfigError("jobs", "the jobs have " + std::to_string(wanted) + " ranks in total, but this machine has " +
                                  std::to_string(there) + " endpoints, each of which runs one rank");
  std::vector<std::vector<NodeId>> endpoints(ranks.size());
  const bool in_turn = mapping == "switch" || mapping == "node";
  std::vector<NodeId> spare;  // of groups that a job has taken in part
  std::size_t turn = 0;
  for (const auto& group : groups) {
    for (std::size_t tries = 0; tries < ranks.size() && endpoints[turn].size() >= ranks[turn]; ++tries)
      turn = (turn + 1) % ranks.size();
    for (const NodeId endpoint : group)
      endpoints[turn].size() < ranks[turn] ? endpoints[turn].push_back(endpoint) : spare.push_back(endpoint);
    if (in_turn) turn = (turn + 1) % ranks.size();
  }
  for (std::size_t job = 0; job < ranks.size(); ++job)
    while (endpoints[job].size() < ranks[job]) endpoints[job].push_back(spare.back()), spare.pop_back();
  return endpoints;
}

}  // namespace exanet
