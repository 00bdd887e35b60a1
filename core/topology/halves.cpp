// SPDX-License-Identifier: Apache-2.0
// Improves cuts by moves of single routers: problem, model and limits are in halves.hpp.
#include "core/topology/halves.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace exanet {

namespace {

constexpr std::int64_t kMostWork = 1 << 26;  // moves looked at
constexpr std::uint32_t kMostSearched = 1 << 13;  // routers

struct Cut {
  std::vector<bool> upper;
  std::int64_t links = 0;
  std::int64_t above = 0;  // endpoints in the upper half less those in the lower
};

class Halver {
 public:
  Halver(const Adjacency& graph, const std::vector<std::uint32_t>& hosts) : graph_(graph), hosts_(hosts) {
    for (const std::uint32_t count : hosts) {
      endpoints_ += count;
      largest_ = std::max<std::int64_t>(largest_, count);
    }
  }

  // The first routers of the order are in the lower half, until it has half of the endpoints.
  Cut begin(const std::vector<std::uint32_t>& order) const {
    Cut cut{std::vector<bool>(graph_.size(), true), 0, endpoints_};
    for (const std::uint32_t r : order) {
      if (cut.above - 2 * std::int64_t{hosts_[r]} < 0) continue;
      cut.upper[r] = false;
      cut.above -= 2 * std::int64_t{hosts_[r]};
      if (cut.above <= endpoints_ % 2) break;
    }
    for (std::uint32_t r = 0; r < graph_.size(); ++r)
      for (const PortRef& far : graph_[r]) cut.links += !cut.upper[r] && cut.upper[far.node];
    return cut;
  }

  // Moves every router once, and keeps the best moment. False where nothing was better than the beginning.
  bool improve(Cut& cut) const {
    const auto routers = static_cast<std::uint32_t>(graph_.size());
    std::vector<std::int64_t> gain(routers);
    for (std::uint32_t r = 0; r < routers; ++r)
      for (const PortRef& far : graph_[r]) gain[r] += cut.upper[far.node] != cut.upper[r] ? 1 : -1;
    std::vector<bool> moved(routers);
    std::vector<std::uint32_t> moves;
    Cut now = cut;
    std::size_t best_moves = 0;
    std::pair best{std::abs(cut.above), cut.links};
    while (moves.size() < routers) {
      std::uint32_t chosen = routers;
      for (std::uint32_t r = 0; r < routers; ++r) {
        const std::int64_t after = now.above + (now.upper[r] ? -2 : 2) * std::int64_t{hosts_[r]};
        const bool levels = std::abs(after) <= std::max(2 * largest_, std::abs(now.above) - 1);
        if (!moved[r] && levels && (chosen == routers || gain[r] > gain[chosen])) chosen = r;
      }
      if (chosen == routers) break;
      move(now, chosen, gain);
      moved[chosen] = true;
      moves.push_back(chosen);
      if (const std::pair here{std::abs(now.above), now.links}; here < best) best = here, best_moves = moves.size();
    }
    for (std::size_t i = 0; i < best_moves; ++i) move(cut, moves[i], gain);
    return best_moves > 0;
  }

 private:
  void move(Cut& cut, std::uint32_t r, std::vector<std::int64_t>& gain) const {
    std::int64_t across = 0;
    for (const PortRef& far : graph_[r]) {
      const bool apart = cut.upper[far.node] != cut.upper[r];
      across += apart ? 1 : -1;
      gain[far.node] += apart ? -2 : 2;
    }
    gain[r] = -across;
    cut.links -= across;
    cut.above += (cut.upper[r] ? -2 : 2) * std::int64_t{hosts_[r]};
    cut.upper[r] = !cut.upper[r];
  }

  const Adjacency& graph_;
  const std::vector<std::uint32_t>& hosts_;
  std::int64_t endpoints_ = 0, largest_ = 0;
};

// Breadth-first; routers that cannot be reached come last.
std::vector<std::uint32_t> from(const Adjacency& graph, std::uint32_t root) {
  std::vector<std::uint32_t> order{root};
  std::vector<bool> seen(graph.size());
  seen[root] = true;
  const auto reach = [&](std::uint32_t r) {
    if (!seen[r]) seen[r] = true, order.push_back(r);
  };
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const PortRef& far : graph[order[i]]) reach(far.node);
  for (std::uint32_t r = 0; r < graph.size(); ++r) reach(r);
  return order;
}

}  // namespace

std::vector<bool> find_halves(const Adjacency& graph, const std::vector<std::uint32_t>& hosts) {
  const auto routers = static_cast<std::uint32_t>(graph.size());
  const Halver halver(graph, hosts);
  const bool searched = routers <= kMostSearched;
  const auto improve = [&](Cut& cut) {
    while (searched && halver.improve(cut)) continue;
  };
  const auto beginnings = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(kMostWork / (std::int64_t{routers} * routers), 1, std::min<std::int64_t>(routers, 32)));
  std::vector<std::uint32_t> file(routers);
  for (std::uint32_t r = 0; r < routers; ++r) file[r] = r;
  Cut best = halver.begin(file);
  improve(best);
  for (std::uint32_t i = 0; searched && i < beginnings; ++i) {
    Cut cut = halver.begin(from(graph, i * (routers / beginnings)));
    improve(cut);
    if (std::pair{std::abs(cut.above), cut.links} < std::pair{std::abs(best.above), best.links}) best = std::move(cut);
  }
  if (best.above < 0) best.upper.flip();
  return best.upper;
}

std::vector<bool> find_halves(const Topology& topology) {
  const NodeId nodes = topology.node_count(), first = topology.switched() ? topology.endpoint_count() : 0;
  Adjacency graph(nodes - first);
  std::vector<std::uint32_t> hosts(nodes - first, first == 0);
  for (NodeId endpoint = 0; endpoint < first; ++endpoint) ++hosts[topology.neighbour(endpoint, 0).node - first];
  for (NodeId node = first; node < nodes; ++node)
    for (std::uint16_t port = 0; port < topology.port_count(node); ++port) {
      const PortRef far = topology.neighbour(node, port);
      if (far.node != kNoNode && far.node >= first) graph[node - first].push_back({far.node - first, far.port});
    }
  std::vector<bool> upper = find_halves(graph, hosts);
  upper.resize(nodes);
  for (NodeId node = nodes; node-- > first;) upper[node] = upper[node - first];
  for (NodeId endpoint = 0; endpoint < first; ++endpoint) upper[endpoint] = upper[topology.neighbour(endpoint, 0).node];
  return upper;
}

}  // namespace exanet
