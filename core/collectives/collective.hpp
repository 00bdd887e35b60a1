// SPDX-License-Identifier: Apache-2.0
// The collective operations of MPI, and what a rank that takes part in one knows of it.
#pragma once

#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

namespace exanet {

enum class Collective : std::uint8_t {
  barrier,
  bcast,
  gather,
  gatherv,
  scatter,
  scatterv,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  alltoallw,
  reduce,
  allreduce,
  reduce_scatter,
  reduce_scatter_block,
  scan,
  exscan,
};
inline constexpr Collective kCollectives[] = {
    Collective::barrier,   Collective::bcast,          Collective::gather,
    Collective::gatherv,   Collective::scatter,        Collective::scatterv,
    Collective::allgather, Collective::allgatherv,     Collective::alltoall,
    Collective::alltoallv, Collective::alltoallw,      Collective::reduce,
    Collective::allreduce, Collective::reduce_scatter, Collective::reduce_scatter_block,
    Collective::scan,      Collective::exscan};

// As --collective calls it: several operations share their algorithms, and so their name.
const char* collective_name(Collective collective);

class RankPlaces;

// A collective as a rank that takes part knows it. Sizes are in bytes; of collectives with a size for each rank those
// are listed.
struct CollectiveCall {
  std::uint32_t ranks = 1, me = 0, root = 0;
  bool built_in = true, commutative = true, in_place = false;
  bool equal_parts = false;  // a vector is cut into parts of one size, rounded up, and not at whole elements
  std::uint64_t element_bytes = 1;
  std::uint64_t bytes = 0;  // the vector, or a rank's block
  std::vector<std::uint64_t> sent, received;  // by rank
  const std::vector<std::uint64_t>* members = nullptr;  // world ranks; nullptr: all of them, by their numbers
  RankPlaces* places = nullptr;  // where they are in the network, if that is known

  std::uint32_t after(std::uint32_t steps) const {
    return static_cast<std::uint32_t>((std::uint64_t{me} + steps) % ranks);
  }
  std::uint32_t before(std::uint32_t steps) const {
    return static_cast<std::uint32_t>((std::uint64_t{me} + ranks - steps % ranks) % ranks);
  }
  std::uint32_t relative() const { return (me + ranks - root) % ranks; }  // to the root
  std::uint32_t absolute(std::uint32_t relative) const { return (relative + root) % ranks; }
  // The lowest bit of the rank's number counted from the root, by which it hangs on its parent in a binomial tree; of
  // the root, the first power of two that is not below the number of ranks.
  std::uint32_t lowest_bit() const {
    const std::uint32_t number = relative();
    return number == 0 ? std::bit_ceil(ranks) : number & ~(number - 1);
  }
  std::uint64_t elements() const { return element_bytes == 0 ? bytes : bytes / element_bytes; }
  // For each rank of the power of two up to all.
  bool has_an_element_each() const { return elements() >= std::bit_floor(ranks); }
  // Bytes of a rank's block, and of what it is sent.
  std::uint64_t block_of(std::uint32_t rank) const { return received.empty() ? bytes : received[rank]; }
  std::uint64_t given_to(std::uint32_t rank) const { return sent.empty() ? bytes : sent[rank]; }
  // Bytes of the blocks of all ranks.
  std::uint64_t in_all() const {
    return received.empty() ? bytes * ranks : std::accumulate(received.begin(), received.end(), std::uint64_t{0});
  }
};

}  // namespace exanet
