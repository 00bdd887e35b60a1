// SPDX-License-Identifier: Apache-2.0
// Lays out the fabric's arrays for a topology, and answers what does not concern time.
#include <stdexcept>
#include <string>

#include "core/fabric/state.hpp"

namespace exanet {

using namespace fabric_state;

Fabric::State::State(EventQueue& events, const Topology& topology, const FabricConfig& config, FabricSink sink)
    : events_(events),
      topology_(topology),
      sink_(sink),
      router_(config.router),
      intra_ports_(static_cast<std::uint32_t>(config.router.intra_ports)),
      endpoints_(topology.endpoint_count()) {
  for (const LinkConfig& link : config.links) links_.emplace_back(link, config.router, router_);
  build_ports(topology, config);
  arbitrate_event_ =
      events.add_handler([](void* self, Time now, std::uint32_t a, std::uint64_t) { static_cast<State*>(self)->arbitrate(now, a); }, this);
  deliver_event_ =
      events.add_handler([](void* self, Time now, std::uint32_t a, std::uint64_t) { static_cast<State*>(self)->deliver(now, a); }, this);
  room_event_ =
      events.add_handler([](void* self, Time now, std::uint32_t a, std::uint64_t) { static_cast<State*>(self)->offer_room(now, a); }, this);
}

void Fabric::State::build_ports(const Topology& topology, const FabricConfig& config) {
  const auto channels = static_cast<std::uint32_t>(config.router.virtual_channels);
  if (channels < topology.virtual_channels())
    throw std::invalid_argument("the topology's routing needs " + std::to_string(topology.virtual_channels()) +
                                " virtual channels: set virtual_channels to that or more");
  const NodeId nodes = topology.node_count();
  std::uint32_t outputs = 0, inputs = 0;
  for (NodeId node = 0; node <= nodes; ++node) {
    first_output_.push_back(outputs);
    first_input_.push_back(inputs);
    if (node == nodes) break;
    const std::uint32_t ports = topology.port_count(node);
    const std::uint32_t intra = node < topology.endpoint_count() ? intra_ports_ : 0;
    if (ports * channels + intra > kMostInputs)
      throw std::invalid_argument("a router of " + topology.node_name(node) +
                                  " would have more than " + std::to_string(kMostInputs) +
                                  " inputs: use fewer ports or virtual channels");
    outputs += ports + intra;
    inputs += ports * channels + intra;
  }
  outputs_.resize(outputs);
  inputs_.resize(inputs);
  entrances_.resize(std::size_t{topology.endpoint_count()} * intra_ports_);
  const auto& r = config.router;
  const auto headers = static_cast<std::int32_t>(r.header_fifo_words / r.header_words);
  for (NodeId node = 0; node < nodes; ++node) {
    const std::uint32_t ports = topology.port_count(node);
    for (std::uint32_t i = first_input_[node]; i < first_input_[node + 1]; ++i) {
      Input& input = inputs_[i];
      input.node = node;
      input.index = static_cast<std::uint8_t>(i - first_input_[node]);
      const bool intra = input.index >= ports * channels;
      const auto share = static_cast<std::int32_t>(intra ? 1 : channels);
      input.free_words = static_cast<std::int32_t>(intra ? r.intra_fifo_words : r.inter_fifo_words) / share;
      input.free_packets = headers / share;
    }
    for (std::uint32_t o = first_output_[node]; o < first_output_[node + 1]; ++o) {
      const std::uint32_t port = o - first_output_[node];
      outputs_[o].node = node;
      outputs_[o].first_input = first_input_[node];
      const PortRef far = port < ports ? topology.neighbour(node, static_cast<std::uint16_t>(port)) : PortRef{};
      if (far.node == kNoNode) continue;
      outputs_[o].link_class = topology.link_class(node, static_cast<std::uint16_t>(port));
      if (outputs_[o].link_class >= links_.size())
        throw std::invalid_argument("the topology has links of class " + std::to_string(outputs_[o].link_class) + ", but only " +
                                    std::to_string(links_.size()) + " links are described: describe one for each class");
      outputs_[o].far_input = first_input_[far.node] + far.port * channels;
      for (std::uint32_t vc = 0; vc < channels; ++vc) {
        inputs_[outputs_[o].far_input + vc].upstream = o;
        inputs_[outputs_[o].far_input + vc].link_class = outputs_[o].link_class;
      }
    }
  }
}

Fabric::Fabric(EventQueue& events, const Topology& topology, const FabricConfig& config, FabricSink sink)
    : state_(std::make_unique<State>(events, topology, config, sink)) {}

Fabric::~Fabric() = default;

std::unique_ptr<Network> make_fabric(EventQueue& events, const Topology& topology, const FabricConfig& config, FabricSink sink) {
  return std::make_unique<Fabric>(events, topology, config, sink);
}

bool Fabric::inject(const Packet& packet) { return state_->inject(packet); }

Time Fabric::zero_load_latency(NodeId src, NodeId dst, std::uint16_t payload_bytes) const {
  std::vector<const LinkPace*> path;
  for (NodeId at = src; at != dst;) {
    const Hop hop = state_->topology_.next_hop(at, dst);
    path.push_back(&state_->links_[state_->topology_.link_class(at, hop.port)]);
    at = state_->topology_.neighbour(at, hop.port).node;
  }
  return zero_load_time(state_->router_, path, state_->router_.payload_words(payload_bytes));
}

const LinkStats& Fabric::link_stats(NodeId node, std::uint16_t port) const {
  return state_->outputs_[state_->first_output_[node] + port].stats;
}

std::uint64_t Fabric::packet_hops() const { return state_->hops_; }

std::uint64_t Fabric::memory_bytes() const {
  const auto bytes = [](const auto& v) { return std::uint64_t{v.capacity()} * sizeof(v[0]); };
  const State& s = *state_;
  return bytes(s.first_output_) + bytes(s.first_input_) + bytes(s.outputs_) + bytes(s.inputs_) + bytes(s.entrances_) + bytes(s.entries_) +
         bytes(s.packets_);
}

std::uint64_t Fabric::in_flight() const { return state_->in_flight_; }

}  // namespace exanet
