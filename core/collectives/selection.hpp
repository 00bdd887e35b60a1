// SPDX-License-Identifier: Apache-2.0
// Chooses a collective's algorithm: by name, or as the selection rules of an MPI library say.
//
// Limit: collectives on intercommunicators are not replayed.
#pragma once

#include <map>
#include <string>

#include "core/collectives/rules.hpp"

namespace exanet {

// By collective the name of an algorithm that takes the place of what the rules say.
using CollectiveChoices = std::map<std::string, std::string>;
// Throws ConfigError, saying what there is, on a name that is unknown.
void check_choices(const CollectiveChoices& choices);
// The same, and on an algorithm that knows the network: for messages without one.
void check_choices_without_network(const CollectiveChoices& choices);

// An operation of MPI, as it is called: it waits, or goes on with a request.
struct CollectiveOperation {
  Collective collective;
  bool waits = true;
};

// Plans a call by the algorithm that is chosen, or that the rules say.
void plan_collective(CollectiveOperation operation, const CollectiveCall& call, const CollectiveChoices& choices,
                     const SelectionRules& rules, Schedule& out);

}  // namespace exanet
