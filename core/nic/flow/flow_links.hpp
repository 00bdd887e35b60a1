// SPDX-License-Identifier: Apache-2.0
// The network below FlowNic: when a lone packet gets through, and what links have carried.
//
// A packet takes what it takes in an empty network, behind the packets that were sent before it: it takes each resource of its way (ports, links)
// for its time there, when it has that of the one before and the resource is free. Times count from the injection, as if the way there took none.
#pragma once

#include <vector>

#include "core/flow/flow_network.hpp"
#include "core/network/network.hpp"

namespace exanet {

class FlowLinks final : public Network {
 public:
  FlowLinks(const Topology& topology, const NetworkConfig& fabric);

  const FlowNetwork& flows() const { return network_; }

  // Sends a packet; returns when it is delivered.
  Time send(NodeId src, NodeId dst, std::uint32_t bytes, Time now);
  // Counts what a flow stands for on the links of its way: so many packets, full but for the last ones.
  void carry(NodeId src, NodeId dst, std::uint64_t packets, std::uint64_t bytes);

  bool inject(const Packet& packet) override;  // contract: never called
  const LinkStats& link_stats(NodeId node, std::uint16_t port) const override {
    return stats_[network_.link(node, port)];
  }
  std::uint64_t packet_hops() const override { return packet_hops_; }
  std::uint64_t in_flight() const override { return 0; }  // FlowNic::active() knows

 private:
  void count(std::uint64_t packets, std::uint64_t bytes);

  FlowNetwork network_;
  const std::uint64_t max_payload_;
  std::vector<Time> free_;  // by resource: behind the packets that have been sent over it
  std::vector<LinkStats> stats_;  // by link
  std::uint64_t packet_hops_ = 0;
  std::vector<ResourceId> route_;
};

}  // namespace exanet
