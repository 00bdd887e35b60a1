// SPDX-License-Identifier: Apache-2.0
// A machine's shape with everything that its description says of it: the topology, what of it has failed, and the
// routing that packets follow.
#pragma once

#include <memory>

#include "core/topology/topology.hpp"

namespace exanet {

// Throws ConfigError, saying what to do, on an unknown kind, a shape or order that does not fit it, a failure that
// names nothing, or a routing that does not exist or is not made for this topology.
std::unique_ptr<Topology> make_topology(const TopologySpec& spec);

}  // namespace exanet
