// SPDX-License-Identifier: Apache-2.0
// What became of each flow, all messages from one endpoint to another: its rate against its max-min share, the marks
// and the time of its packets in the fabric.
//
// Model: a flow's share is what it gets while all flows of a burst run, by core/flow. A flow that has ended leaves its
// share to others, so rates of unequal flows may well be above. A victim is a flow that shares a link with one whose
// share is smaller, as that one is held up elsewhere: queues of a congested port that grow back to that link hold up
// the victim, too.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/flow/flow_network.hpp"
#include "core/network/network.hpp"
#include "core/units/histogram.hpp"
#include "core/workload/message_run.hpp"

namespace exanet {

class FlowTable {
 public:
  // A data packet has come, so long after it was injected.
  void delivered(const Packet& packet, Time in_fabric) {
    Flow& flow = flows_[{packet.src, packet.dst}];
    ++flow.packets;
    flow.marks += (packet.notes & Packet::kCongested) != 0;
    flow.total_ps += static_cast<double>(in_fabric.ps());
    flow.in_fabric.add(in_fabric.ps());
  }

  // Has each flow one route, by one rail, so that its max-min share is known?
  static bool has_shares(const MessageConfig& config, const FlowNetwork& network);

  // A row for each flow, by source and destination.
  std::vector<FlowRow> table(const MessageConfig& config, const MessagePlan& plan, const MessageTimes& times,
                             const FlowNetwork& network) const;

 private:
  struct Flow {
    std::uint64_t packets = 0, marks = 0;
    double total_ps = 0;
    Histogram in_fabric;
  };
  std::map<std::pair<NodeId, NodeId>, Flow> flows_;
};

}  // namespace exanet
