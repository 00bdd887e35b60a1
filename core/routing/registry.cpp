// SPDX-License-Identifier: Apache-2.0
#include "core/routing/registry.hpp"

#include <charconv>

#include "core/config/names.hpp"

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

namespace {

constexpr std::uint32_t kMostFigure = 1'000'000;

// What stands behind the colon of a routing's name.
std::uint32_t figure_of(const std::string& name, std::size_t colon) {
  std::uint32_t figure = 0;
  const char *const first = name.data() + colon + 1, *const last = name.data() + name.size();
  const auto [end, error] = std::from_chars(first, last, figure);
  if (error != std::errc() || end != last || figure > kMostFigure)
    throw ConfigError("topology.routing", "the threshold of \"" + name + "\" must be a number of packets from 0 to " +
                                              std::to_string(kMostFigure) + ", as in " + name.substr(0, colon) + ":8");
  return figure;
}

}  // namespace

std::unique_ptr<Routing> make_routing(const std::string& name, const Topology& topology) {
  const std::size_t colon = name.find(':');
  std::string known = std::string(kMinimal) + ", " + kUpDown;
  for (const RoutingKind& kind : routing_kinds()) {
    if (kind.make == nullptr) continue;
    if (name == kind.name) return kind.make(topology);
    if (kind.make_with != nullptr && colon != std::string::npos && name.substr(0, colon) == kind.name)
      return kind.make_with(topology, figure_of(name, colon));
    known.append(", ").append(kind.name);
  }
  if (name == kShortest)
    throw ConfigError("topology.routing", "shortest routes are for topologies of kind graph: here use one of " + known);
  reject_name("topology.routing", "is no routing", name, known);
}

}  // namespace exanet
