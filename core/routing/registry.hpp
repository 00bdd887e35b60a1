// SPDX-License-Identifier: Apache-2.0
// Every routing that there is, with what help and reference say of it. A routing is a file with such a description, and
// a line in registry.cpp; the tests check each of them on every topology.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/routing/routing.hpp"

namespace exanet {

// Names of routes that a topology brings itself, for which there is no Routing: make_topology() sees to them.
inline constexpr const char* kMinimal = "minimal";  // those of its file; the same as no name
inline constexpr const char* kUpDown = "up-down";  // up*/down* on any graph
inline constexpr const char* kShortest = "shortest";  // for the kind "graph": shortest ones however wide it is

struct RoutingKind {
  const char* name;  // as machine files and --routing call it
  const char* help;  // the route that a packet takes, as a clause
  // Throws ConfigError, saying what to do, when it is not made for this topology, which outlives it. nullptr: the
  // topology's own.
  std::unique_ptr<Routing> (*make)(const Topology& topology);
  bool chooses =
      false;  // among several ports of the topology, at each router: routes round what has failed then have them, too
  // With a figure behind the name, as in "ugal-l:8"; none: it takes no figure.
  std::unique_ptr<Routing> (*make_with)(const Topology& topology, std::uint32_t figure) = nullptr;
};

// Those that a topology brings itself first.
const std::vector<RoutingKind>& routing_kinds();

// Names of those with a Routing.
std::vector<std::string> routing_names();

// `name` may have a figure, where the routing takes one. Throws ConfigError, saying what to do, on an unknown name or
// figure, or one that is not made for this topology. `topology` outlives it.
std::unique_ptr<Routing> make_routing(const std::string& name, const Topology& topology);

}  // namespace exanet
