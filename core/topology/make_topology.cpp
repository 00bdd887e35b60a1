// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "core/topology/grid_topology.hpp"
#include "core/topology/qfdb_torus.hpp"
#include "core/topology/topology.hpp"

namespace exanet {

namespace {

using Maker = std::unique_ptr<Topology> (*)(const TopologySpec&);

// A new topology is one line here.
constexpr struct {
  const char* kind;
  Maker make;
} kKinds[] = {
    {"qfdb-torus", [](const TopologySpec& s) -> std::unique_ptr<Topology> { return std::make_unique<QfdbTorus>(s.shape, s.order); }},
    {"mesh", [](const TopologySpec& s) -> std::unique_ptr<Topology> { return std::make_unique<GridTopology>(s.shape, false, s.order); }},
    {"torus", [](const TopologySpec& s) -> std::unique_ptr<Topology> { return std::make_unique<GridTopology>(s.shape, true, s.order); }},
};

}  // namespace

std::vector<std::string> topology_kinds() {
  std::vector<std::string> names;
  for (const auto& entry : kKinds) names.emplace_back(entry.kind);
  return names;
}

std::unique_ptr<Topology> make_topology(const TopologySpec& spec) {
  std::string known;
  for (const auto& entry : kKinds) {
    if (spec.kind == entry.kind) return entry.make(spec);
    known += (known.empty() ? "" : ", ") + std::string(entry.kind);
  }
  throw std::invalid_argument("there is no topology \"" + spec.kind + "\": use one of " + known);
}

}  // namespace exanet
