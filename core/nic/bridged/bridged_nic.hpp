// SPDX-License-Identifier: Apache-2.0
// The interfaces of two networks that gateways join, as one (core/topology/bridged.hpp).
//
// Problem: a program has ranks on both networks, and each has interfaces, routers and links of its own. Model: what
// stays in a network is its interfaces' affair. What crosses takes two legs, each a message or transfer of its own: to
// a gateway's endpoint in the source's network, and, when its processor has passed it on (gateways.hpp), from its
// endpoint in the other network to the destination. A transfer is cut into fragments, which follow each other, so that
// both networks and the gateway work on it at once; it is there with the last of them. A read request crosses as a
// message of 16 bytes. So does the acknowledgement of a transfer, through the gateway that it took, when all of it is
// there. What goes from one node to another keeps its order, whichever gateways it takes. Where a window says so, a
// source has no more fragments on their way to a gateway, or in it, than that; the others wait at the source.
//
// Limits: a source knows at once that a fragment has been passed on, and messages wait for no window. No copies by
// routers and no units that reduce. Nothing fails in the run.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/engine/pool.hpp"
#include "core/nic/bridged/bridged_network.hpp"
#include "core/nic/bridged/gateways.hpp"
#include "core/nic/in_order.hpp"
#include "core/nic/nic.hpp"

namespace exanet {

class BridgedNic final : public Nic {
 public:
  // Contract: setup.topology.bridged().
  BridgedNic(const NicKind& kind, const NicSetup& setup);

  void post(const PacketizerMessage& message) override;
  void post(const RdmaTransfer& transfer) override;
  void doorbell(NodeId node) override { nics_[topology_.network_of(node)]->doorbell(topology_.within(node)); }
  void set_zero_cost(bool zero_cost) override;
  void is_known_dead(NodeId node, NodeId by) override {
    if (!crosses(node, by)) nics_[side_of(node)]->is_known_dead(topology_.within(node), topology_.within(by));
  }
  const Network& network() const override { return network_; }
  FaultTarget& links() override { return network_; }
  std::uint64_t packets() const override { return nics_[0]->packets() + nics_[1]->packets(); }
  std::uint64_t payload_bytes() const override { return nics_[0]->payload_bytes() + nics_[1]->payload_bytes(); }
  PageStatistics pages() const override;
  ReliabilityStatistics reliability() const override;
  std::vector<GatewayUse> gateways() const override;
  std::uint64_t active() const override { return nics_[0]->active() + nics_[1]->active() + crossing_; }

 private:
  enum class Kind : std::uint8_t { kMessage, kTransfer, kRequest };
  // What has to cross.
  struct Crossing {
    NodeId src, dst;
    std::uint64_t user;
    Kind kind;
    bool acknowledged, notifies, reads_memory;
    std::uint32_t gateway;
    std::uint32_t on_their_way, unacknowledged;  // fragments
    Status status = Status::kOk;
    ProcessBuffer own{}, target{};
    bool delivered = false;
    std::uint32_t next = 0;
  };
  // A part of it, or the answer to it.
  struct Fragment {
    std::uint32_t crossing;
    std::uint32_t bytes;
    enum class Leg : std::uint8_t { kIn, kOut, kAnswer } leg;
    std::uint64_t offset;
    std::uint32_t next = 0;
  };
  // From a node to a gateway.
  struct Lane {
    std::uint32_t on_their_way = 0;
    std::deque<std::uint32_t> waiting;  // fragments, at the source
  };
  // Hears of a network's interfaces.
  struct Side final : NicListener {
    BridgedNic* nic = nullptr;
    std::uint32_t network = 0;
    void message_completed(std::uint64_t user, Status status, Time now) override;
    void transfer_completed(std::uint64_t user, Status status, Time now) override;
    void transfer_acknowledged(std::uint64_t user, Status status, Time now) override;
    void packet_delivered(const Packet& packet, Time injected, Time now) override;
  };

  std::uint32_t side_of(NodeId node) const { return topology_.network_of(node); }
  bool crosses(NodeId src, NodeId dst) const { return side_of(src) != side_of(dst); }
  void begin(Crossing crossing, std::uint64_t bytes);
  Lane& lane_of(std::uint32_t id);
  void send_in(std::uint32_t id);
  void passed(std::uint32_t id);
  void send_part(std::uint32_t id, NodeId src, NodeId dst);
  void arrived(std::uint32_t id, Status status, Time now);
  void at_gateway(std::uint32_t id, Time now);
  void pass_on(std::uint32_t id);
  void settle(std::uint32_t id, Status status, Time now);
  void complete(std::uint32_t crossing, Status status, Time now);
  void acknowledged(std::uint32_t crossing, Time now);
  void answer(std::uint32_t crossing, Time now);
  void end(std::uint32_t crossing);

  EventQueue& events_;
  const BridgedTopology& topology_;
  NicListener& listener_;
  const GatewayConfig config_;
  const bool ordered_;
  std::array<NetworkConfig, 2> fabrics_;
  std::array<NiConfig, 2> interfaces_;
  std::array<Side, 2> sides_;
  std::array<std::unique_ptr<Nic>, 2> nics_;
  Gateways gateways_;
  BridgedNetwork network_;
  Pool<Crossing, &Crossing::next> crossings_;
  Pool<Fragment, &Fragment::next> fragments_;
  std::unordered_map<std::uint64_t, Lane> lanes_;  // by source and gateway, with a window
  InOrder<std::uint32_t> messages_, transfers_;  // that cross, by number
  bool zero_cost_ = false;
  std::uint64_t crossing_ = 0;
  std::uint32_t on_passed_ = 0;
};

// The interfaces of this kind: of one network, or of two that gateways join.
std::unique_ptr<Nic> make_interfaces(const NicKind& kind, const NicSetup& setup);

}  // namespace exanet
