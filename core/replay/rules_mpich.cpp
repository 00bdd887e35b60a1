// SPDX-License-Identifier: Apache-2.0
// Source: the selection table of MPICH 5.0 (src/mpi/coll/coll_selection.json, also printed in the library), for ranks of
// which no two share a node, as `exanet run` tells MPICH.
#include <bit>

#include "core/replay/algorithms.hpp"
#include "core/replay/halving.hpp"
#include "core/replay/trace_format.h"

namespace exanet {

namespace {

constexpr std::uint64_t kContextMaskBytes = 260, kColourAndKeyBytes = 8, kWordBytes = 4;

bool power_of_two(const CollectiveCall& c) { return std::has_single_bit(c.ranks); }

}  // namespace

const char* select_as_mpich(std::uint8_t code, const CollectiveCall& c, bool waits) {
  switch (code) {
    case EXANET_TRACE_Barrier: return "dissemination";
    case EXANET_TRACE_Bcast:
      if (c.ranks < 8 || c.bytes < 12288 || (waits && c.bytes == 12288)) return waits ? "binomial" : "binomial-at-once";
      if (power_of_two(c) && (c.bytes < 524288 || (waits && c.bytes == 524288)))
        return waits ? "scatter-doubling" : "scatter-doubling-at-once";
      return waits ? "scatter-ring" : "scatter-ring-at-once";
    case EXANET_TRACE_Gather:
    case EXANET_TRACE_Scatter: return "binomial";
    case EXANET_TRACE_Gatherv:
    case EXANET_TRACE_Scatterv: return "linear";
    case EXANET_TRACE_Allgather:
    case EXANET_TRACE_Allgatherv:
      if (power_of_two(c)) return c.in_all() < 524288 ? "recursive-doubling" : "ring";
      return c.in_all() < 81920 ? "bruck" : "ring";
    case EXANET_TRACE_Alltoall:
      if (c.in_place) return "in-place";
      if (c.ranks > 8 && c.bytes <= (waits ? 256u : 2048u)) return "bruck";
      return c.bytes <= 32768 ? "scattered" : "pairwise";
    case EXANET_TRACE_Alltoallv:
    case EXANET_TRACE_Alltoallw: return c.in_place ? "in-place" : "scattered";
    case EXANET_TRACE_Reduce:
      return c.bytes > 2048 && c.built_in && c.has_an_element_each() ? "rabenseifner" : "binomial";
    case EXANET_TRACE_Allreduce:
      return c.bytes > (waits ? 8u : 2048u) && c.built_in && c.has_an_element_each() ? "rabenseifner"
                                                                                     : "recursive-doubling";
    case EXANET_TRACE_Reduce_scatter_block:
      if (!waits) return "recursive-halving";
      [[fallthrough]];
    case EXANET_TRACE_Reduce_scatter: return c.in_all() < 524288 ? "recursive-halving" : "pairwise";
    default: return "recursive-doubling";
  }
}

void announce_as_mpich(const CollectiveCall& made, Schedule& out) {
  CollectiveCall word = made;
  word.bytes = kWordBytes;
  word.root = 0;
  plan_collective(EXANET_TRACE_Bcast, word, {}, selection_rules("mpich"), out);
}

// Seen in its runs: who is a member of what, and a free number, by collectives.
void agree_as_mpich(std::uint8_t code, bool reorders, const CollectiveCall& parent, Schedule& out) {
  if (parent.ranks < 2) return;
  const SelectionRules& rules = selection_rules("mpich");
  CollectiveCall numbers = parent;
  numbers.bytes = kContextMaskBytes;
  numbers.element_bytes = 4;
  if (code == EXANET_TRACE_Comm_create_group) return allreduce_doubling(numbers, out);
  if (code == EXANET_TRACE_Comm_split || code == EXANET_TRACE_Comm_split_type || code == EXANET_TRACE_Cart_sub ||
      reorders) {
    CollectiveCall colours = parent;
    colours.bytes = kColourAndKeyBytes;
    plan_collective(EXANET_TRACE_Allgather, colours, {}, rules, out);
  }
  plan_collective(EXANET_TRACE_Allreduce, numbers, {}, rules, out);
  if (code != EXANET_TRACE_Comm_split_type) return;
  // One that keeps all members, and is split again.
  announce_as_mpich(parent, out);
  agree_as_mpich(EXANET_TRACE_Comm_split, false, parent, out);
}

// Seen in its runs.
bool mpich_begins_empty(std::uint8_t code, bool waits) {
  return code == EXANET_TRACE_Barrier || (code == EXANET_TRACE_Allreduce && !waits);
}

}  // namespace exanet
