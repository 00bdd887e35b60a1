// SPDX-License-Identifier: Apache-2.0
#include "core/routing/registry.hpp"

#include "core/config/error.hpp"

namespace exanet {

// A new routing is one line here: the function at the end of its file that describes it.
#define EXANET_ROUTINGS(entry)                                                                               \
  entry(valiant) entry(ugal_local) entry(ugal_global) entry(progressive) entry(adaptive) entry(random_route) \
      entry(spray)

namespace routings {
#define EXANET_DECLARE(name) RoutingKind name();
EXANET_ROUTINGS(EXANET_DECLARE)
}  // namespace routings

const std::vector<RoutingKind>& routing_kinds() {
#define EXANET_CALL(name) routings::name(),
  static const std::vector<RoutingKind> kinds{
      {kMinimal, "the topology's own", nullptr},
      {kUpDown, "up*/down*, on any graph", nullptr},
      {kShortest, "for a graph: shortest routes even if it is up to eight links wide", nullptr},
      EXANET_ROUTINGS(EXANET_CALL)};
  return kinds;
}

std::vector<std::string> routing_names() {
  std::vector<std::string> names;
  for (const RoutingKind& kind : routing_kinds())
    if (kind.make != nullptr) names.emplace_back(kind.name);
  return names;
}

std::unique_ptr<Routing> make_routing(const std::string& name, const Topology& topology) {
  std::string known = std::string(kMinimal) + ", " + kUpDown;
  for (const RoutingKind& kind : routing_kinds()) {
    if (kind.make == nullptr) continue;
    if (name == kind.name) return kind.make(topology);
    known.append(", ").append(kind.name);
  }
  throw ConfigError("topology.routing", "there is no routing \"" + name + "\": use one of " + known);
}

}  // namespace exanet
