// SPDX-License-Identifier: Apache-2.0
// Lays out the fabric's arrays for a topology, and answers what does not concern time.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "core/fabric/state.hpp"

namespace exanet {

using namespace fabric_state;

namespace {

constexpr std::size_t kSecondLevelCache = 1 << 20;  // bytes; of most processors
constexpr std::int64_t kClasses = 2;                // of queues at each virtual channel, also where no priority packets come

// Bulk goes where there is room for two of the largest packets, so that one priority packet always fits.
void check_depths(const RouterConfig& r, std::int64_t most_payload_words) {
  const auto require = [](std::int64_t value, std::int64_t least, const char* name, const char* what) {
    if (value < least)
      throw std::invalid_argument(std::string(name) + " is " + std::to_string(value) + ": give at least " + std::to_string(least) + ", " + what);
  };
  // All that ask in an instant are known before it begins.
  if (r.header_words == 1) require(r.latency_cycles, 3, "latency_cycles", "one of them before the grant and two after it");
  require(r.intra_fifo_words, 2 * most_payload_words, "intra_fifo_words", "two of the largest payloads, one of them a priority packet's");
  require(r.inter_fifo_words, 2 * most_payload_words * r.virtual_channels, "inter_fifo_words",
          "two of the largest payloads in each virtual channel, one of them a priority packet's");
  require(r.header_fifo_words, 2 * kClasses * r.header_words * r.virtual_channels, "header_fifo_words",
          "two headers in each virtual channel's queue of each class");
}

Time shortest(const std::vector<LinkPace>& links) {
  Time least = links.empty() ? Time() : Time::never();
  for (const LinkPace& link : links) least = min(least, link.word_time * link.packet_words[0]);
  return least;
}

}  // namespace

Fabric::State::State(const std::vector<FabricPart>& parts, const Topology& topology, const FabricConfig& config,
                     const std::vector<std::uint8_t>& part_of)
    : topology_(topology),
      part_of_(part_of),
      router_(config.router),
      intra_ports_(static_cast<std::uint32_t>(config.router.intra_ports)),
      channels_(static_cast<std::uint32_t>(config.router.virtual_channels)),
      fixed_priority_(config.router.fixed_priority),
      links_first_(config.router.links_first && !config.router.fixed_priority),
      endpoints_(topology.endpoint_count()),
      words_each_(static_cast<std::int32_t>(config.router.inter_fifo_words / std::max<std::int64_t>(config.router.virtual_channels, 1))) {
  if (parts.size() > 1 && topology.routing() != nullptr && topology.routing()->looks_far())
    throw std::invalid_argument("a routing that looks at the queues of far routers runs on one thread: use one thread, or ugal-l");
  check_fifos(config.router);
  for (const LinkConfig& link : config.links) links_.emplace_back(link, config.router, router_);
  build_ports(config);
  for (const FabricPart& part : parts)
    parts_.push_back(std::make_unique<Part>(*this, part, static_cast<std::uint8_t>(parts_.size()), parts.size()));
}

Fabric::Part::Part(State& net, const FabricPart& part, std::uint8_t number, std::size_t parts)
    : router_(net.router_),
      links_(net.links_),
      topology_(net.topology_),
      routing_(net.topology_.routing()),
      looks_(routing_ != nullptr && routing_->looks()),
      looks_again_(looks_ && routing_->looks_again()),
      outputs_(net.outputs_.data()),
      stats_(net.stats_.data()),
      rooms_(net.rooms_.data()),
      inputs_(net.inputs_.data()),
      entrances_(net.entrances_.data()),
      looks_of_inputs_(net.looks_.data()),
      lookers_(net.lookers_.data()),
      intra_ports_(net.intra_ports_),
      channels_(net.channels_),
      fixed_priority_(net.fixed_priority_),
      links_first_(net.links_first_),
      twin_(net.twin_),
      mask_words_(net.mask_words_),
      wide_words_(net.wide_words_),
      reserve_{static_cast<std::int32_t>(net.router_.most_payload_words), 0},
      shortest_(looks_ ? Time() : shortest(net.links_)),
      net_(net),
      events_(*part.events),
      sink_(part.sink),
      number_(number),
      mail_{std::vector<Mail>(parts), std::vector<Mail>(parts)} {
  // Fetching ahead pays where routers do not stay in the second-level cache anyway.
  const bool large = net.outputs_.size() * sizeof(Output) + net.inputs_.size() * sizeof(Input) > kSecondLevelCache;
  for (std::uint32_t o = 0; o < net.outputs_.size(); ++o)
    if (outputs_[o].border && net.part_of(inputs_[outputs_[o].first_input].node) == number)
      borders_.push_back(o);
  arbitrate_event_ = events_.add_handler(
      [](void* self, Time now, std::uint32_t a, std::uint64_t) { static_cast<Part*>(self)->arbitrate(now, a); }, this,
      large ? [](void* self, std::uint32_t a, unsigned step) { static_cast<const Part*>(self)->peek(a, step); } : EventQueue::Peek{}, outputs_,
      sizeof(Output));
  deliver_event_ = events_.add_handler(
      [](void* self, Time now, std::uint32_t a, std::uint64_t) { static_cast<Part*>(self)->deliver(now, a); }, this,
      large ? [](void* self, std::uint32_t a, unsigned) { __builtin_prefetch(&static_cast<const Part*>(self)->packets_[a]); }
            : EventQueue::Peek{});
  room_event_ =
      events_.add_handler([](void* self, Time now, std::uint32_t a, std::uint64_t) { static_cast<Part*>(self)->offer_room(now, a); }, this);
  steer_event_ =
      events_.add_handler([](void* self, Time now, std::uint32_t a, std::uint64_t) { static_cast<Part*>(self)->decide_all(now, a); }, this);
}

void Fabric::State::build_ports(const FabricConfig& config) {
  if (channels_ < topology_.virtual_channels())
    throw std::invalid_argument("the topology's routing needs " + std::to_string(topology_.virtual_channels()) +
                                " virtual channels: set virtual_channels to that or more");
  check_depths(config.router, router_.most_payload_words);
  const NodeId nodes = topology_.node_count();
  std::uint32_t outputs = 0, inputs = 0, most = 0;
  for (NodeId node = 0; node <= nodes; ++node) {
    first_output_.push_back(outputs);
    first_input_.push_back(inputs);
    if (node == nodes) break;
    const std::uint32_t ports = topology_.port_count(node);
    const std::uint32_t intra = node < endpoints_ ? intra_ports_ : 0;
    if (ports * channels_ + intra > kMostInputs)
      throw std::invalid_argument("a router of " + topology_.node_name(node) + " would have more than " + std::to_string(kMostInputs) +
                                  " inputs: use fewer ports or virtual channels");
    most = std::max(most, ports * channels_ + intra);
    outputs += ports + intra;
    inputs += ports * channels_ + intra;
  }
  outputs_.resize(outputs);
  stats_.resize(outputs);
  rooms_.resize(std::size_t{outputs} * channels_);
  if (config.priority) {
    twin_ = inputs;
    mask_words_ = 1;
  }
  inputs_.resize(inputs + twin_);
  if (topology_.routing() != nullptr && topology_.routing()->looks()) {
    looks_.resize(inputs_.size());
    lookers_.resize(nodes);
  }
  if (most > mask_words_ * 64) {
    mask_words_ = (most + 63) / 64;
    wide_words_ = mask_words_ * (config.priority ? 2 : 1);
  }
  wide_.resize(std::size_t{outputs} * wide_words_);
  entrances_.resize(std::size_t{endpoints_} * intra_ports_);
  for (NodeId node = 0; node < nodes; ++node) build_node(node, config);
  for (std::uint32_t i = 0; i < twin_; ++i) {
    inputs_[twin_ + i] = inputs_[i];
    inputs_[twin_ + i].priority = kPriority;
    inputs_[twin_ + i].place = static_cast<std::uint16_t>(inputs_[i].place + mask_words_ * 64);
  }
}

void Fabric::State::build_node(NodeId node, const FabricConfig& config) {
  const RouterConfig& r = config.router;
  const auto headers = static_cast<std::int32_t>(r.header_fifo_words / r.header_words / kClasses);
  const std::uint32_t ports = topology_.port_count(node);
  for (std::uint32_t o = first_output_[node]; o < first_output_[node + 1]; ++o) {
    const std::uint32_t port = o - first_output_[node];
    const bool intra = port >= ports;
    Output& output = outputs_[o];
    output.first_input = first_input_[node];
    output.granted = (first_input_[node + 1] - first_input_[node] - 1) & (kMostInputs - 1);
    for (std::uint32_t vc = 0; vc < (intra ? 1 : channels_); ++vc) {
      const std::uint32_t i = first_input_[node] + (intra ? ports * channels_ + port - ports : port * channels_ + vc);
      Input& input = inputs_[i];
      input.node = node;
      input.place = static_cast<std::uint16_t>(i - first_input_[node]);
      input.first_output = first_output_[node];
      input.first_intra_output = first_output_[node] + ports;
      if (!intra) input.tells = o;
      if (intra) input.room = o * channels_;
      Room& room = rooms_[std::size_t{o} * channels_ + vc];
      const auto share = static_cast<std::int32_t>(intra ? 1 : channels_);
      room.free_words = static_cast<std::int32_t>(intra ? r.intra_fifo_words : r.inter_fifo_words) / share;
      room.free_packets = headers / share;
    }
    const PortRef far = intra ? PortRef{} : topology_.neighbour(node, static_cast<std::uint16_t>(port));
    if (far.node == kNoNode) continue;
    output.link_class = topology_.link_class(node, static_cast<std::uint16_t>(port));
    if (output.link_class >= links_.size())
      throw std::invalid_argument("the topology has links of class " + std::to_string(output.link_class) + ", but only " +
                                  std::to_string(links_.size()) + " links are described: describe one for each class");
    output.far_input = first_input_[far.node] + far.port * channels_;
    output.border = part_of(far.node) != part_of(node);
    // The link in the other direction ends here: its sender knows the room of these inputs.
    for (std::uint32_t vc = 0; vc < channels_; ++vc) {
      Input& input = inputs_[first_input_[node] + port * channels_ + vc];
      input.room = (first_output_[far.node] + far.port) * channels_ + vc;
      input.link_class = topology_.link_class(far.node, far.port);
    }
    // A packet that is granted is felt at the other side later than this, and so is the room of which a part cannot tell at the end of a window,
    // because a packet granted after it might.
    const LinkPace& link = links_[output.link_class];
    if (output.border) lookahead_ = min(lookahead_, link.to_wire + min(link.back, link.word_time * link.head_words + link.across));
  }
}

Fabric::Fabric(EventQueue& events, const Topology& topology, const FabricConfig& config, FabricSink sink)
    : Fabric({{&events, sink}}, topology, config, {}) {}

Fabric::Fabric(const std::vector<FabricPart>& parts, const Topology& topology, const FabricConfig& config,
               const std::vector<std::uint8_t>& part_of)
    : NetworkModel(topology, config), state_(std::make_unique<State>(parts, topology, config, part_of)) {}

Fabric::~Fabric() = default;

bool Fabric::inject(const Packet& packet) {
  const std::uint8_t part = packet.src < state_->endpoints_ ? state_->part_of(packet.src) : 0;
  return state_->parts_[part]->inject(packet);
}

void Fabric::collect(std::size_t part) { state_->parts_[part]->collect(); }
void Fabric::finish(std::size_t part, Time now) { state_->parts_[part]->finish(now); }
Time Fabric::mailed(std::size_t part) const { return state_->parts_[part]->mailed_; }
Time Fabric::lookahead() const { return state_->lookahead_; }

const LinkStats& Fabric::link_stats(NodeId node, std::uint16_t port) const {
  return state_->stats_[state_->first_output_[node] + port];
}

std::uint64_t Fabric::packet_hops() const {
  std::uint64_t sum = 0;
  for (const auto& part : state_->parts_) sum += part->hops_;
  return sum;
}

std::uint64_t Fabric::in_flight() const {
  std::uint64_t sum = 0;
  for (const auto& part : state_->parts_) sum += part->in_flight_;
  return sum;
}

std::uint64_t Fabric::memory_bytes() const {
  const auto bytes = [](const auto& v) { return std::uint64_t{v.capacity()} * sizeof(v[0]); };
  const State& s = *state_;
  std::uint64_t sum = bytes(s.part_of_) + bytes(s.first_output_) + bytes(s.first_input_) + bytes(s.outputs_) + bytes(s.stats_) +
                      bytes(s.rooms_) + bytes(s.inputs_) + bytes(s.entrances_) + bytes(s.wide_) + bytes(s.looks_) + bytes(s.lookers_);
  for (const auto& part : s.parts_) {
    sum += bytes(part->packets_) + bytes(part->freed_);
    for (const auto& mail : part->mail_)
      for (const Mail& to : mail) sum += bytes(to.arrivals) + bytes(to.credits);
  }
  return sum;
}

}  // namespace exanet
