// SPDX-License-Identifier: Apache-2.0
// The processors' bus to a node's interface: a beat of 16 bytes in a cycle, one store after the other. What finds no slot or no channel free waits beside it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/nic/exanet/engine.hpp"
#include "core/nic/messages/cycle.hpp"

namespace exanet {

class NodeBus {
 public:
  // Stores of one kind, of all nodes.
  class Stores {
   public:
    virtual ~Stores() = default;
    virtual bool waits(NodeId node) const = 0;  // some store does
    virtual std::uint32_t beats(NodeId node) const = 0;  // of the first one; 0: it cannot go in this cycle
    // The bus takes it from the present cycle on, or from the next edge; it is at the interface in `at`.
    virtual void go(NodeId node, Cycle at) = 0;
  };

  NodeBus(NicContext& context, std::size_t nodes) : context_(context), nodes_(nodes) {
    on_look_ = context.events.add_handler(
        [](void* self, Time, std::uint32_t node, std::uint64_t) { static_cast<NodeBus*>(self)->event(node); }, this);
  }
  void join(Stores& stores) { kinds_[joined_++] = &stores; }  // the first to join goes first

  // A store has been posted now.
  void posted(NodeId id) {
    Node& node = nodes_[id];
    const Cycle next = edge();
    if (node.event > next && node.free <= next && go(id, next)) return;
    look(id, next);
  }
  // Something may go from this cycle on.
  void look(NodeId id, Cycle at) {
    Node& node = nodes_[id];
    if (!waits(id)) return;
    at = std::max(at, node.free);
    if (at >= node.event) return;
    node.event = at;
    context_.events.schedule(time_of(at, context_.router.cycle), on_look_, id);
  }
  Cycle cycle() const { return cycle_of(context_.events.now(), context_.router.cycle); }  // the present one
  Cycle edge() const {
    return cycle_of(next_edge(context_.router.cycle, context_.events.now()), context_.router.cycle);
  }

 private:
  struct Node {
    Cycle free = kLongAgo;  // no store is on it from then on
    Cycle event = kUnknown;  // the next look at what waits
  };

  bool waits(NodeId id) const {
    for (std::size_t kind = 0; kind < joined_; ++kind)
      if (kinds_[kind]->waits(id)) return true;
    return false;
  }
  void event(NodeId id) {
    Node& node = nodes_[id];
    const Cycle now = edge();
    if (now != node.event) return;  // an earlier look came in between
    node.event = kUnknown;
    if (node.free > now) return look(id, node.free);
    go(id, now);
  }
  bool go(NodeId id, Cycle now) {
    for (std::size_t kind = 0; kind < joined_; ++kind) {
      const std::uint32_t beats = kinds_[kind]->beats(id);
      if (beats == 0) continue;
      nodes_[id].free = now + beats;
      kinds_[kind]->go(id, now + beats);
      look(id, now + beats);
      return true;
    }
    return false;
  }

  NicContext& context_;
  std::vector<Node> nodes_;
  std::array<Stores*, 2> kinds_{};
  std::size_t joined_ = 0;
  std::uint32_t on_look_ = 0;
};

}  // namespace exanet
