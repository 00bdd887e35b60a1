// SPDX-License-Identifier: Apache-2.0
// See fabric.hpp for the model and docs/microarchitecture.md for the rules.
//
// An input (an inter-tile port's virtual channel, or an intra-tile port) is a FIFO of entries in one linked list: first those whose packet
// has been granted but whose room has not been reclaimed (their credits are on the way back), then those that wait or are still
// arriving. Only the front of the latter asks for an output. Both when it will ask and when credits will be back is known in advance, so
// requests are registered ahead of their time and credits are collected when somebody looks: neither costs an event of its own. An
// output is looked at (the "arbitrate" event) only at times at which a grant may be possible. All requests of one instant are registered
// before it begins, so the result does not depend on the order of events within an instant.
#include "core/fabric/fabric.hpp"

#include <bit>
#include <stdexcept>
#include <string>

#include "core/fabric/timing.hpp"
#include "core/units/check.hpp"

namespace exanet {

namespace {

constexpr std::uint32_t kNone = 0xffffffffu;
constexpr std::uint8_t kIntraTile = 0xff;  // in place of a link class
constexpr Time kNotScheduled = Time::ps(-1);

// A packet's place in one input's buffer, with what the router reads of its header: half a cache line.
struct alignas(32) Entry {
  Time time;     // until the grant: its header is here; after it: its room is known to be free at the sender
  Time tail_in;  // its last word is here
  std::uint32_t packet;
  std::uint32_t next;
  NodeId dst;
  std::uint16_t payload_bytes;
  std::uint8_t intra_port;
  std::uint8_t priority;
};

struct Carried {
  Packet packet;
  Time injected;
  std::uint32_t next_free;
};

struct alignas(64) Input {
  std::uint32_t oldest = kNone;  // first entry whose room has not been reclaimed
  std::uint32_t front = kNone;   // first entry without a grant
  std::uint32_t last = kNone;
  std::uint32_t output = kNone;  // what the front asks for
  Time request;                  // from when on
  Time idle_at;                  // the packet before the front has gone, and the gap is over
  std::int32_t free_words = 0;
  std::int32_t free_packets = 0;
  std::uint32_t upstream = kNone;  // the output that fills this input
  NodeId node = kNoNode;
  std::uint16_t front_words = 0;   // payload words, virtual channel and priority of the front
  std::uint8_t front_vc = 0;
  std::uint8_t front_priority = 0;
  std::uint8_t index = 0;          // among the inputs of its router
  std::uint8_t link_class = kIntraTile;
  bool starved = false;            // the sender waits for room, and no credit is on the way
};

struct alignas(128) Output {
  Time free_at;                   // next grant possible
  Time tail_out;                  // end of the last packet's last word on the link
  Time wake_at = kNotScheduled;   // a pending arbitrate event, if there is one
  std::uint64_t waiting = 0;      // inputs whose front asks for this output
  NodeId node = kNoNode;
  std::uint32_t first_input = 0;  // of this router
  std::uint32_t far_input = kNone;  // virtual channel 0 at the other end
  std::uint32_t pause_phase = 0;
  std::uint8_t link_class = kIntraTile;
  std::uint8_t last_granted = 63;
  LinkStats stats;
};

// An intra-tile port, as its network interface sees it.
struct Entrance {
  Time busy_until;            // words are still being written
  std::uint32_t refused = 0;  // calls of ready() that are due
  std::uint32_t need = 0;     // payload words of the largest refused packet
};

}  // namespace

struct Fabric::State {
  State(EventQueue& events, const Topology& topology, const FabricConfig& config, FabricSink sink);

  bool inject(const Packet& packet);
  void arbitrate(Time now, std::uint32_t output_index);
  void deliver(Time now, std::uint32_t packet_index);
  void offer_room(Time now, std::uint32_t input_index);

  void build_ports(const Topology& topology, const FabricConfig& config);
  std::uint32_t choose(Time now, Output& output, std::uint32_t output_index, bool& others);
  bool room_beyond(Time now, const Output& output, std::uint32_t output_index, const Input& input);
  void grant(Time now, Output& output, std::uint32_t input_index);
  void cross_link(Time now, Output& output, const Input& input, const Entry& entry, Time left);
  void register_front(Input& input);
  void append(Input& input, const Entry& entry);
  void reclaim(Input& input, Time now);
  void wake(Output& output, std::uint32_t output_index, Time at);
  Entrance& entrance(const Input& input) { return entrances_[std::size_t{input.node} * intra_ports_ + input.index - intra_index(input.node)]; }
  std::uint32_t intra_index(NodeId node) const { return first_input_[node + 1] - first_input_[node] - intra_ports_; }

  EventQueue& events_;
  const Topology& topology_;
  FabricSink sink_;
  RouterPace router_;
  std::vector<LinkPace> links_;
  std::uint32_t intra_ports_;
  std::uint32_t arbitrate_event_, deliver_event_, room_event_;

  std::vector<std::uint32_t> first_output_, first_input_;  // by node, and one beyond
  std::vector<Output> outputs_;                            // inter-tile, then intra-tile ports of each node
  std::vector<Input> inputs_;                              // (port, virtual channel), then intra-tile ports of each node
  std::vector<Entrance> entrances_;                        // intra-tile ports of each node
  std::vector<Entry> entries_;
  std::vector<Carried> packets_;
  std::uint32_t free_entry_ = kNone, free_packet_ = kNone;
  std::uint64_t hops_ = 0, in_flight_ = 0;
};

Fabric::State::State(EventQueue& events, const Topology& topology, const FabricConfig& config, FabricSink sink)
    : events_(events), topology_(topology), sink_(sink), router_(config.router), intra_ports_(static_cast<std::uint32_t>(config.router.intra_ports)) {
  for (const LinkConfig& link : config.links) links_.emplace_back(link, config.router, router_);
  build_ports(topology, config);
  arbitrate_event_ = events.add_handler([](void* self, Time now, std::uint32_t a, std::uint64_t) { static_cast<State*>(self)->arbitrate(now, a); }, this);
  deliver_event_ = events.add_handler([](void* self, Time now, std::uint32_t a, std::uint64_t) { static_cast<State*>(self)->deliver(now, a); }, this);
  room_event_ = events.add_handler([](void* self, Time now, std::uint32_t a, std::uint64_t) { static_cast<State*>(self)->offer_room(now, a); }, this);
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
    if (ports * channels + intra_ports_ > 64)
      throw std::invalid_argument("a router of " + topology.node_name(node) + " would have more than 64 inputs: use fewer ports or virtual channels");
    outputs += ports + intra_ports_;
    inputs += ports * channels + intra_ports_;
  }
  outputs_.resize(outputs);
  inputs_.resize(inputs);
  entrances_.resize(std::size_t{nodes} * intra_ports_);
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
    for (std::uint32_t port = 0; port < ports + intra_ports_; ++port) {
      const std::uint32_t o = first_output_[node] + port;
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

bool Fabric::State::inject(const Packet& packet) {
  const Time now = events_.now();
  EXANET_CHECK(packet.src < topology_.node_count() && packet.dst < topology_.node_count() && packet.intra_port < intra_ports_,
               "packet from or to nowhere", now.ps(), packet.src, packet.dst);
  const std::uint32_t words = router_.payload_words(packet.payload_bytes);
  EXANET_CHECK(words <= router_.most_payload_words, "payload above the maximum", now.ps(), packet.payload_bytes, packet.src);
  const std::uint32_t input_index = first_input_[packet.src + 1] - intra_ports_ + packet.intra_port;
  Input& input = inputs_[input_index];
  Entrance& port = entrances_[std::size_t{packet.src} * intra_ports_ + packet.intra_port];
  reclaim(input, now);
  if (input.free_words < static_cast<std::int32_t>(words) || input.free_packets < 1) {
    port.need = words > port.need ? words : port.need;
    if (port.refused++ == 0) {
      input.starved = input.oldest == input.front;
      if (!input.starved) events_.schedule(entries_[input.oldest].time, room_event_, input_index);
    }
    return false;
  }
  std::uint32_t index = free_packet_;
  if (index == kNone) {
    index = static_cast<std::uint32_t>(packets_.size());
    packets_.emplace_back();
  } else {
    free_packet_ = packets_[index].next_free;
  }
  packets_[index] = {packet, now, kNone};
  ++in_flight_;
  const Time start = max(now, port.busy_until);
  port.busy_until = start + router_.cycle * router_.packet_words(words);
  append(input, {start + router_.head, port.busy_until, index, kNone, packet.dst, packet.payload_bytes, packet.intra_port, packet.priority});
  return true;
}

// Takes room in `input` for a packet that is going to arrive there.
void Fabric::State::append(Input& input, const Entry& entry) {
  std::uint32_t index = free_entry_;
  if (index == kNone) {
    index = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    free_entry_ = entries_[index].next;
  }
  entries_[index] = entry;
  input.free_words -= static_cast<std::int32_t>(router_.payload_words(entry.payload_bytes));
  input.free_packets -= 1;
  if (input.oldest == kNone)
    input.oldest = index;
  else
    entries_[input.last].next = index;
  input.last = index;
  if (input.front == kNone) {
    input.front = index;
    register_front(input);
  }
}

void Fabric::State::reclaim(Input& input, Time now) {
  while (input.oldest != input.front) {
    Entry& entry = entries_[input.oldest];
    if (entry.time > now) return;
    input.free_words += static_cast<std::int32_t>(router_.payload_words(entry.payload_bytes));
    input.free_packets += 1;
    const std::uint32_t next = entry.next;
    entry.next = free_entry_;
    free_entry_ = input.oldest;
    input.oldest = next;
  }
}

// The front of `input` will ask for its output as soon as its header is there and the packet before it has gone.
void Fabric::State::register_front(Input& input) {
  const Entry& entry = entries_[input.front];
  if (entry.dst == input.node) {
    input.output = first_output_[input.node + 1] - intra_ports_ + entry.intra_port;
    input.front_vc = 0;
  } else {
    const Hop hop = topology_.next_hop(input.node, entry.dst);
    input.output = first_output_[input.node] + hop.port;
    input.front_vc = hop.vc;
  }
  input.front_words = static_cast<std::uint16_t>(router_.payload_words(entry.payload_bytes));
  input.front_priority = entry.priority;
  input.request = max(entry.time, input.idle_at);
  Output& output = outputs_[input.output];
  output.waiting |= std::uint64_t{1} << input.index;
  wake(output, input.output, max(input.request, output.free_at));
}

void Fabric::State::wake(Output& output, std::uint32_t output_index, Time at) {
  if (output.wake_at == at) return;
  output.wake_at = at;
  events_.schedule(at, arbitrate_event_, output_index);
}

void Fabric::State::arbitrate(Time now, std::uint32_t output_index) {
  Output& output = outputs_[output_index];
  if (output.wake_at == now) output.wake_at = kNotScheduled;
  if (output.waiting == 0) return;
  if (now < output.free_at) return wake(output, output_index, output.free_at);
  bool others = false;
  const std::uint32_t chosen = choose(now, output, output_index, others);
  if (chosen == kNone) return;
  grant(now, output, output.first_input + chosen);
  if (others) wake(output, output_index, output.free_at);
}

// Round robin from the input after the last one granted; priority 1 goes before 0. `others` tells whether somebody else could go as well.
std::uint32_t Fabric::State::choose(Time now, Output& output, std::uint32_t output_index, bool& others) {
  const unsigned first = (output.last_granted + 1u) % 64;
  std::uint64_t rest = std::rotr(output.waiting, static_cast<int>(first));
  std::uint32_t chosen = kNone;
  std::uint8_t priority = 0;
  for (; rest != 0; rest &= rest - 1) {
    const std::uint32_t index = (static_cast<unsigned>(std::countr_zero(rest)) + first) % 64;
    const Input& input = inputs_[output.first_input + index];
    if (input.request > now || !room_beyond(now, output, output_index, input)) continue;
    others = chosen != kNone;
    if (chosen != kNone && input.front_priority <= priority) continue;
    chosen = index;
    priority = input.front_priority;
  }
  return chosen;
}

// Whether the next buffer takes the whole packet. If not, sees to it that the output is looked at again when a credit arrives.
bool Fabric::State::room_beyond(Time now, const Output& output, std::uint32_t output_index, const Input& input) {
  if (output.link_class == kIntraTile) return true;
  Input& far = inputs_[output.far_input + input.front_vc];
  reclaim(far, now);
  if (far.free_words >= input.front_words && far.free_packets >= 1) return true;
  if (far.starved) return false;
  far.starved = far.oldest == far.front;
  if (!far.starved) wake(outputs_[output_index], output_index, entries_[far.oldest].time);
  return false;
}

void Fabric::State::grant(Time now, Output& output, std::uint32_t input_index) {
  Input& input = inputs_[input_index];
  const Entry entry = entries_[input.front];
  const std::uint32_t words = router_.payload_words(entry.payload_bytes);
  output.waiting &= ~(std::uint64_t{1} << input.index);
  output.last_granted = input.index;
  // The crossbar takes a word a cycle, and the last one not before it is here.
  const Time left = max(now + router_.cycle * (router_.packet_words(words) - 1), entry.tail_in) + router_.cycle;
  if (output.link_class == kIntraTile) {
    output.free_at = left + router_.output_gap;
    events_.schedule(left + router_.latency, deliver_event_, entry.packet);
  } else {
    cross_link(now, output, input, entry, left);
  }
  input.idle_at = left + router_.input_gap;
  const Time credit = input.link_class == kIntraTile ? left : left + links_[input.link_class].latency;
  entries_[input.front].time = credit;
  input.front = entries_[input.front].next;
  if (input.starved) {
    input.starved = false;
    if (input.link_class == kIntraTile)
      events_.schedule(credit, room_event_, input_index);
    else
      wake(outputs_[input.upstream], input.upstream, credit);
  }
  if (input.front != kNone) register_front(input);
}

// Sends the packet over the output's link into the far buffer, whose room has been checked. It waits behind the crossbar while the packet
// before it is on the wire; nothing else is granted until it gets there itself.
void Fabric::State::cross_link(Time now, Output& output, const Input& input, const Entry& entry, Time left) {
  const auto output_index = static_cast<std::size_t>(&output - outputs_.data());
  EXANET_CHECK(output.far_input != kNone, "route through a port without a link", now.ps(), output.node, output_index);
  const LinkPace& link = links_[output.link_class];
  const Time through = now + router_.latency, out = max(through, output.tail_out);
  // A link that has been idle for a word time has had its pause by then.
  if (out >= output.tail_out + link.word_time) output.pause_phase = 0;
  std::uint32_t head_phase = output.pause_phase;
  const Time head_busy = link.word_time * link.slots(link.head_words, head_phase);
  const Time busy = link.word_time * link.slots(link.packet_words[input.front_words], output.pause_phase);
  output.tail_out = max(out + busy, left - router_.cycle + router_.latency + link.last_word);
  output.free_at = max(left + router_.output_gap, out);

  LinkStats& stats = output.stats;
  stats.packets += 1;
  stats.payload_bytes += entry.payload_bytes;
  stats.busy += busy;
  stats.waited += now - input.request + (out - through);
  ++hops_;
  append(inputs_[output.far_input + input.front_vc], {out + head_busy + link.latency, output.tail_out + link.latency, entry.packet, kNone, entry.dst,
                                                      entry.payload_bytes, entry.intra_port, entry.priority});
}

void Fabric::State::deliver(Time now, std::uint32_t packet_index) {
  const Carried carried = packets_[packet_index];
  packets_[packet_index].next_free = free_packet_;
  free_packet_ = packet_index;
  --in_flight_;
  if (sink_.delivered != nullptr) sink_.delivered(sink_.self, carried.packet, carried.injected, now);
}

// An intra-tile port that refused packets gets room back.
void Fabric::State::offer_room(Time now, std::uint32_t input_index) {
  Input& input = inputs_[input_index];
  Entrance& port = entrance(input);
  reclaim(input, now);
  if (input.free_words < static_cast<std::int32_t>(port.need) || input.free_packets < 1) {
    input.starved = input.oldest == input.front;
    if (!input.starved) events_.schedule(entries_[input.oldest].time, room_event_, input_index);
    return;
  }
  const std::uint32_t calls = port.refused;
  port.refused = port.need = 0;
  const auto intra_port = static_cast<std::uint8_t>(input.index - intra_index(input.node));
  for (std::uint32_t i = 0; i < calls && sink_.ready != nullptr; ++i) sink_.ready(sink_.self, input.node, intra_port, now);
}

Fabric::Fabric(EventQueue& events, const Topology& topology, const FabricConfig& config, FabricSink sink)
    : state_(std::make_unique<State>(events, topology, config, sink)) {}

Fabric::~Fabric() = default;

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

const LinkStats& Fabric::link_stats(NodeId node, std::uint16_t port) const { return state_->outputs_[state_->first_output_[node] + port].stats; }

std::uint64_t Fabric::packet_hops() const { return state_->hops_; }

std::uint64_t Fabric::in_flight() const { return state_->in_flight_; }

}  // namespace exanet
