// SPDX-License-Identifier: Apache-2.0
// Messages to be sent, and which of them wait for which: what the packet level and the flow level both carry out.
//
// In a burst each sender of a traffic pattern sends `rounds` messages, each as soon as the one before has arrived; in
// an open loop each sender sends messages at a given load in a Poisson process, whatever the network makes of them.
// They are of one size, or of sizes drawn from a distribution. A list of flows (flow_list.hpp) has them one by one. An
// interface sends its messages together, a packet of each in turn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/faults/schedule.hpp"
#include "core/nic/config.hpp"
#include "core/topology/topology.hpp"
#include "core/units/time.hpp"

namespace exanet {

struct MessageConfig {
  std::string traffic = "permutation";  // one of pattern_names()
  double load = 0;  // 0: a burst; above 0, as in OpenLoopConfig
  std::uint64_t message_bytes = 1 << 20;
  std::string sizes;  // if given, one of flow_size_names() instead
  std::uint32_t rounds = 1;  // of a burst
  std::uint16_t packet_bytes = 256;
  std::uint64_t seed = 1;
  Time warm_up, measure;  // of an open loop
  Time grain = Time::ns(1);  // flow level: FlowSimulator
  bool fluid = false;  // flow level: FluidSimulator instead
  // Packet level: senders keep to the rates of the flow level, each beginning at a random moment of its packet's time;
  // a burst of one round.
  bool paced = false;
  // Packet level: what messages go through, a name of nic_names(). Through others than ideal they are RDMA transfers.
  std::string nic = "ideal";
  Time sample;  // packet level: from one look at flows, links and queues to the next; 0: none
  NiConfig interface = {};  // what that costs; no key of its own
  FaultSchedule faults = {};  // of the run; no key of its own
};

template <typename V>
void visit(MessageConfig& c, V&& v) {
  v("pattern", c.traffic);
  v("load", c.load);
  v("sizes", c.sizes);
  v("message_bytes", c.message_bytes);
  v("rounds", c.rounds);
  v("packet_bytes", c.packet_bytes);
  v("seed", c.seed);
  v("warm_up_ps", c.warm_up);
  v("measure_ps", c.measure);
  v("grain_ps", c.grain);
  v("fluid", c.fluid);
  v("paced", c.paced);
  v("nic", c.nic, kOptional);
  v("sample_ps", c.sample, kOptional);
}

struct MessagePlan {
  struct Message {
    NodeId src, dst;
    std::uint64_t bytes;
    Time start;  // at the earliest
  };
  std::vector<Message> messages;
  // A message starts when an earlier one has arrived, or, where it waits for what was `sent`, when its source knows
  // that.
  struct After {
    std::uint32_t message, earlier;
    bool sent = false;
  };
  std::vector<After> after;
};

// `endpoint_rate_bps` is the payload that load 1 stands for. Throws ConfigError, saying what to do, on what cannot be
// planned.
MessagePlan make_message_plan(const MessageConfig& config, const Topology& topology, const TopologySpec& spec,
                              double endpoint_rate_bps);

}  // namespace exanet
