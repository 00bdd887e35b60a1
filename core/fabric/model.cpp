// SPDX-License-Identifier: Apache-2.0
#include "core/fabric/model.hpp"

#include "core/fabric/fabric.hpp"
#include "core/switch/switches.hpp"
#include "core/switch/wormhole.hpp"

namespace exanet {

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
