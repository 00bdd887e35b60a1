// SPDX-License-Identifier: Apache-2.0
// Reductions of the ExaNet interfaces in the gateware's own cycles: stores over the unit's own bus, parts and results
// from unit to unit, ends in memory.
//
// A vector's words go over the bus a cycle each, and the call behind them; so does what opens a tree in a unit.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "core/nic/exanet/gateware_interfaces.hpp"

namespace exanet {

class GatewareReductions {
 public:
  GatewareReductions(NicContext& context, std::size_t nodes, GatewareInterfaces& interfaces);

  void open(NodeId node, std::uint8_t tree, const ReductionPlace& place);
  void post(const ReductionCall& call);
  void ended(const ReductionEnd& end);

 private:
  struct Node {
    Cycle free = kLongAgo;  // no store is on the bus from then on
    std::array<std::array<std::optional<std::uint64_t>, kReductionBranches>, kReductionTrees> users;  // of calls
  };
  Cycle take(NodeId node, std::uint32_t beats);

  NicContext& context_;
  GatewareInterfaces& interfaces_;
  std::vector<Node> nodes_;
  std::uint32_t on_end_ = 0;
};

}  // namespace exanet
