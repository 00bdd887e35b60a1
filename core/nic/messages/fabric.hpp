// SPDX-License-Identifier: Apache-2.0
// The network that interfaces in the gateware's cycles are compared with it on: nodes on a ring, or four in a square,
// with routers and links as built.
#pragma once

#include <memory>

#include "core/network/config.hpp"
#include "core/nic/messages/messages.hpp"
#include "core/routing/make_topology.hpp"

namespace exanet {

inline std::unique_ptr<Topology> topology_of(std::size_t nodes, bool square) {
  if (square) return make_topology({"mesh", {2, 2}});
  return make_topology({"torus", {static_cast<std::uint32_t>(nodes)}});
}

inline NetworkConfig fabric_of(Time cycle, unsigned line_cycles, std::uint32_t intra_ports) {
  NetworkConfig fabric;
  fabric.router = Messages::router({});
  fabric.router.cycle = cycle;
  fabric.router.max_payload_bytes = 512;
  fabric.router.vc_allocation = RouterConfig::VcAllocation::kRouting;
  fabric.router.intra_ports = intra_ports;
  fabric.priority = true;
  LinkConfig link;
  link.word_time = cycle;
  link.latency = cycle * line_cycles;
  fabric.links = {link};
  return fabric;
}

}  // namespace exanet
