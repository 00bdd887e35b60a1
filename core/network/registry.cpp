// SPDX-License-Identifier: Apache-2.0
#include "core/network/registry.hpp"

#include "core/config/error.hpp"
#include "core/config/names.hpp"

namespace exanet {

// A new network model is one line here: the function in its folder that describes it.
#define EXANET_NETWORKS(entry) entry(exanet_router) entry(cut_through) entry(wormhole)

namespace networks {
#define EXANET_DECLARE(name) NetworkKind name();
EXANET_NETWORKS(EXANET_DECLARE)
}  // namespace networks

const std::vector<NetworkKind>& network_kinds() {
#define EXANET_CALL(name) networks::name(),
  static const std::vector<NetworkKind> kinds{EXANET_NETWORKS(EXANET_CALL)};
  return kinds;
}

const NetworkKind& network_kind(const NetworkConfig& config) {
  std::string known;
  for (const NetworkKind& kind : network_kinds()) {
    if (model_name(config) == kind.name) return kind;
    known.append(known.empty() ? "" : ", ").append(kind.name);
  }
  reject_name("router.switch.switching", "is no network model", std::string(model_name(config)), known);
}

namespace {

void require_one(const Topology& topology) {
  require(topology.bridged() == nullptr, "gateway",
          "this machine is two networks that gateways join: programs, replays and sim jobs --nic exanet run on both; "
          "for this, name one of the two machines");
}

}  // namespace

void check_network(const NetworkConfig& config, const Topology& topology) {
  require_one(topology);
  network_kind(config).check(config, topology);
}

std::unique_ptr<ZeroLoadModel> make_zero_load_model(const Topology& topology, const NetworkConfig& config) {
  check_network(config, topology);
  return network_kind(config).make_zero_load(config, topology);
}

std::unique_ptr<NetworkModel> make_network_model(const std::vector<Partition>& parts, const Topology& topology,
                                                 const NetworkConfig& config,
                                                 const std::vector<std::uint8_t>& part_of) {
  require_one(topology);
  return network_kind(config).make(parts, topology, config, part_of);
}

std::unique_ptr<Network> make_network(EventQueue& events, const Topology& topology, const NetworkConfig& config,
                                      PacketSink sink) {
  return make_network_model({{&events, sink}}, topology, config, {});
}

}  // namespace exanet
