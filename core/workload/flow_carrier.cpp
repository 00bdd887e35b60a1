// SPDX-License-Identifier: Apache-2.0
#include "core/workload/flow_carrier.hpp"

#include <algorithm>

#include "core/units/check.hpp"
#include "core/workload/link_use.hpp"

namespace exanet {

FlowCarrier::FlowCarrier(const Topology& topology, const FabricConfig& fabric, std::uint16_t packet_bytes, EventQueue& queue,
                         void* self, void (*arrived)(void*, std::uint32_t, Time))
    : topology_(topology),
      network_(topology, fabric, packet_bytes),
      flows_(network_, Time::ns(1)),
      queue_(queue),
      self_(self),
      arrived_(arrived),
      packet_bytes_(packet_bytes),
      next_start_(topology.endpoint_count()),
      stats_(network_.link_count()) {
  event_ = queue.add_handler(
      [](void* carrier, Time now, std::uint32_t flow, std::uint64_t) { static_cast<FlowCarrier*>(carrier)->arrive(flow, now); }, this);
}

void FlowCarrier::send(NodeId src, NodeId dst, std::uint64_t bytes, std::uint32_t message) {
  flows_.add(src, dst, bytes, max(max(queue_.now(), flows_.now()), next_start_[src]));
  sent_.push_back({src, dst, bytes, message});
}

void FlowCarrier::handed_over(NodeId src) { next_start_[src] = max(max(queue_.now(), flows_.now()), next_start_[src]) + Time::ps(1); }

void FlowCarrier::advance() {
  // Ranks that go on at the same moment send at the same moment: rates are found once for all of them.
  Time next = queue_.empty() ? Time::never() : queue_.next_time();
  if (next <= flows_.now()) return;
  while (flows_.step(next)) {
    for (const FlowId flow : flows_.take_arrivals()) {
      const Time at = max(flows_.finished(flow), flows_.now());
      queue_.schedule(at, event_, flow);
      next = min(next, at);
    }
  }
}

void FlowCarrier::arrive(FlowId flow, Time now) {
  const Sent sent = sent_[flow];
  const std::uint64_t packets = std::max<std::uint64_t>((sent.bytes + packet_bytes_ - 1) / packet_bytes_, 1);
  network_.way(sent.src, sent.dst, way_);
  for (std::size_t hop = 1; hop + 1 < way_.size(); ++hop) {
    LinkStats& stats = stats_[way_[hop]];
    stats.packets += packets;
    stats.payload_bytes += sent.bytes;
    stats.busy = stats.busy + Time::ps(static_cast<std::int64_t>(network_.volume_bits(sent.bytes) * 1e18 / static_cast<double>(network_.capacity(way_[hop]))));
  }
  packets_ += packets;
  packet_hops_ += packets * (way_.size() - 2);
  arrived_(self_, sent.message, now);
}

void FlowCarrier::check_done() const {
  EXANET_CHECK(flows_.done(), "flows have not arrived", flows_.now().ps(), flows_.finished_count(), sent_.size());
  flows_.check_conserved();
}

std::vector<LinkStats> FlowCarrier::link_counts() const {
  std::vector<LinkStats> counts;
  each_link(topology_, [&](NodeId node, std::uint16_t port, NodeId) { counts.push_back(stats_[network_.link(node, port)]); });
  return counts;
}

}  // namespace exanet
