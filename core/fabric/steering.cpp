// SPDX-License-Identifier: Apache-2.0
// Packets on ways of a routing of their own (core/routing/routing.hpp): the fabric's side. A routing that looks at the network decides when
// the header is there and the packet before it has gone, by an event of its own; one that does not decides ahead, as dimension order does.
//
// A blocked packet that may change its mind looks again after the time that it takes through the crossbar.
#include "core/engine/random.hpp"
#include "core/fabric/state.hpp"

namespace exanet {

using namespace fabric_state;

// What routing sees of this part's routers, and, without parts, of all.
class Fabric::Part::View final : public Outlook {
 public:
  View(Part& part, Time now) : part_(part), now_(now) {}

  std::uint32_t queued_words(NodeId node, std::uint16_t port) const override {
    std::uint32_t words = waiting_words(node, port, kAnyChannel);
    for (std::uint8_t vc = 0; vc < part_.channels_; ++vc) words += taken_words(node, {port, vc});
    return words;
  }

  std::uint32_t channel_words(NodeId node, Hop hop) const override { return waiting_words(node, hop.port, hop.vc) + taken_words(node, hop); }

  // The largest packet has to fit, whatever this one's length: else an output would not grant it.
  bool room(NodeId node, Hop hop, std::uint32_t /*words*/) const override {
    const std::uint32_t index = part_.net_.first_output_[node] + hop.port;
    Room& room = part_.rooms_[index * part_.channels_ + hop.vc];
    part_.hear(now_, part_.outputs_[index]);
    part_.reclaim(room, now_);
    return part_.has_room(room);
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
    part_.each_waiting(output, index, [&](std::uint32_t waiting) {
      const Input& input = part_.inputs_[output.first_input + waiting];
      if (vc != kAnyChannel && input.front_vc != vc) return;
      words += input.front_words;
      for (std::uint32_t e = part_.packets_[input.front].next; e != kNone && part_.packets_[e].time <= now_; e = part_.packets_[e].next) {
        const auto& later = part_.packets_[e];
        if (later.dst != node && part_.topology_.next_hop(node, later.dst).port == port) words += part_.router_.payload_words(later.payload_bytes);
      }
    });
    return words;
  }

  Part& part_;
  Time now_;
};

void Fabric::Part::steer(Input& input) {
  const Time now = events_.now();
  if (!routing_->looks()) return decide(now, input);
  input.output = kNone;
  events_.schedule(max(now, input.request), steer_event_, static_cast<std::uint32_t>(&input - inputs_));
}

void Fabric::Part::decide(Time now, Input& input) {
  Carried& carried = packets_[input.front];
  const std::uint64_t from_to = std::uint64_t{carried.src} << 32 | carried.dst;
  const RouteRequest request{input.node, carried.dst, input.front_words, Random(from_to, static_cast<std::uint64_t>(carried.injected.ps())).next()};
  const Hop hop = routing_->choose(request, carried.route, View(*this, now));
  ask(input, input.first_output + hop.port, hop.vc, max(now, input.request));
}

// A first decision, or a second look; a packet that has gone in the meantime leaves a call for the one behind it, who is not hurt.
void Fabric::Part::steer_now(Time now, std::uint32_t input_index, bool again) {
  Input& input = inputs_[input_index];
  if (again) {
    input.looking = false;
    if (input.front == kNone || input.output == kNone || outputs_[input.output].link_class == kIntraTile) return;
    forget(outputs_[input.output], input.output, input.index);
  }
  const std::uint32_t before = input.output;
  decide(now, input);
  if (input.output != before) input.due = false;
}

void Fabric::Part::look_again(Time now, std::uint32_t input_index) {
  Input& input = inputs_[input_index];
  if (input.looking) return;
  input.looking = true;
  events_.schedule(now + router_.cycle * router_.packet_words(input.front_words), steer_event_, input_index, 1);
}

}  // namespace exanet
