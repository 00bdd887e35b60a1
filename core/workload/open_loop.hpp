// SPDX-License-Identifier: Apache-2.0
// Open-loop measurement: every endpoint offers packets at a given rate, whatever the network makes of them, and what
// comes out is measured.
//
// Method (Dally and Towles 2004, chapter 23): warm up, then tag all packets created in a window, and go on offering
// traffic until they have arrived or as much time again has passed. Then nothing more is offered and the network runs
// empty, so that every run proves that nothing was lost unreported or doubled. A packet's latency counts from its
// creation, thus also in the source's queue, which has no bound: it is not stored but drawn as the network takes
// packets, so it costs nothing however long it is.
//
// Limits: one packet size; endpoints are network interfaces that send and receive at the rate of an intra-tile port.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/faults/schedule.hpp"
#include "core/network/network.hpp"
#include "core/units/histogram.hpp"
#include "core/workload/link_use.hpp"
#include "core/workload/pattern.hpp"

namespace exanet {

struct OpenLoopConfig {
  std::string pattern = "uniform";
  double load =
      0.1;  // 1: packets of a sender fill one of its links, or all of its rails (class 0, framing and pauses included)
  std::uint16_t packet_bytes = 256;
  bool bernoulli = false;  // each packet time a coin is tossed; otherwise a Poisson process
  double burst = 0;  // above 0: on and off, bursts to one destination of so many packets on average (geometric)
  // at the rate of load 1, exponential silence between
  double priority_share = 0;  // of the packets, which overtake the others in arbitration
  std::uint64_t seed = 1;
  std::uint32_t threads = 1;  // the results are the same for any number
  Time warm_up = Time::us(50);
  bool settle = false;  // begin to measure as soon as the start-up is over (MSER-5), after warm_up at the latest
  Time measure = Time::us(100);
  FaultSchedule faults = {};  // of the run; no key of its own
};

template <typename V>
void visit(OpenLoopConfig& c, V&& v) {
  v("pattern", c.pattern);
  v("load", c.load);
  v("packet_bytes", c.packet_bytes);
  v("bernoulli", c.bernoulli);
  v("burst", c.burst, kOptional);
  v("priority_share", c.priority_share);
  v("seed", c.seed);
  v("threads", c.threads);
  v("warm_up_ps", c.warm_up);
  v("settle", c.settle);
  v("measure_ps", c.measure);
}

// The packets of one priority; statistics as in OpenLoopResult.
struct PriorityResult {
  std::uint64_t created = 0, measured = 0;
  double offered_load = 0, accepted_load = 0;
  double latency_ns = 0, network_latency_ns = 0;
  Histogram latency;
};

// The packets of one source, or of one pair, in the window; statistics as in OpenLoopResult.
struct FlowResult {
  NodeId src = kNoNode, dst = kNoNode;  // dst: kNoNode where it is of all destinations
  std::uint64_t created = 0, accepted = 0, measured = 0;
  double latency_ns = 0;
  Time most;
};

struct OpenLoopResult {
  std::uint32_t senders = 0;
  double offered_load = 0,
         accepted_load = 0;  // created, delivered in the window; of what a link carries, mean over senders
  double offered_gbps = 0, accepted_gbps = 0;  // the same as payload, all senders together
  std::uint64_t created = 0;  // in the window
  std::uint64_t measured = 0;  // of these, delivered: what the latencies are of
  std::uint64_t accepted = 0;  // delivered in the window, whenever created
  double latency_ns = 0;  // mean, and
  std::optional<double>
      latency_error_ns;  // half its 95 % confidence interval from ten batches, if there are packets of each
  double network_latency_ns = 0;  // mean from injection on
  double zero_load_ns = 0;  // mean by formula over up to 4096 of the created packets
  Time least, most;
  Histogram latency;
  std::vector<PriorityResult> of_priority;  // from 0 on: one, or two if there is a share of priority 1
  std::vector<FlowResult> of_source, of_pair;  // that have created any; pairs of up to 256 endpoints
  double mean_hops = 0;  // links, over all packets of the run
  double overtaken = 0;  // share of the measured that came after one created later for the same pair and class
  Time latest;  // the longest time by which one did
  double fairness = 0;  // Jain's index of what was accepted from each sender
  bool saturated = false;
  Time wanted_window;  // above 0: the window was too short for that verdict; this one is long enough
  Time warm_up;  // what it took
  bool settled = true;  // false: asked to find the end of the start-up, and saturated
  std::uint64_t packets = 0, packet_hops = 0, events = 0;  // of the whole run
  double cpu_s = 0;  // of all threads
  double longest_cpu_s = 0;  // of the busiest thread in each window of time: what is left with a processor a thread
  std::uint64_t memory_bytes = 0;
  std::vector<LinkUse> links;  // in the window
  FaultRecord faults;
  // With faults: packets delivered and lost in equal intervals, up to the window's end.
  static constexpr std::size_t kIntervals = 100;
  Time interval;
  std::vector<std::uint64_t> delivered_in, lost_in;
  // Packets standing in each router's buffers, at the end of each of `samples` equal parts of the window: switches
  // where there are any, else all nodes. Empty on networks of more than kMostWatched routers.
  static constexpr std::uint32_t kMostWatched = 4096;
  NodeId first_watched = 0;
  std::uint32_t watched = 0, samples = 0;
  std::vector<std::uint32_t> queued;  // [sample][router]
  // [sample][link], in the order of `links`: share of its part of the window; of kMostWatched links at most
  std::vector<float> link_use;
};

class OpenLoop {
 public:
  // Throws ConfigError on anything that cannot be run.
  OpenLoop(const TopologySpec& spec, const NetworkConfig& fabric, const OpenLoopConfig& config);
  ~OpenLoop();

  // Once. False when stop() ended it before its time.
  bool run();
  void stop() { stopped_.store(true, std::memory_order_relaxed); }  // from any thread
  double progress() const {
    return progress_.load(std::memory_order_relaxed);
  }  // share of the work done, from any thread
  const OpenLoopResult& result() const { return result_; }
  const Topology& topology() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
  OpenLoopResult result_;
  std::atomic<bool> stopped_{false};
  std::atomic<double> progress_{0};
};

}  // namespace exanet
