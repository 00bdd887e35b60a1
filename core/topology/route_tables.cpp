// SPDX-License-Identifier: Apache-2.0
// Builds tables of routes by breadth-first searches from each destination: problem, model and limits are in route_tables.hpp.
#include "core/topology/route_tables.hpp"

#include <algorithm>
#include <numeric>

#include "core/engine/random.hpp"

namespace exanet {

namespace {

constexpr std::uint32_t kFar = 0xffffffffu;

// Distances to `there`; kFar where no way leads.
std::vector<std::uint32_t> distances_to(const Adjacency& graph, std::uint32_t there) {
  std::vector<std::uint32_t> distance(graph.size(), kFar);
  std::vector<std::uint32_t> reached{there};
  distance[there] = 0;
  for (std::size_t i = 0; i < reached.size(); ++i)
    for (const PortRef& far : graph[reached[i]])
      if (far.node != kNoNode && distance[far.node] == kFar) {
        distance[far.node] = distance[reached[i]] + 1;
        reached.push_back(far.node);
      }
  return distance;
}

std::uint16_t one_of(const std::vector<std::uint16_t>& ports, std::uint32_t here, std::uint32_t there) {
  Random pick(here, there);
  return ports[pick.below(static_cast<std::uint32_t>(ports.size()))];
}

}  // namespace

bool RouteTables::find_shortest(const Adjacency& graph, std::uint32_t widest) {
  routers_ = static_cast<std::uint32_t>(graph.size());
  classes_ = true;
  width_ = 1;
  port_.assign(std::size_t{routers_} * routers_, 0);
  distance_.assign(port_.size(), 0);
  std::vector<std::uint16_t> nearer;
  for (std::uint32_t there = 0; there < routers_; ++there) {
    const std::vector<std::uint32_t> distance = distances_to(graph, there);
    for (std::uint32_t here = 0; here < routers_; ++here) {
      if (distance[here] > widest) return false;
      if (here == there) continue;
      nearer.clear();
      for (std::size_t port = 0; port < graph[here].size(); ++port) {
        const std::uint32_t next = graph[here][port].node;
        if (next != kNoNode && distance[next] < distance[here]) nearer.push_back(static_cast<std::uint16_t>(port));
      }
      const std::size_t pair = std::size_t{here} * routers_ + there;
      port_[pair] = one_of(nearer, here, there);
      distance_[pair] = static_cast<std::uint8_t>(distance[here]);
      width_ = std::max(width_, distance_[pair]);
    }
  }
  return true;
}

bool RouteTables::find_up_down(const Adjacency& graph) {
  routers_ = static_cast<std::uint32_t>(graph.size());
  classes_ = false;
  distance_.clear();
  port_.assign(std::size_t{routers_} * routers_, 0);
  // The root is a router with the most links.
  std::uint32_t root = 0;
  const auto links = [&](std::uint32_t r) {
    return std::ranges::count_if(graph[r], [](const PortRef& far) { return far.node != kNoNode; });
  };
  for (std::uint32_t r = 1; r < routers_; ++r)
    if (links(r) > links(root)) root = r;
  const std::vector<std::uint32_t> level = distances_to(graph, root);
  if (std::ranges::find(level, kFar) != level.end()) return false;
  std::vector<std::uint32_t> order(routers_), place(routers_);  // from the root downwards
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t r) { return level[r]; });
  for (std::uint32_t i = 0; i < routers_; ++i) place[order[i]] = i;

  std::vector<std::uint32_t> length(routers_), reached;
  std::vector<std::uint16_t> best;
  for (std::uint32_t there = 0; there < routers_; ++there) {
    // Routes down to `there`, found by going up from it.
    std::ranges::fill(length, kFar);
    length[there] = 0;
    reached.assign(1, there);
    for (std::size_t i = 0; i < reached.size(); ++i)
      for (const PortRef& far : graph[reached[i]])
        if (far.node != kNoNode && place[far.node] < place[reached[i]] && length[far.node] == kFar) {
          length[far.node] = length[reached[i]] + 1;
          reached.push_back(far.node);
        }
    std::vector<bool> down(routers_);
    for (const std::uint32_t r : reached) down[r] = true;
    for (const std::uint32_t here : order) {  // whoever is above has been settled
      if (here == there) continue;
      std::uint32_t least = kFar;
      best.clear();
      for (std::size_t port = 0; port < graph[here].size(); ++port) {
        const std::uint32_t next = graph[here][port].node;
        if (next == kNoNode || (place[next] > place[here]) != down[here]) continue;
        if (down[here] && !down[next]) continue;
        if (length[next] > least) continue;
        if (length[next] < least) best.clear();
        least = length[next];
        best.push_back(static_cast<std::uint16_t>(port));
      }
      if (!down[here]) length[here] = least + 1;
      port_[std::size_t{here} * routers_ + there] = one_of(best, here, there);
    }
  }
  return true;
}

}  // namespace exanet
