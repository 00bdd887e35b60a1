// SPDX-License-Identifier: Apache-2.0
// Source: the selection table of MPICH 5.0 (src/mpi/coll/coll_selection.json, also printed in the library), for ranks
// of which no two share a node, as `exanet run` sets for MPICH.
#include <bit>

#include "core/collectives/registry.hpp"
#include "core/collectives/rules.hpp"
#include "core/collectives/selection.hpp"

namespace exanet {

namespace {

constexpr std::uint64_t kContextMaskBytes = 260, kColourAndKeyBytes = 8, kWordBytes = 4;

bool power_of_two(const CollectiveCall& c) { return std::has_single_bit(c.ranks); }

}  // namespace

const char* select_as_mpich(Collective collective, const CollectiveCall& c, bool waits) {
  switch (collective) {
    case Collective::barrier: return "dissemination";
    case Collective::bcast:
      if (c.ranks < 8 || c.bytes < 12288 || (waits && c.bytes == 12288)) return waits ? "binomial" : "binomial-at-once";
      if (power_of_two(c) && (c.bytes < 524288 || (waits && c.bytes == 524288)))
        return waits ? "scatter-doubling" : "scatter-doubling-at-once";
      return waits ? "scatter-ring" : "scatter-ring-at-once";
    case Collective::gather:
    case Collective::scatter: return "binomial";
    case Collective::gatherv:
    case Collective::scatterv: return "linear";
    case Collective::allgather:
    case Collective::allgatherv:
      if (power_of_two(c)) return c.in_all() < 524288 ? "recursive-doubling" : "ring";
      return c.in_all() < 81920 ? "bruck" : "ring";
    case Collective::alltoall:
      if (c.in_place) return "in-place";
      if (c.ranks > 8 && c.bytes <= (waits ? 256u : 2048u)) return "bruck";
      return c.bytes <= 32768 ? "scattered" : "pairwise";
    case Collective::alltoallv:
    case Collective::alltoallw: return c.in_place ? "in-place" : "scattered";
    case Collective::reduce:
      return c.bytes > 2048 && c.built_in && c.has_an_element_each() ? "rabenseifner" : "binomial";
    case Collective::allreduce:
      return c.bytes > (waits ? 8u : 2048u) && c.built_in && c.has_an_element_each() ? "rabenseifner"
                                                                                     : "recursive-doubling";
    case Collective::reduce_scatter_block:
      if (!waits) return "recursive-halving";
      [[fallthrough]];
    case Collective::reduce_scatter: return c.in_all() < 524288 ? "recursive-halving" : "pairwise";
    default: return "recursive-doubling";
  }
}

void announce_as_mpich(const CollectiveCall& made, Schedule& out) {
  CollectiveCall word = made;
  word.bytes = kWordBytes;
  word.root = 0;
  plan_collective({Collective::bcast}, word, {}, selection_rules("mpich"), out);
}

// Seen in its runs: who is a member of what, and a free number, by collectives.
void agree_as_mpich(Creation creation, const CollectiveCall& parent, Schedule& out) {
  if (parent.ranks < 2) return;
  const SelectionRules& rules = selection_rules("mpich");
  CollectiveCall numbers = parent;
  numbers.bytes = kContextMaskBytes;
  numbers.element_bytes = 4;
  if (creation == Creation::by_group) return plan_algorithm("allreduce", "recursive-doubling", numbers, out);
  if (creation != Creation::alike) {
    CollectiveCall colours = parent;
    colours.bytes = kColourAndKeyBytes;
    plan_collective({Collective::allgather}, colours, {}, rules, out);
  }
  plan_collective({Collective::allreduce}, numbers, {}, rules, out);
  if (creation != Creation::by_type) return;
  // One that keeps all members, and is split again.
  announce_as_mpich(parent, out);
  agree_as_mpich(Creation::by_colour, parent, out);
}

// Seen in its runs.
bool mpich_begins_empty(Collective collective, bool waits) {
  return collective == Collective::barrier || (collective == Collective::allreduce && !waits);
}

}  // namespace exanet
