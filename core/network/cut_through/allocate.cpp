// SPDX-License-Identifier: Apache-2.0
// Who goes next: inputs whose line is free and whose front has space beyond are matched with outputs whose line is
// free.
//
// Among classes an output prefers the highest, or shares its words by weight (common/class_schedule.hpp). Among the
// inputs of a class it goes round, or takes the first.
//
// An allocation sees all requests and all space of its instant, whatever the order of events, for both are registered
// ahead of their time.
#include "core/network/cut_through/state.hpp"

namespace exanet {

using namespace cut_through_state;

void Part::wake(NodeId node, Time at) {
  at = net_.timing_.in_slot(at);
  Node& asleep = net_.nodes_[node];
  if (at == events_.now()) asleep.ran = kNever;
  if (asleep.wake_at == at) return;
  asleep.wake_at = at;
  events_.schedule(at, allocate_event_, node);
}

void Part::allocate(Time now, NodeId index) {
  Node& node = net_.nodes_[index];
  if (node.wake_at == now) node.wake_at = kNever;
  if (node.ran == now) return;
  node.ran = now;
  Slots free;
  const std::uint64_t channels = (std::uint64_t{1} << net_.channels_) - 1;
  for (std::uint32_t p = 0; p < node.ports; ++p) {
    if (net_.in_free_[node.first_port + p] > now) continue;
    const std::uint32_t slot = p * net_.channels_;
    free.word[slot / 64] |= channels << (slot % 64);
    if (slot % 64 + net_.channels_ > 64) free.word[1] |= channels >> (64 - slot % 64);
  }
  if (net_.config_.arbitration == SwitchConfig::Arbitration::kIslip)
    match_by_islip(now, index, free);
  else
    match_in_turn(now, index, free);
}

// Each free output takes an input of those that are left; another output begins each time, for the first has the
// choice.
void Part::match_in_turn(Time now, NodeId index, Slots free) {
  const Node& node = net_.nodes_[index];
  const bool fixed = net_.config_.arbitration == SwitchConfig::Arbitration::kFixedPriority;
  const std::uint32_t start = fixed ? 0 : node.grants % node.ports;
  for (Slots asked = node.asked; !asked.empty() && !free.empty();) {
    const std::uint32_t output = asked.next(start);
    asked.remove(output);
    if (net_.out_free_[node.first_port + output] > now) continue;
    const Choice choice = choose(now, index, output, free);
    if (choice.slot == kNone) continue;
    const std::uint32_t first_slot = choice.slot - net_.slot_channel_[choice.slot];
    for (std::uint32_t c = 0; c < net_.channels_; ++c) free.remove(first_slot + c);
    if (!fixed)
      net_.shares_[(node.first_port + output) * net_.classes_ + choice.priority_class].first =
          static_cast<std::uint8_t>((choice.slot + 1) % kMostSlots);
    grant(now, index, output, choice);
  }
}

// Request, grant, accept. Pointers move beyond a match of the first iteration only, which is what takes them apart.
void Part::match_by_islip(Time now, NodeId index, Slots free) {
  const Node& node = net_.nodes_[index];
  struct Offer {
    std::uint32_t output = kNone, distance = 0;
    Choice choice;
  };
  Offer best[kMostSlots];
  for (std::int64_t iteration = 0; iteration < net_.config_.iterations && !free.empty(); ++iteration) {
    Slots offered;
    for (Slots asked = node.asked; !asked.empty();) {
      const std::uint32_t output = asked.next(0);
      asked.remove(output);
      if (net_.out_free_[node.first_port + output] > now) continue;
      const Choice choice = choose(now, index, output, free);
      if (choice.slot == kNone) continue;
      const std::uint32_t input = net_.slot_port_[choice.slot];
      Offer& held = best[input];
      const std::uint32_t from = net_.ports_[node.first_port + input].accepts_from;
      const std::uint32_t distance = (output + node.ports - from) % node.ports;
      const bool first = (offered.word[input / 64] >> (input % 64) & 1) == 0;
      const bool higher = net_.config_.weights.empty() && choice.priority_class != held.choice.priority_class;
      if (!first && (higher ? choice.priority_class < held.choice.priority_class : distance > held.distance)) continue;
      offered.add(input);
      held = {output, distance, choice};
    }
    if (offered.empty()) return;
    for (std::uint32_t input = 0; input < node.ports; ++input) {
      if ((offered.word[input / 64] >> (input % 64) & 1) == 0) continue;
      const auto [output, distance, choice] = best[input];
      for (std::uint32_t c = 0; c < net_.channels_; ++c) free.remove(input * net_.channels_ + c);
      if (iteration == 0) {
        net_.shares_[(node.first_port + output) * net_.classes_ + choice.priority_class].first =
            static_cast<std::uint8_t>((choice.slot + 1) % kMostSlots);
        net_.ports_[node.first_port + input].accepts_from = static_cast<std::uint8_t>((output + 1) % node.ports);
      }
      grant(now, index, output, choice);
    }
  }
}

Choice Part::choose(Time now, NodeId node, std::uint32_t output, const Slots& free) {
  const std::uint32_t index = net_.nodes_[node].first_port + output;
  if (net_.classes_ == 1) return {first_ready(now, node, output, 0, free), 0};
  std::uint32_t left = (1u << net_.classes_) - 1;
  while (left != 0) {
    const std::uint32_t next = take_class(left, !net_.config_.weights.empty(), &net_.shares_[index * net_.classes_],
                                          net_.virtual_time_[index]);
    const std::uint32_t slot = first_ready(now, node, output, static_cast<std::uint8_t>(next), free);
    if (slot != kNone) return {slot, static_cast<std::uint8_t>(next)};
  }
  return {};
}

// Charges a class with what it has been given of an output. Called at the grant.
void Part::charge(std::uint32_t output, std::uint8_t priority_class, std::uint32_t words) {
  if (net_.config_.weights.empty()) return;
  charge_share(net_.shares_[output * net_.classes_ + priority_class], net_.virtual_time_[output],
               net_.tag_[priority_class], words);
}

std::uint32_t Part::first_ready(Time now, NodeId node, std::uint32_t output, std::uint8_t priority_class,
                                const Slots& free) {
  const Node& at = net_.nodes_[node];
  const std::uint32_t turn = (at.first_port + output) * net_.classes_ + priority_class;
  Slots asking = net_.waiting_[turn] & free;
  if (asking.empty()) return kNone;
  const unsigned from =
      net_.config_.arbitration == SwitchConfig::Arbitration::kFixedPriority ? 0 : net_.shares_[turn].first;
  while (!asking.empty()) {
    const unsigned slot = asking.next(from);
    const std::uint32_t port = at.first_port + net_.slot_port_[slot];
    const auto lane = static_cast<std::uint8_t>(priority_class * net_.channels_ + net_.slot_channel_[slot]);
    if (passes(now, at.first_port + output, priority_class, port, queue_of(node, port, lane, output).front))
      return slot;
    asking.remove(slot);
  }
  return kNone;
}

// Whether this front may go, as far as the buffers beyond are concerned. If not, the switch is woken when it may.
bool Part::passes(Time now, std::uint32_t output, std::uint8_t priority_class, std::uint32_t port,
                  std::uint32_t front) {
  const Entry& entry = entries_[front];
  if (entry.request > now) return false;
  const Port& out = net_.ports_[output];
  if (out.link_class == kIntraTile) return true;
  for (std::uint32_t vc = entry.vc; vc < net_.channels_; vc += net_.channel_step_)
    if (has_credit(now, output, static_cast<std::uint8_t>(priority_class * net_.channels_ + vc))) return true;
  if (net_.may_reroute_ && !entry.blocked) block(now, port, front);
  return false;
}

// Whether a lane of the buffer beyond takes a packet, the largest whatever this one's length: else short ones would
// starve long ones.
bool Part::has_credit(Time now, std::uint32_t output, std::uint8_t lane) {
  if (net_.pauses_) return (net_.ports_[output].paused >> lane & 1) == 0;
  CreditPool& pool = net_.pools_[output];
  reclaim(pool, now);
  if ((pool.closed >> lane & 1) != 0) return false;
  if (pool.fits(lane, net_.most_words_)) return true;
  pool.closed = static_cast<std::uint8_t>(pool.closed | 1u << lane);
  pool.starved = pool.oldest == kNone;
  if (!pool.starved) wake(net_.node_of_[output], entries_[pool.oldest].request);
  return false;
}

// Of the channels that may stand for `vc`, and whose lane has space, the one whose lane holds least; with pauses the
// first that may go on. Contract: there is one.
std::uint8_t Part::emptiest_channel(std::uint32_t output, std::uint8_t priority_class, std::uint8_t vc) const {
  const CreditPool& pool = net_.pools_[output];
  std::uint8_t best = vc;
  std::int32_t least = INT32_MAX;
  for (std::uint32_t c = vc; c < net_.channels_; c += net_.channel_step_) {
    const auto lane = static_cast<std::uint8_t>(priority_class * net_.channels_ + c);
    const bool space = net_.pauses_ ? (net_.ports_[output].paused >> lane & 1) == 0 : pool.fits(lane, net_.most_words_);
    if (space && pool.used[lane] < least) least = pool.used[lane], best = static_cast<std::uint8_t>(c);
  }
  return best;
}

}  // namespace exanet
