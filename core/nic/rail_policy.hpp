// SPDX-License-Identifier: Apache-2.0
// Chooses the rail (core/topology/rails.hpp) that a message or transfer takes: by its pair of nodes, its size, or what
// waits at the rails.
//
// Contract: choose() returns a rail of RailRequest::usable. It is asked once for each descriptor, in the order of
// posts. The same calls lead to the same rails. A policy whose kind does not spread() returns RailRequest::of_pair
// always, so that what goes from one node to another keeps its order by itself; with one that does the receiving
// interface puts it in order.
//
// Reductions and multicasts take their pair's rail. The policies, with their list, are in rail_policy.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/topology/topology.hpp"

namespace exanet {

struct RailRequest {
  NodeId src, dst;
  std::uint64_t bytes;
  std::uint32_t of_pair;  // the rail that the topology gives the pair
  std::uint32_t usable;  // rails from which a route leads to `dst`, a bit each; that of the pair is one of them
};

// Bytes of transfers that a node's interface of a rail has been given and has not sent.
using RailLoad = std::function<std::uint64_t(NodeId node, std::uint32_t rail)>;

class RailPolicy {
 public:
  virtual ~RailPolicy() = default;
  virtual std::uint32_t choose(const RailRequest& request, const RailLoad& load) = 0;
};

struct RailPolicyKind {
  const char* name;  // as machine files call it
  const char* help;  // which rail it chooses, as a clause
  bool spreads;  // what goes between two nodes takes several rails
  std::unique_ptr<RailPolicy> (*make)(std::size_t nodes);
};

const std::vector<RailPolicyKind>& rail_policy_kinds();  // "pair" first
// Throws ConfigError, naming those that there are.
const RailPolicyKind& rail_policy_kind(const std::string& name);

}  // namespace exanet
