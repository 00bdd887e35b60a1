// SPDX-License-Identifier: Apache-2.0
#include "core/collectives/registry.hpp"

#include "core/units/check.hpp"

namespace exanet {

// A new algorithm is one line at the end of its family's file; a new family is one line here.
#define EXANET_FAMILIES(entry)                                                                                     \
  entry(dissemination) entry(binomial) entry(network_trees) entry(copies) entry(scatter_broadcasts) entry(halving) \
      entry(rings) entry(all_to_all) entry(linear) entry(open_mpi_trees) entry(open_mpi_all) entry(interfaces)

namespace collectives {
#define EXANET_DECLARE_FAMILY(name) std::vector<CollectiveAlgorithm> name();
EXANET_FAMILIES(EXANET_DECLARE_FAMILY)
}  // namespace collectives

const std::vector<CollectiveAlgorithm>& collective_algorithms() {
  static const std::vector<CollectiveAlgorithm> all = [] {
    std::vector<CollectiveAlgorithm> found;
    const auto add = [&found](const std::vector<CollectiveAlgorithm>& family) {
      found.insert(found.end(), family.begin(), family.end());
    };
#define EXANET_ADD_FAMILY(name) add(collectives::name());
    EXANET_FAMILIES(EXANET_ADD_FAMILY)
    return found;
  }();
  return all;
}

const CollectiveAlgorithm* find_algorithm(const std::string& collective, const std::string& name) {
  for (const CollectiveAlgorithm& algorithm : collective_algorithms())
    if (collective == algorithm.collective && name == algorithm.name) return &algorithm;
  return nullptr;
}

const CollectiveAlgorithm* program_broadcast(const std::string& name) {
  const CollectiveAlgorithm* found = find_algorithm("bcast", name);
  return found != nullptr && found->for_programs ? found : nullptr;
}

void plan_algorithm(const char* collective, const char* name, const CollectiveCall& call, Schedule& out) {
  const CollectiveAlgorithm* found = find_algorithm(collective, name);
  EXANET_CHECK(found != nullptr, "there is no such algorithm", 0, call.ranks, call.me);
  found->generate(call, out);
}

}  // namespace exanet
