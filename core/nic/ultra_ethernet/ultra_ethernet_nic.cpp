// SPDX-License-Identifier: Apache-2.0
// The source's side of interfaces that acknowledge packets, and how they are built. Model and limits:
// ultra_ethernet_nic.hpp; the destination's side: receiver.cpp.
#include "core/nic/ultra_ethernet/ultra_ethernet_nic.hpp"

#include <algorithm>
#include <bit>

#include "core/config/error.hpp"
#include "core/network/model.hpp"
#include "core/network/queue_actions/queue_action.hpp"
#include "core/network/timing.hpp"
#include "core/nic/ultra_ethernet/packet_words.hpp"
#include "core/routing/routing.hpp"
#include "core/topology/multicast.hpp"
#include "core/units/check.hpp"

namespace exanet {

namespace {

NetworkConfig with_priority(NetworkConfig network) {
  network.priority = true;  // acknowledgements
  network.notes = true;
  return network;
}

void check_load_balancing(const NicSetup& setup) {
  const NiConfig& ni = setup.config;
  const EntropiesKind& kind = entropies_kind(ni.load_balancing);
  require(ni.entropies >= 1 && ni.entropies <= 1u << 15 && std::has_single_bit(ni.entropies), "ni.entropies",
          "entropies must be a power of two, at most 32768");
  if (kind.make == nullptr) return;
  const Routing* routing = setup.topology.routing();
  require(setup.network.input_queued.has_value() && routing != nullptr && routing->spreads() && !routing->adaptive(),
          "ni.load_balancing",
          "load_balancing is '" + ni.load_balancing +
              "', which chooses among routes that routing draws for each packet: say 'routing: spray', with switches, "
              "or 'load_balancing: none'");
}

NiConfig checked_ultra_ethernet(const NicSetup& setup) {
  const NiConfig& ni = setup.config;
  require(setup.topology.rails() == 1, "topology.rails", "ultra-ethernet interfaces have one rail: say 1");
  require(setup.network.router.max_payload_bytes > 0, "router.max_payload_bytes", "max_payload must not be 0");
  require(ni.retransmission_timeout > Time(), "ni.retransmission_timeout_ps", "the timeout must be above 0");
  require(ni.retransmission_tries >= 1 && ni.retransmission_tries <= 15, "ni.retransmission_tries",
          "retransmission_tries must be from 1 to 15");
  require_served(pacing_kind(ni.congestion_control), &PacingKind::packets, "ultra-ethernet");
  require_its_action(pacing_kind(ni.congestion_control), setup.network.router.queue_action);
  check_load_balancing(setup);
  return ni;
}

}  // namespace

PacketSink UltraEthernetNic::sink() {
  PacketSink sink{this,
                  [](void* self, const Packet& p, Time injected, Time now) {
                    static_cast<UltraEthernetNic*>(self)->delivered(p, injected, now);
                  },
                  [](void* self, NodeId node, std::uint8_t, std::uint8_t priority, Time now) {
                    auto& nic = *static_cast<UltraEthernetNic*>(self);
                    (priority > 0 ? nic.nodes_[node].control_blocked : nic.nodes_[node].data_blocked) = false;
                    nic.pump(node, now);
                  }};
  sink.lost = [](void* self, const Packet& p, Status, Time) {
    auto& nic = *static_cast<UltraEthernetNic*>(self);
    if (PacketWords::kind(p) == PacketWords::kReport) nic.reports_.free(PacketWords::report(p));
  };
  return sink;
}

UltraEthernetNic::UltraEthernetNic(const NicSetup& setup)
    : events_(setup.events),
      listener_(setup.listener),
      config_(checked_ultra_ethernet(setup)),
      packet_bytes_(static_cast<std::uint32_t>(setup.network.router.max_payload_bytes)),
      seed_(setup.network.seed),
      entropies_(entropies_kind(setup.config.load_balancing)),
      network_(setup.make_network(setup.events, setup.topology, with_priority(setup.network), sink())),
      nodes_(setup.topology.node_count()) {
  if (pacing_kind(config_.congestion_control).make != nullptr) set_pacing(setup);
  register_events();
}

// The longest round trip of an empty network is as the machine says, or else of those of the first endpoint.
void UltraEthernetNic::set_pacing(const NicSetup& setup) {
  const auto* model = dynamic_cast<const NetworkModel*>(network_.get());
  require(model != nullptr, "ni.congestion_control", "a congestion control needs a model of the network: say none");
  const LinkConfig& link = setup.network.links.at(0);
  const auto zero_load = make_zero_load_model(setup.topology, setup.network);
  const Time entry = zero_load->input_time(RouterTiming(setup.network.router).payload_words(packet_bytes_));
  PacingSetup pacing{
      static_cast<std::uint64_t>(link.word_bits) * 1'000'000'000'000 / static_cast<std::uint64_t>(link.word_time.ps()),
      packet_bytes_, packet_bytes_, [model](NodeId src, NodeId dst, std::uint32_t bytes) {
        return model->zero_load_latency(src, dst, static_cast<std::uint16_t>(bytes));
      }};
  const LinkTiming timing(link, setup.network.router, RouterTiming(setup.network.router));
  std::uint32_t phase = 0;
  const Time on_link =
      link.word_time *
      timing.slots(timing.packet_words[RouterTiming(setup.network.router).payload_words(packet_bytes_)], phase);
  pacing.parameters = config_.pacing;
  pacing.payload_bits_per_second =
      std::uint64_t{packet_bytes_} * 8'000'000'000'000 / static_cast<std::uint64_t>(max(entry, on_link).ps());
  pacing.round_trip = setup.network.router.hpcc_round_trip;
  if (pacing.round_trip == Time())
    for (NodeId far = 1; far < setup.topology.endpoint_count(); ++far)
      if (setup.topology.alive(0) && setup.topology.alive(far))
        pacing.round_trip =
            max(pacing.round_trip, pacing.zero_load(0, far, packet_bytes_) + pacing.zero_load(far, 0, 0));
  paced_ = std::make_unique<PacedFlows>(pacing_kind(config_.congestion_control), pacing, nodes_.size());
}

void UltraEthernetNic::register_events() {
  on_timer_ = events_.add_handler([](void* self, Time now, std::uint32_t index,
                                     std::uint64_t) { static_cast<UltraEthernetNic*>(self)->timer(index, now); },
                                  this);
  on_wake_ = events_.add_handler(
      [](void* self, Time now, std::uint32_t node, std::uint64_t) {
        auto& nic = *static_cast<UltraEthernetNic*>(self);
        if (nic.nodes_[node].wake_at != now) return;  // an earlier one has come in between
        nic.nodes_[node].wake_at = Time::never();
        for (const std::uint32_t index : std::exchange(nic.nodes_[node].paused, {})) nic.take_turn(index);
        nic.grant_credits(node, now);
        nic.pump(node, now);
      },
      this);
}

void UltraEthernetNic::wake(NodeId node, Time at) {
  if (at == Time::never() || at >= nodes_[node].wake_at) return;
  nodes_[node].wake_at = at;
  events_.schedule(at, on_wake_, node);
}

UltraEthernetNic::Context& UltraEthernetNic::context_of(NodeId src, NodeId dst, std::uint32_t& index) {
  const auto [found, is_new] =
      context_numbers_.try_emplace(std::uint64_t{src} << 32 | dst, static_cast<std::uint32_t>(contexts_.size()));
  index = found->second;
  if (!is_new) return contexts_[index];
  EXANET_CHECK(index < PacketWords::kMostContexts, "more pairs of nodes than there are numbers for", index, src, dst);
  Context& c = contexts_.emplace_back();
  c.src = src;
  c.dst = dst;
  if (entropies_.make != nullptr)
    c.entropies = entropies_.make(static_cast<std::uint16_t>(config_.entropies), seed_, std::uint64_t{src} << 32 | dst);
  return c;
}

void UltraEthernetNic::enqueue(const Descriptor& descriptor) {
  require(!is_multicast(descriptor.dst), "nic", "ultra-ethernet interfaces do not multicast: take others");
  const std::uint32_t id = descriptors_.add(descriptor);
  descriptors_[id].unsent = descriptor.bytes;
  ++active_;
  std::uint32_t index = 0;
  Context& c = context_of(descriptor.src, descriptor.dst, index);
  c.backlog += descriptor.bytes;
  if (descriptor.kind == Kind::kRequest)
    c.waiting.push_front(id);  // in no order with others
  else
    c.waiting.push_back(id);
  take_turn(index);
}

void UltraEthernetNic::take_turn(std::uint32_t index) {
  Context& c = contexts_[index];
  if (c.in_turn || (c.to_repeat.empty() && c.waiting.empty())) return;
  c.in_turn = true;
  nodes_[c.src].turns.push_back(index);
}

void UltraEthernetNic::pump(NodeId node, Time now) {
  Node& n = nodes_[node];
  while (!n.control.empty() && !n.control_blocked) {
    n.control_blocked = !network_->inject(n.control.front());
    if (!n.control_blocked) n.control.pop_front();
  }
  while (!n.data_blocked && !n.turns.empty()) send_next(node, now);
}

// Sends a packet of the context whose turn it is, or takes the turn from it.
void UltraEthernetNic::send_next(NodeId node, Time now) {
  Node& n = nodes_[node];
  const std::uint32_t index = n.turns.front();
  Context& c = contexts_[index];
  const bool again = !c.to_repeat.empty();
  const auto end_turn = [&] {
    n.turns.pop_front();
    c.in_turn = false;
  };
  if (!again && c.waiting.empty()) return end_turn();
  const std::uint32_t number = again ? *c.to_repeat.begin() : c.base + static_cast<std::uint32_t>(c.sent.size());
  Sent fresh{};
  if (!again) {
    fresh.descriptor = c.waiting.front();
    const std::uint64_t unsent = descriptors_[fresh.descriptor].unsent;
    fresh.bytes = static_cast<std::uint16_t>(std::min<std::uint64_t>(unsent, packet_bytes_));
    fresh.last = unsent == fresh.bytes;
  }
  Sent& sent = again ? c.sent[number - c.base] : fresh;
  if (paced_) {
    const Time at = paced_->may_send(node, c.dst, sent.bytes, now);
    if (at > now) {
      end_turn();
      if (at == Time::never()) return;  // feedback gives it a turn again
      n.paused.push_back(index);
      return wake(node, at);
    }
  }
  if (!inject(c, index, sent, number, now)) {
    n.data_blocked = true;
    return;
  }
  c.backlog -= sent.bytes;
  if (again) {
    c.to_repeat.erase(c.to_repeat.begin());
  } else {
    descriptors_[fresh.descriptor].unsent -= fresh.bytes;
    if (fresh.last) c.waiting.pop_front();
    c.sent.push_back(fresh);
  }
  c.timers.emplace_back(now, number);
  set_timer(c, index);
  n.turns.pop_front();
  c.in_turn = false;
  take_turn(index);
}

bool UltraEthernetNic::inject(Context& c, std::uint32_t index, Sent& sent, std::uint32_t number, Time now) {
  const std::uint64_t left = c.backlog - sent.bytes;
  const bool closes =
      left == 0 || sent.repeats > 0 || (paced_ && paced_->closes(c.src, c.dst, sent.bytes, packet_bytes_, now));
  Packet packet{c.src, c.dst, sent.bytes, 0, 0, PacketWords::data(index, number, closes)};
  if (paced_)
    packet.stamp =
        paced_->demand(c.src, c.dst, left, sent.bytes, static_cast<std::uint32_t>(nodes_[c.src].turns.size()));
  // What the network does not take keeps its entropy.
  if (sent.entropy == 0 && c.entropies)
    sent.entropy = c.pending_entropy != 0 ? c.pending_entropy : c.entropies->next(now);
  packet.entropy = sent.entropy;
  if (!network_->inject(packet)) {
    c.pending_entropy = sent.entropy;
    return false;
  }
  c.pending_entropy = 0;
  sent.at = now;
  sent.state = State::kInFlight;
  ++packets_;
  payload_bytes_ += sent.bytes;
  statistics_.retransmissions += sent.repeats > 0;
  if (paced_) paced_->sent(c.src, c.dst, sent.bytes, now);
  return true;
}

void UltraEthernetNic::acknowledged(std::uint32_t id, Time now) {
  const Report report = reports_[id];
  reports_.free(id);
  Context& c = contexts_[report.context];
  if (report.trimmed) return trimmed(report, c, now);
  const std::uint64_t bytes = report.received > c.known ? report.received - c.known : 0;
  c.known += bytes;
  const Sent* measured =
      report.number >= c.base && report.number - c.base < c.sent.size() ? &c.sent[report.number - c.base] : nullptr;
  if (measured != nullptr && measured->repeats == 0) c.trip = now - measured->at;
  for (std::uint32_t i = 0; i < 64; ++i)
    if ((report.bitmap >> i & 1) != 0) delivered_one(c, report.base + i);
  if (c.entropies)
    c.entropies->feedback(report.entropy, report.marked ? Entropies::Heard::kMarked : Entropies::Heard::kGood, now);
  if (paced_) {
    const std::uint8_t notes = report.marked ? Packet::kCongested : std::uint8_t{0};
    paced_->acknowledged(c.src, c.dst, {static_cast<std::uint32_t>(bytes), now - c.trip, notes, 0}, now);
  }
  delivered_before(c, report.cumulative, now);
  take_turn(report.context);
  pump(c.src, now);
}

void UltraEthernetNic::delivered_one(Context& c, std::uint32_t number) {
  if (number < c.base || number - c.base >= c.sent.size()) return;
  Sent& sent = c.sent[number - c.base];
  if (sent.state == State::kToRepeat) {  // it was given up too early
    c.to_repeat.erase(number);
    c.backlog -= sent.bytes;
    if (paced_) paced_->found(c.src, c.dst, sent.bytes);
  }
  sent.state = State::kDelivered;
}

void UltraEthernetNic::delivered_before(Context& c, std::uint32_t cumulative, Time now) {
  while (c.base < cumulative) {
    delivered_one(c, c.base);
    const Sent sent = c.sent.front();
    c.sent.pop_front();
    ++c.base;
    if (!sent.last) continue;
    const Descriptor d = descriptors_[sent.descriptor];
    descriptors_.free(sent.descriptor);
    --active_;
    if (d.kind == Kind::kAcknowledged) listener_.transfer_acknowledged(d.user, d.status, now);
  }
}

void UltraEthernetNic::trimmed(const Report& report, Context& c, Time now) {
  if (report.number < c.base || c.sent[report.number - c.base].state != State::kInFlight) return;
  const Sent& sent = c.sent[report.number - c.base];
  if (paced_)
    paced_->lost(c.src, c.dst, {sent.bytes, report.last_hop ? Loss::Why::kTrimmedLast : Loss::Why::kTrimmed}, now);
  if (c.entropies) {
    const auto heard = !report.last_hop ? Entropies::Heard::kTrimmed
                       : report.marked  ? Entropies::Heard::kMarked
                                        : Entropies::Heard::kGood;
    c.entropies->feedback(report.entropy, heard, now);
  }
  repeat(c, report.number);
  take_turn(report.context);
  pump(c.src, now);
}

void UltraEthernetNic::repeat(Context& c, std::uint32_t number) {
  Sent& sent = c.sent[number - c.base];
  sent.state = State::kToRepeat;
  sent.entropy = 0;
  if (sent.repeats < UINT8_MAX) ++sent.repeats;
  c.to_repeat.insert(number);
  c.backlog += sent.bytes;
}

Time UltraEthernetNic::timeout_of(const Sent& sent) const {
  return config_.retransmission_timeout * (std::int64_t{1} << std::min<std::uint32_t>(sent.timeouts, 8));
}

// Sets the timer to the oldest packet that something may still be heard of.
void UltraEthernetNic::set_timer(Context& c, std::uint32_t index) {
  if (c.timer_set) return;
  for (; !c.timers.empty(); c.timers.pop_front()) {
    const auto [at, number] = c.timers.front();
    if (number < c.base) continue;
    const Sent& sent = c.sent[number - c.base];
    if (sent.at != at || sent.state != State::kInFlight) continue;
    c.timer_set = true;
    events_.schedule(max(events_.now(), at + timeout_of(sent)), on_timer_, index);
    return;
  }
}

void UltraEthernetNic::timer(std::uint32_t index, Time now) {
  Context& c = contexts_[index];
  c.timer_set = false;
  set_timer(c, index);  // drops those of packets that have arrived or have been sent again
  if (c.timers.empty()) return;
  const auto [at, number] = c.timers.front();
  if (at + timeout_of(c.sent[number - c.base]) > now) return;
  c.timers.pop_front();
  time_out(c, index, number, now);
}

void UltraEthernetNic::time_out(Context& c, std::uint32_t index, std::uint32_t number, Time now) {
  Sent& sent = c.sent[number - c.base];
  if (paced_) paced_->lost(c.src, c.dst, {sent.bytes, Loss::Why::kTimeout}, now);
  if (c.entropies) c.entropies->feedback(1, Entropies::Heard::kTimeout, now);
  if (++sent.timeouts <= config_.retransmission_tries) {
    repeat(c, number);
  } else {  // both ends go on without it
    ++statistics_.given_up;
    descriptors_[sent.descriptor].status = Status::kLost;
    sent.state = State::kDelivered;
    take(c, number, now);
    delivered_before(c, c.expected, now);
  }
  take_turn(index);
  pump(c.src, now);
}

namespace nics {

NicKind ultra_ethernet() {
  return {
      .name = "ultra-ethernet",
      .help =
          "no costs: packets are acknowledged one by one, repeated where they are trimmed or lost, and spread over "
          "routes",
      .message_library = false,
      .ordered = true,
      .make = [](const NicSetup& setup) -> std::unique_ptr<Nic> { return std::make_unique<UltraEthernetNic>(setup); },
      .retransmits = true,
      .one_rail = true};
}

}  // namespace nics

}  // namespace exanet
