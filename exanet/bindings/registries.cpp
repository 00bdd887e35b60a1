// SPDX-License-Identifier: Apache-2.0
// Hands the registries of the core to Python, for help texts, reference pages and the machine schema.
#include "core/network/queue_actions/queue_action.hpp"
#include "core/network/registry.hpp"
#include "core/nic/nic.hpp"
#include "core/nic/pacing/pacing.hpp"
#include "core/nic/rail_policy.hpp"
#include "core/nic/ultra_ethernet/entropies.hpp"
#include "core/routing/registry.hpp"
#include "core/topology/registry.hpp"
#include "core/workload/pattern.hpp"
#include "core/workload/program.hpp"
#include "exanet/bindings/convert.hpp"

using namespace nanobind::literals;

namespace exanet {
namespace {

template <typename Kind>
nb::dict named(const Kind& kind) {
  nb::dict d;
  d["name"] = kind.name;
  d["help"] = kind.help;
  return d;
}

nb::list topologies() {
  nb::list all;
  for (const TopologyKind& kind : topology_kinds()) {
    nb::dict d = named(kind);
    d["shape"] = kind.shape;
    nb::list links;
    for (const char* link : kind.links) links.append(link);
    d["links"] = links;
    d["ordered"] = kind.ordered;
    d["switched"] = make_plain_topology(spec_of(kind, kind.samples.front()))->switched();
    all.append(d);
  }
  return all;
}

nb::list routings() {
  nb::list all;
  for (const RoutingKind& kind : routing_kinds()) {
    nb::dict d = named(kind);
    d["own"] = kind.make == nullptr;
    all.append(d);
  }
  return all;
}

nb::list patterns() {
  nb::list all;
  for (const PatternKind& kind : pattern_kinds()) {
    nb::dict d = named(kind);
    d["figure"] = kind.figure;
    d["text"] = kind.text;
    all.append(d);
  }
  return all;
}

// Of a registry whose entries have no more than a name and a help.
template <typename Kind>
nb::list all_named(const std::vector<Kind>& kinds) {
  nb::list all;
  for (const Kind& kind : kinds) all.append(named(kind));
  return all;
}

nb::list pacings() {
  nb::list all;
  for (const PacingKind& kind : pacing_kinds()) {
    nb::dict d = named(kind);
    d["actions"] = kind.actions;
    d["blocks"] = kind.blocks;
    d["packets"] = kind.packets;
    all.append(d);
  }
  return all;
}

// By registry, its entries in their order: each has a `name` as machine files and options call it, and a `help`, a
// clause. Topologies have besides `shape` (what its numbers count), `links` (the kinds, by class), `ordered` (whether
// dimensions have an order) and `switched`; routings `own` (whether the topology brings it); pacings `actions` (queue
// actions of which they need one), `blocks` and `packets` (whether interfaces that acknowledge these serve them);
// patterns `figure` (what stands behind the colon, "" where nothing does) and `text` (whether that is a text that must
// be given).
nb::dict registries() {
  nb::dict d;
  d["topologies"] = topologies();
  d["routings"] = routings();
  d["patterns"] = patterns();
  d["programs"] = all_named(program_kinds());
  d["networks"] = all_named(network_kinds());
  d["nics"] = all_named(nic_kinds());
  d["pacings"] = pacings();
  d["queue_actions"] = all_named(queue_action_kinds());
  d["rail_policies"] = all_named(rail_policy_kinds());
  d["load_balancings"] = all_named(entropies_kinds());
  return d;
}

}  // namespace

void bind_registries(nb::module_& m) { m.def("registries", &registries); }

}  // namespace exanet
