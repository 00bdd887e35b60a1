// SPDX-License-Identifier: Apache-2.0
// The algorithms of collective operations, by the operation and a name; and which of them MPICH takes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/replay/schedule.hpp"

namespace exanet {

struct CollectiveAlgorithm {
  const char* collective;  // as --collective calls it
  const char* name;
  void (*plan)(const CollectiveCall& call, Schedule& out);
  const char* selected;  // when MPICH takes it, as a clause
  bool knows_network = false;  // its messages depend on where ranks are
};

const std::vector<CollectiveAlgorithm>& collective_algorithms();

// By collective the name of an algorithm that takes the place of MPICH's choice.
using CollectiveChoices = std::map<std::string, std::string>;
// Throws ConfigError, saying what there is, on a name that is unknown.
void check_choices(const CollectiveChoices& choices);
// The same, and on an algorithm that knows the network: for messages without one.
void check_choices_without_network(const CollectiveChoices& choices);

// Plans a call by the algorithm that is chosen, or that MPICH takes. `code`: of the call, nonblocking or not (trace_format.h).
void plan_collective(std::uint8_t code, const CollectiveCall& call, const CollectiveChoices& choices, Schedule& out);
// Messages of MPICH that make a communicator, seen in its runs: who is a member of what, and a free number, by collectives on the one that it is made from;
// then a word to all of the new one's members. Of MPI_Comm_create_group both are among the new one's.
void plan_agreement(std::uint8_t code, bool reorders, const CollectiveCall& parent, Schedule& out);
void plan_announcement(const CollectiveCall& made, Schedule& out);

}  // namespace exanet
