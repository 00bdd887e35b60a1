// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/topology/topology.hpp"

namespace exanet {

// `inner` without what has failed, by up*/down* routes where its own ones are broken, or, unless `own_routes`, by those alone. Throws
// std::invalid_argument, saying what to do, on a failure that names nothing, or that cuts the network in parts.
std::unique_ptr<Topology> make_rerouted(std::unique_ptr<Topology> inner, const std::vector<std::string>& failed,
                                        bool own_routes);

}  // namespace exanet
