// SPDX-License-Identifier: Apache-2.0
// Carrying out a message plan, at packet level (packet_messages.cpp) or at flow level (flow_messages.cpp), and what is
// reported of it: the same statistics of both.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "core/faults/schedule.hpp"
#include "core/flow/flow_network.hpp"
#include "core/network/network.hpp"
#include "core/units/histogram.hpp"
#include "core/workload/link_use.hpp"
#include "core/workload/message_plan.hpp"

namespace exanet {

// Messages of up to so many bytes, and of more than those of the class before.
struct SizeClass {
  std::uint64_t most_bytes = 0, created = 0, measured = 0;
  double latency_ns = 0, slowdown = 0;  // means
  Histogram latency, slowdowns;  // the latter in thousandths
};

// All messages of a burst or window from one endpoint to another.
struct FlowRow {
  NodeId src, dst;
  std::uint32_t messages = 0, arrived = 0;
  std::uint64_t bytes = 0;  // of those that have arrived
  double start_ns = 0, end_ns = 0;  // the first begins, the last one has arrived
  double gbps = 0;  // payload, between both
  double share_gbps =
      -1;  // its max-min share while all flows of a burst run; -1: no fixed routes and rails, or messages at a load
  bool victim = false;  // it shares a link with a flow of a smaller share, which is held up elsewhere
  double slowdown = 0;  // of its messages, against an empty network: mean
  std::uint64_t packets = 0, marks = 0;  // data packets that have come, and those that a router has marked
  double fabric_ns = 0, fabric_p99_ns = 0;  // of a packet, from injection to delivery
};

// What flows, links and queues did in each interval from the beginning of a run (message_samples.hpp).
struct MessageSamples {
  struct FlowSample {
    std::uint32_t interval;
    NodeId src, dst;
    std::uint64_t bytes;  // that have arrived in it
    std::uint32_t packets, marks;  // data packets, and those of them that a router has marked
    double share_bytes;  // what its max-min share comes to in the interval
  };
  Time interval, end;  // of each; of the run
  bool shares = false;  // are they given?
  std::vector<FlowSample>
      flows;  // by interval, source, destination; without those that had nothing and were due nothing
  NodeId first_watched = 0;
  std::uint32_t watched = 0, links = 0;
  std::vector<std::uint32_t> queued;  // [interval][router], at its end
  std::vector<float> link_use;  // [interval][link]
};

struct MessageResult {
  std::uint32_t senders = 0;
  double offered_load = 0, accepted_load = 0;  // mean over senders, of what a link carries; a burst offers 1
  double offered_gbps = 0, accepted_gbps = 0;  // the same as payload, all senders together
  std::uint64_t created = 0, measured = 0;  // messages, within the window of an open loop; delivered of these
  double mean_bytes = 0, mean_packets = 0;  // of all messages of the run
  double completion_ns = 0;  // a burst: when the last message has arrived; an open loop: when the run ended
  double latency_ns = 0;  // from when a message could start to its arrival: mean
  double zero_load_ns = 0;  // the same in an empty network, over up to 4096 of the messages, or all if sizes are drawn
  double slowdown = 0;  // mean of the ratio of both, over the same
  Histogram slowdowns;  // in thousandths
  std::vector<SizeClass> of_size;  // if sizes are drawn: all that have been measured, by how long they are
  Time least, most;
  Histogram latency;
  double mean_hops = 0;
  double fairness = 0;  // Jain's index of the senders' payload rates
  bool saturated = false;
  Time wanted_window;  // above 0: the window was too short for that verdict; this one is long enough
  std::uint64_t events = 0, work = 0;  // work: packet-hops, or rates given to flows
  double cpu_s = 0;
  std::uint64_t memory_bytes = 0;
  std::vector<LinkUse> links;  // in the window, or in the burst
  FaultRecord faults;
  std::vector<FlowRow> flows;  // through interfaces with costs
  std::optional<MessageSamples> samples;  // if asked for
};

class MessageRun {
 public:
  virtual ~MessageRun() = default;
  virtual bool run() = 0;  // once; false when stop() ended it before its time
  void stop() { stopped_.store(true, std::memory_order_relaxed); }  // from any thread
  double progress() const {
    return progress_.load(std::memory_order_relaxed);
  }  // share of the messages, from any thread
  const MessageResult& result() const { return result_; }

 protected:
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  void report_progress(std::size_t done, std::size_t of) {
    progress_.store(static_cast<double>(done) / static_cast<double>(of), std::memory_order_relaxed);
  }
  MessageResult result_;

 private:
  std::atomic<bool> stopped_{false};
  std::atomic<double> progress_{0};
};

// Both throw ConfigError on anything that cannot be run.
std::unique_ptr<MessageRun> make_packet_messages(const TopologySpec& spec, const NetworkConfig& fabric,
                                                 const MessageConfig& config);
std::unique_ptr<MessageRun> make_flow_messages(const TopologySpec& spec, const NetworkConfig& fabric,
                                               const MessageConfig& config);

// Answers of a level, from which the statistics follow.
struct MessageTimes {
  std::vector<Time> ready;  // by message: when it could start
  std::vector<Time> arrived;  // Time::never() if it has not
  std::vector<double> accepted_bytes;  // by sender, in the window
  Time begin, end;  // of the window: of a burst, all of it
};
// What a message takes in an empty network.
double alone_ps(const FlowNetwork& network, const MessagePlan::Message& message);
void summarize(const MessageConfig& config, const MessagePlan& plan, const MessageTimes& times,
               const FlowNetwork& network, MessageResult& result);

}  // namespace exanet
