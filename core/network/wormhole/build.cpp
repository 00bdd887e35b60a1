// SPDX-License-Identifier: Apache-2.0
// Lays out the wormhole switches' arrays for a topology, and answers what does not concern time.
#include "core/network/common/partitioned_network_impl.hpp"
#include "core/network/wormhole/state.hpp"

namespace exanet {

using namespace wormhole_state;

State::State(const std::vector<Partition>& parts, const Topology& topology, const NetworkConfig& config,
             const std::vector<std::uint8_t>& part_of)
    : SwitchNetwork(parts.size(), topology, config, part_of),
      most_words_(timing_.router.packet_words(timing_.router.most_payload_words)),
      entry_words_(static_cast<std::int32_t>(config.router.intra_fifo_words / classes_)),
      fixed_(config_.arbitration == SwitchConfig::Arbitration::kFixedPriority),
      islip_(config_.arbitration == SwitchConfig::Arbitration::kIslip) {
  for (std::uint32_t lane = 0; lane < lanes_; ++lane) {
    std::uint8_t& serves = serves_[lane / channels_ * channels_ + lane % channels_ % channel_step_];
    serves = static_cast<std::uint8_t>(serves | 1u << lane);
  }
  build_lanes();
  for (const Partition& part : parts)
    parts_.push_back(std::make_unique<Part>(*this, part, static_cast<std::uint8_t>(parts_.size()), parts.size()));
  for (const std::unique_ptr<Part>& part : parts_) part->action_ = make_queue_action(config, topology);
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

void State::build_lanes() {
  const std::size_t ports = ports_.size(), lanes = ports * lanes_;
  due_.resize(ports, Time::never());
  lane_of_.resize(lanes);
  filling_.resize(lanes, kNone);
  passed_.resize(lanes);
  waiting_.resize(lanes);
  first_slot_.resize(lanes);
  if (islip_) accepts_.resize(lanes);
  if (enters_in_time_) queued_flits_.resize(lanes);
  for (std::uint32_t index = 0; index < ports; ++index) {
    const bool inter = index - first_port(node_of_[index]) < topology_.port_count(node_of_[index]);
    for (std::uint32_t lane = 0; lane < lanes_; ++lane)
      lane_of_[index * lanes_ + lane].credits = inter ? timing_.lane_words : entry_words_;
    if (!crosses(index)) continue;
    const Link& port = ports_[index];
    const Wire& wire = timing_.wires[port.link_class];
    lookahead_ =
        min(lookahead_, min(wire.timing.word_time * wire.flit_words + wire.latency + pipeline_of(node_of_[port.far]),
                            timing_.crossbar_word + wire.credit));
  }
}

bool WormholeNetwork::may_lose() const { return !state_->cuts_.empty(); }

std::uint64_t WormholeNetwork::lost() const {
  std::uint64_t packets = 0;
  for (const auto& part : state_->parts_) packets += part->lost_;
  return packets;
}

void WormholeNetwork::set_loss(PortRef link, const LinkLoss& loss, Time now) {
  set_switch_loss(*state_, link, loss, now);
}

void WormholeNetwork::set_rate(PortRef link, std::uint32_t rate, Time now) {
  collect_all();
  set_switch_rate(*state_, link, rate, now);
}

void WormholeNetwork::set_interface(NodeId endpoint, bool up, Time) { set_switch_interface(*state_, endpoint, up); }

void WormholeNetwork::set_link(PortRef link, bool up, Time now) {
  collect_all();
  set_switch_link(*state_, link, up, now);
}

std::uint32_t WormholeNetwork::queued(NodeId node) const {
  const Part& part = *state_->parts_[state_->part_of(node)];
  std::uint32_t packets = 0;
  state_->each_queued(node, part.worms_, part.events_.now(), [&](const Worm& worm) { packets += worm.sent == 0; });
  return packets;
}

std::uint64_t WormholeNetwork::memory_bytes() const {
  const State& s = *state_;
  std::uint64_t sum = capacity_bytes(s.nodes_, s.node_of_, s.ports_, s.due_, s.in_free_, s.out_free_, s.stats_,
                                     s.virtual_time_, s.shares_, s.lane_of_, s.filling_, s.passed_, s.waiting_,
                                     s.first_slot_, s.accepts_, s.queued_flits_, s.queues_, s.injection_ports_);
  for (const Lane& channel : s.lane_of_) sum += channel.back.memory_bytes();
  for (const auto& part : s.parts_) sum += capacity_bytes(part->worms_, part->readable_, part->packets_);
  return sum;
}

template class PartitionedNetwork<State>;

}  // namespace exanet
