// SPDX-License-Identifier: Apache-2.0
// A topology whose packets go round what has failed, or by up*/down* altogether.
//
// Problem: a topology's arithmetic for the next hop knows nothing of failed links and nodes. Where its own way to the
// destination is intact, a packet takes it, in its own virtual channels. Where it is not, the packet goes by up*/down*
// (core/topology/route_tables.hpp) over what is left, in one channel more, until it comes to a router from which the
// own way is intact. Once on an intact way it stays on it, so packets change from the channel of up*/down* to those of
// the own routes and never back: both are free of cycles, and no cycle leads through both.
//
// With the routing "up-down" all packets take up*/down* routes, in one virtual channel.
//
// One that follows states of links works its tables out anew with each change. Limits: tables, so at most 8192 routers;
// endpoints that are cut off send and get nothing; what is said of cycles holds for the routes of one state, not for
// packets on routes of two.
#include "core/routing/rerouted.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/faults/plan.hpp"
#include "core/topology/route_tables.hpp"
#include "core/topology/wrapped.hpp"

namespace exanet {

namespace {

constexpr std::uint32_t kNoRouter = 0xffffffffu;

class Rerouted final : public WrappedTopology {
 public:
  Rerouted(std::unique_ptr<Topology> inner, const LinkStates& states, bool own_routes, bool follows)
      : WrappedTopology(std::move(inner)), own_routes_(own_routes), follows_(follows), states_(states) {
    work_out();
  }

  PortRef neighbour(NodeId node, std::uint16_t port) const override {
    return follows_ || states_.works(*inner_, node, port) ? inner_->neighbour(node, port) : PortRef{};
  }
  std::uint16_t rails() const override { return 1; }  // an endpoint of several links is a router, which others may pass
  // An endpoint on a failed switch is lost with it.
  bool alive(NodeId node) const override {
    return follows_ ||
           (states_.alive(node) && (switch_of(*inner_, node) == kNoNode || states_.works(*inner_, node, 0)));
  }
  bool shortest() const override { return false; }
  std::uint8_t virtual_channels() const override {
    return static_cast<std::uint8_t>(own_routes_ ? inner_->virtual_channels() + 1 : 1);
  }
  void minimal_ports(NodeId at, NodeId dst, PortList& out) const override { Topology::minimal_ports(at, dst, out); }

  Hop next_hop(NodeId at, NodeId dst) const override {
    const std::uint32_t here = router_[at], there = router_[dst];
    if (here == there || here == kNoRouter || there == kNoRouter || switch_of(*inner_, at) != kNoNode)
      return {inner_->next_hop(at, dst).port, 0};
    if (own_routes_ && intact_[std::size_t{here} * inner_->endpoint_count() + dst]) return inner_->next_hop(at, dst);
    return {tables_.towards(here, there).port, static_cast<std::uint8_t>(own_routes_ ? inner_->virtual_channels() : 0)};
  }

  bool follows() const override { return follows_; }
  void follow(const LinkStates& states) override {
    states_ = states;
    work_out();
  }

 private:
  void work_out();
  void number_routers();
  void keep_largest_part();
  Adjacency graph() const;
  void find_intact();
  PortRef working(NodeId node, std::uint16_t port) const {
    return states_.works(*inner_, node, port) ? inner_->neighbour(node, port) : PortRef{};
  }

  bool own_routes_, follows_;
  LinkStates states_;
  std::vector<std::uint32_t> router_;  // by node: the number of its router in the tables
  std::vector<NodeId> routers_;
  RouteTables tables_;
  std::vector<bool> intact_;  // [router][endpoint]
};

void Rerouted::work_out() {
  number_routers();
  if (follows_) keep_largest_part();
  if (routers_.empty()) throw std::invalid_argument("everything has failed: leave something");
  if (routers_.size() > kMostRouters)
    throw std::invalid_argument("routes round failures and up*/down* are tables for at most " +
                                std::to_string(kMostRouters) + " routers; this machine has " +
                                std::to_string(routers_.size()));
  if (!tables_.find_up_down(graph()))
    throw std::invalid_argument("what has failed cuts the network in parts: let less of it fail");
  if (own_routes_) find_intact();
}

void Rerouted::number_routers() {
  const NodeId nodes = inner_->node_count();
  router_.assign(nodes, kNoRouter);
  routers_.clear();
  for (NodeId node = 0; node < nodes; ++node)
    if (states_.alive(node) && switch_of(*inner_, node) == kNoNode) {
      router_[node] = static_cast<std::uint32_t>(routers_.size());
      routers_.push_back(node);
    }
  for (NodeId node = 0; node < nodes; ++node) {
    const NodeId above = switch_of(*inner_, node);
    if (above != kNoNode && states_.works(*inner_, node, 0)) router_[node] = router_[above];
  }
}

// The first of the largest parts into which what works falls; nodes of others get no router.
void Rerouted::keep_largest_part() {
  const Adjacency links = graph();
  std::vector<std::uint32_t> part(routers_.size(), kNoRouter), sizes, todo;
  for (std::uint32_t start = 0; start < part.size(); ++start) {
    if (part[start] != kNoRouter) continue;
    const auto number = static_cast<std::uint32_t>(sizes.size());
    sizes.push_back(0);
    part[start] = number;
    for (todo = {start}; !todo.empty();) {
      const std::uint32_t here = todo.back();
      todo.pop_back();
      ++sizes[number];
      for (const PortRef& far : links[here])
        if (far.node != kNoNode && part[far.node] == kNoRouter) part[far.node] = number, todo.push_back(far.node);
    }
  }
  if (sizes.size() < 2) return;
  const auto largest = static_cast<std::uint32_t>(std::max_element(sizes.begin(), sizes.end()) - sizes.begin());
  std::vector<std::uint32_t> number(routers_.size(), kNoRouter);
  std::vector<NodeId> kept;
  for (std::uint32_t r = 0; r < routers_.size(); ++r)
    if (part[r] == largest) number[r] = static_cast<std::uint32_t>(kept.size()), kept.push_back(routers_[r]);
  for (std::uint32_t& router : router_)
    if (router != kNoRouter) router = number[router];
  routers_ = std::move(kept);
}

// The routers that are numbered, with the links that work between them.
Adjacency Rerouted::graph() const {
  Adjacency links(routers_.size());
  for (std::size_t r = 0; r < routers_.size(); ++r)
    for (std::uint16_t port = 0; port < inner_->port_count(routers_[r]); ++port) {
      PortRef far = working(routers_[r], port);
      if (far.node != kNoNode && (switch_of(*inner_, far.node) != kNoNode || router_[far.node] == kNoRouter)) far = {};
      links[r].push_back(far.node == kNoNode ? PortRef{} : PortRef{router_[far.node], far.port});
    }
  return links;
}

void Rerouted::find_intact() {
  const std::uint32_t endpoints = inner_->endpoint_count();
  intact_.assign(routers_.size() * endpoints, false);
  enum : char { kUnknown, kYes, kNo };
  std::vector<char> known(routers_.size());
  std::vector<std::uint32_t> path;
  for (NodeId dst = 0; dst < endpoints; ++dst) {
    if (router_[dst] == kNoRouter) continue;
    std::fill(known.begin(), known.end(), static_cast<char>(kUnknown));
    known[router_[dst]] = kYes;
    for (std::uint32_t start = 0; start < routers_.size(); ++start) {
      path.clear();
      std::uint32_t here = start;
      char answer = kUnknown;
      while ((answer = known[here]) == kUnknown) {
        path.push_back(here);
        const NodeId beyond = working(routers_[here], inner_->next_hop(routers_[here], dst).port).node;
        if (beyond == kNoNode || router_[beyond] == kNoRouter || path.size() > routers_.size()) {
          answer = kNo;
          break;
        }
        here = router_[beyond];
      }
      for (const std::uint32_t r : path) known[r] = answer;
    }
    for (std::uint32_t r = 0; r < routers_.size(); ++r) intact_[std::size_t{r} * endpoints + dst] = known[r] == kYes;
  }
}

}  // namespace

std::unique_ptr<Topology> make_rerouted(std::unique_ptr<Topology> inner, const LinkStates& states, bool own_routes) {
  return std::make_unique<Rerouted>(std::move(inner), states, own_routes, false);
}

std::unique_ptr<Topology> make_following(std::unique_ptr<Topology> inner, bool own_routes) {
  const LinkStates whole(*inner);
  return std::make_unique<Rerouted>(std::move(inner), whole, own_routes, true);
}

}  // namespace exanet
