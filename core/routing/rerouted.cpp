// SPDX-License-Identifier: Apache-2.0
// A topology whose packets go round what has failed, or by up*/down* altogether.
//
// Problem: a topology's arithmetic for the next hop knows nothing of failed links and nodes. Where its own way to the
// destination is intact, a packet takes it, in its own virtual channels. Where it is not, the packet goes by up*/down*
// (core/topology/route_tables.hpp) over what is left, in one channel more, until it comes to a router from which the
// own way is intact. Once on an intact way it stays on it, so packets change from the channel of up*/down* to those of
// the own routes and never back: both are free of cycles, and no cycle leads through both.
//
// For routings that choose among ports there are as many as are left. Where the topology's equal ports may be taken in
// any combination (up a fat tree), a way is intact as long as any of these leads to an intact one, so packets on it
// still take the own channels in any of the own combinations; those of up*/down* are any that are equally long.
// minimal_ports() are all ports behind which the route of next_hop() is shorter than here: a packet that takes such a
// port at each hop, or next_hop()'s, comes nearer each time (core/routing/adaptive.cpp).
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

#include "core/engine/random.hpp"
#include "core/faults/plan.hpp"
#include "core/topology/route_tables.hpp"
#include "core/topology/wrapped.hpp"

namespace exanet {

namespace {

constexpr std::uint32_t kNoRouter = 0xffffffffu;

class Rerouted final : public WrappedTopology {
 public:
  Rerouted(std::unique_ptr<Topology> inner, const LinkStates& states, Detours detours, bool follows)
      : WrappedTopology(std::move(inner)),
        own_routes_(detours != Detours::kUpDown),
        several_(detours == Detours::kSeveral),
        any_(several_ && inner_->any_equal_port()),
        follows_(follows),
        states_(states) {
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
  bool any_equal_port() const override { return any_; }
  void equal_ports(NodeId at, NodeId dst, PortList& out) const override {
    if (any_ && own_alone_) return inner_->equal_ports(at, dst, out);
    if (!any_ || is_last_hop(at, dst)) return out.add(next_hop(at, dst).port);
    if (intact(at, dst)) return intact_ports(at, dst, out);
    tables_.equal(links_, router_[at], router_[dst], out);
  }
  void minimal_ports(NodeId at, NodeId dst, PortList& out) const override {
    if (several_ && whole_) return inner_->minimal_ports(at, dst, out);
    if (!several_ || is_last_hop(at, dst)) return out.add(next_hop(at, dst).port);
    const std::vector<PortRef>& ports = links_[router_[at]];
    for (std::size_t port = 0; port < ports.size(); ++port)
      if (ports[port].node != kNoNode && length(ports[port].node, dst) < length(router_[at], dst))
        out.add(static_cast<std::uint16_t>(port));
  }

  Hop next_hop(NodeId at, NodeId dst) const override {
    if (own_alone_) return inner_->next_hop(at, dst);
    if (is_last_hop(at, dst)) {
      // What leads to a part that is cut off keeps the channels of own routes, so that it closes no cycle on its way.
      const Hop hop = inner_->next_hop(at, dst);
      return own_routes_ && cut_off(at, dst) ? hop : Hop{hop.port, 0};
    }
    const std::uint32_t here = router_[at], there = router_[dst];
    if (own_routes_ && intact(at, dst)) return any_ ? intact_hop(at, dst) : inner_->next_hop(at, dst);
    return {tables_.towards(here, there).port, static_cast<std::uint8_t>(own_routes_ ? inner_->virtual_channels() : 0)};
  }

  bool follows() const override { return follows_; }
  void follow(const LinkStates& states) override {
    states_ = states;
    work_out();
  }

 private:
  void work_out();
  bool all_work() const;
  void number_routers();
  void keep_largest_part();
  Adjacency graph() const;
  void find_intact();
  void find_intact_combinations();
  void find_lengths();

  // No table is asked: the only link of an endpoint, the one to it from its router, or one into a part that is cut off.
  bool is_last_hop(NodeId at, NodeId dst) const {
    const std::uint32_t here = router_[at], there = router_[dst];
    return here == there || here == kNoRouter || there == kNoRouter || switch_of(*inner_, at) != kNoNode;
  }
  bool cut_off(NodeId at, NodeId dst) const { return router_[at] == kNoRouter || router_[dst] == kNoRouter; }
  std::size_t route_of(std::uint32_t router, NodeId dst) const {
    return std::size_t{router} * inner_->endpoint_count() + dst;
  }
  bool intact(NodeId at, NodeId dst) const { return intact_[route_of(router_[at], dst)]; }
  std::uint16_t length(std::uint32_t router, NodeId dst) const { return length_[route_of(router, dst)]; }
  // Whether the port's link works, and an intact way leads on behind it.
  bool leads_on(NodeId at, std::uint16_t port, NodeId dst) const {
    const std::uint32_t beyond = links_[router_[at]][port].node;
    return beyond != kNoNode && (beyond == router_[dst] || intact_[route_of(beyond, dst)]);
  }
  void intact_ports(NodeId at, NodeId dst, PortList& out) const {
    PortList own;
    inner_->equal_ports(at, dst, own);
    for (std::uint32_t i = 0; i < own.count; ++i)
      if (leads_on(at, own.port[i], dst)) out.add(own.port[i]);
  }
  Hop intact_hop(NodeId at, NodeId dst) const {
    Hop hop = inner_->next_hop(at, dst);
    if (leads_on(at, hop.port, dst)) return hop;
    PortList left;
    intact_ports(at, dst, left);
    hop.port = left.port[Random(at, dst).below(left.count)];
    return hop;
  }
  PortRef working(NodeId node, std::uint16_t port) const {
    return states_.works(*inner_, node, port) ? inner_->neighbour(node, port) : PortRef{};
  }

  bool own_routes_, several_, any_, follows_;
  bool whole_ = false;  // follows, and all works
  bool own_alone_ = false;  // whole, with routes of the topology's own: no table is needed
  LinkStates states_;
  std::vector<std::uint32_t> router_;  // by node: the number of its router in the tables
  std::vector<NodeId> routers_;
  Adjacency links_;  // by router
  RouteTables tables_;
  std::vector<bool> intact_;  // [router][endpoint]
  std::vector<std::uint16_t>
      length_;  // [router][endpoint], with several ports: links between routers on next_hop()'s route
};

void Rerouted::work_out() {
  whole_ = follows_ && all_work();
  own_alone_ = whole_ && own_routes_;
  number_routers();
  if (follows_) keep_largest_part();
  if (routers_.empty() && follows_) return;  // nothing is sent on, and every node counts as cut off
  if (routers_.empty()) throw std::invalid_argument("no router is left: remove some of the failures");
  if (routers_.size() > kMostRouters)
    throw std::invalid_argument("routes around failures and up*/down* routes are tables, which hold at most " +
                                std::to_string(kMostRouters) + " routers; this machine has " +
                                std::to_string(routers_.size()));
  links_ = graph();
  if (!tables_.find_up_down(links_))
    throw std::invalid_argument(
        "the failures split the network into parts that cannot reach each other: remove some of them");
  if (any_)
    find_intact_combinations();
  else if (own_routes_)
    find_intact();
  if (several_) find_lengths();
}

bool Rerouted::all_work() const {
  for (NodeId node = 0; node < inner_->node_count(); ++node) {
    if (!states_.alive(node)) return false;
    for (std::uint16_t port = 0; port < inner_->port_count(node); ++port)
      if (inner_->neighbour(node, port).node != kNoNode && !states_.works(*inner_, node, port)) return false;
  }
  return true;
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

// A way is intact where any of the own equal ports leads to an intact one; such ports never lead in a cycle.
void Rerouted::find_intact_combinations() {
  const std::uint32_t endpoints = inner_->endpoint_count();
  intact_.assign(routers_.size() * endpoints, false);
  enum : char { kUnknown, kLookedAt, kKnown };
  std::vector<char> state(routers_.size());
  std::vector<std::uint32_t> open;
  for (NodeId dst = 0; dst < endpoints; ++dst) {
    const std::uint32_t there = router_[dst];
    if (there == kNoRouter) continue;
    std::fill(state.begin(), state.end(), static_cast<char>(kUnknown));
    state[there] = kKnown;
    intact_[route_of(there, dst)] = true;
    for (std::uint32_t start = 0; start < routers_.size(); ++start)
      for (open = {start}; !open.empty();) {
        const std::uint32_t here = open.back();
        PortList ports;
        if (state[here] != kKnown) inner_->equal_ports(routers_[here], dst, ports);
        bool waits = false, found = state[here] == kKnown && intact_[route_of(here, dst)];
        for (std::uint32_t i = 0; i < ports.count; ++i) {
          const std::uint32_t beyond = links_[here][ports.port[i]].node;
          if (beyond == kNoRouter) continue;
          if (state[beyond] == kUnknown) state[beyond] = kLookedAt, open.push_back(beyond), waits = true;
          found = found || (state[beyond] == kKnown && intact_[route_of(beyond, dst)]);
        }
        if (waits) continue;
        state[here] = kKnown;
        intact_[route_of(here, dst)] = found;
        open.pop_back();
      }
  }
}

void Rerouted::find_lengths() {
  const std::uint32_t endpoints = inner_->endpoint_count();
  length_.assign(routers_.size() * endpoints, 0);
  std::vector<std::uint32_t> path;
  for (NodeId dst = 0; dst < endpoints; ++dst) {
    if (router_[dst] == kNoRouter) continue;
    for (std::uint32_t start = 0; start < routers_.size(); ++start) {
      path.clear();
      std::uint32_t here = start;
      for (; here != router_[dst] && length(here, dst) == 0;
           here = links_[here][next_hop(routers_[here], dst).port].node)
        path.push_back(here);
      std::uint16_t behind = length(here, dst);
      for (; !path.empty(); path.pop_back()) length_[route_of(path.back(), dst)] = ++behind;
    }
  }
}

}  // namespace

std::unique_ptr<Topology> make_rerouted(std::unique_ptr<Topology> inner, const LinkStates& states, Detours detours) {
  return std::make_unique<Rerouted>(std::move(inner), states, detours, false);
}

std::unique_ptr<Topology> make_following(std::unique_ptr<Topology> inner, Detours detours) {
  const LinkStates whole(*inner);
  return std::make_unique<Rerouted>(std::move(inner), whole, detours, true);
}

}  // namespace exanet
