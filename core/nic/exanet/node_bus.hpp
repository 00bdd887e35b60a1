// SPDX-License-Identifier: Apache-2.0
// The processors' bus to a node's interface: a beat of 16 bytes in a cycle, one store after the other, unless the
// interface holds it. What finds no slot or no channel free waits beside it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/nic/exanet/engine.hpp"
#include "core/nic/exanet/gateware_interfaces.hpp"

namespace exanet {

class NodeBus {
 public:
  // Stores of one kind, of all nodes.
  class Stores {
   public:
    virtual ~Stores() = default;
    virtual bool waits(NodeId node) const = 0;  // some store does
    virtual std::uint32_t beats(NodeId node) = 0;  // of the first one; 0: it cannot go in this cycle
    virtual void go(NodeId node, Cycle from) = 0;  // it is offered to the bus from this cycle on
  };

  NodeBus(NicContext& context, std::size_t nodes, GatewareInterfaces& interfaces)
      : context_(context), interfaces_(interfaces), nodes_(nodes) {
    on_look_ = context.events.add_handler(
        [](void* self, Time, std::uint32_t node, std::uint64_t) { static_cast<NodeBus*>(self)->event(node); }, this);
    on_beat_ = context.events.add_handler(
        [](void* self, Time, std::uint32_t node, std::uint64_t) { static_cast<NodeBus*>(self)->beat(node); }, this);
  }
  void join(Stores& stores) { kinds_[joined_++] = &stores; }  // the first to join goes first

  // A store has been posted now.
  void posted(NodeId id) {
    Node& node = nodes_[id];
    const Cycle next = edge();
    const bool looked_at = std::find(node.looks.begin(), node.looks.end(), next) != node.looks.end();
    if (!looked_at && node.free <= next && go(id, next)) return;
    look(id, next);
  }
  // Something may go from this cycle on.
  void look(NodeId id, Cycle at) {
    Node& node = nodes_[id];
    if (node.free == kUnknown || !waits(id)) return;  // who holds the bus looks behind it
    at = std::max(at, node.free);
    if (std::find(node.looks.begin(), node.looks.end(), at) != node.looks.end()) return;
    node.looks.push_back(at);
    context_.events.schedule(time_of(at, context_.router.cycle), on_look_, id);
  }
  Cycle cycle() const { return cycle_of(context_.events.now(), context_.router.cycle); }  // the present one
  Cycle edge() const {
    return cycle_of(next_edge(context_.router.cycle, context_.events.now()), context_.router.cycle);
  }

 private:
  struct Node {
    Cycle free = kLongAgo;  // no store is on it from then on, as far as is known
    std::vector<Cycle> looks;  // at what waits, that are to come
    std::uint32_t beats = 0;  // of the store that is on it, where the interface may hold it
  };

  bool waits(NodeId id) const {
    for (std::size_t kind = 0; kind < joined_; ++kind)
      if (kinds_[kind]->waits(id)) return true;
    return false;
  }
  void event(NodeId id) {
    Node& node = nodes_[id];
    const Cycle now = cycle();
    std::erase(node.looks, now);
    if (node.free > now) return look(id, now);
    go(id, now);
  }
  bool go(NodeId id, Cycle from) {
    Node& node = nodes_[id];
    for (std::size_t kind = 0; kind < joined_; ++kind) {
      const std::uint32_t beats = kinds_[kind]->beats(id);
      if (beats == 0) continue;
      const bool holds = interfaces_.may_hold(id);
      kinds_[kind]->go(id, from);
      if (!holds) {
        taken(id, from + beats);
      } else {
        node.free = kUnknown;
        node.beats = beats;
        context_.events.schedule(time_of(from, context_.router.cycle), on_beat_, id);
      }
      return true;
    }
    return false;
  }
  // A cycle in which a beat is offered.
  void beat(NodeId id) {
    Node& node = nodes_[id];
    const Cycle now = cycle();
    if (interfaces_.takes(id) && --node.beats == 0) return taken(id, now + 1);
    context_.events.schedule(time_of(now + 1, context_.router.cycle), on_beat_, id);
  }
  void taken(NodeId id, Cycle at) {
    nodes_[id].free = at;
    interfaces_.taken(id, at);
    look(id, at);
  }

  NicContext& context_;
  GatewareInterfaces& interfaces_;
  std::vector<Node> nodes_;
  std::array<Stores*, 2> kinds_{};
  std::size_t joined_ = 0;
  std::uint32_t on_look_ = 0, on_beat_ = 0;
};

}  // namespace exanet
