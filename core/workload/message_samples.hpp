// SPDX-License-Identifier: Apache-2.0
// What flows, links and queues did over the time of a run of messages, in equal intervals from its beginning.
//
// Model: an event at the end of each interval reads how long links were busy and how many packets stand at each router;
// the packets of each flow count in the interval in which they arrive. A flow's share is its max-min share by
// core/flow, solved anew whenever a flow begins or ends, averaged over the interval.
//
// Limits: intervals become twice as long whenever there are more than kMostSamples of them, or values than kMostValues;
// a finer pair then makes a coarser one. Shares are not given where routes are not fixed, or would take more rows.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/engine/event_queue.hpp"
#include "core/flow/flow_network.hpp"
#include "core/network/model.hpp"
#include "core/workload/link_use.hpp"
#include "core/workload/message_run.hpp"

namespace exanet {

class MessageSampler {
 public:
  static constexpr std::size_t kMostSamples = 10'000, kMostValues = std::size_t{1} << 23;

  // From now on, as long as other events are left. References outlive it.
  MessageSampler(EventQueue& queue, const Topology& topology, const NetworkModel& model, Time interval);

  void delivered(const Packet& packet, Time now);  // data
  std::uint64_t looks() const { return looks_; }  // each was an event
  // Once, at the end.
  MessageSamples take(const MessageConfig& config, const MessagePlan& plan, const MessageTimes& times,
                      const FlowNetwork& network);

 private:
  struct Open {
    std::uint32_t interval = 0, packets = 0, marks = 0;
    std::uint64_t bytes = 0;
  };
  void sample();
  void close(std::pair<NodeId, NodeId> ends, Open& open);
  void make_coarser();

  EventQueue& queue_;
  const NetworkModel& model_;
  LinkMeter meter_;
  MessageSamples samples_;
  std::map<std::pair<NodeId, NodeId>, Open> open_;
  std::size_t count_ = 0;  // of intervals that have ended
  std::uint32_t event_ = 0;
  std::uint64_t looks_ = 0;
};

}  // namespace exanet
