// SPDX-License-Identifier: Apache-2.0
// Moves flows from event to event: ends stand in a heap, in which a change of rates moves them; rates are MaxMin's.
//
// Problem: each event changes rates of flows elsewhere. Model: a flow keeps what is left of it and since when; both are
// brought up to date only when its rate changes. Bits are checked at any time against the integral of all rates
// (check_conserved). Limits: flow_simulator.hpp.
#include "core/flow/flow_simulator.hpp"

#include <algorithm>
#include <cmath>

#include "core/config/error.hpp"
#include "core/units/check.hpp"

namespace exanet {

namespace {

constexpr double kDustBits = 1e-3;
constexpr double kRounding = 1e-6;  // of all that has moved

double bits_of(__int128 rate, Time time) {
  return static_cast<double>(rate) * 1e-18 * static_cast<double>(time.ps());
}  // micro-bits a second, ps

Time time_for(double bits, Rate rate) {
  return Time::ps(static_cast<std::int64_t>(std::ceil(bits * 1e18 / static_cast<double>(rate))));
}

}  // namespace

FlowSimulator::FlowSimulator(const FlowNetwork& network, Time grain)
    : Flows(network),
      grain_(grain),
      sharing_(sharing_of(network)),
      senders_(network.sender_count()),
      watched_(network.sender_count()),
      used_bits_(network.resource_count()) {
  if (grain < Time::ps(1))
    throw ConfigError("grain_ps", "the interval in which events are grouped must be at least 1 ps");
}

Time FlowSimulator::next_event() const { return min(next_start(), ends_.empty() ? Time::never() : ends_.front().at); }

// The end of the grain.
Time FlowSimulator::taken_at(Time event) const {
  return Time::ps((event.ps() + grain_.ps() - 1) / grain_.ps() * grain_.ps());
}

Time FlowSimulator::next() const {
  const Time event = next_event();
  return event == Time::never() ? event : max(now_, taken_at(event));
}

bool FlowSimulator::step(Time limit) {
  const Time event = next_event();
  if (event == Time::never() || event > limit) {
    if (limit != Time::never()) advance_to(max(now_, limit));
    return false;
  }
  advance_to(max(now_, min(limit, taken_at(event))));
  ++events_;
  while (!ends_.empty() && ends_.front().at <= now_) {
    const Due due = ends_.front();
    if (waits(due.flow)) {
      release_due(sender_of(due.flow));
    } else {
      drop_first_end();
      finish(due.flow, due.at);
    }
  }
  start_due();
  sharing_.solve();
  reschedule();
  return true;
}

void FlowSimulator::advance_to(Time at) {
  carried_bits_ += bits_of(rates_, at - now_);
  now_ = at;
}

void FlowSimulator::begin(FlowId id) {
  if (moving_.size() < flows_.size()) {
    moving_.resize(flows_.size());
    end_place_.resize(flows_.size(), kNothing);
    next_of_sender_.resize(flows_.size(), kNothing);
  }
  const Flow& flow = flows_[id];
  const std::uint32_t number = network_.sender_of(flow.src, flow.dst);
  Sender& sender = senders_[number];
  const double volume = network_.volume_bits(flow.bytes), sent = sent_bits(sender);
  if (sender.bits == 0 || flow.begin != sender.taken)
    sender.ahead = std::min(sender.bits, sent + network_.sender_bits());
  sender.taken = flow.begin;
  sender.bits += volume;
  if (sender.waiting == kNothing && sender.ahead <= sent + kDustBits) return release(id);
  moving_[id].left_bits = sender.ahead;
  sender.waiting_bits += volume;
  (sender.waiting == kNothing ? sender.waiting : next_of_sender_[sender.last_waiting]) = id;
  sender.last_waiting = id;
  stirred_.push_back(number);
}

void FlowSimulator::release(FlowId id) {
  const Flow& flow = flows_[id];
  network_.route(flow.src, flow.dst, route_);
  if (!network_.works(route_)) {
    drop_end(id);
    const std::uint32_t number = sender_of(id);
    if (senders_[number].moving == kNothing && senders_[number].waiting == kNothing) idle(number);
    return arrive(id, now_, Status::kLinkDown);
  }
  sharing_.add(id, route_);
  hops_ += route_.size() - 2;
  ++routes_;
  moving_[id] = {network_.volume_bits(flow.bytes), now_};
  next_of_sender_[id] = std::exchange(senders_[sender_of(id)].moving, id);
}

// The first that waits, and those behind it that need not wait any longer either; more, as long as the network loses
// all of them at once.
void FlowSimulator::release_due(std::uint32_t number) {
  Sender& sender = senders_[number];
  do {
    const double ahead = std::max(sent_bits(sender) + kDustBits, moving_[sender.waiting].left_bits);
    while (sender.waiting != kNothing && moving_[sender.waiting].left_bits <= ahead) {
      const FlowId id = sender.waiting;
      sender.waiting = std::exchange(next_of_sender_[id], kNothing);
      sender.waiting_bits -= network_.volume_bits(flows_[id].bytes);
      if (end_place_[id] != kNothing) set_end(id, Time::never());  // until its rate is known
      release(id);
    }
  } while (sender.waiting != kNothing && sender.moving == kNothing);
  stirred_.push_back(number);
}

void FlowSimulator::finish(FlowId id, Time drained) {
  route_.clear();
  const double bits = network_.volume_bits(flows_[id].bytes);
  sharing_.each_resource(id, [&](ResourceId r) {
    route_.push_back(r);
    used_bits_[r] += bits;
  });
  rates_ -= sharing_.rate(id);
  carried_bits_ -= bits_of(sharing_.rate(id), now_ - drained);
  delivered_bits_ += bits;
  rounded_bits_ += bits_of(sharing_.rate(id), Time::ps(1));  // ends are rounded up to picoseconds
  sharing_.remove(id);
  const Time arrival = drained + network_.latency(route_, flows_[id].bytes);
  leave_sender(id);  // which may release others, by routes of their own
  arrive(id, arrival);
}

// Takes a flow that moves out of the network; what it has moved until now counts as used and lost.
void FlowSimulator::lose(FlowId id) {
  const double moved = network_.volume_bits(flows_[id].bytes) - left_now(id, sharing_.rate(id));
  sharing_.each_resource(id, [&](ResourceId r) { used_bits_[r] += moved; });
  rates_ -= sharing_.rate(id);
  lost_bits_ += moved;
  sharing_.remove(id);
  drop_end(id);
  leave_sender(id);
  arrive(id, now_, Status::kLinkDown);
}

void FlowSimulator::links_changed() {
  std::vector<FlowId> gone;
  for (const Due& due : ends_) {
    if (waits(due.flow)) continue;
    route_.clear();
    sharing_.each_resource(due.flow, [&](ResourceId r) { route_.push_back(r); });
    if (!network_.works(route_)) gone.push_back(due.flow);
  }
  if (!take_rates() && gone.empty()) return;
  ++events_;
  std::sort(gone.begin(), gone.end());  // ends stand in a heap: their order there is no one's business
  for (const FlowId flow : gone) lose(flow);
  sharing_.solve();
  reschedule();
}

// Links have other rates. Returns whether any has.
bool FlowSimulator::take_rates() {
  bool any = false;
  for (ResourceId r = 0; network_.rates_change() && r < network_.resource_count(); ++r) {
    if (sharing_.capacity(r) == network_.capacity(r)) continue;
    sharing_.set_capacity(r, network_.capacity(r));
    any = true;
  }
  return any;
}

// Takes a flow off its sender's list; what waits there may go.
void FlowSimulator::leave_sender(FlowId id) {
  moving_[id].left_bits = 0;
  const std::uint32_t number = sender_of(id);
  Sender& sender = senders_[number];
  FlowId* link = &sender.moving;
  while (*link != id) link = &next_of_sender_[*link];
  *link = std::exchange(next_of_sender_[id], kNothing);
  if (sender.waiting == kNothing) {
    if (sender.moving == kNothing)
      idle(number);
    else if (watched_[number])
      stirred_.push_back(number);
  } else if (sender.moving == kNothing) {
    release_due(number);
  } else {
    stirred_.push_back(number);
  }
}

void FlowSimulator::idle(std::uint32_t number) {
  senders_[number] = Sender();
  if (watched_[number]) vacancies_.push_back({number, now_});
}

// Since it was last idle.
double FlowSimulator::sent_bits(const Sender& sender) const {
  double left = sender.waiting_bits;
  for (FlowId id = sender.moving; id != kNothing; id = next_of_sender_[id]) left += left_now(id, sharing_.rate(id));
  return sender.bits - left;
}

double FlowSimulator::left_now(FlowId id, Rate rate) const {
  const Moving& flow = moving_[id];
  return std::max(0.0, flow.left_bits - bits_of(rate, now_ - flow.since));
}

// Flows whose rate has changed have another end, and what waits in their senders another time to go.
void FlowSimulator::reschedule() {
  for (const MaxMin::Change& change : sharing_.changed()) {
    Moving& flow = moving_[change.flow];
    flow.left_bits = left_now(change.flow, change.before);
    flow.since = now_;
    const Rate rate = sharing_.rate(change.flow);
    EXANET_CHECK(rate > 0, "a flow has come to a stand", now_.ps(), change.flow, rate);
    rates_ += rate - change.before;
    set_end(change.flow, now_ + time_for(flow.left_bits, rate));
    if (const std::uint32_t number = sender_of(change.flow); senders_[number].waiting != kNothing || watched_[number])
      stirred_.push_back(number);
  }
  for (const std::uint32_t number : stirred_) aim(number);
  stirred_.clear();
}

// When the first that waits in the sender may go, and when the sender's FIFO holds all that is left.
void FlowSimulator::aim(std::uint32_t number) {
  Sender& sender = senders_[number];
  if ((sender.waiting == kNothing && !watched_[number]) || std::exchange(sender.aimed, events_) == events_) return;
  Rate rate = 0;
  for (FlowId id = sender.moving; id != kNothing; id = next_of_sender_[id]) rate += sharing_.rate(id);
  const double sent = sent_bits(sender), beyond = sender.bits - sent - network_.sender_bits();
  if (sender.waiting != kNothing)
    set_end(sender.waiting, now_ + time_for(std::max(0.0, moving_[sender.waiting].left_bits - sent), rate));
  if (watched_[number]) vacancies_.push_back({number, beyond > kDustBits ? now_ + time_for(beyond, rate) : now_});
}

double FlowSimulator::moved_bits(FlowId id) const {
  const Flow& flow = flows_[id];
  if (flow.status != Status::kOk) return 0;
  const double volume = network_.volume_bits(flow.bytes);
  if (volume == 0 || id >= end_place_.size() || end_place_[id] == kNothing)
    return flow.finished == Time::never() ? 0 : 8.0 * static_cast<double>(flow.bytes);
  return waits(id) ? 0 : 8.0 * static_cast<double>(flow.bytes) * (1 - left_now(id, sharing_.rate(id)) / volume);
}

std::vector<double> FlowSimulator::use_bits() const {
  std::vector<double> use = used_bits_;
  for (const Due& active : ends_) {
    if (waits(active.flow)) continue;
    const double moved =
        network_.volume_bits(flows_[active.flow].bytes) - left_now(active.flow, sharing_.rate(active.flow));
    sharing_.each_resource(active.flow, [&](ResourceId r) { use[r] += moved; });
  }
  return use;
}

void FlowSimulator::set_end(FlowId flow, Time at) {
  std::uint32_t place = end_place_[flow];
  if (place == kNothing) {
    place = static_cast<std::uint32_t>(ends_.size());
    ends_.push_back({at, flow});
    end_place_[flow] = place;
    sift_up(place);
    return;
  }
  const bool earlier = at < ends_[place].at;
  ends_[place].at = at;
  earlier ? sift_up(place) : sift_down(place);
}

void FlowSimulator::drop_first_end() {
  end_place_[ends_.front().flow] = kNothing;
  const Due last = ends_.back();
  ends_.pop_back();
  if (ends_.empty()) return;
  ends_.front() = last;
  end_place_[last.flow] = 0;
  sift_down(0);
}

void FlowSimulator::drop_end(FlowId flow) {
  if (end_place_[flow] == kNothing) return;
  set_end(flow, Time::ps(-1));  // before all others
  drop_first_end();
}

void FlowSimulator::sift_up(std::uint32_t at) {
  const Due moving = ends_[at];
  for (; at > 0 && ends_[(at - 1) / 2] < moving; at = (at - 1) / 2) {
    ends_[at] = ends_[(at - 1) / 2];
    end_place_[ends_[at].flow] = at;
  }
  ends_[at] = moving;
  end_place_[moving.flow] = at;
}

void FlowSimulator::sift_down(std::uint32_t at) {
  const Due moving = ends_[at];
  for (std::size_t child; (child = 2 * std::size_t{at} + 1) < ends_.size();) {
    if (child + 1 < ends_.size() && ends_[child] < ends_[child + 1]) ++child;
    if (!(moving < ends_[child])) break;
    ends_[at] = ends_[child];
    end_place_[ends_[at].flow] = at;
    at = static_cast<std::uint32_t>(child);
  }
  ends_[at] = moving;
  end_place_[moving.flow] = at;
}

std::uint64_t FlowSimulator::memory_bytes() const {
  return base_memory_bytes() + sharing_.memory_bytes() + moving_.capacity() * sizeof(Moving) +
         ends_.capacity() * sizeof(Due) + senders_.capacity() * sizeof(Sender) + watched_.capacity() +
         used_bits_.capacity() * sizeof(double) +
         (end_place_.capacity() + next_of_sender_.capacity() + stirred_.capacity()) * sizeof(std::uint32_t);
}

// Checks bits carried at the rates against bits lost and gained by messages, and each resource's use against the rates
// of those on it.
void FlowSimulator::check_conserved() const {
  double moved = delivered_bits_ + lost_bits_;
  std::vector<Rate> used(network_.resource_count());
  std::uint64_t here = 0;
  for (const Sender& sender : senders_) {
    for (FlowId id = sender.moving; id != kNothing; id = next_of_sender_[id], ++here) {
      moved += network_.volume_bits(flows_[id].bytes) - left_now(id, sharing_.rate(id));
      sharing_.each_resource(id, [&](ResourceId r) { used[r] += sharing_.rate(id); });
    }
    for (FlowId id = sender.waiting; id != kNothing; id = next_of_sender_[id]) ++here;
  }
  EXANET_CHECK(here == under_way(), "messages have been lost or doubled", now_.ps(), here, under_way());
  EXANET_CHECK(std::abs(moved - carried_bits_) <= kRounding * moved + rounded_bits_,
               "some of the messages has been lost or doubled", now_.ps(), moved, carried_bits_);
  for (ResourceId r = 0; r < network_.resource_count(); ++r)
    EXANET_CHECK(sharing_.free(r) + used[r] == network_.capacity(r), "a resource has lost some of its capacity",
                 now_.ps(), r, sharing_.free(r));
}

}  // namespace exanet
