// SPDX-License-Identifier: Apache-2.0
// Lays out the switches' arrays for a topology, and answers what does not concern time.
#include "core/config/error.hpp"
#include "core/network/common/partitioned_network_impl.hpp"
#include "core/network/cut_through/state.hpp"

namespace exanet {

using namespace cut_through_state;

namespace {

std::size_t checked_parts(std::size_t parts, const NetworkConfig& config) {
  if (parts > 1 && config.input_queued->flow_control == SwitchConfig::FlowControl::kPause)
    throw ConfigError(
        "threads",
        "flow_control is pause: such switches run on one thread, because pauses at one time depend on their "
        "order; take --threads 1");
  return parts;
}

}  // namespace

State::State(const std::vector<Partition>& parts, const Topology& topology, const NetworkConfig& config,
             const std::vector<std::uint8_t>& part_of)
    : SwitchNetwork(checked_parts(parts.size(), config), topology, config, part_of),
      most_words_(static_cast<std::int32_t>(most_packet_words(config.router))),
      pauses_(config_.flow_control == SwitchConfig::FlowControl::kPause),
      may_reroute_(routing_ != nullptr && routing_->may_reroute()),
      discards_(queue_action_kind(config.router.queue_action).discards) {
  enters_in_time_ = enters_in_time_ || pauses_;
  lane_words_ = static_cast<std::int32_t>(config.router.inter_fifo_words / lanes_);
  output_fifo_words_ =
      static_cast<std::uint32_t>(config_.output_fifo_words > 0 ? config_.output_fifo_words : most_words_);
  for (const LinkConfig& link : config.links) pause_delay_.push_back(pause_delay(config.router, config_, link));
  for (std::uint32_t slot = 0; slot < kMostSlots; ++slot) {
    slot_port_[slot] = static_cast<std::uint8_t>(slot / channels_);
    slot_channel_[slot] = static_cast<std::uint8_t>(slot % channels_);
  }
  for (std::uint32_t lane = 0; lane < kMostLanes; ++lane) {
    lane_class_[lane] = static_cast<std::uint8_t>(lane / channels_);
    lane_channel_[lane] = static_cast<std::uint8_t>(lane % channels_);
  }
  pools_.resize(ports_.size());
  waiting_.resize(ports_.size() * classes_);
  queued_words_.resize(ports_.size() * channels_);
  if (pauses_) fillings_.resize(ports_.size());
  if (may_reroute_) blocked_lists_.assign(nodes_.size(), kNone);
  if (discards_) discarded_.resize(nodes_.size());
  build_pools(config.router);
  for (const Partition& part : parts)
    parts_.push_back(std::make_unique<Part>(*this, part, static_cast<std::uint8_t>(parts_.size()), parts.size()));
  for (const std::unique_ptr<Part>& part : parts_) part->action_ = make_queue_action(config, topology, true);
}

Part::Part(State& net, const Partition& part, std::uint8_t number, std::size_t parts)
    : net_(net), events_(*part.events), sink_(part.sink), number_(number), mail_(parts) {
  register_events();
}

void Part::register_events() {
  allocate_event_ = events_.add_handler(
      [](void* s, Time now, std::uint32_t a, std::uint64_t) { static_cast<Part*>(s)->allocate(now, a); }, this);
  deliver_event_ = events_.add_handler(
      [](void* s, Time now, std::uint32_t a, std::uint64_t) { static_cast<Part*>(s)->deliver(now, a); }, this);
  offer_event_ = events_.add_handler(
      [](void* s, Time now, std::uint32_t a, std::uint64_t) { static_cast<Part*>(s)->offer_credits(now, a); }, this);
  arrive_event_ = events_.add_handler(
      [](void* s, Time now, std::uint32_t port, std::uint64_t entry) {
        Part& part = *static_cast<Part*>(s);
        const auto index = static_cast<std::uint32_t>(entry);
        if (part.net_.pauses_ && part.net_.ports_[port].link_class != kIntraTile)
          part.fill(now, port, part.entries_[index].lane, part.entries_[index].words);
        part.enqueue(part.net_.node_of_[port], port, index);
      },
      this);
  drain_event_ = events_.add_handler(
      [](void* s, Time now, std::uint32_t port, std::uint64_t what) {
        static_cast<Part*>(s)->drain(now, port, static_cast<std::uint8_t>(what >> 32),
                                     static_cast<std::int32_t>(what & 0xffffffff));
      },
      this);
  pause_event_ = events_.add_handler(
      [](void* s, Time now, std::uint32_t port, std::uint64_t what) {
        static_cast<Part*>(s)->receive_pause(now, port, static_cast<std::uint8_t>(what >> 1), (what & 1) != 0);
      },
      this);
  reroute_event_ = events_.add_handler(
      [](void* s, Time now, std::uint32_t port, std::uint64_t entry) {
        static_cast<Part*>(s)->reroute(now, port, static_cast<std::uint32_t>(entry));
      },
      this);
}

void State::build_pools(const RouterConfig& router) {
  const bool shared = config_.buffer == SwitchConfig::Buffer::kShared;
  for (std::uint32_t index = 0; index < ports_.size(); ++index) {
    CreditPool& pool = pools_[index];
    const NodeId node = node_of_[index];
    if (index - first_port(node) >= topology_.port_count(node)) {
      pool.each = static_cast<std::int32_t>(router.intra_fifo_words / classes_);
      continue;
    }
    pool.each = shared ? most_words_ : lane_words_;
    if (shared)
      pool.pool = static_cast<std::int32_t>(router.inter_fifo_words) - pool.each * static_cast<std::int32_t>(lanes_);
    if (crosses(index)) lookahead_ = min(lookahead_, least_delay(index));
  }
}

// From a grant to what the next switch notices of it first: an arrival, or a credit.
Time State::least_delay(std::uint32_t port) const {
  const LinkTiming& link = timing_.links[ports_[port].link_class];
  const Time arrival = link.word_time * link.head_words + pipeline_of(node_of_[ports_[port].far]);
  const Time credit = timing_.on_crossbar(1) + link.word_time * link.control_words;
  return timing_.latency[ports_[port].link_class] + min(arrival, credit);
}

bool CutThroughNetwork::may_lose() const { return state_->discards_ || !state_->cuts_.empty(); }

std::uint64_t CutThroughNetwork::lost() const {
  std::uint64_t packets = 0;
  for (const auto& part : state_->parts_) packets += part->lost_;
  return packets;
}

void CutThroughNetwork::set_loss(PortRef link, const LinkLoss& loss, Time now) {
  set_switch_loss(*state_, link, loss, now);
}

void CutThroughNetwork::set_rate(PortRef link, std::uint32_t rate, Time now) {
  collect_all();
  set_switch_rate(*state_, link, rate, now);
}

void CutThroughNetwork::set_interface(NodeId endpoint, bool up, Time) { set_switch_interface(*state_, endpoint, up); }

void CutThroughNetwork::set_link(PortRef link, bool up, Time now) {
  collect_all();
  set_switch_link(*state_, link, up, now);
}

std::uint64_t CutThroughNetwork::discarded(NodeId node) const {
  return state_->discards_ ? state_->discarded_[node] : 0;
}

std::uint64_t CutThroughNetwork::pauses() const {
  std::uint64_t sum = 0;
  for (const auto& part : state_->parts_) sum += part->pauses_sent_;
  return sum;
}

std::int32_t CutThroughNetwork::fullest(NodeId node, std::uint16_t port) const {
  return state_->fillings_.empty() ? 0 : state_->fillings_[state_->first_port(node) + port].most;
}

std::uint32_t CutThroughNetwork::queued(NodeId node) const {
  const Part& part = *state_->parts_[state_->part_of(node)];
  std::uint32_t packets = 0;
  state_->each_queued(node, part.entries_, part.events_.now(), [&](const Entry&) { ++packets; });
  return packets;
}

std::uint64_t CutThroughNetwork::memory_bytes() const {
  const State& s = *state_;
  std::uint64_t sum = capacity_bytes(s.nodes_, s.node_of_, s.ports_, s.in_free_, s.out_free_, s.pools_, s.stats_,
                                     s.queues_, s.waiting_, s.shares_, s.queued_words_, s.virtual_time_, s.fillings_,
                                     s.blocked_lists_, s.injection_ports_, s.discarded_);
  for (const auto& part : s.parts_) sum += capacity_bytes(part->entries_, part->packets_);
  return sum;
}

template class PartitionedNetwork<State>;

}  // namespace exanet
