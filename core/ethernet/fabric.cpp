// SPDX-License-Identifier: Apache-2.0
// Takes frames through rings, table and network (fabric.hpp).
#include "core/ethernet/fabric.hpp"

#include <algorithm>
#include <utility>

#include "core/config/error.hpp"

namespace exanet {

EthernetFabric::EthernetFabric(EventQueue& events, MessageEngine& engine, std::uint32_t endpoints,
                               EthernetConfig config, FrameReceiver& hosts)
    : events_(events), engine_(engine), config_(std::move(config)), hosts_(hosts) {
  require(config_.transmit_ring >= 1 && config_.receive_ring >= 1, "ring", "a ring has at least one descriptor");
  require(config_.interrupt_interval >= Time(), "interrupts", "time between interrupts is 0 or more");
  require(config_.addresses.size() == config_.nodes.size(), "addresses", "each device has one, or 0");
  for (std::uint32_t device = 0; device < config_.nodes.size(); ++device) {
    const NodeId node = config_.nodes[device];
    require(
        node == kNoNode || node < endpoints, "tap",
        "there is no node " + std::to_string(node) + ": the machine has nodes 0 to " + std::to_string(endpoints - 1));
    for (std::uint32_t other = 0; other < device; ++other)
      require(node == kNoNode || config_.nodes[other] != node, "tap",
              "two interfaces are on node " + std::to_string(node) + ": give each one a node of its own");
    devices_.emplace_back().node = node;
    if (config_.addresses[device] != 0) addresses_.fix(config_.addresses[device], device);
  }
  pairs_.resize(devices_.size() * devices_.size());
  engine_.set_listener(MessageEngine::Outside::kEthernet, this);
  on_interrupt_ = events_.add_handler([](void* self, Time now, std::uint32_t device,
                                         std::uint64_t) { static_cast<EthernetFabric*>(self)->interrupt(device, now); },
                                      this);
  on_visible_ = events_.add_handler([](void* self, Time now, std::uint32_t number,
                                       std::uint64_t) { static_cast<EthernetFabric*>(self)->visible(number, now); },
                                    this);
}

EthernetFabric::~EthernetFabric() { engine_.set_listener(MessageEngine::Outside::kEthernet, nullptr); }

void EthernetFabric::send(std::uint32_t device, std::vector<std::byte> bytes, Time now) {
  DeviceCounts& counts = devices_[device].counts;
  ++counts.sent;
  counts.sent_bytes += bytes.size();
  const std::optional<FrameHead> head = frame_head(bytes);
  if (!head) {
    ++counts.malformed;
    return;
  }
  addresses_.learn(head->source, device);
  const Frame frame{std::make_shared<const std::vector<std::byte>>(std::move(bytes)), device, device, now, Time()};
  const auto copy = [&](std::uint32_t to) {
    Frame copied = frame;
    copied.to = to;
    transmit(std::move(copied), now);
  };
  if (!is_group(head->destination)) {
    if (const auto found = addresses_.find(head->destination)) {
      if (*found == device || !together(device, *found))
        ++counts.unaddressed;
      else
        copy(*found);
      return;
    }
  }
  bool any = false;
  for (std::uint32_t to = 0; to < devices(); ++to) {
    if (to == device || !together(device, to)) continue;
    any = true;
    copy(to);
  }
  if (!any) ++counts.unaddressed;
}

void EthernetFabric::transmit(Frame frame, Time now) {
  Device& device = devices_[frame.from];
  const NodeId src = device.node, dst = devices_[frame.to].node;
  if (device.transmitting >= config_.transmit_ring) {
    ++device.counts.transmit_drops;
    return;
  }
  const std::uint32_t bytes = carried_bytes(frame.bytes->size());
  std::uint32_t number = static_cast<std::uint32_t>(transfers_.size());
  if (free_.empty()) {
    transfers_.push_back(std::move(frame));
  } else {
    number = free_.back();
    free_.pop_back();
    transfers_[number] = std::move(frame);
  }
  if (src == kNoNode) {
    events_.schedule(now, on_visible_, number);
    return;
  }
  ++device.transmitting;
  engine_.post_outside(MessageEngine::Outside::kEthernet, src, dst, bytes, number, false);
}

void EthernetFabric::arrived(std::uint32_t number, Status status, Time now) {
  Device& device = devices_[transfers_[number].from];
  --device.transmitting;
  if (status == Status::kOk) return events_.schedule(now + config_.completion, on_visible_, number);
  ++device.counts.lost;
  transfers_[number] = {};
  free_.push_back(number);
}

void EthernetFabric::visible(std::uint32_t number, Time now) {
  Frame frame = std::exchange(transfers_[number], {});
  free_.push_back(number);
  frame.arrived = now;
  receive(std::move(frame), now);
}

void EthernetFabric::receive(Frame frame, Time now) {
  const std::uint32_t to = frame.to;
  Device& device = devices_[to];
  if (device.ring.size() >= config_.receive_ring) {
    ++device.counts.receive_drops;
    return;
  }
  device.ring.push_back(std::move(frame));
  if (device.interrupts) return;
  if (device.next_interrupt <= now) return interrupt(to, now);
  device.interrupts = true;
  events_.schedule(device.next_interrupt, on_interrupt_, to);
}

void EthernetFabric::interrupt(std::uint32_t id, Time now) {
  Device& device = devices_[id];
  device.interrupts = false;
  device.next_interrupt = now + config_.interrupt_interval;
  ++device.counts.interrupts;
  for (; !device.ring.empty(); device.ring.pop_front()) {
    const Frame& frame = device.ring.front();
    const auto took = static_cast<std::uint64_t>((now - frame.sent).ps());
    PairCounts& pair = pairs_[frame.from * devices() + id];
    ++pair.frames;
    pair.bytes += frame.bytes->size();
    pair.latency.add(static_cast<std::int64_t>(took));
    pair.latency_ps += took;
    pair.least_ps = std::min(pair.least_ps, took);
    pair.most_ps = std::max(pair.most_ps, took);
    ++device.counts.received;
    device.counts.received_bytes += frame.bytes->size();
    hosts_.received(frame, now);
  }
}

}  // namespace exanet
