// SPDX-License-Identifier: Apache-2.0
// The dissemination barrier: in each round a rank signals to the one at twice the distance that it, and all whose
// signals it has, are there.
//
// Source: Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization" (1988).
#include <bit>

#include "core/collectives/algorithm.hpp"

namespace exanet {

namespace {

std::uint32_t dissemination_rounds(const CollectiveCall& c) {
  return static_cast<std::uint32_t>(std::bit_width(c.ranks - 1));
}

void barrier_dissemination(const CollectiveCall& c, std::uint32_t round, Schedule& out) {
  out.exchange(c.after(1u << round), 0, c.before(1u << round));
}

}  // namespace

namespace collectives {

std::vector<CollectiveAlgorithm> dissemination() {
  return {{.collective = "barrier",
           .name = "dissemination",
           .help = "a dissemination barrier: messages of no data",
           .rounds = {dissemination_rounds, barrier_dissemination},
           .job = "barrier"}};
}

}  // namespace collectives

}  // namespace exanet
