// SPDX-License-Identifier: Apache-2.0
// Collectives that the interfaces carry out: a step in which each rank hands over its part and waits for the result
// (core/protocol/reduction.cpp). What a unit has not (longer vectors, elements of other sizes, operations of the
// program's, communicators for which it has no tree) goes by messages.
#include "core/collectives/network_trees.hpp"
#include "core/collectives/registry.hpp"

namespace exanet {

namespace {

bool has_unit_for(const CollectiveCall& c) {
  return c.built_in && c.bytes > 0 && (c.element_bytes == 4 || c.element_bytes == 8);
}

// Of 32-bit words as the smallest elements; by `instead` where no unit carries it out.
void by_unit(const CollectiveCall& c, const char* collective, std::uint64_t bytes, bool unit_has_it,
             const char* instead, Schedule& out) {
  const std::uint64_t whole = (bytes + 3) / 4 * 4;
  const auto tree = unit_has_it && c.places != nullptr ? c.places->reduction_tree(c, whole) : std::nullopt;
  if (tree) return out.reduce(*tree, whole);
  if (c.places != nullptr && c.ranks > 1) c.places->add_by_messages(c, collective, whole, unit_has_it);
  plan_algorithm(collective, instead, c, out);
}

void allreduce_accelerator(const CollectiveCall& c, Schedule& out) {
  by_unit(c, "allreduce", c.bytes, has_unit_for(c), "recursive-doubling", out);
}
void reduce_accelerator(const CollectiveCall& c, Schedule& out) {
  by_unit(c, "reduce", c.bytes, has_unit_for(c), "binomial", out);
}
void barrier_accelerator(const CollectiveCall& c, Schedule& out) {
  by_unit(c, "barrier", 0, true, "recursive-doubling", out);
}
void bcast_accelerator(const CollectiveCall& c, Schedule& out) {
  by_unit(c, "bcast", c.bytes, c.bytes > 0, "binomial", out);
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

void RankPlaces::add_by_messages(const CollectiveCall& call, const char* collective, std::uint64_t bytes,
                                 bool unit_has_it) {
  const bool longer = reductions_ && bytes > reductions_->longest_bytes;
  std::string why = std::string(collective) + ": ";
  if (!unit_has_it)
    why += call.bytes == 0 ? "no data" : "an operation or elements that a unit has not";
  else if (longer)
    why += "longer than the " + std::to_string(reductions_->longest_bytes) + " B of a unit";
  else
    why +=
        "a communicator without a tree of units: these have eight branches (ranks of the node, and nodes below), and "
        "ni.reduction_trees at once";
  ++by_messages_[why];
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
