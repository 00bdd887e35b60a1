// SPDX-License-Identifier: Apache-2.0
// Says which virtual channels of a link may stand for each other.
#pragma once

#include <cstdint>

#include "core/network/config.hpp"
#include "core/topology/topology.hpp"

namespace exanet {

// How far apart those virtual channels of a link are that may stand for each other: a packet for which routing names
// channel c takes one of c, c + step, c + 2 step, ... Apart by as many as routing distinguishes, they keep what routing
// keeps free of deadlock: whoever waits for one of them waits for a channel of the same kind.
inline std::uint32_t channel_step(const Topology& topology, const RouterConfig& router) {
  const auto channels = static_cast<std::uint32_t>(router.virtual_channels);
  return router.vc_allocation == RouterConfig::VcAllocation::kRouting ? channels : topology.virtual_channels();
}

// Whether packets of a class between two endpoints arrive in the order in which they were injected: they have one way,
// and one channel of each link.
inline bool packets_keep_order(const Topology& topology, const RouterConfig& router) {
  return topology.routing() == nullptr &&
         channel_step(topology, router) >= static_cast<std::uint32_t>(router.virtual_channels);
}

}  // namespace exanet
