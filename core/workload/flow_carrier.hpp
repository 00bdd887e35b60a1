// SPDX-License-Identifier: Apache-2.0
// Carries the messages of jobs at flow level, in step with the event queue in which the jobs' ranks go on: flows move up to the next event, and
// an arrival is an event. Rates are max-min fair; of an interface's messages those of one step move together, and one that is handed over later begins
// behind what already stands in the router's FIFO (FlowSimulator).
#pragma once

#include <vector>

#include "core/engine/event_queue.hpp"
#include "core/fabric/network.hpp"
#include "core/flow/flow_simulator.hpp"

namespace exanet {

class FlowCarrier {
 public:
  // Contract: `arrived` is called from the queue, at the message's arrival.
  FlowCarrier(const Topology& topology, const FabricConfig& fabric, std::uint16_t packet_bytes, EventQueue& queue, void* self,
              void (*arrived)(void* self, std::uint32_t message, Time now));

  void send(NodeId src, NodeId dst, std::uint64_t bytes, std::uint32_t message);  // at the queue's present time
  void handed_over(NodeId src);  // what `src` sends from now on, be it at the same time, is behind what it has sent
  void advance();  // flows up to the queue's next event, which may be an arrival
  void check_done() const;

  std::vector<LinkStats> link_counts() const;  // of messages that have arrived, in the order of each_link()
  std::uint64_t packets() const { return packets_; }
  std::uint64_t packet_hops() const { return packet_hops_; }

 private:
  void arrive(FlowId flow, Time now);

  struct Sent {
    NodeId src, dst;
    std::uint64_t bytes;
    std::uint32_t message;
  };

  const Topology& topology_;
  FlowNetwork network_;
  FlowSimulator flows_;
  EventQueue& queue_;
  void* self_;
  void (*arrived_)(void*, std::uint32_t, Time);
  std::uint16_t packet_bytes_;
  std::uint32_t event_ = 0;
  std::vector<Sent> sent_;        // by flow
  std::vector<Time> next_start_;  // by endpoint: of what it sends next, at the earliest
  std::vector<LinkStats> stats_;  // by resource
  std::vector<ResourceId> way_;
  std::uint64_t packets_ = 0, packet_hops_ = 0;
};

}  // namespace exanet
