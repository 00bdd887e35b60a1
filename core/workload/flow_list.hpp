// SPDX-License-Identifier: Apache-2.0
// Messages one by one, as a list of flows has them: who sends how much to whom, from when on, and after which others.
//
// The list comes as a text in brackets, `flows:[...]`, for reading files is for others (exanet/sim/flow_list.py). Each
// flow is its source, destination, bytes, start in picoseconds and the places of the flows that it follows, with blanks
// between and a semicolon behind: "0 1 4096 0;1 0 64 500 0;2 0 64 0 0s;". It begins at its start, and not before each
// of these has arrived, or, with an `s` behind its place, before its source knows that.
#pragma once

#include <string>
#include <string_view>

#include "core/topology/topology.hpp"
#include "core/workload/message_plan.hpp"

namespace exanet {

bool is_flow_list(std::string_view traffic);
// Throws ConfigError, saying what to do, on what is no such list of the topology's endpoints.
MessagePlan read_flow_list(std::string_view traffic, const Topology& topology);

}  // namespace exanet
