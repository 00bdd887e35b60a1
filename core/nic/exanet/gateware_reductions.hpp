// SPDX-License-Identifier: Apache-2.0
// Reductions of the ExaNet interfaces in the gateware's own cycles (core/nic/reductions): stores over the node's bus into the unit, parts and results
// from unit to unit, ends in memory.
//
// A vector's words go over the bus a cycle each, and the call behind them.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "core/nic/exanet/engine.hpp"
#include "core/nic/reductions/reduction_unit.hpp"

namespace exanet {

class GatewareReductions {
 public:
  GatewareReductions(NicContext& context, std::size_t nodes);

  void open(NodeId node, std::uint8_t tree, const ReductionPlace& place) { units_.open(node, tree, place); }
  void post(const ReductionCall& call);
  void delivered(const Packet& packet, Time now);
  void ready(NodeId node) { units_.ready(node); }

 private:
  struct Node {
    std::deque<ReductionCall> waiting;  // whose words are on the bus, or wait for it
    std::uint32_t word = 0;  // of the first one
    Cycle last = kLongAgo;  // store of those that have been posted
    std::array<std::array<std::optional<std::uint64_t>, kReductionBranches>, kReductionTrees> users;  // of calls
  };
  ReductionsConfig config() const;
  void store(NodeId node);
  void ended(const ReductionEnd& end);

  NicContext& context_;
  std::vector<Node> nodes_;
  ReductionUnits units_;
  std::uint32_t on_store_ = 0, on_end_ = 0;
};

}  // namespace exanet
