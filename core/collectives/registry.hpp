// SPDX-License-Identifier: Apache-2.0
// The algorithms of collective operations, by the operation and a name.
#pragma once

#include <string>
#include <vector>

#include "core/collectives/algorithm.hpp"

namespace exanet {

const std::vector<CollectiveAlgorithm>& collective_algorithms();
// nullptr: there is none of that name.
const CollectiveAlgorithm* find_algorithm(const std::string& collective, const std::string& name);
// The broadcast of that name, if it is for programs; else nullptr.
const CollectiveAlgorithm* program_broadcast(const std::string& name);
// By an algorithm that there is.
void plan_algorithm(const char* collective, const char* name, const CollectiveCall& call, Schedule& out);

}  // namespace exanet
