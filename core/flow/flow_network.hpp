// SPDX-License-Identifier: Apache-2.0
// A machine's network as the flow level sees it: resources with a rate, and for each pair of endpoints those on its
// way.
//
// A resource is one direction of a link, or an endpoint's port into its router, or out of it, one for each rail. Its
// capacity is what it carries of payload in packets of the given size: header, footer, framing and pauses are taken off
// by the same figures as at packet level (core/network/zero_load). Routes are those of the topology's routing function,
// walked when a flow starts; nothing about pairs is stored. Where routing draws lots, all flows between two endpoints
// take one drawn way, while packets would spread over many.
//
// Links go down and come up (set_link), and so do endpoints' ports (set_endpoint): routes are the topology's, whatever
// the links' state, and works() says whether a route can be used. Links also change their rate (set_rate).
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/flow/max_min.hpp"
#include "core/network/timing.hpp"
#include "core/network/zero_load.hpp"
#include "core/topology/topology.hpp"

namespace exanet {

class FlowNetwork {
 public:
  // Throws std::invalid_argument on what cannot be built. `topology` outlives the network.
  FlowNetwork(const Topology& topology, const NetworkConfig& fabric, std::uint16_t packet_bytes);

  // Throws ConfigError where routing looks at queues: route() is then that of an empty network.
  void require_fixed_routes() const;
  bool fixed_routes() const;

  const Topology& topology() const { return topology_; }
  std::uint32_t resource_count() const { return links_ + 2 * sender_count(); }
  // Ports of endpoints into their routers, by endpoint and rail; as many lead out of them.
  std::uint32_t sender_count() const { return topology_.endpoint_count() * rails_; }
  std::uint32_t sender_of(NodeId src, NodeId dst) const { return rails_ == 1 ? src : sender_on(src, dst); }
  Rate capacity(ResourceId resource) const;
  ResourceId link(NodeId node, std::uint16_t port) const { return first_link_[node] + port; }  // the outgoing direction

  // The link at this port goes down or comes up, in both directions. Contract: Flows::links_changed() of what moves
  // over this network follows.
  void set_link(PortRef link, bool up);
  void set_endpoint(NodeId endpoint, bool up);  // the same for its ports into its router and out of it
  void set_rate(PortRef link, std::uint32_t rate);  // the same; as FaultTarget::set_rate()
  void restore_rates();  // those of all links are their own again
  bool rates_change() const { return slow_rates_ > 0; }
  // No link of the route is down.
  bool works(const std::vector<ResourceId>& route) const { return links_down_ == 0 || !uses_down_link(route); }

  // The resources from `src` to `dst` in order, the two ports included; to itself these alone.
  // `channels`, if given, gets the virtual channel of each link.
  void route(NodeId src, NodeId dst, std::vector<ResourceId>& resources,
             std::vector<std::uint8_t>* channels = nullptr) const;

  // What a message takes in an empty network: the packet level's formula.
  Time message_time(const std::vector<ResourceId>& route, std::uint64_t bytes) const;

  // The same from the moment at which the last bit of the message has passed its bottleneck.
  Time latency(const std::vector<ResourceId>& route, std::uint64_t bytes) const;

  // From injection at `at` to delivery of one packet of so many bytes by this route, in an empty network: the packet
  // level's formula.
  Time packet_latency(const std::vector<ResourceId>& route, std::uint32_t bytes, Time at) const;
  // For which one packet of so many bytes takes the resource.
  Time packet_time(ResourceId resource, std::uint32_t bytes) const;

  // Cost of a message of so many bytes to a link, in bits of payload of full packets: the last packet may be shorter
  // than its framing.
  double volume_bits(std::uint64_t bytes) const;
  // Describes routers for fluid sharing (FluidSimulator).
  std::uint32_t link_count() const { return links_; }
  std::uint32_t channels() const { return channels_; }
  double packet_bits() const { return packet_bytes_ * 8.0; }
  double buffer_bits() const;  // of a virtual channel
  double sender_bits() const;  // of an endpoint's port into its router
  Rate read_rate() const { return in_rate_; }  // of a FIFO
  // From the grant of a packet over the quickest link to that of one that takes its space: the head's way there and the
  // credit's back. At least a packet's time on the link, and no more than fills a quarter of a buffer.
  Time credit_loop() const;
  bool in_turn() const { return in_turn_; }  // its routers have FIFOs, and outputs serve them in turn
  // Of payload, on links of the first class, as many as an endpoint has.
  double endpoint_rate_bps() const { return static_cast<double>(link_rate_.front()) * 1e-6 * rails_; }
  // How many times that rate the endpoint sends at most: what all of its links carry, or its ports into its router.
  double most_load(NodeId endpoint) const;

 private:
  std::uint32_t sender_on(NodeId src, NodeId dst) const;
  void set_resource(ResourceId resource, bool up);
  bool uses_down_link(const std::vector<ResourceId>& route) const;
  const std::vector<std::uint8_t>& classes_of(const std::vector<ResourceId>& route) const;

  const Topology& topology_;
  const std::uint32_t rails_;
  RouterTiming router_;
  std::unique_ptr<ZeroLoadModel> zero_load_;
  std::vector<LinkTiming> timings_;
  std::uint16_t packet_bytes_;
  std::uint32_t channels_, buffer_packets_, sender_packets_;
  bool in_turn_;
  std::uint32_t links_ = 0;
  std::vector<std::uint32_t> first_link_;  // by node
  std::vector<std::uint8_t> class_;  // by link; kUnplugged where there is none
  std::vector<bool> down_;  // by resource; empty until one goes down
  std::uint32_t links_down_ = 0;  // resources
  const std::size_t link_kinds_, slow_rates_;  // NetworkConfig::link_kinds()
  std::vector<Rate> link_rate_;  // by class
  std::vector<Time> packet_time_;  // the same
  Rate in_rate_, out_rate_;  // of ports
  mutable std::unordered_map<std::string, Time> message_times_;  // by classes of links, and bytes
  static constexpr std::uint8_t kUnplugged = 0xff;
};

// Without flows, which share the network's resources.
MaxMin sharing_of(const FlowNetwork& network);

}  // namespace exanet
