// SPDX-License-Identifier: Apache-2.0
// The ExaNet network interfaces: packetizer, mailboxes and RDMA engine of each node, each with its costs.
//
// A message is one packetizer packet into a mailbox (router port 0). A transfer is what an RDMA engine moves (port 1).
// An interface with a clock injects at clock edges (PortClock). With several rails a node has all of this for each of
// them (rail_interfaces.hpp), and what engines call a node is one of these interfaces.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/nic/exanet/end_to_end.hpp"
#include "core/nic/exanet/gateware_messages.hpp"
#include "core/nic/exanet/gateware_reductions.hpp"
#include "core/nic/exanet/gateware_transfers.hpp"
#include "core/nic/exanet/mailbox.hpp"
#include "core/nic/exanet/model_interfaces.hpp"
#include "core/nic/exanet/packetizer.hpp"
#include "core/nic/exanet/rail_interfaces.hpp"
#include "core/nic/exanet/rdma_engine.hpp"
#include "core/nic/exanet/stripes.hpp"
#include "core/nic/exanet/verilated_interfaces.hpp"
#include "core/nic/in_order.hpp"
#include "core/nic/nic.hpp"

namespace exanet {

// The configuration, if an interface of these costs can be built on this router. Throws ConfigError.
NiConfig checked(const NiConfig& ni, const RouterConfig& router);

class ExanetNic final : public Nic, GatewareListener {
 public:
  // Throws ConfigError when a figure of the configuration cannot be built on this router, or the network's maker throws
  // it.
  explicit ExanetNic(const NicSetup& setup);

  void post(const PacketizerMessage& message) override;
  void post(const RdmaTransfer& transfer) override;
  void post(const ReductionPacket& packet) override;
  void doorbell(NodeId) override {}  // an engine begins with the descriptor

  void set_zero_cost(bool zero_cost) override { context_.zero_cost = zero_cost; }

  void is_known_dead(NodeId node, NodeId by) override {
    if (reliable_) reliable_->is_known_dead(node, by);
  }

  bool multicasts() const override;
  bool reduces() const override { return context_.config.reduction_trees > 0 && (units_ || !gateware_messages_); }
  bool has_trees() const override { return units_ != nullptr; }
  void open_tree(NodeId node, std::uint8_t tree, const ReductionPlace& place) override;
  void post(const ReductionCall& call) override;

  const Network& network() const override { return *network_; }
  FaultTarget& links() override { return *network_; }
  std::uint64_t packets() const override { return context_.packets; }
  std::uint64_t payload_bytes() const override { return context_.payload_bytes; }
  PageStatistics pages() const override { return model_ ? model_->pages() : PageStatistics{}; }
  ReliabilityStatistics reliability() const override {
    return reliable_ ? reliable_->statistics() : ReliabilityStatistics{};
  }
  std::uint64_t active() const override { return context_.active; }

 private:
  struct Message {
    std::uint64_t user;
    std::uint32_t bytes;
    NodeId at;  // the interface that it comes to
    bool operator==(const Message&) const = default;
  };
  PacketSink sink(const NicSetup& setup);
  std::unique_ptr<Network> make_network_below(const NicSetup& setup);
  void make_reliable(const NicSetup& setup, PacketSink& sink);
  void set_pacing(const NicSetup& setup);
  RdmaTransfer by_its_rail(const RdmaTransfer& transfer);
  void send_striped(const RdmaTransfer& transfer);
  // From interface to interface.
  void send(const PacketizerMessage& message);
  void send(const RdmaTransfer& transfer);
  void send(const ReductionPacket& packet);
  void ready(NodeId node, std::uint8_t port, std::uint8_t priority, Time now);
  // The last word comes in `tail`: now, or later where the network reports it early.
  void delivered(const Packet& at_node, const Packet& packet, Time injected, Time tail);
  void reduction_arrived(const Packet& packet, std::uint64_t user, Status status, Time tail);
  void reduction_completed(std::uint64_t user, Status status, Time now);
  void message_arrived(const Packet& packet, std::uint64_t user, Time tail);
  [[gnu::noinline]] void message_completed(const Packet& packet, std::uint64_t user, Status status, Time now);
  [[gnu::cold, gnu::noinline]] void lost(const Packet& packet, Status why, Time now);

  void message_stored(NodeId src, std::uint32_t slot, NodeId node, Cycle at) override {
    gateware_messages_->stored(src, slot, node, at);
  }
  void message_answered(NodeId node, Cycle at) override { gateware_messages_->answered(node, at); }
  void message_failed(NodeId node, std::uint32_t slot, Status status, Cycle at) override {
    gateware_messages_->failed(node, slot, status, at);
  }
  void transfer_written(std::uint64_t user, bool fence, std::uint32_t bytes, Cycle at) override {
    transfers_->written(user, fence, bytes, at);
  }
  void transfer_ended(NodeId node, std::uint64_t user, TransferEnding ending, Cycle at) override {
    transfers_->ended(node, user, ending, at);
  }
  void transfer_served(std::uint64_t user) override { transfers_->served(user); }
  void reduction_ended(const ReductionEnd& end) override { units_->ended(end); }

  std::unique_ptr<Stripes> stripes_;  // between engines and listener, where long transfers are cut over the rails
  NicContext context_;
  std::unique_ptr<EndToEnd> reliable_;  // between engines and network, where these interfaces retransmit
  std::unique_ptr<Network> network_;
  std::optional<RailInterfaces> rails_;  // where a node has several
  Packetizer packetizer_, reductions_;
  Mailbox mailbox_;
  InOrder<Message> messages_;  // on their way from packetizers to mailboxes
  InOrder<std::uint64_t> reduction_packets_;  // on their way, where some are sent again
  std::optional<NodeBus> bus_;  // to interfaces in the gateware's cycles
  std::unique_ptr<ModelInterfaces> model_;  // which are these
  std::unique_ptr<VerilatedInterfaces> verilated_;  // or these, where the network has them
  std::unique_ptr<GatewareMessages>
      gateware_messages_;  // in place of packetizer and mailboxes, where the configuration says so
  std::unique_ptr<GatewareTransfers> transfers_;  // in place of the RDMA engine, likewise
  std::unique_ptr<GatewareReductions> units_;  // that reduce along trees by themselves, likewise
  RdmaEngine rdma_;
  std::uint32_t on_reduction_ = 0;  // one that takes no time
};

}  // namespace exanet
