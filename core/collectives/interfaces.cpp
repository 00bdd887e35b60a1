// SPDX-License-Identifier: Apache-2.0
// Collectives that the interfaces carry out: a step in which each rank hands over its part and waits for the result
// (core/protocol/reduction.cpp). What a unit has not (longer vectors, elements of other sizes, operations of the
// program's, communicators for which it has no tree) goes by messages.
#include "core/collectives/network_trees.hpp"
#include "core/collectives/registry.hpp"

namespace exanet {

namespace {

// Of 32-bit words as the smallest elements. False: the unit has it not.
bool reduce_by_unit(const CollectiveCall& c, std::uint64_t bytes, Schedule& out) {
  const std::uint64_t whole = (bytes + 3) / 4 * 4;
  const auto tree = c.places != nullptr ? c.places->reduction_tree(c, whole) : std::nullopt;
  if (tree) out.reduce(*tree, whole);
  return tree.has_value();
}

bool has_unit_for(const CollectiveCall& c) {
  return c.built_in && c.bytes > 0 && (c.element_bytes == 4 || c.element_bytes == 8);
}

void allreduce_accelerator(const CollectiveCall& c, Schedule& out) {
  if (!has_unit_for(c) || !reduce_by_unit(c, c.bytes, out)) plan_algorithm("allreduce", "recursive-doubling", c, out);
}
void reduce_accelerator(const CollectiveCall& c, Schedule& out) {
  if (!has_unit_for(c) || !reduce_by_unit(c, c.bytes, out)) plan_algorithm("reduce", "binomial", c, out);
}
void barrier_accelerator(const CollectiveCall& c, Schedule& out) {
  if (!reduce_by_unit(c, 0, out)) plan_algorithm("barrier", "recursive-doubling", c, out);
}
void bcast_accelerator(const CollectiveCall& c, Schedule& out) {
  if (c.bytes == 0 || !reduce_by_unit(c, c.bytes, out)) plan_algorithm("bcast", "binomial", c, out);
}

}  // namespace

std::optional<std::uint32_t> RankPlaces::reduction_tree(const CollectiveCall& call, std::uint64_t bytes) {
  if (!reductions_ || call.ranks < 2 || bytes > reductions_->longest_bytes) return std::nullopt;
  const auto [place, is_new] = trees_of_units_.try_emplace(call.members);
  if (is_new) {
    Ranks members;
    for (std::uint32_t i = 0; i < call.ranks; ++i)
      members.push_back(call.members == nullptr ? i : static_cast<std::uint32_t>((*call.members)[i]));
    place->second = reductions_->open(members);
  }
  return place->second;
}

namespace collectives {

std::vector<CollectiveAlgorithm> interfaces() {
  return {
      {.collective = "barrier",
       .name = "accelerator",
       .help = "units of the interfaces that reduce",
       .plan = barrier_accelerator,
       .by = CarriedOutBy::units,
       .knows_network = true,
       .one_at_a_time = true},
      {.collective = "bcast",
       .name = "accelerator",
       .help = "units of the interfaces that reduce",
       .plan = bcast_accelerator,
       .by = CarriedOutBy::units,
       .knows_network = true,
       .one_at_a_time = true},
      {.collective = "reduce",
       .name = "accelerator",
       .help = "units of the interfaces that reduce",
       .plan = reduce_accelerator,
       .by = CarriedOutBy::units,
       .knows_network = true,
       .one_at_a_time = true},
      {.collective = "allreduce",
       .name = "accelerator",
       .help = "units of the interfaces that reduce",
       .plan = allreduce_accelerator,
       .by = CarriedOutBy::units,
       .knows_network = true,
       .one_at_a_time = true},
  };
}

}  // namespace collectives

}  // namespace exanet
