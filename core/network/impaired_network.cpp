// SPDX-License-Identifier: Apache-2.0
#include "core/network/impaired_network.hpp"

namespace exanet {

ImpairedNetwork::ImpairedNetwork(EventQueue& events, const Topology& topology, const NetworkConfig& config,
                                 PacketSink sink, const MakeNetwork& make, Checks checks)
    : events_(events), sink_(sink), checks_(checks), nodes_(topology.endpoint_count()) {
  PacketSink own = sink;
  own.self = this;
  own.early = false;
  own.delivered = [](void* self, const Packet& packet, Time injected, Time now) {
    static_cast<ImpairedNetwork*>(self)->arrived(packet, injected, now);
  };
  own.ready = [](void* self, NodeId node, std::uint8_t port, std::uint8_t priority, Time now) {
    const PacketSink& above = static_cast<ImpairedNetwork*>(self)->sink_;
    above.ready(above.self, node, port, priority, now);
  };
  if (sink.lost != nullptr)
    own.lost = [](void* self, const Packet& packet, Status why, Time now) {
      const PacketSink& above = static_cast<ImpairedNetwork*>(self)->sink_;
      above.lost(above.self, packet, why, now);
    };
  network_ = make(events, topology, config, own);
  on_held_ = events.add_handler(
      [](void* self, Time now, std::uint32_t index, std::uint64_t) {
        ImpairedNetwork& network = *static_cast<ImpairedNetwork*>(self);
        const Held held = network.held_[index];
        network.held_.free(index);
        --network.held_count_;
        network.sink_.delivered(network.sink_.self, held.packet, held.injected, now);
      },
      this);
}

void ImpairedNetwork::set_impairment(NodeId endpoint, const Impairment& impairment, Time) {
  if (network_->buses() != nullptr)
    throw ConfigError("faults",
                      "packets of the gateware's nodes are not impaired: take 'impaired' out, or take the model");
  if (!checks_.order && (impairment.duplicated > 0 || impairment.reordered > 0))
    throw ConfigError("faults",
                      "these interfaces take each packet for a new one, in its order: leave 'duplicated_packets' and "
                      "'reordered_packets' out, or say ni: {reliability: end-to-end} in the machine");
  nodes_[endpoint].impairment = impairment;
}

void ImpairedNetwork::arrived(const Packet& packet, Time injected, Time now) {
  switch (nodes_[packet.dst].draw(packet.dst)) {
    case Fate::kCorrupted: return corrupt(packet, injected, now);
    case Fate::kReordered:
      ++held_count_;
      return events_.schedule(now + nodes_[packet.dst].impairment.delay, on_held_, held_.add({packet, injected}));
    case Fate::kDuplicated: sink_.delivered(sink_.self, packet, injected, now); break;
    case Fate::kNone: break;
  }
  sink_.delivered(sink_.self, packet, injected, now);
}

void ImpairedNetwork::corrupt(Packet packet, Time injected, Time now) {
  if (!checks_.bits) {
    ++lost_;
    if (sink_.lost != nullptr) sink_.lost(sink_.self, packet, Status::kCorrupted, now);
    return;
  }
  packet.marked = 1;
  sink_.delivered(sink_.self, packet, injected, now);
}

}  // namespace exanet
