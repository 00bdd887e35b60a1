// SPDX-License-Identifier: Apache-2.0
// The network below FlowNic: when a lone packet gets through, and what links have carried.
//
// A packet takes what it takes in an empty network, behind the packets that were sent before it: it takes each resource
// of its way (ports, links) for its time there, when it has that of the one before and the resource is free. Times
// count from the injection, as if the way there took none. A packet whose route leads over a link that is down is lost
// when it is sent; one that has been sent arrives, whatever goes down meanwhile.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "core/flow/flow_network.hpp"
#include "core/network/network.hpp"

namespace exanet {

class FlowLinks final : public Network {
 public:
  FlowLinks(const Topology& topology, const NetworkConfig& fabric);

  const FlowNetwork& flows() const { return network_; }

  struct Sent {
    Time at;  // delivered, or lost
    Status status;
  };
  Sent send(NodeId src, NodeId dst, std::uint32_t bytes, Time now);
  // Counts what a flow stands for on the links of its way: so many packets, full but for the last ones.
  void carry(NodeId src, NodeId dst, std::uint64_t packets, std::uint64_t bytes);

  bool inject(const Packet& packet) override;  // contract: never called
  // Who owns the flows over these links is called after each change.
  void on_change(std::function<void(Time now)> changed) { changed_ = std::move(changed); }
  void set_link(PortRef link, bool up, Time now) override;
  void set_rate(PortRef link, std::uint32_t rate, Time now) override;
  void set_interface(NodeId endpoint, bool up, Time now) override;
  std::uint64_t lost() const override { return lost_; }  // without those of flows
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
  std::uint64_t packet_hops_ = 0, lost_ = 0;
  std::vector<ResourceId> route_;
  std::function<void(Time now)> changed_;
};

}  // namespace exanet
