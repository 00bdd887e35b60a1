// SPDX-License-Identifier: Apache-2.0
// A grid, or torus of QFDBs, some of whose routers do not use some of their ports: the `disabled` register of the
// gateware's routers.
#pragma once

#include <memory>

#include "core/topology/topology.hpp"

namespace exanet {

// `inner`, the plain topology of `spec`, without the ports that `spec` disables. Throws std::invalid_argument, saying
// what to do, where it has no such ports, or is neither a mesh, a torus nor a torus of QFDBs.
std::unique_ptr<Topology> with_disabled_ports(std::unique_ptr<Topology> inner, const TopologySpec& spec);

}  // namespace exanet
