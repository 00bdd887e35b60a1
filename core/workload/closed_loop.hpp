// SPDX-License-Identifier: Apache-2.0
// Closed-loop measurement: jobs of communicating ranks run to their end, each rank going on only when what it waits for has come. The
// measure is the time to finish.
//
// A message is cut into packets of the given payload (at least one). A rank's interface takes a packet of each of its messages in turn, as
// an RDMA engine with many channels does, as fast as the router's intra-tile port takes them. A rank is alone on its endpoint.
// Every run proves that each message arrived once and in full.
//
// At flow level (FlowCarrier) messages move at max-min fair rates instead; there are no packets to overtake others, so priorities are refused.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/fabric/fabric.hpp"
#include "core/units/histogram.hpp"
#include "core/workload/link_use.hpp"
#include "core/workload/program.hpp"

namespace exanet {

struct JobConfig {
  ProgramSpec program;      // 0 ranks: an equal share of the endpoints that the other jobs leave
  std::uint64_t rounds = 1; // the program is repeated so often, without a barrier between
  std::uint8_t priority = 0; // of its packets; 1 overtakes 0 in arbitration
};

struct ClosedLoopConfig {
  std::vector<JobConfig> jobs;
  std::string mapping = "linear";  // one of mapping_names()
  std::uint64_t seed = 1;
  std::uint16_t packet_bytes = 256;
  bool flow_level = false;
};

struct JobResult {
  std::uint32_t ranks = 0;
  Time finished;                   // of its last rank; all jobs begin at 0
  Time first_finished;             // of its first rank
  std::uint64_t messages = 0, bytes = 0;
  double message_ns = 0;           // mean, handed over to last word delivered
  Histogram message;
  double fairness = 0;             // Jain's index of the ranks' rates: bytes sent by the time each finished
  std::vector<NodeId> endpoints;   // by rank
};

struct ClosedLoopResult {
  Time finished;  // the last job
  std::vector<JobResult> jobs;
  std::uint64_t packets = 0, packet_hops = 0, events = 0;
  double mean_hops = 0, packet_ns = 0;  // links passed; injection to delivery (0 at flow level), mean over packets
  double cpu_s = 0;
  std::vector<LinkUse> links;  // in the whole run
  // Packets standing in each router's buffers after each `sample` of time, so long that there are kMostSamples at most: of switches where there
  // are any, else of all nodes. Empty on networks of more than kMostWatched routers.
  static constexpr std::uint32_t kMostWatched = 4096, kMostSamples = 400;
  NodeId first_watched = 0;
  std::uint32_t watched = 0;
  Time sample;
  std::vector<std::uint32_t> queued;  // [sample][router]
};

// Jobs get endpoints in turn: whole blocks (linear), switch by switch, endpoint by endpoint (node), or at random.
std::vector<std::string> mapping_names();
// [job][rank]; throws std::invalid_argument on an unknown name or more ranks than endpoints.
std::vector<std::vector<NodeId>> map_jobs(const std::string& mapping, const std::vector<std::uint32_t>& ranks, const Topology& topology,
                                          std::uint64_t seed);

class ClosedLoop {
 public:
  // Throws std::invalid_argument on anything that cannot be run.
  ClosedLoop(const TopologySpec& spec, const FabricConfig& fabric, const ClosedLoopConfig& config);
  ~ClosedLoop();

  // Once. False when stop() ended it before its time.
  bool run();
  void stop() { stopped_.store(true, std::memory_order_relaxed); }               // from any thread
  double progress() const { return progress_.load(std::memory_order_relaxed); }  // share of the ranks' steps done, from any thread
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
