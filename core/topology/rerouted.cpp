// SPDX-License-Identifier: Apache-2.0
// A topology whose packets go round what has failed, or by up*/down* altogether.
//
// Problem: a topology's arithmetic for the next hop knows nothing of failed links and nodes. Where its own way to the destination is intact, a
// packet takes it, in its own virtual channels. Where it is not, the packet goes by up*/down* (core/topology/route_tables.hpp) over what is left, in one
// channel more, until it comes to a router from which the own way is intact. Once on an intact way it stays on it, so packets change
// from the channel of up*/down* to those of the own ways and never back: both are free of cycles, and no cycle leads through both.
//
// With the routing "up-down" all packets take up*/down* routes, in one virtual channel.
//
// Limits: tables, so at most 8192 routers; what has failed has failed from the beginning; endpoints that are cut off send and get nothing.
#include "core/topology/rerouted.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "core/engine/random.hpp"
#include "core/topology/route_tables.hpp"
#include "core/topology/wrapped.hpp"

namespace exanet {

namespace {

class Rerouted final : public WrappedTopology {
 public:
  Rerouted(std::unique_ptr<Topology> inner, const std::vector<std::string>& failed, bool own_routes)
      : WrappedTopology(std::move(inner)), own_routes_(own_routes), dead_(inner_->node_count()) {
    const NodeId nodes = inner_->node_count();
    for (NodeId node = 0; node < nodes; ++node) {
      first_port_.push_back(ports_);
      ports_ += inner_->port_count(node);
    }
    cut_.resize(ports_);
    for (const std::string& what : failed) fail(what);
    for (NodeId e = 0; e < inner_->endpoint_count(); ++e)  // an endpoint on a failed switch is lost with it
      if (hangs_on(e) != kNoNode && neighbour(e, 0).node == kNoNode) dead_[e] = true;
    build_tables();
    if (own_routes_) find_intact();
  }

  PortRef neighbour(NodeId node, std::uint16_t port) const override {
    const PortRef far = inner_->neighbour(node, port);
    return far.node == kNoNode || cut_[first_port_[node] + port] || dead_[node] || dead_[far.node] ? PortRef{} : far;
  }
  std::uint16_t rails() const override { return 1; }  // an endpoint of several links is a router, which others may pass
  bool alive(NodeId node) const override { return !dead_[node]; }
  bool shortest() const override { return false; }
  std::uint8_t virtual_channels() const override {
    return static_cast<std::uint8_t>(own_routes_ ? inner_->virtual_channels() + 1 : 1);
  }
  void minimal_ports(NodeId at, NodeId dst, PortList& out) const override { Topology::minimal_ports(at, dst, out); }

  Hop next_hop(NodeId at, NodeId dst) const override {
    const std::uint32_t here = router_[at], there = router_[dst];
    if (here == there || hangs_on(at) != kNoNode) return {inner_->next_hop(at, dst).port, 0};
    if (own_routes_ && intact_[std::size_t{here} * inner_->endpoint_count() + dst]) return inner_->next_hop(at, dst);
    return {tables_.towards(here, there).port, static_cast<std::uint8_t>(own_routes_ ? inner_->virtual_channels() : 0)};
  }

 private:
  // The switch of an endpoint that is no router itself.
  NodeId hangs_on(NodeId node) const {
    if (node >= inner_->endpoint_count() || !inner_->switched() || inner_->port_count(node) != 1) return kNoNode;
    return inner_->neighbour(node, 0).node;
  }

  void fail(const std::string& what);
  void fail_at_random(bool links, const std::string& figures);
  void cut(NodeId node, std::uint16_t port);
  void build_tables();
  void find_intact();

  bool own_routes_;
  std::vector<bool> dead_;  // by node
  std::vector<std::uint32_t> first_port_;  // by node
  std::uint32_t ports_ = 0;
  std::vector<bool> cut_;  // by port of all nodes
  std::vector<std::uint32_t> router_;  // by node: the number of its router in the tables
  std::vector<NodeId> routers_;
  RouteTables tables_;
  std::vector<bool> intact_;  // [router][endpoint]
};

void Rerouted::cut(NodeId node, std::uint16_t port) {
  const PortRef far = inner_->neighbour(node, port);
  if (far.node == kNoNode) return;
  cut_[first_port_[node] + port] = true;
  cut_[first_port_[far.node] + far.port] = true;
}

// "NODE", "NODE PORT", "nodes:NUMBER[:SEED]" or "links:NUMBER[:SEED]".
void Rerouted::fail(const std::string& what) {
  if (what.starts_with("nodes:")) return fail_at_random(false, what.substr(6));
  if (what.starts_with("links:")) return fail_at_random(true, what.substr(6));
  for (NodeId node = 0; node < inner_->node_count(); ++node) {
    const std::string name = inner_->node_name(node);
    if (!what.starts_with(name)) continue;
    if (what == name) {
      dead_[node] = true;
      return;
    }
    for (std::uint16_t port = 0; port < inner_->port_count(node); ++port)
      if (what.substr(name.size()) == " " + inner_->port_name(node, port) &&
          inner_->neighbour(node, port).node != kNoNode)
        return cut(node, port);
  }
  throw std::invalid_argument(
      "\"" + what + "\" is neither a node nor one of its links: name what has failed like \"" +
      inner_->node_name(inner_->node_count() - 1) + "\" or \"" + inner_->node_name(inner_->node_count() - 1) + " " +
      inner_->port_name(inner_->node_count() - 1, 0) + "\", or say how many, e.g. links:2 or nodes:1");
}

void Rerouted::fail_at_random(bool links, const std::string& figures) {
  std::uint32_t number = 0, seed = 1;
  const char* end = figures.data() + figures.size();
  auto parsed = std::from_chars(figures.data(), end, number);
  if (parsed.ec == std::errc() && parsed.ptr != end && *parsed.ptr == ':')
    parsed = std::from_chars(parsed.ptr + 1, end, seed);
  if (parsed.ec != std::errc() || parsed.ptr != end)
    throw std::invalid_argument(std::string(links ? "links:" : "nodes:") + figures +
                                " is not understood: give a number, and a seed behind a colon");
  // Switches where there are any, and links between routers.
  std::vector<std::pair<NodeId, std::uint16_t>> choice;
  for (NodeId node = 0; node < inner_->node_count(); ++node) {
    if (hangs_on(node) != kNoNode) continue;
    if (!links && (!inner_->switched() || node >= inner_->endpoint_count())) choice.push_back({node, 0});
    for (std::uint16_t port = 0; links && port < inner_->port_count(node); ++port) {
      const PortRef far = inner_->neighbour(node, port);
      if (far.node != kNoNode && hangs_on(far.node) == kNoNode &&
          (far.node > node || (far.node == node && far.port > port)))
        choice.push_back({node, port});
    }
  }
  if (number > choice.size())
    throw std::invalid_argument(std::to_string(number) + (links ? " links" : " nodes") +
                                " shall fail; this machine has " + std::to_string(choice.size()));
  Random random(seed, links ? 0xfa11 : 0xfa12);
  for (std::uint32_t i = 0; i < number; ++i) {
    std::swap(choice[i], choice[i + random.below(static_cast<std::uint32_t>(choice.size() - i))]);
    if (links)
      cut(choice[i].first, choice[i].second);
    else
      dead_[choice[i].first] = true;
  }
}

void Rerouted::build_tables() {
  const NodeId nodes = inner_->node_count();
  router_.assign(nodes, 0xffffffffu);
  for (NodeId node = 0; node < nodes; ++node)
    if (!dead_[node] && hangs_on(node) == kNoNode) {
      router_[node] = static_cast<std::uint32_t>(routers_.size());
      routers_.push_back(node);
    }
  for (NodeId node = 0; node < nodes; ++node)
    if (!dead_[node] && hangs_on(node) != kNoNode) router_[node] = router_[hangs_on(node)];
  if (routers_.empty()) throw std::invalid_argument("everything has failed: leave something");
  if (routers_.size() > kMostRouters)
    throw std::invalid_argument("routes round failures and up*/down* are tables for at most " +
                                std::to_string(kMostRouters) + " routers; this machine has " +
                                std::to_string(routers_.size()));
  Adjacency graph(routers_.size());
  for (std::size_t r = 0; r < routers_.size(); ++r)
    for (std::uint16_t port = 0; port < inner_->port_count(routers_[r]); ++port) {
      PortRef far = neighbour(routers_[r], port);
      if (far.node != kNoNode && hangs_on(far.node) != kNoNode) far = {};
      graph[r].push_back(far.node == kNoNode ? PortRef{} : PortRef{router_[far.node], far.port});
    }
  if (!tables_.find_up_down(graph))
    throw std::invalid_argument("what has failed cuts the network in parts: let less of it fail");
}

void Rerouted::find_intact() {
  const std::uint32_t endpoints = inner_->endpoint_count();
  intact_.assign(routers_.size() * endpoints, false);
  enum : char { kUnknown, kYes, kNo };
  std::vector<char> known(routers_.size());
  std::vector<std::uint32_t> path;
  for (NodeId dst = 0; dst < endpoints; ++dst) {
    if (dead_[dst]) continue;
    std::fill(known.begin(), known.end(), static_cast<char>(kUnknown));
    known[router_[dst]] = kYes;
    for (std::uint32_t start = 0; start < routers_.size(); ++start) {
      path.clear();
      std::uint32_t here = start;
      char answer = kUnknown;
      while ((answer = known[here]) == kUnknown) {
        path.push_back(here);
        const NodeId beyond = neighbour(routers_[here], inner_->next_hop(routers_[here], dst).port).node;
        if (beyond == kNoNode || path.size() > routers_.size()) {
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

std::unique_ptr<Topology> make_rerouted(std::unique_ptr<Topology> inner, const std::vector<std::string>& failed,
                                        bool own_routes) {
  return std::make_unique<Rerouted>(std::move(inner), failed, own_routes);
}

}  // namespace exanet
