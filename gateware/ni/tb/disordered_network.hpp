// SPDX-License-Identifier: Apache-2.0
// A network of the model behind which packets are lost, damaged, doubled, late and forged, as Disorder does it to those
// of Verilated nodes.
#pragma once

#include <memory>
#include <vector>

#include "core/network/network.hpp"
#include "gateware/ni/tb/disorder.hpp"

namespace exanet::gateware {

// Stands between a network and the interfaces above. Contract: these give back the slots of all ports, and there are at
// most four.
class DisorderedNetwork final : public Network {
 public:
  DisorderedNetwork(EventQueue& events, Time cycle, const DisorderConfig& config, std::size_t nodes, PacketSink above)
      : events_(events), cycle_(cycle), nodes_(nodes), above_(above) {
    for (std::size_t n = 0; n < nodes; ++n)
      for (unsigned p = 0; p < kPorts; ++p) ports_.emplace_back(config, n, p);
    on_pump_ = events.add_handler(
        [](void* its, Time, std::uint32_t at, std::uint64_t) { static_cast<DisorderedNetwork*>(its)->pump(at); }, this);
    on_given_ = events.add_handler(
        [](void* its, Time, std::uint32_t at, std::uint64_t) {
          static_cast<DisorderedNetwork*>(its)->ports_[at].given_back();
          static_cast<DisorderedNetwork*>(its)->pump(at);
        },
        this);
    on_deliver_ = events.add_handler(
        [](void* its, Time now, std::uint32_t number, std::uint64_t) {
          DisorderedNetwork& network = *static_cast<DisorderedNetwork*>(its);
          const Under under = network.under_way_[number];
          network.above_.delivered(network.above_.self, under.packet, under.injected, now);
        },
        this);
  }
  // What the network below hands its packets to.
  PacketSink sink(void (*seen)(void* self, const exanet::Packet& packet, Time injected, Time tail)) {
    seen_ = seen;
    PacketSink sink = above_;
    sink.self = this;
    sink.delivered = [](void* its, const exanet::Packet& packet, Time injected, Time tail) {
      static_cast<DisorderedNetwork*>(its)->came(packet, injected, tail);
    };
    sink.ready = [](void* its, NodeId node, std::uint8_t port, std::uint8_t priority, Time now) {
      const PacketSink& above = static_cast<DisorderedNetwork*>(its)->above_;
      above.ready(above.self, node, port, priority, now);
    };
    return sink;
  }
  void attach(std::unique_ptr<Network> below) { below_ = std::move(below); }

  bool inject(const exanet::Packet& packet) override { return below_->inject(packet); }
  void stall(NodeId node, std::uint8_t port, Time until) override { below_->stall(node, port, until); }
  void give_back(NodeId node, std::uint8_t port, Time at) override {
    events_.schedule(at + cycle_, on_given_, node * kPorts + port);
  }
  bool multicasts() const override { return below_->multicasts(); }
  bool keeps_order() const override { return false; }
  const LinkStats& link_stats(NodeId node, std::uint16_t port) const override { return below_->link_stats(node, port); }
  std::uint64_t packet_hops() const override { return below_->packet_hops(); }
  std::uint64_t in_flight() const override { return below_->in_flight(); }

 private:
  static constexpr unsigned kPorts = 4;
  struct Under {
    exanet::Packet packet;
    Time injected;
  };

  std::uint64_t now() const { return static_cast<std::uint64_t>(events_.now().ps() / cycle_.ps()); }
  void came(const exanet::Packet& packet, Time injected, Time tail) {
    seen_(above_.self, packet, injected, tail);
    below_->give_back(packet.dst, packet.intra_port, tail);
    const std::uint32_t at = packet.dst * kPorts + packet.intra_port;
    const unsigned words = (packet.payload_bytes + 15u) / 16 + 2;
    const auto forge = [this](Under under) {
      under.packet.src = static_cast<NodeId>((under.packet.src + 1) % nodes_);
      return under;
    };
    for (const std::uint64_t from : ports_[at].came({packet, injected}, words, packet.src, now() - 1, forge))
      events_.schedule(cycle_ * static_cast<std::int64_t>(from), on_pump_, at);
  }
  void pump(std::uint32_t at) {
    auto going = ports_[at].begins(now());
    if (!going) return;
    going->what.packet.marked = going->damaged;
    const Time behind = cycle_ * static_cast<std::int64_t>(now() + going->words);
    events_.schedule(behind, on_deliver_, static_cast<std::uint32_t>(under_way_.size()));
    events_.schedule(behind, on_pump_, at);
    under_way_.push_back(going->what);
  }

  EventQueue& events_;
  Time cycle_;
  std::size_t nodes_;
  PacketSink above_;
  void (*seen_)(void* self, const exanet::Packet& packet, Time injected, Time tail) = nullptr;
  std::unique_ptr<Network> below_;
  std::vector<Disorder<Under>> ports_;
  std::vector<Under> under_way_;  // by the order in which they went on
  std::uint32_t on_pump_, on_given_, on_deliver_;
};

}  // namespace exanet::gateware
