// SPDX-License-Identifier: Apache-2.0
#include "core/nic/flow/flow_links.hpp"

#include "core/units/check.hpp"

namespace exanet {

FlowLinks::FlowLinks(const Topology& topology, const NetworkConfig& fabric)
    : network_(topology, fabric, static_cast<std::uint16_t>(fabric.router.max_payload_bytes)),
      max_payload_(static_cast<std::uint64_t>(fabric.router.max_payload_bytes)),
      free_(network_.resource_count()),
      stats_(network_.link_count()) {}

FlowLinks::Sent FlowLinks::send(NodeId src, NodeId dst, std::uint32_t bytes, Time now) {
  network_.route(src, dst, route_);
  if (!network_.works(route_)) {
    ++lost_;
    return {now, Status::kLinkDown};
  }
  Time begin = now;  // on each resource in turn: it waits in a FIFO for one while those behind it are free again
  for (const ResourceId r : route_) {
    begin = max(begin, free_[r]);
    free_[r] = begin + network_.packet_time(r, bytes);
  }
  count(1, bytes);
  return {begin + network_.packet_latency(route_, bytes, begin), Status::kOk};
}

void FlowLinks::set_link(PortRef link, bool up, Time now) {
  network_.set_link(link, up);
  changed_(now);
}

void FlowLinks::set_rate(PortRef link, std::uint32_t rate, Time now) {
  network_.set_rate(link, rate);
  changed_(now);
}

void FlowLinks::set_interface(NodeId endpoint, bool up, Time now) {
  network_.set_endpoint(endpoint, up);
  changed_(now);
}

void FlowLinks::carry(NodeId src, NodeId dst, std::uint64_t packets, std::uint64_t bytes) {
  network_.route(src, dst, route_);
  count(packets, bytes);
}

// On the links of route_.
void FlowLinks::count(std::uint64_t packets, std::uint64_t bytes) {
  const std::uint64_t full = bytes / max_payload_, others = packets - full;
  const auto most = static_cast<std::uint32_t>(max_payload_), rest = static_cast<std::uint32_t>(bytes % max_payload_);
  const auto times = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
  for (std::size_t hop = 1; hop + 1 < route_.size(); ++hop) {
    const ResourceId link = route_[hop];
    LinkStats& stats = stats_[link];
    stats.packets += packets;
    stats.payload_bytes += bytes;
    if (full > 0) stats.busy += network_.packet_time(link, most) * times(full);
    if (others > 0) stats.busy += network_.packet_time(link, rest);
    if (others > 1) stats.busy += network_.packet_time(link, 0) * times(others - 1);
  }
  packet_hops_ += packets * (route_.size() - 2);
}

bool FlowLinks::inject(const Packet& packet) {
  EXANET_CHECK(false, "a packet has come to a network that carries none", 0, packet.src, packet.dst);
  return false;
}

}  // namespace exanet
