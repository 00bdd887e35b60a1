// SPDX-License-Identifier: Apache-2.0
// Lays out the fabric's arrays for a topology, and answers what does not concern time.
#include <algorithm>
#include <string>

#include "core/config/error.hpp"
#include "core/network/common/layout.hpp"
#include "core/network/common/partitioned_network_impl.hpp"
#include "core/network/exanet/state.hpp"
#include "core/network/exanet/zero_load.hpp"
#include "core/network/registry.hpp"
#include "core/network/vc_allocation.hpp"

namespace exanet {

using namespace exanet_state;

namespace {

constexpr std::size_t kSecondLevelCache = 1 << 20;  // bytes; of most processors
constexpr Time kLongAgo = Time::ps(-1'000'000'000);
constexpr std::int64_t kClasses = 2;  // of queues at each virtual channel, also where no priority packets come

// Bulk goes where there is space for two of the largest packets, so that one priority packet always fits.
void check_depths(const RouterConfig& r, std::int64_t most_payload_words) {
  const auto at_least = [](std::int64_t value, std::int64_t least, const char* name, const char* what) {
    require(
        value >= least, std::string("router.") + name,
        std::string(name) + " is " + std::to_string(value) + ": give at least " + std::to_string(least) + ", " + what);
  };
  // All that ask in an instant are known before it begins.
  if (r.header_words == 1) {
    at_least(r.latency_cycles, 3, "latency_cycles", "one of them before the grant and two after it");
    at_least(endpoint_cycles(r), 3, "endpoint_latency_cycles", "one of them before the grant and two after it");
  } else {
    at_least(endpoint_cycles(r), 2, "endpoint_latency_cycles", "both after the grant");
  }
  at_least(r.intra_fifo_words, 2 * most_payload_words, "intra_fifo_words",
           "two of the largest payloads, one of them a priority packet's");
  at_least(r.inter_fifo_words, 2 * most_payload_words * r.virtual_channels, "inter_fifo_words",
           "two of the largest payloads in each virtual channel, one of them a priority packet's");
  at_least(r.header_fifo_words, 2 * kClasses * r.header_words * r.virtual_channels, "header_fifo_words",
           "two headers in each virtual channel's queue of each class");
}

// The largest packet fits into each virtual channel.
void check_fifos(const RouterConfig& c) {
  const RouterTiming timing(c);
  require_in_range(c.intra_fifo_words, timing.most_payload_words, 1 << 24, "router.intra_fifo_words",
                   "intra_fifo_words (which must hold the largest payload)");
  require_in_range(c.inter_fifo_words, timing.most_payload_words * c.virtual_channels, 1 << 24,
                   "router.inter_fifo_words",
                   "inter_fifo_words (which must hold the largest payload in each virtual channel)");
  require_in_range(c.header_fifo_words, c.header_words * c.virtual_channels, 1 << 24, "router.header_fifo_words",
                   "header_fifo_words (which must hold a header in each virtual channel)");
}

// What the registers of the gateware's links hold.
void check_pacing(const RouterConfig& c) {
  require_in_range(c.credit_threshold_words, 0, 4095, "router.credit_threshold_words", "credit_threshold_words");
  require_in_range(c.credit_interval_cycles, 0, 65535, "router.credit_interval_cycles", "credit_interval_cycles");
}

Time shortest(const std::vector<LinkTiming>& links) {
  Time least = links.empty() ? Time() : Time::never();
  for (const LinkTiming& link : links) least = min(least, link.word_time * link.packet_words[0]);
  return least;
}

}  // namespace

State::State(const std::vector<Partition>& parts, const Topology& topology, const NetworkConfig& config,
             const std::vector<std::uint8_t>& part_of)
    : topology_(topology),
      part_of_(part_of),
      router_(config.router),
      intra_ports_(intra_ports_of(topology, config.router)),
      rail_ports_(rail_ports_of(topology, config)),
      channels_(static_cast<std::uint32_t>(config.router.virtual_channels)),
      channel_step_(channel_step(topology, config.router)),
      fixed_priority_(config.router.arbitration == RouterConfig::Arbitration::kFixedPriority),
      links_first_(config.router.arbitration == RouterConfig::Arbitration::kLinksFirst),
      stuffs_halves_(!config.links.empty() && config.links[0].word_bits < config.router.word_bits),
      endpoints_(topology.endpoint_count()),
      words_each_(static_cast<std::int32_t>(config.router.inter_fifo_words /
                                            std::max<std::int64_t>(config.router.virtual_channels, 1))),
      paced_(config.router.credit_threshold_words != 0 || config.router.credit_interval_cycles != 0),
      interval_(router_.cycle *
                (1 + (config.router.credit_interval_cycles != 0 ? config.router.credit_interval_cycles : 65535))),
      advertise_words_(static_cast<std::int32_t>(config.router.credit_threshold_words)),
      advertise_always_(words_each_ - 2 * static_cast<std::int32_t>(router_.most_payload_words) + 1) {
  check_pacing(config.router);
  if (config.faults.any() && (!paced_ || parts.size() > 1 || channels_ != 2))
    throw ConfigError("faults",
                      "faults need one thread, two virtual channels and repeated credits: set credit_interval_cycles");
  if (parts.size() > 1 && topology.routing() != nullptr && topology.routing()->needs_global_state())
    throw ConfigError(
        "threads",
        "a routing that looks at the queues of distant routers runs on one thread: use one thread, or ugal-l");
  check_fifos(config.router);
  multicasts_ = topology.multicasts() && topology.routing() == nullptr && !config.links_fail;
  for (NodeId node = 0; node < topology.node_count(); ++node)
    multicasts_ = multicasts_ && topology.port_count(node) + (node < endpoints_ ? intra_ports_ : 0u) <= kMostCopyPorts;
  const RouterTiming endpoint = topology.switched() ? router_.at_endpoint() : router_;
  endpoint_to_request_ = endpoint.to_request;
  for (const RouterTiming& far : {router_, endpoint})
    for (const LinkConfig& link : config.links) links_.emplace_back(link, config.router, far);
  links_fail_ = config.links_fail;
  link_kinds_ = config.link_kinds();
  kinds_and_rates_ = config.links.size();
  down_ = static_cast<std::uint8_t>(links_.size());
  EXANET_CHECK(links_.size() < kIntraTile / 2, "more kinds of links than there are numbers", 0, links_.size(),
               kIntraTile);
  for (std::uint8_t link = 0; link < down_; ++link) links_.push_back(LinkTiming(links_[link]));
  build_ports(config);
  for (const Partition& part : parts)
    parts_.push_back(std::make_unique<Part>(*this, part, static_cast<std::uint8_t>(parts_.size()), parts.size()));
  for (const std::unique_ptr<Part>& part : parts_) {
    part->action_ = make_queue_action(config, topology);
    part->carries_notes_ = config.notes || part->action_ != nullptr;
  }
}

Part::Part(State& net, const Partition& part, std::uint8_t number, std::size_t parts)
    : router_(net.router_),
      links_(net.links_),
      topology_(net.topology_),
      routing_(net.topology_.routing()),
      plain_(routing_ == nullptr && !topology_.routes_by_port()),
      adaptive_(routing_ != nullptr && routing_->adaptive()),
      may_reroute_(adaptive_ && routing_->may_reroute()),
      outputs_(net.outputs_.data()),
      stats_(net.stats_.data()),
      far_outputs_(net.far_outputs_.data()),
      pools_(net.pools_.data()),
      inputs_(net.inputs_.data()),
      injection_ports_(net.injection_ports_.data()),
      numberings_(net.numberings_.data()),
      decisions_(net.decisions_.data()),
      decision_lists_(net.decision_lists_.data()),
      blocked_(net.blocked_.data()),
      blocked_lists_(net.blocked_lists_.data()),
      coming_(net.coming_.data()),
      down_(net.down_),
      intra_ports_(net.intra_ports_),
      rail_ports_(plain_ ? net.rail_ports_ : 0),
      channels_(net.channels_),
      channel_step_(net.channel_step_),
      fixed_priority_(net.fixed_priority_),
      links_first_(net.links_first_),
      priority_offset_(net.priority_offset_),
      mask_words_(net.mask_words_),
      wide_words_(net.wide_words_),
      paced_(net.paced_),
      faulty_(!net.far_ends_.empty()),
      has_slots_(!net.slots_.empty()),
      reserve_{static_cast<std::int32_t>(net.router_.most_payload_words), 0},
      shortest_(adaptive_ || channel_step_ < channels_ ? Time() : shortest(net.links_)),
      net_(net),
      events_(*part.events),
      sink_(part.sink),
      number_(number),
      mail_(parts) {
  // Fetching ahead pays where routers do not stay in the second-level cache anyway.
  const bool large = net.outputs_.size() * sizeof(Output) + net.inputs_.size() * sizeof(Input) > kSecondLevelCache;
  for (std::uint32_t o = 0; o < net.outputs_.size(); ++o)
    if (outputs_[o].border && net.part_of(inputs_[outputs_[o].first_input].node) == number) borders_.push_back(o);
  const std::uint32_t of_rail = intra_ports_ / topology_.rails();
  for (NodeId node = 0; has_slots_ && node < net.endpoints_; ++node)
    for (std::uint32_t port = 0; port < intra_ports_ && net.part_of(node) == number; ++port)
      net.slots_[net.first_output_[node + 1] - intra_ports_ + port].by_interface =
          (sink_.gives_back >> port % of_rail & 1) != 0;
  arbitrate_event_ = events_.add_handler(
      [](void* self, Time now, std::uint32_t a, std::uint64_t) { static_cast<Part*>(self)->arbitrate(now, a); }, this,
      large ? [](void* self, std::uint32_t a, unsigned step) { static_cast<const Part*>(self)->peek(a, step); }
            : EventQueue::Peek{},
      outputs_, sizeof(Output));
  deliver_event_ = events_.add_handler(
      [](void* self, Time now, std::uint32_t a, std::uint64_t) { static_cast<Part*>(self)->deliver(now, a); }, this,
      large ? [](void* self, std::uint32_t a,
                 unsigned) { __builtin_prefetch(&static_cast<const Part*>(self)->packets_[a]); }
            : EventQueue::Peek{});
  offer_event_ = events_.add_handler(
      [](void* self, Time now, std::uint32_t a, std::uint64_t) { static_cast<Part*>(self)->offer_credit(now, a); },
      this);
  discard_event_ = events_.add_handler(
      [](void* self, Time now, std::uint32_t a, std::uint64_t) { static_cast<Part*>(self)->discard(now, a); }, this);
  decide_event_ = events_.add_handler(
      [](void* self, Time now, std::uint32_t a, std::uint64_t) { static_cast<Part*>(self)->decide_all(now, a); }, this);
}

void State::build_ports(const NetworkConfig& config) {
  require_channels(topology_, channels_);
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
      throw ConfigError("router.virtual_channels", "a router of " + topology_.node_name(node) +
                                                       " would have more than " + std::to_string(kMostInputs) +
                                                       " inputs: use fewer ports or virtual channels");
    most = std::max(most, ports * channels_ + intra);
    outputs += ports + intra;
    inputs += ports * channels_ + intra;
  }
  outputs_.resize(outputs);
  stats_.resize(outputs);
  far_outputs_.assign(outputs, kNone);
  pools_.resize(std::size_t{outputs} * channels_);
  if (config.priority) {
    priority_offset_ = inputs;
    mask_words_ = 1;
  }
  inputs_.resize(inputs + priority_offset_);
  if (topology_.routing() != nullptr && topology_.routing()->adaptive()) {
    decisions_.resize(inputs_.size());
    decision_lists_.resize(nodes);
    behind_.resize(inputs_.size());
    if (topology_.routing()->may_reroute()) {
      blocked_.resize(inputs_.size());
      blocked_lists_.resize(nodes, kNone);
      coming_.resize(outputs);
    }
  }
  if (most > mask_words_ * 64) {
    mask_words_ = (most + 63) / 64;
    wide_words_ = mask_words_ * (config.priority ? 2 : 1);
  }
  wide_.resize(std::size_t{outputs} * wide_words_);
  discarded_.resize(nodes);
  faults_ = config.faults;
  if (faults_.any()) far_ends_.resize(outputs);
  const auto slots =
      require_in_range(config.router.interface_slots, 0, 1 << 16, "router.interface_slots", "interface_slots");
  if (slots != 0) slots_.assign(outputs, {std::vector<Time>(slots, kLongAgo), 0, Time(), Time(), false});
  injection_ports_.resize(std::size_t{endpoints_} * intra_ports_);
  if (topology_.routing() != nullptr) numberings_.resize(injection_ports_.size());
  for (NodeId node = 0; node < nodes; ++node) build_node(node, config);
  for (std::uint32_t i = 0; i < priority_offset_; ++i) {
    inputs_[priority_offset_ + i] = inputs_[i];
    inputs_[priority_offset_ + i].priority = kPriority;
    inputs_[priority_offset_ + i].place = static_cast<std::uint16_t>(inputs_[i].place + mask_words_ * 64);
  }
  for (std::size_t i = 0; i < behind_.size(); ++i) {
    behind_[i].words = behind_words_.size();
    behind_words_.resize(behind_words_.size() + topology_.port_count(inputs_[i].node));
  }
}

void State::build_node(NodeId node, const NetworkConfig& config) {
  const RouterConfig& r = config.router;
  const auto headers = static_cast<std::int32_t>(r.header_fifo_words / r.header_words / kClasses);
  const auto intra_headers = static_cast<std::int32_t>(
      (r.intra_header_fifo_words != 0 ? r.intra_header_fifo_words : r.header_fifo_words) / r.header_words / kClasses);
  const std::uint32_t ports = topology_.port_count(node);
  advertise_packets_ = headers / static_cast<std::int32_t>(channels_) - 1;
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
      if (!intra) input.credit_output = o;
      if (intra) input.pool = o * channels_;
      CreditPool& pool = pools_[std::size_t{o} * channels_ + vc];
      const auto share = static_cast<std::int32_t>(intra ? 1 : channels_);
      pool.free_words = static_cast<std::int32_t>(intra ? r.intra_fifo_words : r.inter_fifo_words) / share;
      pool.free_packets = (intra ? intra_headers : headers) / share;
      if (intra && r.shallow_port == static_cast<std::int64_t>((port - ports) % (intra_ports_ / topology_.rails())))
        pool.free_packets = std::min(pool.free_packets, static_cast<std::int32_t>(r.shallow_packets));
    }
    const PortRef far = intra ? PortRef{} : topology_.neighbour(node, static_cast<std::uint16_t>(port));
    if (far.node == kNoNode) continue;
    output.link_class = described_link_class(topology_, node, port, config.links.size());
    if (far.node < endpoints_) output.link_class = static_cast<std::uint8_t>(output.link_class + config.links.size());
    output.far_input = first_input_[far.node] + far.port * channels_;
    far_outputs_[o] = first_output_[far.node] + far.port;
    output.border = part_of(far.node) != part_of(node);
    // The first control word goes out in cycle 0; it has been in the register since the reset, unless behind a Magic of
    // its own.
    if (paced_) {
      const LinkTiming& line = links_[output.link_class];
      std::uint32_t phase = 0;
      output.advertised = line.control_words > 1 ? line.to_control(0) : Time() - router_.cycle * 3;
      output.wire_free = line.word_time * line.slots(line.control_words, phase);
      output.idle_phase = static_cast<std::uint8_t>(phase);
    }
    // The link in the other direction ends here: its sender knows the space of these inputs.
    for (std::uint32_t vc = 0; vc < channels_; ++vc) {
      Input& input = inputs_[first_input_[node] + port * channels_ + vc];
      input.pool = far_outputs_[o] * channels_ + vc;
      input.link_class = topology_.link_class(far.node, far.port);
    }
    // A packet that is granted is felt at the other side later than this, and so is the credit that a partition cannot
    // send at the end of a window, because a packet granted after it might.
    const LinkTiming& link = links_[output.link_class];
    if (output.border)
      lookahead_ = min(lookahead_, link.to_wire + min(link.back, link.word_time * link.head_words + link.across));
  }
}

bool ExanetNetwork::may_lose() const { return state_->links_fail_; }

bool ExanetNetwork::multicasts() const { return state_->multicasts_; }

std::uint64_t ExanetNetwork::discarded(NodeId node) const { return state_->discarded_[node]; }

std::uint64_t ExanetNetwork::lost() const {
  std::uint64_t packets = 0;
  for (const auto& part : state_->parts_) packets += part->lost_;
  return packets;
}

void ExanetNetwork::stall(NodeId node, std::uint8_t intra_port, Time until) {
  Part& part = *state_->parts_[state_->part_of(node)];
  part.stall(part.events_.now(), node, intra_port, until);
}

void ExanetNetwork::give_back(NodeId node, std::uint8_t intra_port, Time at) {
  state_->parts_[state_->part_of(node)]->give_back(node, intra_port, at);
}

void ExanetNetwork::set_link(PortRef link, bool up, Time now) {
  State& s = *state_;
  EXANET_CHECK(s.links_fail_, "a link changes where none was to fail", now.ps(), link.node, link.port);
  s.has_failed_ = true;
  collect_all();
  const std::uint32_t index = s.first_port(link.node) + link.port, far = s.far_outputs_[index];
  EXANET_CHECK(s.outputs_[index].far_input != kNone, "no link at this port", now.ps(), link.node, link.port);
  for (const std::uint32_t output : {index, far})
    s.parts_[s.part_of(s.inputs_[s.outputs_[output].first_input].node)]->set_output(now, output, up);
}

void ExanetNetwork::set_loss(PortRef link, const LinkLoss& loss, Time now) {
  State& s = *state_;
  EXANET_CHECK(s.links_fail_, "a link loses packets where none was to", now.ps(), link.node, link.port);
  const std::uint32_t index = s.first_port(link.node) + link.port, far = s.far_outputs_[index];
  EXANET_CHECK(s.outputs_[index].far_input != kNone, "no link at this port", now.ps(), link.node, link.port);
  s.has_failed_ = true;
  s.lossy_.resize(s.outputs_.size());
  for (const std::uint32_t output : {index, far}) s.lossy_[output].loss = loss;
}

void ExanetNetwork::set_rate(PortRef link, std::uint32_t rate, Time now) {
  State& s = *state_;
  EXANET_CHECK(s.links_fail_, "a link changes its rate where none was to", now.ps(), link.node, link.port);
  collect_all();
  const std::uint32_t index = s.first_port(link.node) + link.port, far = s.far_outputs_[index];
  EXANET_CHECK(s.outputs_[index].far_input != kNone, "no link at this port", now.ps(), link.node, link.port);
  for (const std::uint32_t output : {index, far})
    s.parts_[s.part_of(s.inputs_[s.outputs_[output].first_input].node)]->set_rate(now, output, rate);
}

void ExanetNetwork::set_interface(NodeId endpoint, bool up, Time now) {
  State& s = *state_;
  EXANET_CHECK(s.links_fail_ && endpoint < s.endpoints_, "an interface fails where none was to", now.ps(), endpoint, 0);
  s.has_failed_ = true;
  s.silent_.resize(s.endpoints_);
  s.silent_[endpoint] = !up;
}

void ExanetNetwork::finish(std::size_t part, Time now) { state_->parts_[part]->finish(now); }

std::uint64_t ExanetNetwork::memory_bytes() const {
  const State& s = *state_;
  std::uint64_t sum =
      capacity_bytes(s.part_of_, s.first_output_, s.first_input_, s.outputs_, s.stats_, s.far_outputs_, s.pools_,
                     s.inputs_, s.injection_ports_, s.numberings_, s.wide_, s.decisions_, s.decision_lists_, s.blocked_,
                     s.blocked_lists_, s.coming_, s.behind_, s.behind_words_);
  for (const auto& part : s.parts_) {
    sum += capacity_bytes(part->packets_, part->returns_);
    part->mail_.each([&](const Mail& mail) { sum += capacity_bytes(mail.arrivals, mail.credits); });
  }
  return sum;
}

template class PartitionedNetwork<State>;

namespace networks {

NetworkKind exanet_router() {
  return describe_network<ExanetZeroLoad, ExanetNetwork>(
      "exanet", "when there is space for all of it beyond the link, by the rules of the ExaNet router",
      [](const NetworkConfig& config, const Topology& topology) { make_queue_action(config, topology); });
}

}  // namespace networks

}  // namespace exanet
