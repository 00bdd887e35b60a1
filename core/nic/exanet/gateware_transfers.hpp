// SPDX-License-Identifier: Apache-2.0
// Transfers of the ExaNet interfaces in the gateware's own cycles (core/nic/transfers): stores over the node's bus into channels, blocks that are
// answered, reads that the other node serves, fences, and words in memory that tell the ends.
//
// A node's processes share its channels; who finds none free waits, in order. Buffers begin at a page, at both ends, and a transfer of more than 1 GiB is
// several. Channels take turns packet by packet, so transfers to a node end in any order; writes are told of in the order in which they were posted.
// Addresses are physical.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "core/nic/exanet/engine.hpp"
#include "core/nic/in_order.hpp"
#include "core/nic/transfers/block_receiver.hpp"
#include "core/nic/transfers/transfer_sender.hpp"

namespace exanet {

class GatewareTransfers {
 public:
  GatewareTransfers(NicContext& context, std::size_t nodes, AnswerPorts& answers);

  void post(const RdmaTransfer& transfer);  // its last store is on the bus from now on
  void delivered(const Packet& packet, Time now);
  void ready(NodeId node) { sender_.ready(node); }

 private:
  struct Transfer {
    RdmaTransfer what;
    std::uint64_t left = 0;  // bytes, or fences, that are not in the target's memory yet
    std::uint32_t pieces = 0;  // that have not ended
    bool on_network = false;
    bool fenced = false;
    bool served = false;  // a read whose request has come
    bool told = false, ended = false;  // the one at the target, and the word in the source's memory is there
  };
  struct Waiting {
    TransferStore piece;
    Cycle at;  // its last store is at the interface, if there is a channel
  };
  struct Node {
    std::deque<Waiting> waiting;
    Cycle last = kLongAgo;  // of those that have been posted
    Cycle event = kUnknown;  // the next look at them
  };

  TransfersConfig config() const;
  static bool reads(const Transfer& t) { return t.what.part == RdmaTransfer::Part::kRequest; }
  std::uint32_t allocate(const RdmaTransfer& transfer);
  void release(std::uint32_t id);
  void store_pieces(std::uint32_t id);
  void look(NodeId node, Cycle at);
  void store(NodeId node);
  void written(const WrittenPacket& packet);
  void ended(std::uint32_t id, NodeId node, Cycle at);
  void served(std::uint32_t id);
  void arrived(std::uint32_t id);
  void tell(std::uint32_t id, bool ends);
  void source_told(std::uint32_t id);
  Time visible(Cycle at) const;  // what memory has taken in this cycle

  NicContext& context_;
  std::vector<Node> nodes_;
  std::vector<Transfer> transfers_;
  std::vector<std::uint32_t> free_;
  std::unordered_map<std::uint64_t, std::uint32_t> reads_;  // by user: that are under way
  InOrder<std::uint32_t> order_;  // of writes
  TransferSender sender_;
  BlockReceiver receiver_;
  std::uint32_t on_store_ = 0, on_arrived_ = 0, on_ended_ = 0;
};

}  // namespace exanet
