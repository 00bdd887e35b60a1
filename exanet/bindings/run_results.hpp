// SPDX-License-Identifier: Apache-2.0
// Results of a run of ranks, for Python: of programs that ran, or of a replay. Names and units are those of docs/results.md.
#pragma once

#include <vector>

#include "core/network/network.hpp"
#include "core/protocol/statistics.hpp"
#include "core/topology/topology.hpp"
#include "exanet/bindings/convert.hpp"

namespace exanet {

struct RankTimes {
  NodeId node = 0;
  std::uint64_t virtual_ps = 0, compute_ps = 0, library_ps = 0;
};

struct RunFigures {
  const Topology& topology;
  const Network& network;
  const Statistics& statistics;
  std::uint64_t packets, payload_bytes, events;
  std::vector<RankTimes> ranks;
};

// All tables but mpi_calls; and the figures of `summary` that every run has.
nb::dict run_results(const RunFigures& run);
nb::dict run_summary(const RunFigures& run);

}  // namespace exanet
