// SPDX-License-Identifier: Apache-2.0
// A network of the machine's routers that loses what a test names: such a packet takes its path, and is lost where it
// would have arrived.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "core/network/network.hpp"

namespace exanet::testing {

using Loses =
    std::function<bool(const Packet&)>;  // asked once for each packet that arrives, in the order in which they do

class LossyNetwork final : public Network {
 public:
  LossyNetwork(EventQueue& events, const Topology& topology, const NetworkConfig& config, PacketSink sink, Loses loses)
      : sink_(sink), loses_(std::move(loses)), cycle_(config.router.cycle) {
    PacketSink own{this,
                   [](void* self, const Packet& packet, Time injected, Time tail) {
                     static_cast<LossyNetwork*>(self)->arrived(packet, injected, tail);
                   },
                   [](void* self, NodeId node, std::uint8_t port, std::uint8_t priority, Time now) {
                     const PacketSink& sink = static_cast<LossyNetwork*>(self)->sink_;
                     sink.ready(sink.self, node, port, priority, now);
                   }};
    own.gives_back = sink.gives_back;
    network_ = make_network(events, topology, config, own);
  }

  bool inject(const Packet& packet) override { return network_->inject(packet); }
  void give_back(NodeId node, std::uint8_t port, Time at) override { network_->give_back(node, port, at); }
  bool multicasts() const override { return network_->multicasts(); }
  bool keeps_order() const override { return network_->keeps_order(); }
  bool may_lose() const override { return true; }
  const LinkStats& link_stats(NodeId node, std::uint16_t port) const override {
    return network_->link_stats(node, port);
  }
  std::uint64_t packet_hops() const override { return network_->packet_hops(); }
  std::uint64_t in_flight() const override { return network_->in_flight(); }
  std::uint64_t lost() const override { return lost_; }

 private:
  void arrived(const Packet& packet, Time injected, Time tail) {
    if (!loses_(packet)) return sink_.delivered(sink_.self, packet, injected, tail);
    ++lost_;
    // Its slot at the interface is free again.
    if ((sink_.gives_back >> packet.intra_port & 1) != 0)
      network_->give_back(packet.dst, packet.intra_port, tail + cycle_);
    if (sink_.lost != nullptr) sink_.lost(sink_.self, packet, Status::kLost, tail);
  }

  PacketSink sink_;
  Loses loses_;
  const Time cycle_;
  std::unique_ptr<Network> network_;
  std::uint64_t lost_ = 0;
};

inline MakeNetwork lossy(Loses loses) {
  return [loses = std::move(loses)](EventQueue& events, const Topology& topology, const NetworkConfig& config,
                                    PacketSink sink) -> std::unique_ptr<Network> {
    return std::make_unique<LossyNetwork>(events, topology, config, sink, loses);
  };
}

// Switches that drop what joins a queue of so many words.
inline NetworkConfig dropping(NetworkConfig fabric, std::int64_t words = 1) {
  fabric.input_queued.emplace();
  fabric.router.queue_action = "drop";
  fabric.router.queue_threshold_words = words;
  return fabric;
}

}  // namespace exanet::testing
