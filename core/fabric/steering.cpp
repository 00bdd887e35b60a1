// SPDX-License-Identifier: Apache-2.0
// Packets on ways of a routing of their own (core/routing/routing.hpp): the fabric's side. A routing that looks at the network decides when
// the header is there and the packet before it has gone, by an event of its own; one that does not decides ahead, as dimension order does.
//
// A packet that still stands there after the time that it takes through the crossbar looks again, if it may change its mind.
//
// What is decided depends on what the router's other packets have decided and on what has been granted. So in each instant all of a router's
// decisions come first, in the order of its inputs, and then its grants: the order of events within an instant does not matter, nor
// how the nodes are divided among threads. All decisions of an instant are known before it begins. Who looks at other routers' queues (UGAL-G)
// does depend on that order, and is refused in parts.
#include "core/engine/random.hpp"
#include "core/fabric/state.hpp"

namespace exanet {

using namespace fabric_state;

// What routing sees of this part's routers, and, without parts, of all.
class Fabric::Part::View final : public Outlook {
 public:
  View(Part& part, Time now, std::uint8_t priority) : part_(part), now_(now), priority_(priority) {}

  std::uint32_t queued_words(NodeId node, std::uint16_t port) const override {
    std::uint32_t words = waiting_words(node, port, kAnyChannel);
    for (std::uint8_t vc = 0; vc < part_.channels_; ++vc) words += taken_words(node, {port, vc});
    return words;
  }

  std::uint32_t channel_words(NodeId node, Hop hop) const override { return waiting_words(node, hop.port, hop.vc) + taken_words(node, hop); }

  // For the largest packet of its class: else an output would not grant it.
  bool room(NodeId node, Hop hop) const override {
    const std::uint32_t index = part_.net_.first_output_[node] + hop.port;
    Room& room = part_.rooms_[index * part_.channels_ + hop.vc];
    part_.hear(now_, part_.outputs_[index]);
    part_.reclaim(room, now_);
    return part_.has_room(room, priority_);
  }

 private:
  static constexpr std::uint8_t kAnyChannel = 0xff;

  // Of the buffer beyond a port.
  std::uint32_t taken_words(NodeId node, Hop hop) const {
    const std::uint32_t index = part_.net_.first_output_[node] + hop.port;
    Room& room = part_.rooms_[index * part_.channels_ + hop.vc];
    part_.hear(now_, part_.outputs_[index]);
    part_.reclaim(room, now_);
    return static_cast<std::uint32_t>(part_.net_.words_each_ - room.free_words);
  }

  // In the FIFOs whose fronts ask for a port: the fronts, and those behind them whom the topology's own way leads there as well.
  std::uint32_t waiting_words(NodeId node, std::uint16_t port, std::uint8_t vc) const {
    const std::uint32_t index = part_.net_.first_output_[node] + port;
    const Output& output = part_.outputs_[index];
    std::uint32_t words = 0;
    const auto count = [&](const Input& input) {
      if (vc != kAnyChannel && input.front_vc != vc) return;
      words += input.front_words;
      for (std::uint32_t e = part_.packets_[input.front].next; e != kNone && part_.packets_[e].time <= now_; e = part_.packets_[e].next) {
        const auto& later = part_.packets_[e];
        if (later.dst != node && part_.topology_.next_hop(node, later.dst).port == port) words += part_.router_.payload_words(later.payload_bytes);
      }
    };
    part_.each_waiting(output, index, kBulk, [&](std::uint32_t i) { count(part_.inputs_[output.first_input + i]); });
    if (part_.twin_ != 0)
      part_.each_waiting(output, index, kPriority, [&](std::uint32_t i) { count(part_.inputs_[output.first_input + part_.twin_ + i]); });
    return words;
  }

  Part& part_;
  Time now_;
  std::uint8_t priority_;
};

void Fabric::Part::steer(Input& input) {
  const Time now = events_.now();
  if (!looks_) return decide(now, input);
  input.output = kNone;
  look_at(max(now, input.request), static_cast<std::uint32_t>(&input - inputs_));
}

void Fabric::Part::decide(Time now, Input& input) {
  Carried& carried = packets_[input.front];
  const RouteRequest request{input.node, carried.dst, input.front_words, draw_of(carried.src, carried.dst, carried.injected)};
  const Hop hop = routing_->choose(request, carried.route, View(*this, now, input.priority));
  ask(input, input.first_output + hop.port, hop.vc, max(now, input.request));
}

// The front of the input decides at `at`, later than most of those that are waiting to: the list is searched from its end.
void Fabric::Part::look_at(Time at, std::uint32_t input_index) {
  const NodeId node = inputs_[input_index].node;
  Lookers& lookers = lookers_[node];
  Look* const looks = looks_of_inputs_;
  std::uint32_t before = lookers.last;
  while (before != kNone && (looks[before].at > at || (looks[before].at == at && before > input_index))) before = looks[before].before;
  const std::uint32_t next = before == kNone ? lookers.first : looks[before].next;
  looks[input_index] = {at, before, next};
  (before == kNone ? lookers.first : looks[before].next) = input_index;
  (next == kNone ? lookers.last : looks[next].before) = input_index;
  lookers.earliest = looks[lookers.first].at;
  events_.schedule(at, steer_event_, node);
}

// Takes it from the list, if it is there.
void Fabric::Part::forget_look(std::uint32_t input_index) {
  Look* const looks = looks_of_inputs_;
  const Look look = looks[input_index];
  if (look.at == kNotScheduled) return;
  Lookers& lookers = lookers_[inputs_[input_index].node];
  looks[input_index].at = kNotScheduled;
  (look.before == kNone ? lookers.first : looks[look.before].next) = look.next;
  (look.next == kNone ? lookers.last : looks[look.next].before) = look.before;
  lookers.earliest = lookers.first == kNone ? Time::never() : looks[lookers.first].at;
}

// All of a router's decisions of this instant, in the order of its inputs. Called before any of its grants of this instant.
void Fabric::Part::decide_all(Time now, NodeId node) {
  Lookers& lookers = lookers_[node];
  while (lookers.earliest <= now) {
    const std::uint32_t index = lookers.first;
    forget_look(index);
    Input& input = inputs_[index];
    const std::uint32_t before = input.output;
    if (before != kNone) forget(outputs_[before], before, input);
    decide(now, input);
    if (input.output != before) input.due = false;
    if (looks_again_ && outputs_[input.output].free_at > now) look_again(now, index);
  }
}

void Fabric::Part::look_again(Time now, std::uint32_t input_index) {
  look_at(now + router_.cycle * router_.packet_words(inputs_[input_index].front_words), input_index);
}

// Those that decided in this instant and have not been granted; all others that wait here look again already.
void Fabric::Part::those_left_look_again(Time now, const Output& output, std::uint32_t output_index) {
  if (output.link_class == kIntraTile) return;
  for (std::uint8_t priority = kBulk; priority <= (twin_ == 0 ? kBulk : kPriority); ++priority)
    each_waiting(output, output_index, priority, [&](std::uint32_t waiting) {
      const std::uint32_t index = output.first_input + priority * twin_ + waiting;
      if (looks_of_inputs_[index].at == kNotScheduled) look_again(now, index);
    });
}

}  // namespace exanet
