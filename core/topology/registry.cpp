// SPDX-License-Identifier: Apache-2.0
#include "core/topology/registry.hpp"

#include "core/config/names.hpp"

namespace exanet {

// A new topology is one line here: the function at the end of its file that describes it.
#define EXANET_TOPOLOGIES(entry)                                                                                     \
  entry(qfdb_torus) entry(mesh) entry(torus) entry(fat_tree) entry(k_ary_n_tree) entry(xgft) entry(dragonfly)        \
      entry(qfdb_dragonfly) entry(megafly) entry(slim_fly) entry(hyperx) entry(flattened_butterfly) entry(jellyfish) \
          entry(hypercube) entry(full_mesh) entry(graph)

namespace topologies {
#define EXANET_DECLARE(name) TopologyKind name();
EXANET_TOPOLOGIES(EXANET_DECLARE)
}  // namespace topologies

const std::vector<TopologyKind>& topology_kinds() {
#define EXANET_CALL(name) topologies::name(),
  static const std::vector<TopologyKind> kinds{EXANET_TOPOLOGIES(EXANET_CALL)};
  return kinds;
}

TopologySpec spec_of(const TopologyKind& kind, const TopologySample& sample) {
  TopologySpec spec{kind.name, sample.shape, sample.order, sample.graph};
  spec.arrangement = sample.arrangement;
  return spec;
}

std::unique_ptr<Topology> make_plain_topology(const TopologySpec& spec) {
  std::string known;
  for (const TopologyKind& kind : topology_kinds()) {
    if (spec.kind == kind.name) return kind.make(spec);
    known.append(known.empty() ? "" : ", ").append(kind.name);
  }
  reject_name("topology.kind", "is no topology", spec.kind, known);
}

}  // namespace exanet
