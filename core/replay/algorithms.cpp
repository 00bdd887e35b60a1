// SPDX-License-Identifier: Apache-2.0
// Chooses a collective's algorithm: by name, or as the selection rules of an MPI library say.
//
// Limit: collectives on intercommunicators are not replayed.
#include "core/replay/algorithms.hpp"

#include <algorithm>

#include "core/config/error.hpp"
#include "core/replay/accelerator.hpp"
#include "core/replay/all_to_all.hpp"
#include "core/replay/halving.hpp"
#include "core/replay/network_trees.hpp"
#include "core/replay/open_mpi.hpp"
#include "core/replay/rooted.hpp"

namespace exanet {

namespace {

const char* collective_name(std::uint8_t code) {
  for (const CollectiveCode& named : kCollectiveCodes)
    if (named.code == code) return named.collective;
  return "";
}

const CollectiveAlgorithm* find(const std::string& collective, const std::string& name) {
  for (const CollectiveAlgorithm& algorithm : collective_algorithms())
    if (collective == algorithm.collective && name == algorithm.name) return &algorithm;
  return nullptr;
}

// Whether nobody has data, as far as each rank can know it for all.
bool is_empty(std::uint8_t code, const CollectiveCall& c) {
  const auto none = [](const std::vector<std::uint64_t>& sizes) {
    return std::all_of(sizes.begin(), sizes.end(), [](std::uint64_t bytes) { return bytes == 0; });
  };
  const bool known = code == EXANET_TRACE_Allgatherv || code == EXANET_TRACE_Reduce_scatter ||
                     code == EXANET_TRACE_Reduce_scatter_block;
  if (known) return none(c.received);
  return c.bytes == 0 && c.sent.empty() && c.received.empty();
}

}  // namespace

const std::vector<CollectiveAlgorithm>& collective_algorithms() {
  static const std::vector<CollectiveAlgorithm> all{
      {"barrier", "dissemination", barrier_dissemination},
      {"barrier", "linear", barrier_linear},
      {"barrier", "recursive-doubling", barrier_doubling},
      {"barrier", "tree", barrier_tree},
      {"barrier", "accelerator", barrier_accelerator, true, false, true},
      {"bcast", "binomial", bcast_binomial, false, true},
      {"bcast", "binary", bcast_binary, false, true},
      {"bcast", "LLF", bcast_local_first, true, true},
      {"bcast", "GLF", bcast_global_first, true, true},
      {"bcast", "hardware", bcast_hardware, true, true},
      {"bcast", "accelerator", bcast_accelerator, true, false, true},
      {"bcast", "scatter-doubling", bcast_scatter_doubling},
      {"bcast", "scatter-ring", bcast_scatter_ring},
      {"bcast", "binomial-at-once", bcast_binomial_at_once},
      {"bcast", "scatter-doubling-at-once", bcast_scatter_doubling_at_once},
      {"bcast", "scatter-ring-at-once", bcast_scatter_ring_at_once},
      {"bcast", "linear", bcast_linear, false, true},
      {"bcast", "chain", bcast_chain, false, true},
      {"bcast", "knomial", bcast_knomial, false, true},
      {"bcast", "split-binary", bcast_split_binary},
      {"bcast", "open-mpi-binary", bcast_open_mpi_binary, false, true},
      {"bcast", "open-mpi-binomial", bcast_open_mpi_binomial, false, true},
      {"bcast", "libnbc-binomial", bcast_libnbc_binomial},
      {"bcast", "open-mpi-scatter-doubling", bcast_open_mpi_scatter_doubling},
      {"gather", "binomial", gather_binomial},
      {"gather", "linear", gather_from_each},
      {"gather", "linear-at-once", gather_at_once},
      {"gather", "linear-sync", gather_on_demand},
      {"gatherv", "linear", gather_linear},
      {"scatter", "binomial", scatter_binomial},
      {"scatter", "linear", scatter_to_each},
      {"scatter", "linear-at-once", scatter_at_once},
      {"scatterv", "linear", scatter_linear},
      {"allgather", "recursive-doubling", allgather_doubling},
      {"allgather", "bruck", allgather_bruck},
      {"allgather", "ring", allgather_ring},
      {"allgather", "linear", allgather_linear},
      {"allgather", "neighbor-exchange", allgather_neighbours},
      {"allgatherv", "recursive-doubling", allgather_doubling},
      {"allgatherv", "bruck", allgather_bruck},
      {"allgatherv", "ring", allgather_ring},
      {"allgatherv", "linear", allgather_linear},
      {"allgatherv", "neighbor-exchange", allgather_neighbours},
      {"allgatherv", "gatherv-bcast", allgather_by_root},
      {"allgatherv", "open-mpi-ring", allgather_whole_blocks},
      {"alltoall", "bruck", alltoall_bruck},
      {"alltoall", "scattered", alltoall_scattered},
      {"alltoall", "pairwise", alltoall_pairwise},
      {"alltoall", "in-place", alltoall_in_place},
      {"alltoall", "linear", alltoall_linear},
      {"alltoall", "libnbc-linear", alltoall_libnbc_linear},
      {"alltoall", "open-mpi-pairwise", alltoall_rotation},
      {"alltoall", "open-mpi-in-place", alltoall_open_mpi_in_place},
      {"alltoallv", "scattered", alltoall_scattered},
      {"alltoallv", "pairwise", alltoall_pairwise},
      {"alltoallv", "in-place", alltoall_in_place},
      {"alltoallv", "linear", alltoall_linear},
      {"alltoallv", "open-mpi-pairwise", alltoall_rotation},
      {"alltoallv", "open-mpi-in-place", alltoall_open_mpi_in_place},
      {"reduce", "binomial", reduce_binomial},
      {"reduce", "rabenseifner", reduce_rabenseifner},
      {"reduce", "linear", reduce_linear},
      {"reduce", "chain", reduce_chain},
      {"reduce", "in-order-binary", reduce_in_order_binary},
      {"reduce", "accelerator", reduce_accelerator, true, false, true},
      {"reduce", "open-mpi-binary", reduce_open_mpi_binary},
      {"reduce", "open-mpi-binomial", reduce_open_mpi_binomial},
      {"reduce", "libnbc-binomial", reduce_libnbc_binomial},
      {"reduce", "libnbc-chain", reduce_libnbc_chain},
      {"reduce", "open-mpi-rabenseifner", reduce_open_mpi_rabenseifner},
      {"allreduce", "recursive-doubling", allreduce_doubling},
      {"allreduce", "rabenseifner", allreduce_rabenseifner},
      {"allreduce", "ring", allreduce_ring},
      {"allreduce", "tree", allreduce_tree},
      {"allreduce", "linear", allreduce_linear},
      {"allreduce", "reduce-bcast", allreduce_reduce_bcast},
      {"allreduce", "accelerator", allreduce_accelerator, true, false, true},
      {"allreduce", "open-mpi-tree", allreduce_open_mpi_tree},
      {"allreduce", "open-mpi-rabenseifner", allreduce_open_mpi_rabenseifner},
      {"reduce-scatter", "recursive-halving", reduce_scatter_halving},
      {"reduce-scatter", "pairwise", reduce_scatter_pairwise},
      {"reduce-scatter", "ring", reduce_scatter_ring},
      {"reduce-scatter", "reduce-scatter", reduce_scatter_by_root},
      {"reduce-scatter", "reduce-scatterv", reduce_scatterv_by_root},
      {"reduce-scatter", "libnbc-binomial", reduce_scatter_libnbc},
      {"scan", "recursive-doubling", scan_doubling},
      {"scan", "linear", scan_linear},
  };
  return all;
}

const CollectiveAlgorithm* program_broadcast(const std::string& name) {
  const CollectiveAlgorithm* found = find("bcast", name);
  return found != nullptr && found->for_programs ? found : nullptr;
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

void plan_collective(std::uint8_t code, const CollectiveCall& call, const CollectiveChoices& choices,
                     const SelectionRules& rules, Schedule& out) {
  const bool waits = code < EXANET_TRACE_Ibarrier;
  if (!waits) code -= EXANET_TRACE_NONBLOCKING;
  if (call.ranks < 2) return;
  if (is_empty(code, call) && !rules.begins_empty(code, waits)) return;
  const char* collective = collective_name(code);
  const auto chosen = choices.find(collective);
  const CollectiveAlgorithm* algorithm = chosen != choices.end() ? find(collective, chosen->second) : nullptr;
  if (algorithm == nullptr || (algorithm->one_at_a_time && !waits))
    algorithm = find(collective, rules.select(code, call, waits));
  algorithm->plan(call, out);
}

}  // namespace exanet
