// SPDX-License-Identifier: Apache-2.0
// Definitions of partitioned_network.hpp, for the file that instantiates them for its model's state.
#pragma once

#include "core/network/common/partitioned_network.hpp"

namespace exanet {

template <typename State>
PartitionedNetwork<State>::PartitionedNetwork(const std::vector<Partition>& parts, const Topology& topology,
                                              const NetworkConfig& config, const std::vector<std::uint8_t>& part_of)
    : NetworkModel(topology, config), state_(std::make_unique<State>(parts, topology, config, part_of)) {}

template <typename State>
PartitionedNetwork<State>::PartitionedNetwork(EventQueue& events, const Topology& topology, const NetworkConfig& config,
                                              PacketSink sink)
    : PartitionedNetwork({{&events, sink}}, topology, config, {}) {}

template <typename State>
PartitionedNetwork<State>::~PartitionedNetwork() = default;

template <typename State>
bool PartitionedNetwork<State>::inject(const Packet& packet) {
  return state_->parts_[state_->part_of(packet.src)]->inject(packet);
}

template <typename State>
const LinkStats& PartitionedNetwork<State>::link_stats(NodeId node, std::uint16_t port) const {
  return state_->stats_[state_->first_port(node) + port];
}

template <typename State>
Time PartitionedNetwork<State>::asleep(NodeId node, std::uint16_t port, Time now) const {
  if constexpr (requires { state_->sleeps_; })
    if (!state_->sleeps_.empty()) return state_->sleeps_[state_->first_port(node) + port].by(now);
  return Time();
}

template <typename State>
std::uint64_t PartitionedNetwork<State>::packet_hops() const {
  std::uint64_t sum = 0;
  for (const auto& part : state_->parts_) sum += part->hops_;
  return sum;
}

template <typename State>
std::uint64_t PartitionedNetwork<State>::in_flight() const {
  std::uint64_t sum = 0;
  for (const auto& part : state_->parts_) sum += part->in_flight_;
  return sum;
}

template <typename State>
void PartitionedNetwork<State>::collect(std::size_t part) {
  state_->parts_[part]->collect();
}

template <typename State>
void PartitionedNetwork<State>::collect_all() {
  for (const auto& part : state_->parts_) part->collect();
}

template <typename State>
Time PartitionedNetwork<State>::mailed(std::size_t part) const {
  return state_->parts_[part]->mail_.earliest();
}

template <typename State>
Time PartitionedNetwork<State>::lookahead() const {
  return state_->lookahead_;
}

// Bytes that the arrays have taken.
template <typename... Arrays>
std::uint64_t capacity_bytes(const Arrays&... arrays) {
  return (std::uint64_t{0} + ... + (std::uint64_t{arrays.capacity()} * sizeof(arrays[0])));
}

}  // namespace exanet
