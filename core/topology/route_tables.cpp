// SPDX-License-Identifier: Apache-2.0
// Builds tables of routes by breadth-first searches from each destination: problem, model and limits are in
// route_tables.hpp.
#include "core/topology/route_tables.hpp"

#include <algorithm>
#include <numeric>

#include "core/engine/random.hpp"

namespace exanet {

namespace {

constexpr std::uint32_t kFar = 0xffffffffu;
constexpr std::uint64_t kMostSteps = 1u << 30;  // a second or so

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
  length_.assign(std::size_t{routers_} * routers_, 0);
  down_.assign(length_.size(), false);
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
  std::vector<std::uint32_t> order(routers_);  // from the root downwards
  place_.resize(routers_);
  std::vector<std::uint32_t>& place = place_;
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
      const std::size_t pair = std::size_t{here} * routers_ + there;
      port_[pair] = one_of(best, here, there);
      length_[pair] = static_cast<std::uint16_t>(length[here]);
      down_[pair] = down[here];
    }
    down_[std::size_t{there} * routers_ + there] = true;
  }
  return true;
}

bool RouteTables::find_shortest_in_one_channel(const Adjacency& graph, const std::vector<std::uint32_t>& ends) {
  std::uint64_t steps = 0;  // from one link to the next, if all were on shortest routes to all ends
  for (const auto& ports : graph) steps += std::uint64_t{ports.size()} * ports.size() * ends.size();
  if (steps > kMostSteps || !find_shortest(graph, 255) || closes_cycle(graph, ends)) return false;
  classes_ = false;
  return true;
}

// Whether packets on shortest routes to `ends` can wait for each other in a cycle, in one channel.
bool RouteTables::closes_cycle(const Adjacency& graph, const std::vector<std::uint32_t>& ends) const {
  std::vector<std::uint32_t> first(1);  // by router: the number of its first link
  for (const auto& ports : graph) first.push_back(first.back() + static_cast<std::uint32_t>(ports.size()));
  std::vector<std::vector<bool>> follows(routers_);  // by router: [link in][link out], some route takes both
  for (std::uint32_t r = 0; r < routers_; ++r) follows[r].resize(graph[r].size() * graph[r].size());
  std::vector<std::uint32_t> nearer, further;
  for (const std::uint32_t there : ends)
    for (std::uint32_t r = 0; r < routers_; ++r) {
      nearer.clear(), further.clear();
      for (std::uint32_t port = 0; port < graph[r].size(); ++port) {
        const std::uint32_t far = graph[r][port].node;
        if (far == kNoNode) continue;
        const int step = distance_[std::size_t{far} * routers_ + there] - distance_[std::size_t{r} * routers_ + there];
        if (step < 0) nearer.push_back(port);
        if (step > 0) further.push_back(port);
      }
      for (const std::uint32_t in : further)
        for (const std::uint32_t out : nearer) follows[r][in * graph[r].size() + out] = true;
    }
  // Takes away links that wait for none of those left, as long as there are any (Kahn 1962): a cycle remains.
  std::vector<std::uint32_t> waits(first.back()), free;  // by link, as its sender numbers it
  std::uint32_t left = 0;
  for (std::uint32_t r = 0; r < routers_; ++r)
    for (std::uint32_t port = 0; port < graph[r].size(); ++port) {
      const PortRef far = graph[r][port];
      if (far.node == kNoNode) continue;
      const std::size_t ports = graph[far.node].size();
      for (std::size_t out = 0; out < ports; ++out) waits[first[r] + port] += follows[far.node][far.port * ports + out];
      ++left;
      if (waits[first[r] + port] == 0) free.push_back(first[r] + port);
    }
  while (!free.empty()) {
    const std::uint32_t link = free.back();
    free.pop_back();
    --left;
    const auto sender = static_cast<std::uint32_t>(std::ranges::upper_bound(first, link) - first.begin() - 1);
    for (std::uint32_t in = 0; in < graph[sender].size(); ++in) {
      if (!follows[sender][in * graph[sender].size() + (link - first[sender])]) continue;
      const PortRef before = graph[sender][in];
      if (--waits[first[before.node] + before.port] == 0) free.push_back(first[before.node] + before.port);
    }
  }
  return left > 0;
}

void RouteTables::minimal(const Adjacency& graph, std::uint32_t here, std::uint32_t there, PortList& out) const {
  const auto shorter = [&](const auto& length) {
    const std::uint32_t own = length[std::size_t{here} * routers_ + there];
    for (std::size_t port = 0; port < graph[here].size(); ++port) {
      const std::uint32_t next = graph[here][port].node;
      if (next != kNoNode && length[std::size_t{next} * routers_ + there] < own)
        out.add(static_cast<std::uint16_t>(port));
    }
  };
  if (distance_.empty())
    shorter(length_);
  else
    shorter(distance_);
}

void RouteTables::equal(const Adjacency& graph, std::uint32_t here, std::uint32_t there, PortList& out) const {
  if (!distance_.empty()) return minimal(graph, here, there, out);
  const std::size_t own = std::size_t{here} * routers_ + there;
  for (std::size_t port = 0; port < graph[here].size(); ++port) {
    const std::uint32_t next = graph[here][port].node;
    if (next == kNoNode) continue;
    const std::size_t far = std::size_t{next} * routers_ + there;
    const bool lower = place_[next] > place_[here];
    if (lower == down_[own] && (!lower || down_[far]) && length_[far] + 1u == length_[own])
      out.add(static_cast<std::uint16_t>(port));
  }
}

}  // namespace exanet
