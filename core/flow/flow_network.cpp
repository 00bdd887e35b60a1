// SPDX-License-Identifier: Apache-2.0
// Works out the rates of links and ports, and walks routes.
//
// Problem: a flow's rate has to be what packets of the given size achieve. Model: a link's rate is a full packet's
// payload over the time that it takes there, framing and pauses included, and no more than the router's output; times
// are those of the packet level (core/network/timing.hpp). Limits: flow_network.hpp.
#include "core/flow/flow_network.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/config/error.hpp"
#include "core/engine/random.hpp"
#include "core/network/vc_allocation.hpp"
#include "core/routing/zero_load_route.hpp"
#include "core/units/check.hpp"

namespace exanet {

namespace {

// Bits a packet brings in the time that it takes; times in picoseconds may have a fraction of `parts`.
Rate rate_of(std::uint16_t packet_bytes, std::int64_t time_ps, std::int64_t parts) {
  const __int128 micro_bits = static_cast<__int128>(packet_bytes) * 8 * 1'000'000'000'000'000'000;
  return static_cast<Rate>(micro_bits * parts / time_ps);
}

// Of a packet of so many payload words, and its part of the transceiver's pauses.
Time time_on(const LinkTiming& timing, std::uint32_t words) {
  const std::int64_t parts = timing.idle_every == 0 ? 1 : timing.idle_every,
                     each = timing.idle_every == 0 ? 1 : parts + 1;
  return Time::ps(timing.packet_words[words] * timing.word_time.ps() * each / parts);
}

}  // namespace

FlowNetwork::FlowNetwork(const Topology& topology, const NetworkConfig& fabric, std::uint16_t packet_bytes)
    : topology_(topology),
      rails_(topology.rails()),
      router_(fabric.router),
      zero_load_(make_zero_load_model(topology, fabric)),
      packet_bytes_(packet_bytes),
      channels_(std::min(channel_step(topology, fabric.router),
                         static_cast<std::uint32_t>(std::max<std::int64_t>(fabric.router.virtual_channels, 1)))),
      in_turn_(fabric.router.arbitration == RouterConfig::Arbitration::kRoundRobin && !fabric.input_queued),
      link_kinds_(std::max<std::size_t>(fabric.link_kinds(), 1)),
      slow_rates_(fabric.slow_rates) {
  if (fabric.links.empty()) throw ConfigError("links", "the machine describes no links");
  if (packet_bytes == 0 || packet_bytes > fabric.router.max_payload_bytes)
    throw ConfigError("packet_bytes", "packets of " + std::to_string(packet_bytes) +
                                          " bytes; at flow level they carry from 1 to " +
                                          std::to_string(fabric.router.max_payload_bytes) + " on this machine");
  const std::uint32_t words = router_.payload_words(packet_bytes);
  in_rate_ = rate_of(packet_bytes, zero_load_->input_time(words).ps(), 1);
  out_rate_ = rate_of(packet_bytes, zero_load_->output_time(words).ps(), 1);
  // Bulk leaves space for a largest packet of priority (docs/microarchitecture.md), and into a router's FIFO it goes
  // where two of the largest fit.
  const RouterConfig& r = fabric.router;
  const std::int64_t each = std::max(words, 1u), most = router_.most_payload_words,
                     headers = r.header_fifo_words / r.header_words / 2,
                     intra_headers =
                         r.intra_header_fifo_words != 0 ? r.intra_header_fifo_words / r.header_words / 2 : headers;
  const auto least_one = [](std::int64_t packets) {
    return static_cast<std::uint32_t>(std::max<std::int64_t>(packets, 1));
  };
  buffer_packets_ =
      least_one(std::min((r.inter_fifo_words / channels_ - 2 * most) / each + 1, headers / channels_ - 1));
  sender_packets_ = least_one(std::min((r.intra_fifo_words - most) / each, intra_headers - 1));
  for (const LinkConfig& link : fabric.links) {
    const LinkTiming& timing = timings_.emplace_back(link, fabric.router, router_);
    // One idle word time for every idle_every words: (idle_every + 1) / idle_every of the words' time.
    const std::int64_t parts = timing.idle_every == 0 ? 1 : timing.idle_every;
    const std::int64_t time_ps =
        timing.packet_words[words] * timing.word_time.ps() * (timing.idle_every == 0 ? 1 : timing.idle_every + 1);
    // No faster than the router's output.
    link_rate_.push_back(std::min(rate_of(packet_bytes, time_ps, parts), out_rate_));
    packet_time_.push_back(max(time_on(timing, words), zero_load_->output_time(words)));
  }
  first_link_.reserve(topology.node_count());
  for (NodeId node = 0; node < topology.node_count(); ++node) {
    first_link_.push_back(links_);
    const std::uint16_t ports = topology.port_count(node);
    links_ += ports;
    for (std::uint16_t port = 0; port < ports; ++port) {
      const bool plugged = topology.neighbour(node, port).node != kNoNode;
      const std::uint8_t link_class = plugged ? topology.link_class(node, port) : kUnplugged;
      if (plugged && link_class >= fabric.links.size())
        throw ConfigError("links", "the machine describes too few kinds of links");
      class_.push_back(link_class);
    }
  }
}

bool FlowNetwork::fixed_routes() const { return topology_.routing() == nullptr || !topology_.routing()->adaptive(); }

void FlowNetwork::require_fixed_routes() const {
  if (!fixed_routes())
    throw ConfigError("topology.routing",
                      "this routing looks at queues, which the flow level does not have: choose another, e.g. valiant, "
                      "or the packet level (--level packet; of messages with --pace free)");
}

Rate FlowNetwork::capacity(ResourceId resource) const {
  if (resource >= links_) return resource - links_ < sender_count() ? in_rate_ : out_rate_;
  return link_rate_[class_[resource] == kUnplugged ? 0 : class_[resource]];
}

double FlowNetwork::most_load(NodeId endpoint) const {
  const auto one = static_cast<double>(link_rate_.front());
  double links = 0;
  for (std::uint16_t port = 0; port < topology_.port_count(endpoint); ++port)
    if (class_[link(endpoint, port)] != kUnplugged) links += static_cast<double>(capacity(link(endpoint, port))) / one;
  return std::min(links / rails_, static_cast<double>(in_rate_) / one);
}

void FlowNetwork::route(NodeId src, NodeId dst, std::vector<ResourceId>& resources,
                        std::vector<std::uint8_t>* channels) const {
  resources.clear();
  if (channels != nullptr) channels->clear();
  resources.push_back(links_ + src * rails_);
  zero_load_route(topology_, src, dst, router_.payload_words(packet_bytes_), Random(src, dst).next(),
                  [&](NodeId at, Hop hop) {
                    resources.push_back(link(at, hop.port));
                    if (channels != nullptr) channels->push_back(hop.vc);
                  });
  resources.push_back(links_ + sender_count() + dst * rails_);
  if (rails_ == 1 || src == dst) return;
  const std::uint32_t rail = resources[1] - link(src, 0);
  resources.front() += rail;
  resources.back() += rail;
}

void FlowNetwork::set_link(PortRef at, bool up) {
  const PortRef far = topology_.neighbour(at.node, at.port);
  EXANET_CHECK(far.node != kNoNode, "no link at this port", 0, at.node, at.port);
  for (const ResourceId end : {link(at.node, at.port), link(far.node, far.port)}) set_resource(end, up);
}

void FlowNetwork::set_endpoint(NodeId endpoint, bool up) {
  for (std::uint32_t rail = 0; rail < rails_; ++rail) {
    set_resource(links_ + endpoint * rails_ + rail, up);
    set_resource(links_ + sender_count() + endpoint * rails_ + rail, up);
  }
}

void FlowNetwork::set_resource(ResourceId resource, bool up) {
  down_.resize(resource_count());
  if (down_[resource] == !up) return;
  down_[resource] = !up;
  links_down_ += up ? -1 : 1;
}

void FlowNetwork::set_rate(PortRef at, std::uint32_t rate) {
  const PortRef far = topology_.neighbour(at.node, at.port);
  EXANET_CHECK(far.node != kNoNode, "no link at this port", 0, at.node, at.port);
  for (const ResourceId end : {link(at.node, at.port), link(far.node, far.port)})
    class_[end] = kind_at_rate(class_[end], rate, link_kinds_);
}

void FlowNetwork::restore_rates() {
  for (std::uint8_t& kind : class_)
    if (kind != kUnplugged) kind = kind_at_rate(kind, 0, link_kinds_);
}

bool FlowNetwork::uses_down_link(const std::vector<ResourceId>& route) const {
  return std::any_of(route.begin(), route.end(), [&](ResourceId r) { return down_[r]; });
}

// By the first link of its route.
std::uint32_t FlowNetwork::sender_on(NodeId src, NodeId dst) const {
  thread_local std::vector<ResourceId> resources;
  route(src, dst, resources);
  return resources.front() - links_;
}

double FlowNetwork::buffer_bits() const { return buffer_packets_ * packet_bits(); }

double FlowNetwork::sender_bits() const { return sender_packets_ * packet_bits(); }

Time FlowNetwork::credit_loop() const {
  Time loop = Time::never(), packet = Time::never();
  for (std::size_t c = 0; c < timings_.size(); ++c) {
    const LinkTiming& timing = timings_[c];
    const Time there = timing.to_wire + timing.word_time * timing.head_words + timing.across;
    loop = min(loop, there + router_.to_credit + timing.word_time * timing.control_words + timing.back);
    packet = min(packet, packet_time_[c]);
  }
  return max(min(loop, packet * (buffer_packets_ / 4)), packet);
}

// Of the route's links; valid until the next call in this thread.
const std::vector<std::uint8_t>& FlowNetwork::classes_of(const std::vector<ResourceId>& route) const {
  thread_local std::vector<std::uint8_t> links;
  links.clear();
  for (std::size_t i = 1; i + 1 < route.size(); ++i) links.push_back(class_[route[i]]);
  return links;
}

// The same route and length come again and again: in a burst that of all messages is one, and routes differ in little
// but their number of links.
Time FlowNetwork::message_time(const std::vector<ResourceId>& route, std::uint64_t bytes) const {
  constexpr std::size_t kMostKept = 1 << 16;
  const std::vector<std::uint8_t>& links = classes_of(route);
  std::string key(links.begin(), links.end());
  key.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  if (message_times_.size() >= kMostKept) message_times_.clear();
  const auto [kept, is_new] = message_times_.try_emplace(std::move(key));
  if (!is_new) return kept->second;
  const std::uint64_t packets = std::max<std::uint64_t>((bytes + packet_bytes_ - 1) / packet_bytes_, 1);
  const auto last = static_cast<std::uint32_t>(bytes - (packets - 1) * packet_bytes_);
  return kept->second = zero_load_->message_time(links, packets, router_.payload_words(packet_bytes_),
                                                 router_.payload_words(last));
}

Time FlowNetwork::latency(const std::vector<ResourceId>& route, std::uint64_t bytes) const {
  Rate least = capacity(route.front());
  for (const ResourceId resource : route) least = std::min(least, capacity(resource));
  const auto passed =
      Time::ps(static_cast<std::int64_t>(std::ceil(volume_bits(bytes) * 1e18 / static_cast<double>(least))));
  return max(message_time(route, bytes) - passed, Time());
}

Time FlowNetwork::packet_latency(const std::vector<ResourceId>& route, std::uint32_t bytes, Time at) const {
  return zero_load_->packet_time(classes_of(route), router_.payload_words(bytes), at);
}

Time FlowNetwork::packet_time(ResourceId resource, std::uint32_t bytes) const {
  const std::uint32_t words = router_.payload_words(bytes);
  if (resource >= links_)
    return resource - links_ < sender_count() ? zero_load_->input_time(words) : zero_load_->output_time(words);
  return time_on(timings_[class_[resource]], words);
}

double FlowNetwork::volume_bits(std::uint64_t bytes) const {
  const LinkTiming& timing = timings_.front();
  const std::uint32_t full = timing.packet_words[router_.payload_words(packet_bytes_)];
  const auto rest = static_cast<std::uint32_t>(bytes % packet_bytes_);
  double packets = static_cast<double>(bytes / packet_bytes_);
  if (rest > 0 || bytes == 0) packets += static_cast<double>(timing.packet_words[router_.payload_words(rest)]) / full;
  return packets * packet_bytes_ * 8;
}

MaxMin sharing_of(const FlowNetwork& network) {
  MaxMin sharing(network.resource_count());
  for (ResourceId r = 0; r < network.resource_count(); ++r) sharing.set_capacity(r, network.capacity(r));
  return sharing;
}

}  // namespace exanet
