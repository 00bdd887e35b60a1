// SPDX-License-Identifier: Apache-2.0
// Lays out the wormhole switches' arrays for a topology, and answers what does not concern time.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/switch/switches.hpp"
#include "core/switch/wormhole_state.hpp"

namespace exanet {

using namespace wormhole_state;

namespace {

constexpr std::uint64_t kTag = 1 << 20;  // of a word at weight 1

}  // namespace

WormholeSwitches::State::State(const std::vector<FabricPart>& parts, const Topology& topology, const FabricConfig& config,
                               const std::vector<std::uint8_t>& part_of)
    : topology_(topology),
      routing_(topology.routing()),
      part_of_(part_of),
      config_(*config.input_queued),
      pace_(config),
      intra_ports_(static_cast<std::uint32_t>(config.router.intra_ports)),
      channels_(static_cast<std::uint32_t>(config.router.virtual_channels)),
      needed_(topology.virtual_channels()),
      classes_(static_cast<std::uint32_t>(config_.classes)),
      lanes_(classes_ * channels_),
      most_words_(pace_.router.packet_words(pace_.router.most_payload_words)),
      entry_words_(static_cast<std::int32_t>(config.router.intra_fifo_words / classes_)),
      voq_(config_.queues == SwitchConfig::Queues::kVirtualOutput),
      looks_(routing_ != nullptr && routing_->looks()),
      fixed_(config_.arbitration == SwitchConfig::Arbitration::kFixedPriority) {
  if (channels_ < needed_)
    throw std::invalid_argument("the topology's routing needs " + std::to_string(needed_) + " virtual channels: set virtual_channels to that or more");
  if (parts.size() > 1 && looks_)
    throw std::invalid_argument("routing that looks at queues runs on one thread with these switches: its choices within an instant have an order");
  for (std::uint32_t lane = 0; lane < lanes_; ++lane) {
    std::uint8_t& serves = serves_[lane / channels_ * channels_ + lane % channels_ % needed_];
    serves = static_cast<std::uint8_t>(serves | 1u << lane);
  }
  for (std::uint32_t c = 0; c < classes_; ++c)
    tag_.push_back(config_.weights.empty() ? 0 : static_cast<std::int64_t>(kTag) / config_.weights[c]);
  build_ports();
  for (const FabricPart& part : parts)
    parts_.push_back(std::make_unique<Part>(*this, part, static_cast<std::uint8_t>(parts_.size()), parts.size()));
}

WormholeSwitches::Part::Part(State& net, const FabricPart& part, std::uint8_t number, std::size_t parts)
    : net_(net), events_(*part.events), sink_(part.sink), number_(number), mail_{std::vector<Mail>(parts), std::vector<Mail>(parts)} {
  allocate_event_ = events_.add_handler([](void* s, Time now, std::uint32_t a, std::uint64_t) { static_cast<Part*>(s)->allocate(now, a); }, this);
  deliver_event_ = events_.add_handler([](void* s, Time now, std::uint32_t a, std::uint64_t) { static_cast<Part*>(s)->deliver(now, a); }, this);
  room_event_ = events_.add_handler(
      [](void* s, Time now, std::uint32_t port, std::uint64_t c) { static_cast<Part*>(s)->offer_room(now, port, static_cast<std::uint32_t>(c)); },
      this);
  route_event_ = events_.add_handler([](void* s, Time, std::uint32_t worm, std::uint64_t) { static_cast<Part*>(s)->enqueue(worm); }, this);
}

void WormholeSwitches::State::build_ports() {
  std::uint32_t ports = 0, queues = 0;
  for (NodeId node = 0; node < topology_.node_count(); ++node) {
    const std::uint32_t own = topology_.port_count(node) + (node < topology_.endpoint_count() ? intra_ports_ : 0);
    Node& made = nodes_.emplace_back();
    made.first_port = ports;
    made.ports = own;
    made.first_queue = queues;
    ports += own;
    queues += own * lanes_ * (voq_ ? own : 1);
  }
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
  if (looks_) queued_flits_.resize(std::size_t{ports} * lanes_);
  queues_.resize(queues);
  entrances_.resize(std::size_t{topology_.endpoint_count()} * intra_ports_ * classes_);
  for (NodeId node = 0; node < topology_.node_count(); ++node) build_node(node);
}

void WormholeSwitches::State::build_node(NodeId node) {
  const std::uint32_t inter = topology_.port_count(node);
  for (std::uint32_t p = 0; p < nodes_[node].ports; ++p) {
    const std::uint32_t index = nodes_[node].first_port + p;
    Link& port = ports_[index];
    node_of_[index] = node;
    for (std::uint32_t lane = 0; lane < lanes_; ++lane) lane_of_[index * lanes_ + lane].room = p < inter ? pace_.lane_words : entry_words_;
    if (p >= inter) continue;
    const PortRef far = topology_.neighbour(node, static_cast<std::uint16_t>(p));
    if (far.node == kNoNode) continue;
    port.far = nodes_[far.node].first_port + far.port;
    port.far_part = part_of(far.node);
    port.link_class = topology_.link_class(node, static_cast<std::uint16_t>(p));
    if (port.link_class >= pace_.wires.size())
      throw std::invalid_argument("the topology has links of class " + std::to_string(port.link_class) + ", but only " +
                                  std::to_string(pace_.wires.size()) + " links are described: describe one for each class");
    if (port.far_part == part_of(node)) continue;
    const Wire& wire = pace_.wires[port.link_class];
    lookahead_ = min(lookahead_, min(wire.pace.word_time * wire.flit_words + wire.latency + pace_.pipeline, pace_.crossbar_word + wire.credit));
  }
}

WormholeSwitches::WormholeSwitches(const std::vector<FabricPart>& parts, const Topology& topology, const FabricConfig& config,
                                   const std::vector<std::uint8_t>& part_of)
    : NetworkModel(topology, config), state_(std::make_unique<State>(parts, topology, config, part_of)) {}

WormholeSwitches::WormholeSwitches(EventQueue& events, const Topology& topology, const FabricConfig& config, FabricSink sink)
    : WormholeSwitches({{&events, sink}}, topology, config, {}) {}

WormholeSwitches::~WormholeSwitches() = default;

bool WormholeSwitches::inject(const Packet& packet) { return state_->parts_[state_->part_of(packet.src)]->inject(packet); }
void WormholeSwitches::collect(std::size_t part) { state_->parts_[part]->collect(); }
Time WormholeSwitches::mailed(std::size_t part) const { return state_->parts_[part]->mailed_; }
Time WormholeSwitches::lookahead() const { return state_->lookahead_; }

std::uint64_t WormholeSwitches::packet_hops() const {
  std::uint64_t sum = 0;
  for (const auto& part : state_->parts_) sum += part->hops_;
  return sum;
}

std::uint64_t WormholeSwitches::in_flight() const {
  std::uint64_t sum = 0;
  for (const auto& part : state_->parts_) sum += part->in_flight_;
  return sum;
}

const LinkStats& WormholeSwitches::link_stats(NodeId node, std::uint16_t port) const {
  return state_->stats_[state_->nodes_[node].first_port + port];
}

std::uint32_t WormholeSwitches::queued(NodeId node) const {
  const State& s = *state_;
  const Part& part = *s.parts_[s.part_of(node)];
  const std::uint32_t end = node + 1 < s.nodes_.size() ? s.nodes_[node + 1].first_queue : static_cast<std::uint32_t>(s.queues_.size());
  std::uint32_t packets = 0;
  for (std::uint32_t q = s.nodes_[node].first_queue; q < end; ++q)
    for (std::uint32_t w = s.queues_[q].front; w != kNone && part.worms_[w].request <= part.events_.now(); w = part.worms_[w].next)
      packets += part.worms_[w].sent == 0;
  return packets;
}

std::uint64_t WormholeSwitches::memory_bytes() const {
  const auto bytes = [](const auto& v) { return std::uint64_t{v.capacity()} * sizeof(v[0]); };
  const State& s = *state_;
  std::uint64_t sum = bytes(s.nodes_) + bytes(s.node_of_) + bytes(s.ports_) + bytes(s.due_) + bytes(s.in_free_) + bytes(s.out_free_) +
                      bytes(s.stats_) + bytes(s.virtual_time_) + bytes(s.shares_) + bytes(s.lane_of_) + bytes(s.filling_) + bytes(s.passed_) + bytes(s.waiting_) +
                      bytes(s.first_slot_) + bytes(s.queued_flits_) + bytes(s.queues_) + bytes(s.entrances_);
  for (const Lane& channel : s.lane_of_) sum += channel.back.memory_bytes();
  for (const auto& part : s.parts_) sum += bytes(part->worms_) + bytes(part->readable_) + bytes(part->packets_);
  return sum;
}

// Follows who waits for whom until a packet comes up again.
std::string WormholeSwitches::deadlock() const {
  const State& s = *state_;
  for (const auto& part : s.parts_)
    if (!part->events_.empty() || part->mailed_ != Time::never()) return {};
  struct At {
    std::uint32_t node, worm;
    bool operator==(const At&) const = default;
  };
  const auto worm_at = [&](At a) -> const Worm& { return s.parts_[s.part_of(a.node)]->worms_[a.worm]; };
  // Where the packet's next flit stands.
  const auto with_flits = [&](At a) -> At {
    while (worm_at(a).sent == worm_at(a).known) {
      const std::uint32_t before = s.ports_[worm_at(a).input].far;
      a = {s.node_of_[before], s.lane_of_[before * s.lanes_ + worm_at(a).lane].worm};
    }
    return a;
  };
  // Who keeps an input's lane: the packet that it passes, else a front that waits for a channel.
  const auto front_in = [&](std::uint32_t port, std::uint32_t lane) -> At {
    const Node& node = s.nodes_[s.node_of_[port]];
    const std::uint32_t in_lane = (port - node.first_port) * s.lanes_ + lane, each = s.voq_ ? node.ports : 1;
    At found{0, kNone};
    for (std::uint32_t q = 0; q < each; ++q) {
      const At front{s.node_of_[port], s.queues_[node.first_queue + in_lane * each + q].front};
      if (front.worm == kNone) continue;
      if (worm_at(front).moving) return with_flits(front);
      if (found.worm == kNone) found = front;
    }
    return found;
  };
  const auto waits_for = [&](At a) -> At {
    const Worm& worm = worm_at(a);
    const Link& out = s.ports_[worm.output];
    for (std::uint32_t lanes = s.lanes_for(out, worm.want); lanes != 0; lanes &= lanes - 1) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
      const std::uint32_t holder = s.lane_of_[worm.output * s.lanes_ + lane].worm;
      if (worm.moving ? holder != a.worm : holder == kNone) continue;
      return worm.moving ? front_in(out.far, lane) : with_flits({a.node, holder});
    }
    return {0, kNone};
  };
  At at{0, kNone};
  for (std::uint32_t port = 0; port < s.ports_.size() && at.worm == kNone; ++port)
    for (std::uint32_t lane = 0; lane < s.lanes_ && at.worm == kNone; ++lane) at = front_in(port, lane);
  std::vector<At> seen;
  while (at.worm != kNone && std::find(seen.begin(), seen.end(), at) == seen.end()) {
    seen.push_back(at);
    at = waits_for(at);
  }
  if (at.worm == kNone) return {};
  std::string said = "packets wait for each other in a circle: ";
  bool first = true;
  for (auto next = std::find(seen.begin(), seen.end(), at); next != seen.end(); ++next) {
    const Worm& worm = worm_at(*next);
    const NodeId node = next->node;
    const auto port = static_cast<std::uint16_t>(worm.output - s.nodes_[node].first_port);
    said += (std::exchange(first, false) ? "" : ", ") + s.topology_.node_name(node) + " " +
            (port < s.topology_.port_count(node) ? s.topology_.port_name(node, port) : "network interface") + " for " + s.topology_.node_name(worm.dst);
  }
  return said;
}

}  // namespace exanet
