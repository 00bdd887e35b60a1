// SPDX-License-Identifier: Apache-2.0
#include "core/fabric/model.hpp"

#include "core/fabric/fabric.hpp"
#include "core/routing/empty_way.hpp"
#include "core/switch/switches.hpp"
#include "core/switch/wormhole.hpp"

namespace exanet {

NetworkModel::NetworkModel(const Topology& topology, const FabricConfig& config)
    : topology_(topology), unloaded_(make_unloaded(topology, config)), word_bytes_(static_cast<std::uint32_t>(config.router.word_bits / 8)) {}

Time NetworkModel::zero_load_latency(NodeId src, NodeId dst, std::uint16_t payload_bytes, Time at) const {
  const std::uint32_t words = (payload_bytes + word_bytes_ - 1) / word_bytes_;
  std::vector<std::uint8_t> links;
  empty_way(topology_, src, dst, words, draw_of(src, dst, at), [&](NodeId node, Hop hop) { links.push_back(topology_.link_class(node, hop.port)); });
  return unloaded_->packet_time(links, words, at);
}

std::unique_ptr<NetworkModel> make_model(const std::vector<FabricPart>& parts, const Topology& topology, const FabricConfig& config,
                                         const std::vector<std::uint8_t>& part_of) {
  if (config.input_queued && config.input_queued->switching == SwitchConfig::Switching::kWormhole)
    return std::make_unique<WormholeSwitches>(parts, topology, config, part_of);
  if (config.input_queued) return std::make_unique<Switches>(parts, topology, config, part_of);
  return std::make_unique<Fabric>(parts, topology, config, part_of);
}

std::unique_ptr<Network> make_fabric(EventQueue& events, const Topology& topology, const FabricConfig& config, FabricSink sink) {
  return make_model({{&events, sink}}, topology, config, {});
}

}  // namespace exanet
