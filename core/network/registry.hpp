// SPDX-License-Identifier: Apache-2.0
// Every network model that there is, and the only place that knows which: a model is a folder below core/network with
// such a description at the end of its build.cpp, and a line in registry.cpp. Whoever asks for a network, for its
// zero-load times or whether it can be built asks here.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/network/model.hpp"
#include "core/network/zero_load.hpp"

namespace exanet {

struct NetworkKind {
  const char* name;  // as machine files call it: model_name() of the configurations that it serves
  const char* help;  // how a packet passes its routers, as a clause
  // Throws ConfigError, saying what to do, when no such network can be built.
  void (*check)(const NetworkConfig& config, const Topology& topology);
  // Contract: `config` has been checked.
  std::unique_ptr<ZeroLoadModel> (*make_zero_load)(const NetworkConfig& config, const Topology& topology);
  // Node n belongs to parts[part_of[n]]; empty when there is one part. `topology` and the queues outlive the network.
  std::unique_ptr<NetworkModel> (*make)(const std::vector<Partition>& parts, const Topology& topology,
                                        const NetworkConfig& config, const std::vector<std::uint8_t>& part_of);
};

// A model by its classes: of its zero-load times, and of the network, which runs in parts.
template <class ZeroLoad, class Model>
NetworkKind describe_network(const char* name, const char* help, void (*check)(const NetworkConfig&, const Topology&)) {
  return {
      .name = name,
      .help = help,
      .check = check,
      .make_zero_load = [](const NetworkConfig& config, const Topology& topology) -> std::unique_ptr<ZeroLoadModel> {
        return std::make_unique<ZeroLoad>(config, topology);
      },
      .make = [](const std::vector<Partition>& parts, const Topology& topology, const NetworkConfig& config,
                 const std::vector<std::uint8_t>& part_of) -> std::unique_ptr<NetworkModel> {
        return std::make_unique<Model>(parts, topology, config, part_of);
      }};
}

const std::vector<NetworkKind>& network_kinds();

// The model of these routers. Throws ConfigError when there is none of its name.
const NetworkKind& network_kind(const NetworkConfig& config);

// Throws ConfigError, saying what to do, when no network of this configuration can be built on this topology.
void check_network(const NetworkConfig& config, const Topology& topology);

}  // namespace exanet
