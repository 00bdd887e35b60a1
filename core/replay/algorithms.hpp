// SPDX-License-Identifier: Apache-2.0
// The algorithms of collective operations, by the operation and a name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/replay/rules.hpp"
#include "core/replay/schedule.hpp"
#include "core/replay/trace_format.h"

namespace exanet {

// The collectives of a trace, by their blocking calls (trace_format.h): several calls may be one collective.
struct CollectiveCode {
  std::uint8_t code;
  const char* collective;  // as --collective calls it
};
inline constexpr CollectiveCode kCollectiveCodes[] = {
    {EXANET_TRACE_Barrier, "barrier"},
    {EXANET_TRACE_Bcast, "bcast"},
    {EXANET_TRACE_Gather, "gather"},
    {EXANET_TRACE_Gatherv, "gatherv"},
    {EXANET_TRACE_Scatter, "scatter"},
    {EXANET_TRACE_Scatterv, "scatterv"},
    {EXANET_TRACE_Allgather, "allgather"},
    {EXANET_TRACE_Allgatherv, "allgatherv"},
    {EXANET_TRACE_Alltoall, "alltoall"},
    {EXANET_TRACE_Alltoallv, "alltoallv"},
    {EXANET_TRACE_Alltoallw, "alltoallv"},
    {EXANET_TRACE_Reduce, "reduce"},
    {EXANET_TRACE_Allreduce, "allreduce"},
    {EXANET_TRACE_Reduce_scatter, "reduce-scatter"},
    {EXANET_TRACE_Reduce_scatter_block, "reduce-scatter"},
    {EXANET_TRACE_Scan, "scan"},
    {EXANET_TRACE_Exscan, "scan"},
};

struct CollectiveAlgorithm {
  const char* collective;  // as --collective calls it
  const char* name;
  void (*plan)(const CollectiveCall& call, Schedule& out);
  bool knows_network = false;  // its messages depend on where ranks are
  // A broadcast of the whole, whose messages depend on nothing but root, places, and whether it is longer than an eager
  // message; at most as many of a rank's own as there are ranks. Programs can take it in the place of their library's.
  bool for_programs = false;
  bool one_at_a_time = false;  // of calls that wait alone: another one of the communicator may not begin before its end
};

const std::vector<CollectiveAlgorithm>& collective_algorithms();
// The broadcast of that name, if it is for programs; else nullptr.
const CollectiveAlgorithm* program_broadcast(const std::string& name);

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
