// SPDX-License-Identifier: Apache-2.0
// Replays recorded MPI programs on a machine: the calls of each rank in their order, its computing between them, and
// what they wait for.
//
// Problem: what a program's communication takes on another machine is to be known without running the program. Model:
// ranks read their streams a call at a time and post the same messages to the message library that `exanet run`
// simulates; a call returns when what it waits for is complete, so the dependencies are MPI's: matching by source, tag
// and communicator in order, eager and rendezvous as the machine's protocol has them, persistent and nonblocking
// requests, synchronous sends. Collectives are messages by named algorithms (core/collectives). A successful test waits
// for what it had found, an empty one takes a step; of several requests those that had completed first are waited for.
// Computing is what was recorded, times a factor.
//
// Several programs run together, each from its start on and with ranks of its own; jobs of core/workload beside them,
// over the same message library.
//
// Limits: a receive from any source takes what comes first here, a message to the own rank is matched in memory at no
// cost, and what the MPI library's own progress did between calls is not replayed. Collectives on intercommunicators,
// and one-sided calls by the rules of Open MPI, are refused.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/collectives/selection.hpp"
#include "core/faults/interval.hpp"
#include "core/faults/schedule.hpp"
#include "core/network/network.hpp"
#include "core/nic/config.hpp"
#include "core/nic/nic.hpp"
#include "core/protocol/host_deaths.hpp"
#include "core/protocol/statistics.hpp"
#include "core/topology/topology.hpp"
#include "core/workload/background_traffic.hpp"
#include "core/workload/closed_loop.hpp"
#include "core/workload/queue_samples.hpp"

namespace exanet {

// One of the programs that run together: a recorded one, or a synthetic job where there are no streams. A job whose
// name is that of a collective for which there is an algorithm calls it (rank_collectives.hpp).
struct ReplayProgram {
  std::string name;  // for messages
  std::vector<std::string> streams;  // files, by rank
  std::vector<NodeId> placement;  // by rank
  double compute_factor = 1;
  Time start;
  JobConfig job;  // its number of ranks is that of the placement
  std::string rules = "mpich";  // by which its collectives take their algorithms (rules.hpp)
  CollectiveChoices collectives;  // but for these; not a key of visit()
  std::vector<double> rank_factors;  // on the computing of each rank, beside compute_factor; none: 1

  bool calls_collective() const { return streams.empty() && collectives.contains(job.program.name); }
};

template <typename V>
void visit(ReplayProgram& c, V&& v) {
  v("name", c.name);
  v("streams", c.streams, kOptional);
  v("placement", c.placement);
  v("compute_factor", c.compute_factor, kOptional);
  v("rank_factors", c.rank_factors, kOptional);
  v("rules", c.rules, kOptional);
  v("start_ps", c.start, kOptional);
  v("job", c.job, kOptional);
}

struct ReplayConfig {
  std::vector<ReplayProgram> programs;
  bool flow_level = false;  // transfers move as flows, not as packets
  FaultSchedule faults = {};  // of the run
  std::optional<BackgroundConfig> background = {};  // traffic beside the programs
  bool call_times = false;  // the times of every recorded call are kept
};

struct ReplayedCall {
  std::uint64_t calls = 0;
  Time time;
};

struct TimedCall {
  std::uint8_t code = 0;  // trace_format.h
  Time began, ended;
};

struct ReplayedRank {
  Time clock, compute, library, last_call;  // when the last call before MPI_Finalize returned
  std::vector<ReplayedCall> calls;  // by code (trace_format.h)
  std::vector<TimedCall> times;  // of all calls in their order, where they are kept
  std::uint64_t truncated = 0;  // messages that were longer than their receives
  std::string first_truncated;  // which call that was, and the sizes
};

struct ReplayResult {
  Time finished;  // the last rank
  std::vector<ReplayedRank> ranks;  // of the programs, one after the other
  std::uint64_t calls = 0, events = 0, reductions = 0;  // those of the interfaces
  std::map<std::string, std::uint64_t>
      by_messages;  // calls of ranks that interfaces were to reduce, by why they do not
  PageStatistics pages;
  FaultRecord faults;
  std::vector<RankDeath> deaths;  // by rank
  std::vector<FaultInterval> fault_intervals;  // ranks' waits are not counted
  std::optional<BackgroundRecord> background;  // where there was any
  QueueTable queues;  // empty at flow level
  double cpu_s = 0;
};

class Replay {
 public:
  // Throws ConfigError on anything that cannot be replayed.
  Replay(const TopologySpec& spec, const NetworkConfig& network, const NiConfig& interface, const ReplayConfig& config);
  ~Replay();

  // Once. False when stop() ended it. Throws ConfigError on a damaged stream, and where ranks wait for what never
  // comes.
  bool run();
  void stop() { stopped_.store(true, std::memory_order_relaxed); }  // from any thread
  double progress() const {
    return progress_.load(std::memory_order_relaxed);
  }  // share of the streams, from any thread

  const ReplayResult& result() const { return result_; }
  const Topology& topology() const;
  const Statistics& statistics() const;
  const Network& network() const;
  std::uint64_t packets() const;
  std::vector<GatewayUse> gateways() const;
  std::uint64_t payload_bytes() const;

 private:
  class State;
  std::unique_ptr<State> state_;
  ReplayResult result_;
  std::atomic<bool> stopped_{false};
  std::atomic<double> progress_{0};
};

}  // namespace exanet
