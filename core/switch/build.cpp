// SPDX-License-Identifier: Apache-2.0
// Lays out the switches' arrays for a topology, and answers what does not concern time.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "core/switch/state.hpp"

namespace exanet {

using namespace switch_state;

namespace {

constexpr std::uint64_t kTag = 1 << 20;  // of a word at weight 1
constexpr std::int64_t kMostWords = 1 << 24;

void require(bool condition, const std::string& what) {
  if (!condition) throw std::invalid_argument(what);
}

void in_range(std::int64_t value, std::int64_t least, std::int64_t most, const char* name) {
  require(value >= least && value <= most,
          std::string(name) + " is " + std::to_string(value) + ": give a whole number from " + std::to_string(least) + " to " + std::to_string(most));
}

std::int64_t whole_packet(const RouterConfig& r) {
  const RouterPace pace(r);
  return pace.packet_words(pace.most_payload_words);
}

// Router words in what the link carries in `time`, rounded up.
std::int64_t words_in(Time time, const LinkConfig& link, const RouterConfig& router) {
  const std::int64_t per_word = link.word_time.ps() * router.word_bits;
  return (time.ps() * link.word_bits + per_word - 1) / per_word;
}

// From the threshold to the pause felt at the other end: a frame goes between packets, so it may wait for one.
Time pause_delay(const RouterConfig& router, const SwitchConfig& config, const LinkConfig& link) {
  const RouterPace pace(router);
  const LinkPace way(link, router, pace);
  std::uint32_t phase = 0;
  const auto words = static_cast<std::uint32_t>(config.pause_frame_words) + way.packet_words.back();
  return link.word_time * way.slots(words, phase) + link.latency;
}

}  // namespace

std::int64_t pause_headroom_words(const RouterConfig& router, const SwitchConfig& config, const LinkConfig& link) {
  const RouterPace pace(router);
  const LinkPace way(link, router, pace);
  const std::int64_t packet = whole_packet(router);
  const Time there = link.word_time * way.head_words + link.latency + router.cycle * router.latency_cycles;
  return words_in(pause_delay(router, config, link) + there, link, router) + std::max(config.output_fifo_words, packet) + packet;
}

namespace {

// What a wormhole switch has not, and what it needs.
void check_wormhole(const FabricConfig& config, const Topology& topology) {
  const SwitchConfig& c = *config.input_queued;
  const RouterConfig& r = config.router;
  const std::int64_t lanes = c.classes * r.virtual_channels;
  require(c.flow_control == SwitchConfig::FlowControl::kCredits, "flow_control is pause: a wormhole switch has a credit for each word; take credits");
  require(c.arbitration != SwitchConfig::Arbitration::kIslip,
          "arbitration is islip: a wormhole switch serves channels and inputs in turn; take round-robin or fixed-priority");
  require(c.slot_cycles == 0, "slot is " + std::to_string(c.slot_cycles) + " cycles: a wormhole switch passes a word at any time; take it out");
  require(!c.shared_buffer, "buffer is shared: a lane of a wormhole switch has its own; take per-lane");
  require(r.inter_fifo_words / lanes >= r.header_words, "inter_fifo has " + std::to_string(r.inter_fifo_words) + " words: it must hold a header of " +
                                                            std::to_string(r.header_words) + " words in each of " + std::to_string(lanes) + " lanes");
  in_range(r.inter_fifo_words, 1, kMostWords, "inter_fifo");
  for (const LinkConfig& link : config.links)
    require(link.word_bits > 0 && r.word_bits % link.word_bits == 0,
            "switching: a flit is a router word, of " + std::to_string(r.word_bits) + " bits, which a link with words of " +
                std::to_string(link.word_bits) + " bits does not carry in whole words: use one that divides it, or cut-through");
  require(topology.routing() == nullptr || !topology.routing()->looks_again(),
          "switching: packets that are blocked half-way cannot turn to an escape channel, as this routing has it: use another, or cut-through");
}

}  // namespace

void check_switches(const FabricConfig& config, const Topology& topology) {
  require(config.input_queued.has_value(), "the machine's routers are no input-queued switches");
  const SwitchConfig& c = *config.input_queued;
  const RouterConfig& r = config.router;
  const std::int64_t packet = whole_packet(r);
  in_range(c.iterations, 1, 64, "iterations");
  in_range(c.speed_up_percent, 100, 1000, "speed_up");
  in_range(c.slot_cycles, 0, 1'000'000, "slot");
  in_range(c.classes, 1, kMostLanes, "classes");
  in_range(c.pause_frame_words, 0, 1024, "pause_frame");
  in_range(r.latency_cycles, 1, 1'000'000, "latency");
  const std::int64_t lanes = c.classes * r.virtual_channels;
  const auto count = [](std::int64_t n) { return std::to_string(n); };
  require(lanes <= kMostLanes, "classes are " + count(c.classes) + ", with " + count(r.virtual_channels) + " virtual channels each, more than " +
                                   count(kMostLanes) + " lanes: use fewer");
  require(c.weights.empty() || static_cast<std::int64_t>(c.weights.size()) == c.classes,
          "weights are " + count(static_cast<std::int64_t>(c.weights.size())) + " for " + count(c.classes) + " classes: give one for each, or none");
  for (const std::int64_t weight : c.weights) in_range(weight, 1, 1000, "weights: one");
  const auto holds = [&](const char* name, std::int64_t words, std::int64_t each, const std::string& what) {
    require(words / each >= packet, std::string(name) + " has " + count(words) + " words: it must hold a packet of " + count(packet) + " words" + what);
  };
  const bool wormhole = c.switching == SwitchConfig::Switching::kWormhole;
  if (!wormhole) holds("inter_fifo", r.inter_fifo_words, lanes, " in each of " + count(lanes) + " lanes");
  holds("intra_fifo", r.intra_fifo_words, c.classes, " in each of " + count(c.classes) + " classes");
  if (!wormhole) holds("output_fifo", c.output_fifo_words > 0 ? c.output_fifo_words : packet, 1, "");
  in_range(c.output_fifo_words, 0, kMostWords, "output_fifo");
  require(!config.links.empty(), "the machine describes no links");
  for (NodeId node = 0; node < topology.node_count(); ++node) {
    const std::int64_t ports = topology.port_count(node) + (node < topology.endpoint_count() ? r.intra_ports : 0);
    require(ports * r.virtual_channels <= kMostSlots, "a switch at " + topology.node_name(node) + " would have more than " + count(kMostSlots) +
                                                          " inputs: use fewer ports or virtual channels");
  }
  if (wormhole) return check_wormhole(config, topology);
  if (c.flow_control != SwitchConfig::FlowControl::kPause) return;
  require(!c.shared_buffer, "buffer: lanes that are paused have their own; share it with credits only");
  require(c.pause_words >= packet && c.resume_words >= 0 && c.resume_words < c.pause_words,
          "pause is at " + count(c.pause_words) + " words and resume at " + count(c.resume_words) + ": pause at a packet (" + count(packet) +
              " words) or more, and resume below that");
  for (const LinkConfig& link : config.links) {
    const std::int64_t headroom = pause_headroom_words(r, c, link);
    require(c.pause_words + headroom <= r.inter_fifo_words / lanes,
            "pause is at " + count(c.pause_words) + " words of a lane of " + count(r.inter_fifo_words / lanes) + ", but " + count(headroom) +
                " more may come in until it is felt: pause earlier, or make inter_fifo at least " + count((c.pause_words + headroom) * lanes) + " words");
  }
}

Switches::State::State(const std::vector<FabricPart>& parts, const Topology& topology, const FabricConfig& config,
                       const std::vector<std::uint8_t>& part_of)
    : topology_(topology),
      routing_(topology.routing()),
      part_of_(part_of),
      config_(*config.input_queued),
      pace_(config),
      intra_ports_(static_cast<std::uint32_t>(config.router.intra_ports)),
      channels_(static_cast<std::uint32_t>(config.router.virtual_channels)),
      classes_(static_cast<std::uint32_t>(config_.classes)),
      lanes_(classes_ * channels_),
      most_words_(static_cast<std::int32_t>(whole_packet(config.router))),
      voq_(config_.queues == SwitchConfig::Queues::kVirtualOutput),
      pauses_(config_.flow_control == SwitchConfig::FlowControl::kPause),
      looks_(routing_ != nullptr && routing_->looks()),
      looks_again_(routing_ != nullptr && routing_->looks_again()) {
  if (parts.size() > 1 && pauses_) throw std::invalid_argument("flow_control is pause: such switches run on one thread, for pauses within an instant have an order; take --threads 1");
  if (parts.size() > 1 && looks_)
    throw std::invalid_argument("routing that looks at queues runs on one thread with these switches: its choices within an instant have an order");
  if (channels_ < topology.virtual_channels())
    throw std::invalid_argument("the topology's routing needs " + std::to_string(topology.virtual_channels()) +
                                " virtual channels: set virtual_channels to that or more");
  lane_words_ = static_cast<std::int32_t>(config.router.inter_fifo_words / lanes_);
  output_fifo_words_ = static_cast<std::uint32_t>(config_.output_fifo_words > 0 ? config_.output_fifo_words : most_words_);
  for (const LinkConfig& link : config.links) hear_after_.push_back(pause_delay(config.router, config_, link));
  for (std::uint32_t c = 0; c < classes_; ++c)
    tag_.push_back(config_.weights.empty() ? 0 : static_cast<std::int64_t>(kTag) / config_.weights[c]);
  for (std::uint32_t slot = 0; slot < kMostSlots; ++slot) {
    slot_port_[slot] = static_cast<std::uint8_t>(slot / channels_);
    slot_channel_[slot] = static_cast<std::uint8_t>(slot % channels_);
  }
  for (std::uint32_t lane = 0; lane < kMostLanes; ++lane) {
    lane_class_[lane] = static_cast<std::uint8_t>(lane / channels_);
    lane_channel_[lane] = static_cast<std::uint8_t>(lane % channels_);
  }
  build_ports(config);
  for (const FabricPart& part : parts)
    parts_.push_back(std::make_unique<Part>(*this, part, static_cast<std::uint8_t>(parts_.size()), parts.size()));
}

Switches::Part::Part(State& net, const FabricPart& part, std::uint8_t number, std::size_t parts)
    : net_(net), events_(*part.events), sink_(part.sink), number_(number), mail_{std::vector<Mail>(parts), std::vector<Mail>(parts)} {
  register_events();
}

void Switches::Part::register_events() {
  allocate_event_ = events_.add_handler([](void* s, Time now, std::uint32_t a, std::uint64_t) { static_cast<Part*>(s)->allocate(now, a); }, this);
  deliver_event_ = events_.add_handler([](void* s, Time now, std::uint32_t a, std::uint64_t) { static_cast<Part*>(s)->deliver(now, a); }, this);
  room_event_ = events_.add_handler([](void* s, Time now, std::uint32_t a, std::uint64_t) { static_cast<Part*>(s)->offer_room(now, a); }, this);
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
        static_cast<Part*>(s)->drain(now, port, static_cast<std::uint8_t>(what >> 32), static_cast<std::int32_t>(what & 0xffffffff));
      },
      this);
  hear_event_ = events_.add_handler(
      [](void* s, Time now, std::uint32_t port, std::uint64_t what) {
        static_cast<Part*>(s)->hear(now, port, static_cast<std::uint8_t>(what >> 1), (what & 1) != 0);
      },
      this);
  look_event_ = events_.add_handler(
      [](void* s, Time now, std::uint32_t port, std::uint64_t entry) {
        static_cast<Part*>(s)->reconsider(now, port, static_cast<std::uint32_t>(entry));
      },
      this);
}

void Switches::State::build_ports(const FabricConfig& config) {
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
  ports_.resize(ports);
  in_free_.resize(ports);
  out_free_.resize(ports);
  node_of_.resize(ports);
  rooms_.resize(ports);
  stats_.resize(ports);
  queues_.resize(queues);
  waiting_.resize(std::size_t{ports} * classes_);
  turns_.resize(std::size_t{ports} * classes_);
  queued_words_.resize(std::size_t{ports} * channels_);
  virtual_time_.resize(ports);
  if (pauses_) fillings_.resize(ports);
  entrances_.resize(std::size_t{topology_.endpoint_count()} * intra_ports_ * classes_);
  for (NodeId node = 0; node < topology_.node_count(); ++node) build_node(node, config);
}

void Switches::State::build_node(NodeId node, const FabricConfig& config) {
  const std::uint32_t inter = topology_.port_count(node);
  for (std::uint32_t p = 0; p < nodes_[node].ports; ++p) {
    const std::uint32_t index = nodes_[node].first_port + p;
    Port& port = ports_[index];
    Room& room = rooms_[index];
    node_of_[index] = node;
    if (p >= inter) {
      room.each = static_cast<std::int32_t>(config.router.intra_fifo_words / classes_);
      continue;
    }
    room.each = config_.shared_buffer ? most_words_ : lane_words_;
    if (config_.shared_buffer) room.pool = static_cast<std::int32_t>(config.router.inter_fifo_words) - room.each * static_cast<std::int32_t>(lanes_);
    const PortRef far = topology_.neighbour(node, static_cast<std::uint16_t>(p));
    if (far.node == kNoNode) continue;
    port.far = nodes_[far.node].first_port + far.port;
    port.link_class = topology_.link_class(node, static_cast<std::uint16_t>(p));
    if (port.link_class >= pace_.links.size())
      throw std::invalid_argument("the topology has links of class " + std::to_string(port.link_class) + ", but only " +
                                  std::to_string(pace_.links.size()) + " links are described: describe one for each class");
    port.far_part = part_of(far.node);
    if (port.far_part == part_of(node)) continue;
    const LinkPace& link = pace_.links[port.link_class];
    const Time arrival = link.word_time * link.head_words + pace_.pipeline;
    const Time credit = pace_.on_crossbar(1) + link.word_time * link.control_words;
    lookahead_ = min(lookahead_, pace_.latency[port.link_class] + min(arrival, credit));
  }
}

Switches::Switches(const std::vector<FabricPart>& parts, const Topology& topology, const FabricConfig& config,
                   const std::vector<std::uint8_t>& part_of)
    : NetworkModel(topology, config), state_(std::make_unique<State>(parts, topology, config, part_of)) {}

Switches::Switches(EventQueue& events, const Topology& topology, const FabricConfig& config, FabricSink sink)
    : Switches({{&events, sink}}, topology, config, {}) {}

Switches::~Switches() = default;

bool Switches::inject(const Packet& packet) { return state_->parts_[state_->part_of(packet.src)]->inject(packet); }
void Switches::collect(std::size_t part) { state_->parts_[part]->collect(); }
Time Switches::mailed(std::size_t part) const { return state_->parts_[part]->mailed_; }
Time Switches::lookahead() const { return state_->lookahead_; }

std::uint64_t Switches::packet_hops() const {
  std::uint64_t sum = 0;
  for (const auto& part : state_->parts_) sum += part->hops_;
  return sum;
}

std::uint64_t Switches::in_flight() const {
  std::uint64_t sum = 0;
  for (const auto& part : state_->parts_) sum += part->in_flight_;
  return sum;
}

std::uint64_t Switches::pauses() const {
  std::uint64_t sum = 0;
  for (const auto& part : state_->parts_) sum += part->pauses_sent_;
  return sum;
}

const LinkStats& Switches::link_stats(NodeId node, std::uint16_t port) const { return state_->stats_[state_->nodes_[node].first_port + port]; }

std::int32_t Switches::fullest(NodeId node, std::uint16_t port) const {
  return state_->fillings_.empty() ? 0 : state_->fillings_[state_->nodes_[node].first_port + port].most;
}

std::uint32_t Switches::queued(NodeId node) const {
  const State& s = *state_;
  const Part& part = *s.parts_[s.part_of(node)];
  const std::uint32_t end = node + 1 < s.nodes_.size() ? s.nodes_[node + 1].first_queue : static_cast<std::uint32_t>(s.queues_.size());
  std::uint32_t packets = 0;
  for (std::uint32_t q = s.nodes_[node].first_queue; q < end; ++q)
    for (std::uint32_t e = s.queues_[q].front; e != kNone && part.entries_[e].request <= part.events_.now(); e = part.entries_[e].next) ++packets;
  return packets;
}

std::uint64_t Switches::memory_bytes() const {
  const auto bytes = [](const auto& v) { return std::uint64_t{v.capacity()} * sizeof(v[0]); };
  const State& s = *state_;
  std::uint64_t sum = bytes(s.nodes_) + bytes(s.node_of_) + bytes(s.ports_) + bytes(s.in_free_) + bytes(s.out_free_) + bytes(s.rooms_) +
                      bytes(s.stats_) + bytes(s.queues_) + bytes(s.waiting_) + bytes(s.turns_) + bytes(s.queued_words_) + bytes(s.virtual_time_) +
                      bytes(s.fillings_) + bytes(s.entrances_);
  for (const auto& part : s.parts_) sum += bytes(part->entries_) + bytes(part->packets_);
  return sum;
}

}  // namespace exanet
