// SPDX-License-Identifier: Apache-2.0
// The interfaces of all nodes by their models (core/nic/messages, transfers, reductions), over any network of packets.
#pragma once

#include <deque>
#include <optional>
#include <variant>
#include <vector>

#include "core/nic/exanet/engine.hpp"
#include "core/nic/exanet/gateware_interfaces.hpp"
#include "core/nic/reductions/reduction_unit.hpp"
#include "core/nic/transfers/interfaces.hpp"
#include "core/nic/transfers/mapped_tables.hpp"

namespace exanet {

class ModelInterfaces final : public GatewareInterfaces {
 public:
  // Transfers and reductions where the configuration has them in the gateware's cycles, too.
  ModelInterfaces(NicContext& context, std::size_t nodes, GatewareListener& listener);

  void delivered(const Packet& packet, Time now);
  void ready(NodeId node, std::uint8_t port);
  PageStatistics pages() const;

  bool slot_is_free(NodeId node, std::uint32_t slot) const override { return messages_.sender.is_free(node, slot / 4); }
  bool may_hold(NodeId node) const override { return sender_ && sender_->may_hold(node, nodes_[node].transfers); }
  bool takes(NodeId node) const override { return !sender_ || sender_->takes_stores(node); }
  void store(NodeId node, std::uint32_t slot, const MessageStore& message, Cycle from) override;
  void store(NodeId node, const TransferStore& transfer, Cycle from) override;
  void release(NodeId node, std::uint32_t place, Cycle from) override;
  void taken(NodeId node, Cycle at) override;
  void open(NodeId node, std::uint8_t tree, const ReductionPlace& place, Cycle at) override;
  void call(const ReductionCall& call, Cycle at) override;

 private:
  struct OfMessage {
    std::uint32_t context;
    MessageStore message;
  };
  struct OfMailbox {
    std::uint32_t place;
  };
  struct Node {  // what is on its buses, in order
    std::deque<std::variant<OfMessage, TransferStore, OfMailbox>> stores;
    std::uint32_t transfers = 0;  // of these
    std::deque<ReductionCall> calls;
    std::uint32_t word = 0;  // of the first one
  };
  static MessagesConfig messages_config(const NicContext& context);
  static TransfersConfig transfers_config(const NicContext& context);
  void map_pages(std::size_t nodes);
  static ReductionsConfig reductions_config(const NicContext& context);
  void stored(const StoredMessage& m);
  void answered(NodeId node, std::uint32_t slot, MessageAnswer answer, Cycle at);
  void written(const WrittenPacket& packet);
  void at_interface(NodeId node);
  void call_word(NodeId node);

  EventQueue& events_;
  Time cycle_;
  GatewareListener& listener_;
  std::vector<Node> nodes_;
  Messages messages_;
  MappedTables tables_;  // of all nodes, where they have pages
  std::optional<TransferSender> sender_;
  std::optional<BlockReceiver> receiver_;
  std::optional<ReductionUnits> units_;
  std::uint32_t on_store_ = 0, on_word_ = 0;
};

}  // namespace exanet
