// SPDX-License-Identifier: Apache-2.0
// Transfers of the ExaNet interfaces in the gateware's own cycles: stores over the node's bus into channels, blocks
// that are answered, reads that the other node serves, fences, and words in memory that report the ends.
//
// A node's processes share its channels; who finds none free waits, in order. A transfer of more than 1 GiB is several
// pieces. Channels take turns packet by packet, so transfers to a node end in any order; writes are reported in the
// order in which they were posted. Every piece reports its end: only so does software know that its channel is free. A
// transfer of which a piece fails has failed when all have ended; a write that is in the target's memory, and of which
// only answers are lost, at its source alone.
//
// Limits: what is under way of a transfer that was given up, and comes later, counts as another one's if that has its
// channel by then.
//
// Addresses are physical: each piece has its own, the same at both ends, from the beginning of a page on. Or they are
// those of processes' buffers (buffer_addresses.hpp), where the configuration has pages; all of these are mapped.
#pragma once

#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/nic/exanet/buffer_addresses.hpp"
#include "core/nic/exanet/gateware_interfaces.hpp"
#include "core/nic/exanet/node_bus.hpp"
#include "core/nic/in_order.hpp"

namespace exanet {

class GatewareTransfers final : public NodeBus::Stores {
 public:
  GatewareTransfers(NicContext& context, std::size_t nodes, NodeBus& bus, GatewareInterfaces& interfaces);

  void post(const RdmaTransfer& transfer);  // its last store is on the bus from now on
  void written(std::uint64_t piece, bool fence, std::uint32_t bytes, Cycle at);
  void ended(NodeId node, std::uint64_t piece, TransferEnding ending, Cycle at);
  void served(std::uint64_t piece);

  bool waits(NodeId node) const override { return !nodes_[node].waiting.empty(); }
  std::uint32_t beats(NodeId node) override;
  void go(NodeId node, Cycle from) override;

 private:
  struct Transfer {
    RdmaTransfer what;
    std::uint64_t left = 0;  // bytes, or fences, that are not in the target's memory yet
    std::uint32_t pieces = 0;  // that have not ended
    bool on_network = false;
    bool fenced = false;
    bool served = false;  // a read whose request has come
    Status status = Status::kOk;  // of its pieces
    bool notified = false, ended = false;  // the one at the target, and the word in the source's memory is there
  };
  struct Node {
    std::deque<TransferStore> waiting;
    std::uint32_t channels = GatewareShape::kChannels - GatewareShape::kKept;  // free ones
    std::deque<Cycle> freed;  // when one more counts
  };

  static bool reads(const Transfer& t) { return t.what.part == RdmaTransfer::Part::kRequest; }
  std::uint32_t free_channels(NodeId node);
  std::uint32_t allocate(const RdmaTransfer& transfer);
  void release(std::uint32_t id) { free_.push_back(id); }
  std::uint32_t allocate_piece(std::uint32_t id);
  void store_pieces(std::uint32_t id);
  void translate(TransferStore& piece, const RdmaTransfer& what, std::uint64_t bytes, std::uint64_t at);
  void asked(std::uint32_t id);
  void arrived(std::uint32_t id);
  void notify(std::uint32_t id, Status status, bool ends);
  void source_notified(std::uint32_t id);

  NicContext& context_;
  NodeBus& bus_;
  GatewareInterfaces& interfaces_;
  std::optional<BufferAddresses> buffers_;  // where there are pages
  std::vector<Node> nodes_;
  std::vector<Transfer> transfers_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> pieces_, free_pieces_;  // the transfer of each
  std::unordered_map<std::uint64_t, std::uint32_t> reads_;  // by user: that are under way
  InOrder<std::uint32_t> order_;  // of writes
  std::uint32_t on_arrived_ = 0, on_ended_ = 0, on_served_ = 0;
};

}  // namespace exanet
