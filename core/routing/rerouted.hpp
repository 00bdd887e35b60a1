// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/faults/link_state.hpp"
#include "core/topology/topology.hpp"

namespace exanet {

enum class Detours {
  kOwn,  // the topology's own routes, and up*/down* where these are broken
  // the same for routings that choose among ports: minimal_ports() and equal_ports() have what is left of them
  kSeveral,
  kUpDown,  // up*/down* alone
};

// `inner` without what does not work. Throws std::invalid_argument, saying what to do, when that cuts the network in
// parts.
std::unique_ptr<Topology> make_rerouted(std::unique_ptr<Topology> inner, const LinkStates& states, Detours detours);

// The same, all of whose links are there, and whose routes follow states of links (Topology::follow). Routes lead to
// every endpoint of the largest part that is left; to others they are those of `inner`. While all works, what a routing
// may choose among is what `inner` says.
std::unique_ptr<Topology> make_following(std::unique_ptr<Topology> inner, Detours detours);

}  // namespace exanet
