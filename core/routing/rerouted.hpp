// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/faults/link_state.hpp"
#include "core/topology/topology.hpp"

namespace exanet {

// `inner` without what does not work, by up*/down* routes where its own ones are broken, or, unless `own_routes`, by
// those alone. Throws std::invalid_argument, saying what to do, when that cuts the network in parts.
std::unique_ptr<Topology> make_rerouted(std::unique_ptr<Topology> inner, const LinkStates& states, bool own_routes);

// The same, all of whose links are there, and whose routes follow states of links (Topology::follow). Routes lead to
// every endpoint of the largest part that is left; to others they are those of `inner`.
std::unique_ptr<Topology> make_following(std::unique_ptr<Topology> inner, bool own_routes);

}  // namespace exanet
