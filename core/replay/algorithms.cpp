// SPDX-License-Identifier: Apache-2.0
// Chooses a collective's algorithm: by name, or as MPICH's own selection rules say.
//
// Source of the rules: the selection table of MPICH 5.0 (src/mpi/coll/coll_selection.json, also printed in the library), for ranks of which no two share a
// node, as `exanet run` tells MPICH. Limits: neighbourhood collectives, and those on intercommunicators, are not replayed.
#include "core/replay/algorithms.hpp"

#include <bit>
#include <numeric>
#include <optional>

#include "core/config/error.hpp"
#include "core/replay/all_to_all.hpp"
#include "core/replay/halving.hpp"
#include "core/replay/network_trees.hpp"
#include "core/replay/rooted.hpp"
#include "core/replay/trace_format.h"

namespace exanet {

namespace {

struct Named {
  std::uint8_t code;
  const char* collective;
};
constexpr Named kCollectives[] = {
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

const char* collective_name(std::uint8_t code) {
  for (const Named& named : kCollectives)
    if (named.code == code) return named.collective;
  return "";
}

constexpr std::uint64_t kContextMaskBytes = 260, kColourAndKeyBytes = 8, kWordBytes = 4;

bool power_of_two(const CollectiveCall& c) { return std::has_single_bit(c.ranks); }
bool has_an_element_each(const CollectiveCall& c) { return c.elements() >= std::bit_floor(c.ranks); }

std::uint64_t whole(const CollectiveCall& c) {
  return c.received.empty() ? c.bytes * c.ranks
                            : std::accumulate(c.received.begin(), c.received.end(), std::uint64_t{0});
}

// MPICH's choice.
const char* selected(std::uint8_t code, const CollectiveCall& c, bool waits) {
  switch (code) {
    case EXANET_TRACE_Barrier: return "dissemination";
    case EXANET_TRACE_Bcast:
      if (c.ranks < 8 || c.bytes < 12288 || (waits && c.bytes == 12288)) return "binomial";
      return power_of_two(c) && (c.bytes < 524288 || (waits && c.bytes == 524288)) ? "scatter-doubling"
                                                                                   : "scatter-ring";
    case EXANET_TRACE_Gather:
    case EXANET_TRACE_Scatter: return "binomial";
    case EXANET_TRACE_Gatherv:
    case EXANET_TRACE_Scatterv: return "linear";
    case EXANET_TRACE_Allgather:
    case EXANET_TRACE_Allgatherv:
      if (power_of_two(c)) return whole(c) < 524288 ? "recursive-doubling" : "ring";
      return whole(c) < 81920 ? "bruck" : "ring";
    case EXANET_TRACE_Alltoall:
      if (c.in_place) return "in-place";
      if (c.ranks > 8 && c.bytes <= (waits ? 256u : 2048u)) return "bruck";
      return c.bytes <= 32768 ? "scattered" : "pairwise";
    case EXANET_TRACE_Alltoallv:
    case EXANET_TRACE_Alltoallw: return c.in_place ? "in-place" : "scattered";
    case EXANET_TRACE_Reduce:
      return c.bytes > 2048 && c.built_in && has_an_element_each(c) ? "rabenseifner" : "binomial";
    case EXANET_TRACE_Allreduce:
      return c.bytes > (waits ? 8u : 2048u) && c.built_in && has_an_element_each(c) ? "rabenseifner"
                                                                                    : "recursive-doubling";
    case EXANET_TRACE_Reduce_scatter:
    case EXANET_TRACE_Reduce_scatter_block: return whole(c) < 524288 ? "recursive-halving" : "pairwise";
    default: return "recursive-doubling";
  }
}

const CollectiveAlgorithm* find(const std::string& collective, const std::string& name) {
  for (const CollectiveAlgorithm& algorithm : collective_algorithms())
    if (collective == algorithm.collective && name == algorithm.name) return &algorithm;
  return nullptr;
}

}  // namespace

const std::vector<CollectiveAlgorithm>& collective_algorithms() {
  static const std::vector<CollectiveAlgorithm> all{
      {"barrier", "dissemination", barrier_dissemination, "always"},
      {"bcast", "binomial", bcast_binomial, "below 8 ranks, and up to 12 KiB"},
      {"bcast", "binary", bcast_binary, "never"},
      {"bcast", "LLF", bcast_local_first, "never", true},
      {"bcast", "GLF", bcast_global_first, "never", true},
      {"bcast", "hardware", bcast_hardware, "never", true},
      {"bcast", "scatter-doubling", bcast_scatter_doubling, "up to 512 KiB on a power of two of ranks"},
      {"bcast", "scatter-ring", bcast_scatter_ring, "otherwise"},
      {"gather", "binomial", gather_binomial, "always"},
      {"gatherv", "linear", gather_linear, "always"},
      {"scatter", "binomial", scatter_binomial, "always"},
      {"scatterv", "linear", scatter_linear, "always"},
      {"allgather", "recursive-doubling", allgather_doubling, "below 512 KiB in all, on a power of two of ranks"},
      {"allgather", "bruck", allgather_bruck, "below 80 KiB in all, on other numbers"},
      {"allgather", "ring", allgather_ring, "otherwise"},
      {"allgatherv", "recursive-doubling", allgather_doubling, "as allgather"},
      {"allgatherv", "bruck", allgather_bruck, "as allgather"},
      {"allgatherv", "ring", allgather_ring, "as allgather"},
      {"alltoall", "bruck", alltoall_bruck, "blocks up to 256 B (nonblocking: 2 KiB), from 9 ranks on"},
      {"alltoall", "scattered", alltoall_scattered, "blocks up to 32 KiB"},
      {"alltoall", "pairwise", alltoall_pairwise, "otherwise"},
      {"alltoall", "in-place", alltoall_in_place, "in place"},
      {"alltoallv", "scattered", alltoall_scattered, "otherwise"},
      {"alltoallv", "pairwise", alltoall_pairwise, "never"},
      {"alltoallv", "in-place", alltoall_in_place, "in place"},
      {"reduce", "binomial", reduce_binomial, "up to 2 KiB, and of fewer elements than ranks"},
      {"reduce", "rabenseifner", reduce_rabenseifner, "otherwise"},
      {"allreduce", "recursive-doubling", allreduce_doubling,
       "up to 8 B (nonblocking: 2 KiB), and of fewer elements than ranks"},
      {"allreduce", "rabenseifner", allreduce_rabenseifner, "otherwise"},
      {"allreduce", "ring", allreduce_ring, "never"},
      {"allreduce", "tree", allreduce_tree, "never"},
      {"reduce-scatter", "recursive-halving", reduce_scatter_halving, "below 512 KiB in all"},
      {"reduce-scatter", "pairwise", reduce_scatter_pairwise, "otherwise"},
      {"scan", "recursive-doubling", scan_doubling, "always"},
  };
  return all;
}

void check_choices(const CollectiveChoices& choices) {
  for (const auto& [collective, name] : choices) {
    if (find(collective, name) != nullptr) continue;
    std::string known, of_it;
    for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
      known.append(known.empty() ? "" : ", ").append(algorithm.collective).append("=").append(algorithm.name);
      if (collective == algorithm.collective) of_it.append(of_it.empty() ? "" : ", ").append(algorithm.name);
    }
    std::string text = of_it.empty() ? "there is no collective \"" : collective;
    if (of_it.empty())
      text.append(collective).append("\": use some of ").append(known);
    else
      text.append(" by \"").append(name).append("\" is unknown: use one of ").append(of_it);
    throw ConfigError("collective", text);
  }
}

void check_choices_without_network(const CollectiveChoices& choices) {
  check_choices(choices);
  for (const auto& [collective, name] : choices) {
    if (!find(collective, name)->knows_network) continue;
    std::string message = collective;
    message += " by " + name + " depends on a machine's network, which is not known here: choose another";
    throw ConfigError("collective", message);
  }
}

void plan_collective(std::uint8_t code, const CollectiveCall& call, const CollectiveChoices& choices, Schedule& out) {
  const bool waits = code < EXANET_TRACE_Ibarrier;
  if (!waits) code -= EXANET_TRACE_NONBLOCKING;
  if (call.ranks < 2) return;
  // Collectives that carry nothing are not even begun, but for the barrier.
  if (code != EXANET_TRACE_Barrier && call.bytes == 0 && call.sent.empty() && call.received.empty()) return;
  const char* collective = collective_name(code);
  const auto chosen = choices.find(collective);
  find(collective, chosen != choices.end() ? chosen->second : selected(code, call, waits))->plan(call, out);
}

void plan_agreement(std::uint8_t code, bool reorders, const CollectiveCall& parent, Schedule& out) {
  if (parent.ranks < 2) return;
  CollectiveCall numbers = parent;
  numbers.bytes = kContextMaskBytes;
  numbers.element_bytes = 4;
  if (code == EXANET_TRACE_Comm_create_group) return allreduce_doubling(numbers, out);
  if (code == EXANET_TRACE_Comm_split || code == EXANET_TRACE_Comm_split_type || code == EXANET_TRACE_Cart_sub ||
      reorders) {
    CollectiveCall colours = parent;
    colours.bytes = kColourAndKeyBytes;
    plan_collective(EXANET_TRACE_Allgather, colours, {}, out);
  }
  plan_collective(EXANET_TRACE_Allreduce, numbers, {}, out);
  if (code != EXANET_TRACE_Comm_split_type) return;
  // One that keeps all members, and is split again.
  plan_announcement(parent, out);
  plan_agreement(EXANET_TRACE_Comm_split, false, parent, out);
}

void plan_announcement(const CollectiveCall& made, Schedule& out) {
  CollectiveCall word = made;
  word.bytes = kWordBytes;
  word.root = 0;
  plan_collective(EXANET_TRACE_Bcast, word, {}, out);
}

}  // namespace exanet
