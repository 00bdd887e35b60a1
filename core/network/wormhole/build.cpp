// SPDX-License-Identifier: Apache-2.0
// Lays out the wormhole switches' arrays for a topology, and answers what does not concern time.
#include "core/network/common/layout.hpp"
#include "core/network/common/partitioned_network_impl.hpp"
#include "core/network/common/switch_checks.hpp"
#include "core/network/vc_allocation.hpp"
#include "core/network/wormhole/state.hpp"

namespace exanet {

using namespace wormhole_state;

State::State(const std::vector<Partition>& parts, const Topology& topology, const NetworkConfig& config,
             const std::vector<std::uint8_t>& part_of)
    : topology_(topology),
      routing_(topology.routing()),
      part_of_(part_of),
      config_(*config.input_queued),
      timing_(config, topology),
      intra_ports_(intra_ports_of(topology, config.router)),
      rail_ports_(rail_ports_of(topology, config)),
      channels_(static_cast<std::uint32_t>(config.router.virtual_channels)),
      channel_step_(channel_step(topology, config.router)),
      classes_(static_cast<std::uint32_t>(config_.classes)),
      lanes_(classes_ * channels_),
      most_words_(timing_.router.packet_words(timing_.router.most_payload_words)),
      entry_words_(static_cast<std::int32_t>(config.router.intra_fifo_words / classes_)),
      voq_(config_.queues == SwitchConfig::Queues::kVirtualOutput),
      adaptive_(routing_ != nullptr && routing_->adaptive()),
      fixed_(config_.arbitration == SwitchConfig::Arbitration::kFixedPriority),
      enters_in_time_(adaptive_ || queue_action_kind(config.router.queue_action).make != nullptr),
      tag_(tags_of(config_.weights, classes_)),
      links_fail_(config.links_fail) {
  require_channels(topology, channels_);
  require_one_thread_if(adaptive_, parts.size(), "routing");
  require_one_thread_if(queue_action_kind(config.router.queue_action).make != nullptr, parts.size(), "a queue action");
  for (std::uint32_t lane = 0; lane < lanes_; ++lane) {
    std::uint8_t& serves = serves_[lane / channels_ * channels_ + lane % channels_ % channel_step_];
    serves = static_cast<std::uint8_t>(serves | 1u << lane);
  }
  build_ports();
  for (const Partition& part : parts)
    parts_.push_back(std::make_unique<Part>(*this, part, static_cast<std::uint8_t>(parts_.size()), parts.size()));
  for (const std::unique_ptr<Part>& part : parts_) part->action_ = make_queue_action(config);
}

Part::Part(State& net, const Partition& part, std::uint8_t number, std::size_t parts)
    : net_(net), events_(*part.events), sink_(part.sink), number_(number), mail_(parts) {
  allocate_event_ = events_.add_handler(
      [](void* s, Time now, std::uint32_t a, std::uint64_t) { static_cast<Part*>(s)->allocate(now, a); }, this);
  deliver_event_ = events_.add_handler(
      [](void* s, Time now, std::uint32_t a, std::uint64_t) { static_cast<Part*>(s)->deliver(now, a); }, this);
  offer_event_ = events_.add_handler(
      [](void* s, Time now, std::uint32_t port, std::uint64_t c) {
        static_cast<Part*>(s)->offer_credits(now, port, static_cast<std::uint32_t>(c));
      },
      this);
  route_event_ = events_.add_handler(
      [](void* s, Time, std::uint32_t worm, std::uint64_t) { static_cast<Part*>(s)->enqueue(worm); }, this);
}

void State::build_ports() {
  const auto [ports, queues] = lay_out_switches(topology_, intra_ports_, lanes_, voq_, nodes_);
  node_of_.resize(ports);
  ports_.resize(ports);
  due_.resize(ports, Time::never());
  in_free_.resize(ports);
  out_free_.resize(ports);
  stats_.resize(ports);
  virtual_time_.resize(ports);
  shares_.resize(std::size_t{ports} * classes_);
  lane_of_.resize(std::size_t{ports} * lanes_);
  filling_.resize(std::size_t{ports} * lanes_, kNone);
  passed_.resize(std::size_t{ports} * lanes_);
  waiting_.resize(std::size_t{ports} * lanes_);
  first_slot_.resize(std::size_t{ports} * lanes_);
  if (enters_in_time_) queued_flits_.resize(std::size_t{ports} * lanes_);
  queues_.resize(queues);
  if (links_fail_) cuts_.resize(ports);
  injection_ports_.resize(std::size_t{topology_.endpoint_count()} * intra_ports_ * classes_);
  for (NodeId node = 0; node < topology_.node_count(); ++node) build_node(node);
}

void State::build_node(NodeId node) {
  const std::uint32_t inter = topology_.port_count(node);
  for (std::uint32_t p = 0; p < nodes_[node].ports; ++p) {
    const std::uint32_t index = nodes_[node].first_port + p;
    Link& port = ports_[index];
    node_of_[index] = node;
    for (std::uint32_t lane = 0; lane < lanes_; ++lane)
      lane_of_[index * lanes_ + lane].credits = p < inter ? timing_.lane_words : entry_words_;
    if (p >= inter) continue;
    const PortRef far = topology_.neighbour(node, static_cast<std::uint16_t>(p));
    if (far.node == kNoNode) continue;
    port.far = nodes_[far.node].first_port + far.port;
    port.far_part = part_of(far.node);
    port.link_class = described_link_class(topology_, node, p, timing_.wires.size());
    if (port.far_part == part_of(node)) continue;
    const Wire& wire = timing_.wires[port.link_class];
    lookahead_ = min(lookahead_, min(wire.timing.word_time * wire.flit_words + wire.latency + pipeline_of(far.node),
                                     timing_.crossbar_word + wire.credit));
  }
}

bool WormholeNetwork::may_lose() const { return !state_->cuts_.empty(); }

std::uint64_t WormholeNetwork::lost() const {
  std::uint64_t packets = 0;
  for (const auto& part : state_->parts_) packets += part->lost_;
  return packets;
}

void WormholeNetwork::set_link(PortRef link, bool up, Time now) {
  collect_all();
  set_switch_link(*state_, link, up, now);
}

std::uint32_t WormholeNetwork::queued(NodeId node) const {
  const State& s = *state_;
  const Part& part = *s.parts_[s.part_of(node)];
  const std::uint32_t end =
      node + 1 < s.nodes_.size() ? s.nodes_[node + 1].first_queue : static_cast<std::uint32_t>(s.queues_.size());
  std::uint32_t packets = 0;
  for (std::uint32_t q = s.nodes_[node].first_queue; q < end; ++q)
    for (std::uint32_t w = s.queues_[q].front; w != kNone && part.worms_[w].request <= part.events_.now();
         w = part.worms_[w].next)
      packets += part.worms_[w].sent == 0;
  return packets;
}

std::uint64_t WormholeNetwork::memory_bytes() const {
  const State& s = *state_;
  std::uint64_t sum = capacity_bytes(s.nodes_, s.node_of_, s.ports_, s.due_, s.in_free_, s.out_free_, s.stats_,
                                     s.virtual_time_, s.shares_, s.lane_of_, s.filling_, s.passed_, s.waiting_,
                                     s.first_slot_, s.queued_flits_, s.queues_, s.injection_ports_);
  for (const Lane& channel : s.lane_of_) sum += channel.back.memory_bytes();
  for (const auto& part : s.parts_) sum += capacity_bytes(part->worms_, part->readable_, part->packets_);
  return sum;
}

template class PartitionedNetwork<State>;

}  // namespace exanet
