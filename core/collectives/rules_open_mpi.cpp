// SPDX-License-Identifier: Apache-2.0
// Source: the fixed decisions of Open MPI 4.1.4's coll/tuned, and for nonblocking calls those of its coll/libnbc. The
// limits of coll/tuned are the same in 4.1.0 to 4.1.8 and in 5.0.0 to 5.0.10. Collectives on which coll/tuned has no
// say are coll/basic's.
//
// Limits: in the place of a butterfly or recursive doubling of MPI_Reduce_scatter and MPI_Reduce_scatter_block stands
// recursive halving. A nonblocking reduction by a chain is not cut into segments.
#include <cstring>

#include "core/collectives/rules.hpp"
#include "core/collectives/selection.hpp"

namespace exanet {

namespace {

constexpr std::uint64_t kAny = ~std::uint64_t{0}, kMemberBytes = 8, kNumberBytes = 4;

// The first line whose limit is above the number of ranks, and in it the first one above the bytes.
struct BySize {
  std::uint64_t below_bytes;
  const char* algorithm;
};
struct ByRanks {
  std::uint64_t below_ranks;
  std::vector<BySize> sizes;
};
using Table = std::vector<ByRanks>;

const char* look_up(const Table& table, std::uint64_t ranks, std::uint64_t bytes) {
  for (const ByRanks& line : table) {
    if (ranks >= line.below_ranks) continue;
    for (const BySize& size : line.sizes)
      if (bytes < size.below_bytes || size.below_bytes == kAny) return size.algorithm;
  }
  return table.back().sizes.back().algorithm;
}

const Table kAllreduceInOrder{
    {4, {{131072, "recursive-doubling"}, {kAny, "linear"}}},
    {8, {{kAny, "recursive-doubling"}}},
    {16, {{1048576, "recursive-doubling"}, {kAny, "reduce-bcast"}}},
    {128, {{kAny, "recursive-doubling"}}},
    {256, {{131072, "reduce-bcast"}, {524288, "recursive-doubling"}, {kAny, "reduce-bcast"}}},
    {512, {{4096, "reduce-bcast"}, {524288, "recursive-doubling"}, {kAny, "reduce-bcast"}}},
    {kAny, {{2048, "reduce-bcast"}, {kAny, "recursive-doubling"}}},
};
const Table kAllreduce{
    {4,
     {{8, "ring"},
      {4096, "recursive-doubling"},
      {8192, "ring"},
      {16384, "recursive-doubling"},
      {262144, "ring"},
      {kAny, "open-mpi-rabenseifner"}}},
    {8, {{16, "ring"}, {8192, "recursive-doubling"}, {kAny, "open-mpi-rabenseifner"}}},
    {16, {{8192, "recursive-doubling"}, {kAny, "open-mpi-rabenseifner"}}},
    {32, {{64, "ring"}, {4096, "recursive-doubling"}, {kAny, "open-mpi-rabenseifner"}}},
    {64, {{128, "ring"}, {kAny, "open-mpi-rabenseifner"}}},
    {128, {{262144, "recursive-doubling"}, {kAny, "open-mpi-rabenseifner"}}},
    {256, {{131072, "reduce-bcast"}, {262144, "recursive-doubling"}, {kAny, "open-mpi-rabenseifner"}}},
    {512, {{4096, "reduce-bcast"}, {kAny, "open-mpi-rabenseifner"}}},
    {2048, {{2048, "reduce-bcast"}, {16384, "recursive-doubling"}, {kAny, "open-mpi-rabenseifner"}}},
    {4096, {{2048, "reduce-bcast"}, {4096, "ring"}, {16384, "recursive-doubling"}, {kAny, "open-mpi-rabenseifner"}}},
    {kAny, {{2048, "reduce-bcast"}, {16384, "ring"}, {32768, "recursive-doubling"}, {kAny, "open-mpi-rabenseifner"}}},
};
const Table kAlltoall{
    {3, {{32768, "open-mpi-pairwise"}, {262144, "linear"}, {kAny, "open-mpi-pairwise"}}},
    {8, {{524288, "linear"}, {1048576, "open-mpi-pairwise"}, {kAny, "linear"}}},
    {16, {{kAny, "linear"}}},
    {32, {{4, "linear"}, {512, "bruck"}, {kAny, "linear"}}},
    {64, {{512, "bruck"}, {kAny, "linear"}}},
    {256, {{1024, "bruck"}, {262144, "linear"}, {kAny, "open-mpi-pairwise"}}},
    {512, {{1024, "bruck"}, {32768, "linear"}, {kAny, "open-mpi-pairwise"}}},
    {1024, {{512, "bruck"}, {262144, "linear"}, {kAny, "open-mpi-pairwise"}}},
    {2048, {{512, "bruck"}, {kAny, "linear"}}},
    {4096, {{1024, "bruck"}, {kAny, "linear"}}},
    {kAny, {{2048, "bruck"}, {kAny, "linear"}}},
};
const Table kAlltoallv{
    {4, {{kAny, "open-mpi-pairwise"}}},    {64, {{kAny, "linear"}}},
    {128, {{kAny, "open-mpi-pairwise"}}},  {256, {{kAny, "linear"}}},
    {1024, {{kAny, "open-mpi-pairwise"}}}, {kAny, {{kAny, "linear"}}},
};
const Table kBarrier{
    {4, {{kAny, "recursive-doubling"}}},
    {8, {{kAny, "linear"}}},
    {64, {{kAny, "recursive-doubling"}}},
    {256, {{kAny, "dissemination"}}},
    {512, {{kAny, "tree"}}},
    {1024, {{kAny, "dissemination"}}},
    {4096, {{kAny, "tree"}}},
    {kAny, {{kAny, "dissemination"}}},
};
const Table kBcast{
    {4,
     {{32, "chain"},
      {256, "open-mpi-binary"},
      {512, "chain"},
      {1024, "knomial"},
      {32768, "linear"},
      {131072, "open-mpi-binary"},
      {262144, "chain"},
      {524288, "linear"},
      {1048576, "open-mpi-binomial"},
      {kAny, "open-mpi-binary"}}},
    {8,
     {{64, "open-mpi-binary"},
      {128, "open-mpi-binomial"},
      {2048, "open-mpi-binary"},
      {8192, "open-mpi-binomial"},
      {1048576, "linear"},
      {kAny, "chain"}}},
    {16,
     {{8, "knomial"},
      {64, "open-mpi-binary"},
      {4096, "knomial"},
      {16384, "open-mpi-binary"},
      {32768, "open-mpi-binomial"},
      {kAny, "linear"}}},
    {32, {{4096, "knomial"}, {1048576, "open-mpi-binomial"}, {kAny, "open-mpi-scatter-doubling"}}},
    {64, {{2048, "open-mpi-binomial"}, {kAny, "knomial"}}},
    {128, {{kAny, "knomial"}}},
    {256,
     {{2, "open-mpi-binomial"},
      {16384, "open-mpi-binary"},
      {32768, "linear"},
      {65536, "open-mpi-binary"},
      {kAny, "knomial"}}},
    {1024, {{16384, "knomial"}, {32768, "split-binary"}, {kAny, "knomial"}}},
    {2048, {{524288, "knomial"}, {kAny, "open-mpi-scatter-doubling"}}},
    {4096, {{262144, "knomial"}, {kAny, "open-mpi-scatter-doubling"}}},
    {kAny, {{8192, "knomial"}, {16384, "open-mpi-binary"}, {262144, "knomial"}, {kAny, "open-mpi-scatter-doubling"}}},
};
const Table kReduceInOrder{
    {4, {{8, "in-order-binary"}, {kAny, "linear"}}},
    {8, {{kAny, "linear"}}},
    {16,
     {{1024, "in-order-binary"},
      {8192, "linear"},
      {16384, "in-order-binary"},
      {262144, "linear"},
      {kAny, "in-order-binary"}}},
    {128, {{kAny, "in-order-binary"}}},
    {256, {{512, "in-order-binary"}, {1024, "linear"}, {kAny, "in-order-binary"}}},
    {kAny, {{kAny, "in-order-binary"}}},
};
const Table kReduce{
    {4, {{8, "open-mpi-rabenseifner"}, {16, "open-mpi-binary"}, {32, "chain"}, {262144, "linear"}, {kAny, "chain"}}},
    {8,
     {{4096, "open-mpi-binary"},
      {65536, "chain"},
      {262144, "open-mpi-binomial"},
      {524288, "linear"},
      {1048576, "open-mpi-binomial"},
      {kAny, "linear"}}},
    {16, {{8192, "open-mpi-binary"}, {kAny, "open-mpi-binomial"}}},
    {32, {{4096, "open-mpi-binary"}, {kAny, "open-mpi-binomial"}}},
    {256, {{kAny, "open-mpi-binomial"}}},
    {512, {{8192, "open-mpi-binomial"}, {16384, "in-order-binary"}, {kAny, "open-mpi-binomial"}}},
    {2048, {{kAny, "open-mpi-binomial"}}},
    {4096,
     {{512, "open-mpi-binomial"},
      {1024, "in-order-binary"},
      {8192, "open-mpi-binomial"},
      {16384, "in-order-binary"},
      {kAny, "open-mpi-binomial"}}},
    {kAny,
     {{16, "open-mpi-binomial"},
      {32, "in-order-binary"},
      {1024, "open-mpi-binomial"},
      {2048, "in-order-binary"},
      {8192, "open-mpi-binomial"},
      {16384, "in-order-binary"},
      {kAny, "open-mpi-binomial"}}},
};
const Table kReduceScatter{
    {4, {{65536, "ring"}, {131072, "recursive-halving"}, {kAny, "ring"}}},
    {8, {{8, "reduce-scatterv"}, {262144, "recursive-halving"}, {kAny, "ring"}}},
    {32, {{262144, "recursive-halving"}, {kAny, "ring"}}},
    {64, {{64, "reduce-scatterv"}, {524288, "recursive-halving"}, {kAny, "ring"}}},
    {512, {{256, "reduce-scatterv"}, {kAny, "recursive-halving"}}},
    {4096, {{512, "reduce-scatterv"}, {kAny, "recursive-halving"}}},
    {kAny, {{1024, "reduce-scatterv"}, {kAny, "recursive-halving"}}},
};
const Table kReduceScatterBlock{
    {4, {{131072, "recursive-halving"}, {kAny, "reduce-scatter"}}},
    {8, {{1048576, "recursive-halving"}, {kAny, "reduce-scatter"}}},
    {16,
     {{4, "reduce-scatter"}, {524288, "recursive-halving"}, {4194304, "reduce-scatter"}, {kAny, "recursive-halving"}}},
    {32,
     {{32, "reduce-scatter"}, {524288, "recursive-halving"}, {2097152, "reduce-scatter"}, {kAny, "recursive-halving"}}},
    {kAny,
     {{4, "recursive-halving"},
      {16, "reduce-scatter"},
      {65536, "recursive-halving"},
      {262144, "reduce-scatter"},
      {kAny, "recursive-halving"}}},
};
const Table kAllgather{
    {32, {{kAny, "recursive-doubling"}}},
    {64, {{1024, "recursive-doubling"}, {65536, "neighbor-exchange"}, {kAny, "ring"}}},
    {128, {{512, "recursive-doubling"}, {65536, "neighbor-exchange"}, {kAny, "ring"}}},
    {256,
     {{512, "recursive-doubling"},
      {131072, "neighbor-exchange"},
      {524288, "ring"},
      {1048576, "neighbor-exchange"},
      {kAny, "ring"}}},
    {512,
     {{32, "recursive-doubling"},
      {128, "bruck"},
      {1024, "recursive-doubling"},
      {131072, "neighbor-exchange"},
      {524288, "ring"},
      {1048576, "neighbor-exchange"},
      {kAny, "ring"}}},
    {1024, {{64, "recursive-doubling"}, {256, "bruck"}, {2048, "recursive-doubling"}, {kAny, "neighbor-exchange"}}},
    {2048,
     {{4, "recursive-doubling"},
      {8, "bruck"},
      {16, "recursive-doubling"},
      {32, "bruck"},
      {256, "recursive-doubling"},
      {512, "bruck"},
      {4096, "recursive-doubling"},
      {kAny, "neighbor-exchange"}}},
    {4096,
     {{32, "bruck"},
      {128, "recursive-doubling"},
      {512, "bruck"},
      {4096, "recursive-doubling"},
      {kAny, "neighbor-exchange"}}},
    {kAny,
     {{2, "recursive-doubling"},
      {8, "bruck"},
      {16, "recursive-doubling"},
      {512, "bruck"},
      {4096, "recursive-doubling"},
      {kAny, "neighbor-exchange"}}},
};
const Table kAllgatherv{
    {3, {{kAny, "open-mpi-ring"}}},
    {8,
     {{256, "gatherv-bcast"},
      {4096, "neighbor-exchange"},
      {8192, "open-mpi-ring"},
      {16384, "neighbor-exchange"},
      {262144, "bruck"},
      {kAny, "neighbor-exchange"}}},
    {16, {{1024, "gatherv-bcast"}, {kAny, "bruck"}}},
    {32, {{128, "gatherv-bcast"}, {262144, "bruck"}, {kAny, "open-mpi-ring"}}},
    {64, {{256, "gatherv-bcast"}, {8192, "bruck"}, {kAny, "open-mpi-ring"}}},
    {128, {{256, "gatherv-bcast"}, {4096, "bruck"}, {kAny, "open-mpi-ring"}}},
    {256, {{1024, "bruck"}, {65536, "neighbor-exchange"}, {kAny, "open-mpi-ring"}}},
    {512, {{1024, "bruck"}, {kAny, "open-mpi-ring"}}},
    {1024,
     {{512, "bruck"},
      {1024, "gatherv-bcast"},
      {4096, "bruck"},
      {1048576, "neighbor-exchange"},
      {kAny, "open-mpi-ring"}}},
    {kAny, {{4096, "bruck"}, {kAny, "neighbor-exchange"}}},
};
const Table kGather{
    {4,
     {{2, "linear-sync"},
      {4, "linear"},
      {32768, "binomial"},
      {65536, "linear"},
      {131072, "binomial"},
      {kAny, "linear-sync"}}},
    {8, {{1024, "binomial"}, {8192, "linear"}, {32768, "binomial"}, {262144, "linear"}, {kAny, "linear-sync"}}},
    {256, {{kAny, "binomial"}}},
    {512, {{2048, "binomial"}, {8192, "linear"}, {kAny, "binomial"}}},
    {kAny, {{kAny, "binomial"}}},
};
const Table kScatter{
    {4, {{2, "linear-at-once"}, {131072, "linear"}, {262144, "linear-at-once"}, {kAny, "linear"}}},
    {8,
     {{2048, "binomial"},
      {4096, "linear"},
      {8192, "binomial"},
      {32768, "linear"},
      {1048576, "linear-at-once"},
      {kAny, "linear"}}},
    {16, {{16384, "binomial"}, {1048576, "linear-at-once"}, {kAny, "linear"}}},
    {32, {{16384, "binomial"}, {32768, "linear"}, {kAny, "linear-at-once"}}},
    {64, {{512, "binomial"}, {8192, "linear-at-once"}, {16384, "binomial"}, {kAny, "linear-at-once"}}},
    {kAny, {{512, "binomial"}, {kAny, "linear-at-once"}}},
};
bool is(const char* a, const char* b) { return std::strcmp(a, b) == 0; }

// Algorithms hand over to others where there are too few elements.
const char* bcast(const CollectiveCall& c) {
  const char* name = look_up(kBcast, c.ranks, c.bytes);
  return is(name, "open-mpi-scatter-doubling") && c.elements() < c.ranks ? "linear" : name;
}

const char* reduce(const CollectiveCall& c) {
  const char* name = look_up(c.commutative ? kReduce : kReduceInOrder, c.ranks, c.bytes);
  return is(name, "open-mpi-rabenseifner") && !c.has_an_element_each() ? "linear" : name;
}

const char* allreduce(const CollectiveCall& c) {
  const char* name = look_up(c.commutative ? kAllreduce : kAllreduceInOrder, c.ranks, c.bytes);
  if (is(name, "ring") && c.elements() < c.ranks) return "recursive-doubling";
  return is(name, "open-mpi-rabenseifner") && !c.has_an_element_each() ? "linear" : name;
}

const char* nonblocking(Collective collective, const CollectiveCall& c) {
  constexpr std::uint64_t kLong = 65536;
  switch (collective) {
    case Collective::barrier: return "dissemination";
    case Collective::bcast: return c.ranks <= 4 ? "linear" : "libnbc-binomial";
    case Collective::reduce:
      if (c.commutative && c.ranks > 2 && c.has_an_element_each()) return "open-mpi-rabenseifner";
      return c.ranks > 4 || c.bytes < kLong || !c.commutative ? "libnbc-binomial" : "libnbc-chain";
    case Collective::gather:
    case Collective::scatter: return "linear-at-once";
    case Collective::allreduce:
      if (c.ranks < 4 || c.bytes < kLong || !c.commutative || c.in_place) return "open-mpi-tree";
      return c.has_an_element_each() ? "open-mpi-rabenseifner" : "ring";
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block: return "libnbc-binomial";
    case Collective::alltoall: return "libnbc-linear";
    default: return "linear";
  }
}

}  // namespace

const char* select_as_open_mpi(Collective collective, const CollectiveCall& c, bool waits) {
  const bool of_all =
      collective == Collective::alltoall || collective == Collective::alltoallv || collective == Collective::alltoallw;
  if (of_all && c.in_place) return "open-mpi-in-place";
  if (!waits) return nonblocking(collective, c);
  switch (collective) {
    case Collective::barrier: return look_up(kBarrier, c.ranks, 0);
    case Collective::bcast: return bcast(c);
    case Collective::reduce: return reduce(c);
    case Collective::allreduce: return allreduce(c);
    case Collective::gather: return look_up(kGather, c.ranks, c.bytes);
    case Collective::scatter: return look_up(kScatter, c.ranks, c.bytes);
    case Collective::allgather: return look_up(kAllgather, c.ranks, c.bytes);
    case Collective::allgatherv: return look_up(kAllgatherv, c.ranks, c.in_all() / c.ranks);
    case Collective::alltoall: return look_up(kAlltoall, c.ranks, c.bytes);
    case Collective::alltoallw: return "linear";
    case Collective::alltoallv: return look_up(kAlltoallv, c.ranks, 0);
    case Collective::reduce_scatter:
      return c.commutative ? look_up(kReduceScatter, c.ranks, c.in_all()) : "reduce-scatterv";
    case Collective::reduce_scatter_block:
      return c.commutative ? look_up(kReduceScatterBlock, c.ranks, c.received.front()) : "reduce-scatter";
    default: return "linear";  // MPI_Gatherv, MPI_Scatterv, MPI_Scan, MPI_Exscan
  }
}

// Seen in its runs: who is a member of what, and then the largest of the numbers that are free, whether all have it
// free, and that all have the communicator, by nonblocking reductions.
void agree_as_open_mpi(Creation creation, const CollectiveCall& parent, Schedule& out) {
  if (parent.ranks < 2) return;
  const SelectionRules& rules = selection_rules("open-mpi");
  CollectiveCall part = parent;
  if (creation == Creation::by_colour || creation == Creation::by_type) {
    part.bytes = kMemberBytes;
    plan_collective({Collective::allgather}, part, {}, rules, out);
  }
  part.bytes = kNumberBytes;
  part.element_bytes = kNumberBytes;
  for (int round = 0; round < 3; ++round) plan_collective({Collective::allreduce, false}, part, {}, rules, out);
}

void announce_as_open_mpi(const CollectiveCall&, Schedule&) {}

// Seen in its runs.
bool open_mpi_begins_empty(Collective collective, bool waits) {
  switch (collective) {
    case Collective::barrier: return true;
    case Collective::gather:
    case Collective::scatter:
    case Collective::allgather:
    case Collective::allgatherv:
    case Collective::alltoall:
    case Collective::exscan: return !waits;
    default: return false;
  }
}

}  // namespace exanet
