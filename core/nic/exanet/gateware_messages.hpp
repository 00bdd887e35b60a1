// SPDX-License-Identifier: Apache-2.0
// Messages of the ExaNet interfaces in the gateware's own cycles (core/nic/messages): stores over the node's bus into slots, packets and answers, entries
// in a ring of memory.
//
// A node's processes have 16 contexts of four slots between them and take them in turn; who finds none free waits, in order. Its messages go to one
// mailbox, which is read as soon as an entry is there, so it is never full. The interface lets messages to a node overtake each other where 32 are
// under way or one is repeated; software sees them in order, one that came before its turn with the one that it waited for.
#pragma once

#include <deque>
#include <vector>

#include "core/nic/exanet/engine.hpp"
#include "core/nic/in_order.hpp"
#include "core/nic/messages/messages.hpp"

namespace exanet {

class GatewareMessages {
 public:
  GatewareMessages(NicContext& context, std::size_t nodes);

  void post(const PacketizerMessage& message);  // its last store is on the bus from now on
  void delivered(const Packet& packet, Time now);
  void ready(NodeId node, std::uint8_t port) { messages_.ready(node, port); }
  AnswerPorts& answers() { return messages_.answers; }  // which transfers share

 private:
  struct Waiting {
    PacketizerMessage message;
    Cycle at;  // its store is at the interface, if there is a slot
  };
  struct Node {
    std::deque<Waiting> waiting;
    Cycle last = kLongAgo;  // of those that have been posted
    Cycle event = kUnknown;  // the next look at them
    std::uint32_t turn = 0;  // the context that is next
    std::uint32_t read = 0;  // entries of its mailbox
  };
  MessagesConfig config() const;
  void look(NodeId node, Cycle at);
  void store(NodeId node);
  void stored(const StoredMessage& stored);
  void visible(NodeId node, std::uint64_t user);

  NicContext& context_;
  std::vector<Node> nodes_;
  InOrder<std::uint64_t> order_;
  Messages messages_;
  std::uint32_t on_store_ = 0, on_visible_ = 0;
};

}  // namespace exanet
