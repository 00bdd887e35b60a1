// SPDX-License-Identifier: Apache-2.0
// What fails in a run, and when: links, nodes and interfaces, as a list, or drawn by rate from a seed.
//
// A plan is a list of changes in the order of time. That of a machine that is broken from the beginning, as
// `topology.failed` and `--fail` say it, has all of them at time 0. Whoever runs the network applies the changes
// (core/network/fault_driver.hpp); nothing here knows of packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/faults/change.hpp"
#include "core/faults/link_state.hpp"
#include "core/units/time.hpp"

namespace exanet {

// Alternating renewal: each thing of a kind works for exponentially distributed times of the mean `between`, and is
// repaired after such times of the mean `repair`; zero: never.
struct FaultRate {
  bool links = true;  // between routers; else nodes: switches where there are any
  Time between, repair;
  std::uint64_t seed = 1;
};

// Of a plan altogether: so many are drawn and held in a second, and applied in minutes.
inline constexpr std::size_t kMostChanges = 1'000'000;

class FaultPlan {
 public:
  // "NODE", "NODE PORT", or one of the kinds that plan.cpp lists, as "links:NUMBER[:SEED]", from `at` on. Throws
  // std::invalid_argument, saying what to do, on what names nothing, or asks for more than there is.
  void fail(const Topology& shape, const std::string& what, Time at = Time());
  void add(const FaultChange& change);
  void add(const std::vector<FaultChange>& changes);  // in any order
  std::uint32_t new_fault() { return ++faults_; }  // a number for the changes of one fault
  // Every link or node by its rate, up to `until`. Each thing draws from a stream of its own, so a plan to a later time
  // begins with this one. Throws std::invalid_argument when the plan gets more than kMostChanges.
  void draw(const Topology& shape, const FaultRate& rate, Time until);

  bool empty() const { return changes_.empty(); }
  const std::vector<FaultChange>& changes() const {
    return changes_;
  }  // in the order of time, of those at one time as they were added
  LinkStates states_at(const Topology& shape, Time at) const;  // with the changes at `at`
  std::vector<double> rates() const;  // of slow links, each once, in ascending order
  std::vector<FaultChange> dying_hosts() const;  // each once, in the order of their deaths
  bool impairs() const;  // any packets are corrupted, duplicated or reordered

 private:
  std::vector<FaultChange> changes_;
  std::uint32_t faults_ = 0;
};

// The switch of an endpoint that hangs on one by its only port; else kNoNode.
NodeId switch_of(const Topology& shape, NodeId node);

}  // namespace exanet
