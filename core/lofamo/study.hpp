// SPDX-License-Identifier: Apache-2.0
// Awareness times over drawn faults and phases, and whether anybody was left without knowledge.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/lofamo/awareness.hpp"

namespace exanet::lofamo {

struct StudyConfig {
  AwarenessConfig network;
  FaultKind kind = FaultKind::kHost;
  std::uint32_t faults = 1;  // at once, at nodes that are drawn
  std::uint32_t draws = 20;
  std::uint64_t seed = 1;
};

struct Spread {
  Cycle least = kNever, most = 0;
  double sum = 0;
  std::uint64_t count = 0;
  void add(Cycle value) {
    least = value < least ? value : least;
    most = value > most ? value : most;
    sum += static_cast<double>(value);
    ++count;
  }
};

struct Study {
  Spread local;  // from a fault until hardware calls it so
  Spread neighbours;  // ... until the first neighbour's daemon knows
  Spread global;  // ... until all live nodes know that a chain of live ones joins to one beside it
  std::uint64_t unaware = 0;  // live nodes so joined that never knew, one for each fault
  std::uint64_t misjudged =
      0;  // live nodes whose facts say of another set of nodes than the right one that it is joined to them
  std::uint64_t unseen = 0;  // faults with no live node beside them
  std::uint64_t cut_off = 0;  // live nodes that are not of the largest set that is joined
  std::uint64_t packets = 0;
};

// Idle cycles from one control word of a link to the next.
Cycle control_period(const AwarenessConfig& config);

// From the last fault until nothing comes of it any more: cycles.
Cycle settling(const AwarenessConfig& config, NodeId nodes);

// Where each node is in its periods.
std::vector<Phase> draw_phases(const Topology& topology, const AwarenessConfig& config, std::mt19937_64& random);

// What is right about one run, and what its nodes know of it; adds to `study`.
void judge(const Topology& topology, const std::vector<Fault>& faults, const Awareness& run, Study& study);

Study study(const Topology& topology, const StudyConfig& config);

FaultKind fault_kind_of(const std::string& name);  // host, ni, node, link; throws ConfigError

}  // namespace exanet::lofamo
