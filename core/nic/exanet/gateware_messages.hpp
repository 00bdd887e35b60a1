// SPDX-License-Identifier: Apache-2.0
// Messages of the ExaNet interfaces in the gateware's own cycles: stores over the node's bus into slots, packets and
// answers, entries in a ring of memory.
//
// A node's processes have 16 contexts of four slots between them and take them in turn; who finds none free waits, in
// order. Its messages go to one mailbox, which is read as soon as an entry is there, so it is never full. The interface
// lets messages to a node overtake each other where 32 are under way or one is repeated; software sees them in order,
// one that came before its turn with the one that it waited for. One that is NACKed, or given up, fails in its turn.
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "core/nic/exanet/gateware_interfaces.hpp"
#include "core/nic/exanet/node_bus.hpp"
#include "core/nic/in_order.hpp"

namespace exanet {

class GatewareMessages final : public NodeBus::Stores {
 public:
  GatewareMessages(NicContext& context, std::size_t nodes, NodeBus& bus, GatewareInterfaces& interfaces);

  void post(const PacketizerMessage& message);  // its last store is on the bus from now on
  void answered(NodeId node, Cycle at) { bus_.look(node, at + 1); }
  void stored(NodeId src, std::uint32_t slot, NodeId node, Cycle at);
  void failed(NodeId src, std::uint32_t slot, Status status, Cycle at);

  bool waits(NodeId node) const override { return nodes_[node].releases || !nodes_[node].waiting.empty(); }
  std::uint32_t beats(NodeId node) override;
  void go(NodeId node, Cycle from) override;

 private:
  static constexpr std::uint32_t kContexts = GatewareShape::kContexts;
  struct Node {
    std::deque<PacketizerMessage> waiting;
    std::uint32_t turn = 0;  // the context that is next
    std::array<std::uint8_t, kContexts> fill{};  // the slot of each that is next
    struct Sent {
      std::uint64_t user = 0;
      NodeId dst = 0;
      bool completed = false;
    };
    std::array<Sent, GatewareShape::kSlots> sent{};  // by slot

    std::uint32_t slot() const { return 4 * turn + fill[turn]; }  // that is next
    std::uint32_t read = 0, released = 0;  // entries of its mailbox
    bool releases = false;  // it has yet to report how far it has read
  };
  void complete(NodeId src, std::uint32_t slot, Status status, Time visible);
  void visible(NodeId node, std::uint64_t user);

  NicContext& context_;
  NodeBus& bus_;
  GatewareInterfaces& interfaces_;
  std::vector<Node> nodes_;
  InOrder<std::uint64_t> order_;
  std::uint32_t on_visible_ = 0, on_failed_ = 0;
};

}  // namespace exanet
