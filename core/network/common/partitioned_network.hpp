// SPDX-License-Identifier: Apache-2.0
// A network model whose state is divided into partitions: forwards each call to the partition that it concerns, and
// sums over all of them.
#pragma once

#include <memory>
#include <vector>

#include "core/network/model.hpp"

namespace exanet {

// Contract of `State`, which is private to its model: it is constructed from what the model is; parts_ are pointers to
// partitions with inject(), collect(), mail_ (Mailboxes), hops_ and in_flight_; part_of(), first_port(), stats_ (by
// port) and lookahead_ are the network's. The functions are defined in partitioned_network_impl.hpp, which the model's
// build.cpp includes and instantiates.
template <typename State>
class PartitionedNetwork : public NetworkModel {
 public:
  // Throws ConfigError, saying what to do, when a figure of `config` cannot be built. Queues and topology outlive the
  // network. Node n belongs to parts[part_of[n]]; empty when there is one part. What the network does is the same,
  // however it is divided.
  PartitionedNetwork(const std::vector<Partition>& parts, const Topology& topology, const NetworkConfig& config,
                     const std::vector<std::uint8_t>& part_of);
  PartitionedNetwork(EventQueue& events, const Topology& topology, const NetworkConfig& config, PacketSink sink);
  ~PartitionedNetwork() override;
  PartitionedNetwork(const PartitionedNetwork&) = delete;
  PartitionedNetwork& operator=(const PartitionedNetwork&) = delete;

  bool inject(const Packet& packet) final;  // in the thread of the source's partition, at its queue's present time
  const LinkStats& link_stats(NodeId node, std::uint16_t port) const final;
  Time asleep(NodeId node, std::uint16_t port, Time now) const final;
  std::uint64_t packet_hops() const final;
  std::uint64_t in_flight() const final;

  void before_routes_change() final { collect_all(); }
  void collect(std::size_t part) final;
  void finish(std::size_t, Time) override {}
  Time mailed(std::size_t part) const final;
  Time lookahead() const final;

 protected:
  // Hands over what parts have sent each other in the last window, between windows.
  void collect_all();

  std::unique_ptr<State> state_;
};

}  // namespace exanet
