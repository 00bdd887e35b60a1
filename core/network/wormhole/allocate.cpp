// SPDX-License-Identifier: Apache-2.0
// Who goes next in a wormhole switch: headers are assigned channels of their output, and flits of packets that hold one
// are passed.
//
// A free channel goes to the headers that ask for it in turn. A lane of an input passes one packet at a time, whichever
// of its queues it is from: else packets of one input would hold several outputs, and each get a share of its line's
// rate there. An output whose line is free picks a flit among the packets that hold its channels: one that is there,
// has a credit, and whose input's line is free; of the highest class, or by weights as in allocate.cpp, and in a class
// each channel in turn. Where several outputs have picked packets of one input, that accepts one, each output in turn,
// and the others pick again, until no pair is left.
//
// Outputs assign their channels one behind the other, each knowing what those before it have taken. With `islip` they
// do so at once, as gateware can in a cycle (gateware/tor): each offers its free channel to the header whose turn it
// is, and a lane of an input accepts the offer of the output whose turn it is (McKeown 1999).
//
// An output is looked at when it is due. One that can do nothing says when it can, as far as that is known; what is not
// known yet (a flit of its packet, a credit) makes it due when it is registered.
#include "core/network/wormhole/state.hpp"

namespace exanet {

using namespace wormhole_state;

// An output's choice: a lane of it, whose packet's next flit can go.
struct Part::Pick {
  std::uint32_t output;
  std::uint32_t input;  // both within the switch
  std::uint32_t priority_class;
  std::uint8_t lane;
};

void Part::call(std::uint32_t output, Time at) {
  if (at < net_.due_[output]) net_.due_[output] = at;
  const NodeId node = net_.node_of_[output];
  Node& asleep = net_.nodes_[node];
  if (at >= asleep.wake_at) return;
  asleep.wake_at = at;
  events_.schedule(at, allocate_event_, node);
}

void Part::allocate(Time now, NodeId index) {
  Node& node = net_.nodes_[index];
  const Time pending = node.wake_at > now ? node.wake_at : Time::never();
  Time* const due = net_.due_.data() + node.first_port;
  Slots outputs;
  for (std::uint32_t p = 0; p < node.ports; ++p)
    if (due[p] <= now) outputs.add(p);
  node.wake_at = now;  // what is found due meanwhile needs no event of its own
  if (!outputs.empty()) pass_flits(now, index, outputs);
  Time next = Time::never();
  for (std::uint32_t p = 0; p < node.ports; ++p) next = min(next, due[p]);
  node.wake_at = min(next, pending);
  if (next < pending) events_.schedule(next, allocate_event_, index);
}

void Part::pass_flits(Time now, NodeId index, Slots outputs) {
  const Node& node = net_.nodes_[index];
  Time* const due = net_.due_.data() + node.first_port;
  const std::uint32_t start = net_.fixed_ ? 0 : node.assigned % node.ports;  // the first one has the choice
  for (Slots left = outputs; !left.empty();) {
    const std::uint32_t output = left.next(start);
    left.remove(output);
    const std::uint32_t port = node.first_port + output;
    if (net_.out_free_[port] >
        now) {  // its channels, too, are assigned out when its line is free, whenever it was called
      due[output] = (net_.ports_[port].held | net_.ports_[port].asked) != 0 ? net_.out_free_[port] : Time::never();
      outputs.remove(output);
    } else if (!net_.islip_) {
      due[output] = assign_channels(now, port);
    }
  }
  if (net_.islip_) assign_by_islip(now, index, outputs);
  Pick best[kMostSlots];
  while (!outputs.empty()) {
    Slots offered;
    for (Slots left = outputs; !left.empty();) {
      const std::uint32_t output = left.next(0);
      left.remove(output);
      Pick made;
      if (!pick(now, index, output, made)) {
        outputs.remove(output);
        continue;
      }
      if (offered.has(made.input) && !goes_before(node, made, best[made.input])) continue;
      offered.add(made.input);
      best[made.input] = made;
    }
    while (!offered.empty()) {
      const std::uint32_t input = offered.next(0);
      offered.remove(input);
      const Pick& taken = best[input];
      if (!net_.fixed_)
        net_.ports_[node.first_port + input].accepts_from = static_cast<std::uint8_t>((taken.output + 1) % node.ports);
      send(now, node.first_port + taken.output, taken.lane);
      outputs.remove(taken.output);
    }
  }
}

// Whether an input prefers `a`: the higher class where classes have no weights, else the output whose turn it is.
bool Part::goes_before(const Node& node, const Pick& a, const Pick& b) const {
  if (net_.config_.weights.empty() && a.priority_class != b.priority_class) return a.priority_class > b.priority_class;
  const std::uint32_t from = net_.ports_[node.first_port + a.input].accepts_from;
  return (a.output + node.ports - from) % node.ports < (b.output + node.ports - from) % node.ports;
}

// Hands the output's free channels to headers that ask for them. When the next one of those can be served whose channel
// is free.
Time Part::assign_channels(Time now, std::uint32_t output) {
  Link& out = net_.ports_[output];
  Time retry = Time::never();
  for (std::uint32_t asked = out.asked; asked != 0; asked &= asked - 1) {
    const auto want = static_cast<std::uint8_t>(std::countr_zero(asked));
    Slots& waiting = net_.waiting_[output * net_.lanes_ + want];
    for (std::uint32_t free = net_.lanes_for(out, want) & ~std::uint32_t{out.held}; free != 0 && !waiting.empty();) {
      const std::uint32_t slot = next_header(now, output, want, retry);
      if (slot == kNone) break;
      free &= ~(1u << assign(now, output, want, slot, free));
      if (!net_.fixed_)
        net_.first_slot_[output * net_.lanes_ + want] = static_cast<std::uint8_t>((slot + 1) % kMostSlots);
    }
  }
  return retry;
}

// Hands the emptiest of these free lanes of the output to the slot's header.
std::uint32_t Part::assign(Time now, std::uint32_t output, std::uint8_t want, std::uint32_t slot, std::uint32_t free) {
  Link& out = net_.ports_[output];
  const std::uint32_t lane = emptiest_lane(now, output, free);
  const std::uint32_t index = front_of(output, want, slot);
  worms_[index].moving = true;
  net_.passed_[worms_[index].input * net_.lanes_ + worms_[index].lane] = Time::never();
  ++net_.nodes_[net_.node_of_[output]].assigned;
  net_.lane_of_[output * net_.lanes_ + lane].worm = index;
  out.held = static_cast<std::uint8_t>(out.held | 1u << lane);
  Slots& waiting = net_.waiting_[output * net_.lanes_ + want];
  waiting.remove(slot);
  if (waiting.empty()) out.asked = static_cast<std::uint8_t>(out.asked & ~(1u << want));
  return lane;
}

// Turns move on where the first iteration's offer is accepted. An output that could have assigned a channel, but was
// not accepted, offers again in the next cycle.
void Part::assign_by_islip(Time now, NodeId index, const Slots& outputs) {
  for (std::int64_t iteration = 0; iteration < net_.config_.iterations; ++iteration)
    for (std::uint32_t c = 0; c < net_.classes_; ++c) offer_and_accept(now, index, outputs, c, iteration == 0);
  const std::uint32_t first = net_.nodes_[index].first_port;
  for (Slots left = outputs; !left.empty();) {
    const std::uint32_t output = first + left.next(0);
    left.remove(output - first);
    Link& out = net_.ports_[output];
    Time retry = Time::never();
    for (std::uint32_t asked = out.asked; asked != 0; asked &= asked - 1) {
      const auto want = static_cast<std::uint8_t>(std::countr_zero(asked));
      if ((net_.lanes_for(out, want) & ~std::uint32_t{out.held}) == 0) continue;  // its channels' tails make it due
      if (next_header(now, output, want, retry) != kNone) retry = min(retry, now + net_.timing_.router.cycle);
    }
    net_.due_[output] = retry;
  }
}

// A round of iSLIP among the headers of a class.
void Part::offer_and_accept(Time now, NodeId index, const Slots& outputs, std::uint32_t priority_class, bool moves_on) {
  struct Offer {
    std::uint32_t output, turn;
    std::uint8_t want;
  };
  const Node& node = net_.nodes_[index];
  const auto lane_of = [&](std::uint32_t slot) {
    return (node.first_port + slot / net_.channels_) * net_.lanes_ + priority_class * net_.channels_ +
           slot % net_.channels_;
  };
  Slots offered;
  Offer best[kMostSlots];
  for (Slots left = outputs; !left.empty();) {
    const std::uint32_t output = left.next(0);
    left.remove(output);
    const Link& out = net_.ports_[node.first_port + output];
    std::uint32_t asked = out.asked >> (priority_class * net_.channels_) & ((1u << net_.channels_) - 1);
    for (; asked != 0; asked &= asked - 1) {
      const auto want = static_cast<std::uint8_t>(priority_class * net_.channels_ +
                                                  static_cast<std::uint32_t>(std::countr_zero(asked)));
      if ((net_.lanes_for(out, want) & ~std::uint32_t{out.held}) == 0) continue;
      Time retry = Time::never();
      const std::uint32_t slot = next_header(now, node.first_port + output, want, retry);
      if (slot == kNone) continue;
      const std::uint32_t turn = (output + node.ports - net_.accepts_[lane_of(slot)]) % node.ports;
      if (offered.has(slot) && turn >= best[slot].turn) continue;
      offered.add(slot);
      best[slot] = {output, turn, want};
    }
  }
  while (!offered.empty()) {
    const std::uint32_t slot = offered.next(0);
    offered.remove(slot);
    const auto [number, turn, want] = best[slot];
    const std::uint32_t output = node.first_port + number;
    const std::uint32_t free = net_.lanes_for(net_.ports_[output], want) & ~std::uint32_t{net_.ports_[output].held};
    if (free == 0) continue;  // taken by a header of another routing channel
    assign(now, output, want, slot, free);
    if (!moves_on) continue;
    net_.first_slot_[output * net_.lanes_ + want] = static_cast<std::uint8_t>((slot + 1) % kMostSlots);
    net_.accepts_[lane_of(slot)] = static_cast<std::uint8_t>((number + 1) % node.ports);
  }
}

// The one with the most credits, the first of equals.
std::uint32_t Part::emptiest_lane(Time now, std::uint32_t output, std::uint32_t lanes) {
  auto best = static_cast<std::uint32_t>(std::countr_zero(lanes));
  std::int32_t most = -1;
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
    Lane& beyond = net_.lane_of_[output * net_.lanes_ + lane];
    reclaim(beyond, now);
    if (beyond.credits > most) most = beyond.credits, best = lane;
  }
  return best;
}

// The packet of an input's slot that asks for this of an output.
std::uint32_t Part::front_of(std::uint32_t output, std::uint8_t want, std::uint32_t slot) const {
  const Node& node = net_.nodes_[net_.node_of_[output]];
  const std::uint32_t lane = want / net_.channels_ * net_.channels_ + slot % net_.channels_;
  const std::uint32_t in_lane = slot / net_.channels_ * net_.lanes_ + lane;
  return net_.queues_[node.first_queue + (net_.voq_ ? in_lane * node.ports + output - node.first_port : in_lane)].front;
}

// A lane of an input has passed a packet: the fronts of its queues can have their turn.
void Part::wake_fronts(std::uint32_t input, std::uint8_t lane) {
  const Node& node = net_.nodes_[net_.node_of_[input]];
  const std::uint32_t first = node.first_queue + ((input - node.first_port) * net_.lanes_ + lane) * node.ports;
  const Time from = net_.passed_[input * net_.lanes_ + lane];
  for (std::uint32_t output = 0; output < node.ports; ++output) {
    const std::uint32_t front = net_.queues_[first + output].front;
    if (front != kNone)
      call(node.first_port + output, max(max(worms_[front].request, from), net_.out_free_[node.first_port + output]));
  }
}

std::uint32_t Part::next_header(Time now, std::uint32_t output, std::uint8_t want, Time& retry) const {
  Slots asking = net_.waiting_[output * net_.lanes_ + want];
  const unsigned from = net_.first_slot_[output * net_.lanes_ + want];
  while (!asking.empty()) {
    const unsigned slot = asking.next(from);
    const Worm& worm = worms_[front_of(output, want, slot)];
    const Time at = max(worm.request, net_.passed_[worm.input * net_.lanes_ + worm.lane]);
    if (at <= now) return slot;
    retry = min(retry, at);
    asking.remove(slot);
  }
  return kNone;
}

// Whether the output has a flit to pass, and which. If not, it is due when it may have one, as far as is known.
bool Part::pick(Time now, NodeId index, std::uint32_t output, Pick& made) {
  const Node& node = net_.nodes_[index];
  const std::uint32_t port = node.first_port + output;
  Time& due = net_.due_[port];
  const Link& out = net_.ports_[port];
  std::uint32_t classes = 0;
  for (std::uint32_t c = 0; c < net_.classes_; ++c)
    if ((out.held >> (c * net_.channels_) & ((1u << net_.channels_) - 1)) != 0) classes |= 1u << c;
  while (classes != 0) {
    const std::uint32_t next = take_class(classes, !net_.config_.weights.empty(), &net_.shares_[port * net_.classes_],
                                          net_.virtual_time_[port]);
    const std::uint32_t lane = pick_of_class(now, port, next, due);
    if (lane == kNone) continue;
    made = {output, worms_[net_.lane_of_[port * net_.lanes_ + lane].worm].input - node.first_port, next,
            static_cast<std::uint8_t>(lane)};
    return true;
  }
  return false;
}

// The lane of this class whose turn it is, of those that can pass a flit.
std::uint32_t Part::pick_of_class(Time now, std::uint32_t output, std::uint32_t priority_class, Time& retry) {
  const Link& out = net_.ports_[output];
  const std::uint32_t first = net_.shares_[output * net_.classes_ + priority_class].first;
  for (std::uint32_t i = 0; i < net_.channels_; ++i) {
    const std::uint32_t turn = first + i < net_.channels_ ? first + i : first + i - net_.channels_;
    const std::uint32_t lane = priority_class * net_.channels_ + turn;
    if ((out.held >> lane & 1) == 0) continue;
    Lane& channel = net_.lane_of_[output * net_.lanes_ + lane];
    const Worm& worm = worms_[channel.worm];
    if (worm.sent == worm.known) continue;  // receive() makes it due
    Time at = max(readable_[std::size_t{channel.worm} * net_.most_words_ + worm.sent], net_.in_free_[worm.input]);
    if (channel.credits == 0 && out.link_class != kIntraTile) {
      reclaim(channel, now);
      if (channel.credits == 0) {
        if (channel.back.empty()) continue;  // take_credit() makes it due
        at = max(at, channel.back.front());
      }
    }
    if (at <= now) return lane;
    retry = min(retry, at);
  }
  return kNone;
}

// Charges an output's class with what it has given: a flit of a class. The channel after it has the next turn.
void Part::charge(std::uint32_t output, std::uint8_t lane) {
  const std::uint32_t priority_class = lane / net_.channels_;
  Share& share = net_.shares_[output * net_.classes_ + priority_class];
  if (!net_.fixed_) share.first = static_cast<std::uint8_t>((lane % net_.channels_ + 1) % net_.channels_);
  if (net_.config_.weights.empty()) return;
  charge_share(share, net_.virtual_time_[output], net_.tag_[priority_class], 1);
}

}  // namespace exanet
