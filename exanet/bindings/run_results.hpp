// SPDX-License-Identifier: Apache-2.0
// Results of a run of ranks, for Python: of programs that ran, or of a replay. Names and units are those of
// docs/results.md.
#pragma once

#include <vector>

#include "core/network/statistics.hpp"
#include "core/nic/gateway_use.hpp"
#include "core/protocol/host_deaths.hpp"
#include "core/protocol/statistics.hpp"
#include "core/topology/topology.hpp"
#include "exanet/bindings/convert.hpp"
#include "exanet/shm.h"

namespace exanet {

struct RankTimes {
  NodeId node = 0;
  std::uint64_t virtual_ps = 0, compute_ps = 0, library_ps = 0, last_call_ps = 0, start_ps = 0;
  std::uint64_t clock_reads = 0, clock_reads_ps = 0, segments = 0, segment_bytes = 0;
  std::uint64_t datagrams = 0, dropped_datagrams = 0;
  exn_storage_profile storage{};  // of calls on files of storages
};

struct RunStatistics {
  const Topology& topology;
  const NetworkStatistics& network;
  const Statistics& statistics;
  std::uint64_t packets, payload_bytes, events;
  std::vector<RankTimes> ranks;
  bool has_storage = false;
  std::vector<GatewayUse> gateways = {};
};

// The table mpi_calls, a row for each call that a rank made.
struct CallTable {
  nb::list names;
  std::vector<std::uint32_t> rank, call;
  std::vector<std::uint64_t> calls, time_ps;

  void add(std::uint32_t of_rank, std::uint32_t of_call, std::uint64_t count, std::uint64_t took_ps) {
    rank.push_back(of_rank);
    call.push_back(of_call);
    calls.push_back(count);
    time_ps.push_back(took_ps);
  }
  nb::dict as_dict();
};

// All tables but mpi_calls; and the figures of `summary` that every run has.
nb::dict run_results(const RunStatistics& run);
nb::dict run_summary(const RunStatistics& run);
// `dead_ranks`, where there are any.
void add_deaths(nb::dict& summary, const std::vector<RankDeath>& deaths);

}  // namespace exanet
