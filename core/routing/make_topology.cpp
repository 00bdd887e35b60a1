// SPDX-License-Identifier: Apache-2.0
// Puts a machine's topology together: its shape, kinds of links, what has failed, rails and routing, each a wrapper of
// the one before.
//
// Problem: not all of these go together, and what does not has to be said by the key of the machine file. Limits:
// disabled ports, and routes that follow states of links, exclude what they could not know of.
#include "core/routing/make_topology.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "core/config/error.hpp"
#include "core/faults/plan.hpp"
#include "core/routing/registry.hpp"
#include "core/routing/rerouted.hpp"
#include "core/topology/bridged.hpp"
#include "core/topology/disabled_ports.hpp"
#include "core/topology/link_kinds.hpp"
#include "core/topology/rails.hpp"
#include "core/topology/registry.hpp"
#include "core/topology/wrapped.hpp"

namespace exanet {

namespace {

// A topology whose packets follow a routing of their own.
class Routed final : public WrappedTopology {
 public:
  Routed(std::unique_ptr<Topology> inner, const std::string& name)
      : WrappedTopology(std::move(inner)), routing_(make_routing(name, *inner_)) {}
  const Routing* routing() const override { return routing_.get(); }
  std::uint8_t virtual_channels() const override { return routing_->virtual_channels(); }

 private:
  std::unique_ptr<Routing> routing_;
};

// Blames a key for what a maker refuses, unless the maker has blamed one: it need not know the key under which it was
// asked.
template <typename Make>
std::unique_ptr<Topology> blaming(const char* path, const Make& make) {
  try {
    return make();
  } catch (const ConfigError&) {
    throw;
  } catch (const std::invalid_argument& error) {
    throw ConfigError(path, error.what());
  }
}

// What packets of a routing do where its own routes are broken.
Detours detours_of(const std::string& routing) {
  const auto& kinds = routing_kinds();
  const auto kind = std::ranges::find_if(kinds, [&](const RoutingKind& k) { return routing == k.name; });
  if (kind != kinds.end() && kind->chooses) return Detours::kSeveral;
  return routing == kUpDown ? Detours::kUpDown : Detours::kOwn;
}

std::unique_ptr<Topology> without_failed(std::unique_ptr<Topology> topology, const std::vector<std::string>& failed,
                                         const std::string& routing) {
  FaultPlan plan;
  for (const std::string& what : failed) plan.fail(*topology, what);
  const LinkStates states = plan.states_at(*topology, Time());
  return make_rerouted(std::move(topology), states, detours_of(routing));
}

// `topology` without what has failed, as often as there are rails, and with the routing that the machine says.
std::unique_ptr<Topology> routed(std::unique_ptr<Topology> topology, const TopologySpec& spec) {
  const std::string& routing = spec.routing;
  require(
      spec.rails == 1 || spec.failed.empty(), "topology.failed",
      "failures from the beginning are not supported on machines with several rails: remove 'failed' or 'rails', or "
      "choose another routing than minimal and up-down, and let it fail at 0 s in a file of faults");
  if (!spec.disabled.empty()) {
    require(spec.failed.empty() && spec.rails == 1 && (routing.empty() || routing == kMinimal), "topology.disabled",
            "routes around disabled ports cannot be combined with failures, rails or another routing: remove "
            "'disabled', or the others");
    return blaming("topology.disabled", [&] { return with_disabled_ports(std::move(topology), spec); });
  }
  const bool own =
      routing.empty() || routing == kMinimal || routing == kUpDown || (routing == kShortest && spec.kind == "graph");
  if (spec.follows && own) {
    const std::string now = routing.empty() ? std::string(kMinimal) : routing;
    require(
        spec.failed.empty() && spec.rails == 1, "topology.failed",
        now +
            " routes around links that fail during a run cannot be combined with failures from the beginning or with "
            "rails: remove 'failed' and 'rails', or choose another routing, e.g. adaptive");
    return blaming("topology.routing", [&] { return make_following(std::move(topology), detours_of(routing)); });
  }
  if (spec.follows && detours_of(routing) == Detours::kSeveral && spec.failed.empty() && spec.rails == 1)
    topology = blaming("topology.routing", [&] { return make_following(std::move(topology), Detours::kSeveral); });
  if (routing == kUpDown || !spec.failed.empty())
    topology = blaming(spec.failed.empty() ? "topology.routing" : "topology.failed",
                       [&] { return without_failed(std::move(topology), spec.failed, routing); });
  topology = with_rails(std::move(topology), spec.rails);
  if (own) return topology;
  return blaming("topology.routing", [&] { return std::make_unique<Routed>(std::move(topology), routing); });
}

// Two networks that gateways join: each is made as if it were alone.
std::unique_ptr<Topology> bridged(const TopologySpec& spec) {
  require(spec.networks.size() == 2 && spec.network_names.size() == 2, "topology.networks",
          "gateways join two networks, each with its name");
  const auto part = [&spec](std::size_t i) {
    const auto& kinds = topology_kinds();
    std::unique_ptr<Topology> topology = make_topology(spec.networks[i]);
    const auto kind =
        std::ranges::find_if(kinds, [&](const TopologyKind& k) { return spec.networks[i].kind == k.name; });
    return BridgedTopology::Part{spec.network_names[i], std::move(topology),
                                 static_cast<std::uint8_t>(kind->links.size() + spec.networks[i].link_kinds.size())};
  };
  return std::make_unique<BridgedTopology>(std::array{part(0), part(1)}, spec.gateways);
}

}  // namespace

std::unique_ptr<Topology> make_topology(const TopologySpec& spec) {
  if (!spec.networks.empty()) return bridged(spec);
  require(spec.arrangement.empty() || spec.kind == "dragonfly", "topology.arrangement",
          "only a dragonfly has an arrangement of the links between groups: remove 'arrangement'");
  const char* shape = spec.kind == "graph" ? "topology.graph" : "topology.shape";
  std::unique_ptr<Topology> topology = blaming(shape, [&] { return make_plain_topology(spec); });
  if (spec.link_kinds.empty()) return routed(std::move(topology), spec);
  LinkClasses classes = on_all_rails(link_classes(*topology, spec), topology->endpoint_count(), spec.rails);
  return with_link_classes(routed(std::move(topology), spec), std::move(classes));
}

}  // namespace exanet
