// SPDX-License-Identifier: Apache-2.0
// How the nodes, ports, lanes and queues of input-queued switches are laid out, whatever their switching, and the
// arrays by port that mean the same in each model.
//
// Problem: virtual cut-through and wormhole switching differ in what a packet takes and when, not in what stands where.
// Model: a model's state derives from this, and adds the arrays of its own. The arrays belong to all partitions, each
// of which touches those of its own nodes. Contract of `Node`: as of lay_out_switches(); of `Port`: far, far_part and
// link_class; of `Timing`: pipeline and endpoint_pipeline, and it is made of the configuration and the topology.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/network/common/class_schedule.hpp"
#include "core/network/common/layout.hpp"
#include "core/network/common/link_sleep.hpp"
#include "core/network/common/mailboxes.hpp"
#include "core/network/common/switch_checks.hpp"
#include "core/network/common/switch_state.hpp"
#include "core/network/queue_actions/queue_action.hpp"
#include "core/network/vc_allocation.hpp"
#include "core/routing/routing.hpp"

namespace exanet::switch_state {

template <typename Node, typename Port, typename Timing>
struct SwitchNetwork {
  // Throws ConfigError on what no such switch can do.
  SwitchNetwork(std::size_t parts, const Topology& topology, const NetworkConfig& config,
                const std::vector<std::uint8_t>& part_of)
      : topology_(topology),
        routing_(topology.routing()),
        part_of_(part_of),
        config_(*config.input_queued),
        timing_(config, topology),
        intra_ports_(intra_ports_of(topology, config.router)),
        rail_ports_(rail_ports_of(topology, config)),
        channels_(static_cast<std::uint32_t>(config.router.virtual_channels)),
        channel_step_(channel_step(topology, config.router)),
        classes_(static_cast<std::uint32_t>(config_.classes)),
        lanes_(classes_ * channels_),
        voq_(config_.queues == SwitchConfig::Queues::kVirtualOutput),
        adaptive_(routing_ != nullptr && routing_->adaptive()),
        enters_in_time_(adaptive_ || queue_action_kind(config.router.queue_action).make != nullptr),
        tag_(tags_of(config_.weights, classes_)),
        link_kinds_(config.link_kinds()) {
    require_channels(topology, channels_);
    require_one_thread_if(adaptive_, parts, "routing");
    require_one_thread_if(queue_action_kind(config.router.queue_action).make != nullptr, parts, "a queue action");
    const auto [ports, queues] = lay_out_switches(topology_, intra_ports_, lanes_, voq_, nodes_);
    node_of_.resize(ports);
    ports_.resize(ports);
    in_free_.resize(ports);
    out_free_.resize(ports);
    stats_.resize(ports);
    const auto sleeps = [](const LinkConfig& link) { return link.sleep_after != Time::never(); };
    if (std::any_of(config.links.begin(), config.links.end(), sleeps)) sleeps_.resize(ports);
    virtual_time_.resize(ports);
    shares_.resize(std::size_t{ports} * classes_);
    queues_.resize(queues);
    if (config.links_fail) cuts_.resize(ports);
    injection_ports_.resize(std::size_t{topology_.endpoint_count()} * intra_ports_ * classes_);
    for (NodeId node = 0; node < topology_.node_count(); ++node) build_node(node, config.links);
  }

  std::uint8_t part_of(NodeId node) const { return partition_of(part_of_, node); }
  std::uint32_t first_port(NodeId node) const { return nodes_[node].first_port; }
  Time pipeline_of(NodeId node) const {
    return node < topology_.endpoint_count() ? timing_.endpoint_pipeline : timing_.pipeline;
  }
  std::uint8_t class_of(const Packet& packet) const {
    return packet.priority < classes_ ? packet.priority : static_cast<std::uint8_t>(classes_ - 1);
  }
  // The link beyond a port leads to a node of another partition.
  bool crosses(std::uint32_t port) const {
    return ports_[port].far != kNone && ports_[port].far_part != part_of(node_of_[port]);
  }
  // Calls visit(record) for what stands in the node's queues by `now`, in order. Contract of `Records`: request and
  // next.
  template <typename Records, typename Visit>
  void each_queued(NodeId node, const Records& records, Time now, const Visit& visit) const {
    const std::uint32_t end =
        node + 1 < nodes_.size() ? nodes_[node + 1].first_queue : static_cast<std::uint32_t>(queues_.size());
    for (std::uint32_t q = nodes_[node].first_queue; q < end; ++q)
      for (std::uint32_t e = queues_[q].front; e != kNone && records[e].request <= now; e = records[e].next)
        visit(records[e]);
  }

  const Topology& topology_;
  const Routing* routing_;
  std::vector<std::uint8_t> part_of_;  // by node; empty when all are in one part
  SwitchConfig config_;
  Timing timing_;
  // Of an endpoint; and of each rail, where packets take that of their port, else 0.
  std::uint32_t intra_ports_, rail_ports_;
  std::uint32_t channels_, channel_step_, classes_, lanes_;
  bool voq_, adaptive_;
  bool enters_in_time_;  // packets enter queues when they are there, since somebody looks at these
  std::vector<std::int64_t> tag_;  // by class: of a word's share
  const std::size_t link_kinds_;  // of the machine, without those of slow links
  Time lookahead_ = Time::never();

  std::vector<Node> nodes_;
  std::vector<NodeId> node_of_;  // by port
  std::vector<Port> ports_;
  std::vector<Time> in_free_, out_free_;  // by port: its lines into the crossbar and out of it
  std::vector<LinkStats> stats_;  // by port
  std::vector<LinkSleep> sleeps_;  // by port; empty where no link sleeps
  std::vector<std::uint64_t> virtual_time_;  // by port: start of the share that was served last
  std::vector<Share> shares_;  // (port, class)
  std::vector<Queue> queues_;
  std::vector<bool> silent_;  // endpoints whose interface has stopped; empty while none has
  std::vector<Cut> cuts_;  // by port; empty where no link fails
  std::vector<InjectionPort> injection_ports_;  // (endpoint, intra-tile port, class)

 private:
  void build_node(NodeId node, const std::vector<LinkConfig>& links) {
    for (std::uint32_t p = 0; p < nodes_[node].ports; ++p) {
      const std::uint32_t index = first_port(node) + p;
      node_of_[index] = node;
      if (p >= topology_.port_count(node)) continue;
      const PortRef far = topology_.neighbour(node, static_cast<std::uint16_t>(p));
      if (far.node == kNoNode) continue;
      Port& port = ports_[index];
      port.far = first_port(far.node) + far.port;
      port.far_part = part_of(far.node);
      port.link_class = described_link_class(topology_, node, p, links.size());
      if (!sleeps_.empty()) sleeps_[index].carries(Time(), links[port.link_class].sleep_after);
    }
  }
};

}  // namespace exanet::switch_state
