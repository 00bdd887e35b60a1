// SPDX-License-Identifier: Apache-2.0
// The algorithms of collective operations, by the operation and a name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/replay/rules.hpp"
#include "core/replay/schedule.hpp"

namespace exanet {

struct CollectiveAlgorithm {
  const char* collective;  // as --collective calls it
  const char* name;
  void (*plan)(const CollectiveCall& call, Schedule& out);
  bool knows_network = false;  // its messages depend on where ranks are
};

const std::vector<CollectiveAlgorithm>& collective_algorithms();

// By collective the name of an algorithm that takes the place of what the rules say.
using CollectiveChoices = std::map<std::string, std::string>;
// Throws ConfigError, saying what there is, on a name that is unknown.
void check_choices(const CollectiveChoices& choices);
// The same, and on an algorithm that knows the network: for messages without one.
void check_choices_without_network(const CollectiveChoices& choices);

// Plans a call by the algorithm that is chosen, or that the rules say. `code`: of the call, nonblocking or not
// (trace_format.h).
void plan_collective(std::uint8_t code, const CollectiveCall& call, const CollectiveChoices& choices,
                     const SelectionRules& rules, Schedule& out);

}  // namespace exanet
