// SPDX-License-Identifier: Apache-2.0
// Every topology that there is, with all that is said of it anywhere else: how machine files call it and its links,
// what help and reference say of its shape, and the small machines on which the tests check it. A topology is a file
// with such a description, and a line in registry.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/topology/topology.hpp"

namespace exanet {

// A machine for the tests; what TopologySpec says beside the kind.
struct TopologySample {
  std::vector<std::uint32_t> shape;
  std::vector<std::uint32_t> order = {};
  GraphSpec graph = {};
  std::string arrangement = {};
};

struct TopologyKind {
  const char* name;  // as machine files call it
  const char* help;  // what it is, as a clause
  const char* shape;  // what the numbers of its shape count, e.g. "[dimensions]"
  std::vector<const char*> links;  // kinds of its links, by Topology::link_class, as machine files call them
  std::vector<TopologySample>
      samples;  // the first one has some dozens of endpoints, for runs under load; the others go to the edges
  // Throws std::invalid_argument, saying what to do, on a shape or order that does not fit.
  std::unique_ptr<Topology> (*make)(const TopologySpec& spec);
  bool ordered = false;  // takes an order of dimensions
};

const std::vector<TopologyKind>& topology_kinds();

TopologySpec spec_of(const TopologyKind& kind, const TopologySample& sample);

// The topology with its own routes, nothing of it failed: make_topology() in core/routing sees to the rest of `spec`.
// Throws std::invalid_argument, saying what to do, on an unknown kind or a shape or order that does not fit it.
std::unique_ptr<Topology> make_plain_topology(const TopologySpec& spec);

}  // namespace exanet
