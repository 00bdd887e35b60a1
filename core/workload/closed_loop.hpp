// SPDX-License-Identifier: Apache-2.0
// Closed-loop measurement: jobs of communicating ranks run to their end, each rank going on only when what it waits for
// has come. The measure is the time to finish.
//
// A rank is alone on its endpoint. What carries its messages is one of three (transport.hpp): network interfaces
// without costs, to which a message is a descriptor; the message library over interfaces with costs, which a rank uses
// as one of an MPI program that does nothing else; or the flow level, at which there are no packets. Only the first of
// them has priorities.
// Every run proves that each message arrived once and in full.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/faults/schedule.hpp"
#include "core/network/network.hpp"
#include "core/nic/config.hpp"
#include "core/nic/nic.hpp"
#include "core/units/histogram.hpp"
#include "core/workload/link_use.hpp"
#include "core/workload/program.hpp"
#include "core/workload/queue_samples.hpp"

namespace exanet {

struct JobConfig {
  ProgramSpec program;  // 0 ranks: an equal share of the endpoints that the other jobs leave
  std::uint64_t rounds = 1;  // the program is repeated so often, without a barrier between
  std::uint8_t priority = 0;  // of its packets; 1 overtakes 0 in arbitration
};

template <typename V>
void visit(JobConfig& c, V&& v) {
  v("program", c.program.name);
  v("ranks", c.program.ranks);
  v("bytes", c.program.bytes);
  v("pause_ps", c.program.compute_gap);
  v("rounds", c.rounds);
  v("priority", c.priority);
}

struct ClosedLoopConfig {
  std::vector<JobConfig> jobs;
  std::string mapping = "linear";  // one of mapping_names()
  std::uint64_t seed = 1;
  std::uint16_t packet_bytes = 256;
  bool flow_level = false;
  std::string nic = "ideal";  // one of nic_names(): what ranks send through at packet level
  NiConfig interface;  // what that costs, if anything
  FaultPlan faults;  // of the run; not keys of files
  NoticedFaults noticed;  // by whom, and when
};

template <typename V>
void visit(ClosedLoopConfig& c, V&& v) {
  v("jobs", c.jobs);
  v("mapping", c.mapping);
  v("seed", c.seed);
  v("packet_bytes", c.packet_bytes);
  v("flow_level", c.flow_level);
  v("nic", c.nic, kOptional);
}

struct JobResult {
  std::uint32_t ranks = 0;
  Time finished;  // of its last rank; all jobs begin at 0
  Time first_finished;  // of its first rank
  std::uint64_t messages = 0, bytes = 0;
  double message_ns = 0;  // mean, handed over to last word delivered
  Histogram message;
  double fairness = 0;  // Jain's index of the ranks' rates: bytes sent by the time each finished
  std::vector<NodeId> endpoints;  // by rank
};

struct ClosedLoopResult {
  Time finished;  // the last job
  std::vector<JobResult> jobs;
  std::uint64_t packets = 0, packet_hops = 0, events = 0;
  double mean_hops = 0, packet_ns = 0;  // links passed; injection to delivery (0 at flow level), mean over packets
  PageStatistics pages;
  FaultRecord faults;
  double cpu_s = 0;
  std::vector<LinkUse> links;  // in the whole run
  QueueTable queues;
};

// Jobs get endpoints in turn: whole blocks (linear), switch by switch, endpoint by endpoint (node), or at random.
std::vector<std::string> mapping_names();
// An endpoint that has not failed, and that is no gateway's.
bool takes_ranks(const Topology& topology, NodeId endpoint);
// [job][rank], of endpoints that are not `taken`; throws ConfigError on an unknown name or more ranks than endpoints.
std::vector<std::vector<NodeId>> map_jobs(const std::string& mapping, const std::vector<std::uint32_t>& ranks,
                                          const Topology& topology, std::uint64_t seed,
                                          const std::vector<NodeId>& taken = {});

class ClosedLoop {
 public:
  // Throws ConfigError on anything that cannot be run.
  ClosedLoop(const TopologySpec& spec, const NetworkConfig& fabric, const ClosedLoopConfig& config);
  ~ClosedLoop();

  // Once. False when stop() ended it before its time.
  bool run();
  void stop() { stopped_.store(true, std::memory_order_relaxed); }  // from any thread
  double progress() const {
    return progress_.load(std::memory_order_relaxed);
  }  // share of the ranks' steps done, from any thread
  const ClosedLoopResult& result() const { return result_; }
  const Topology& topology() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
  ClosedLoopResult result_;
  std::atomic<bool> stopped_{false};
  std::atomic<double> progress_{0};
};

}  // namespace exanet
