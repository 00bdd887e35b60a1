// SPDX-License-Identifier: Apache-2.0
// Moves fluid by steps of a credit loop: each router is solved (RoundRobin), all fluid moves one hop, and the messages'
// last bits go along.
//
// Problem: what a FIFO passes on depends on those before and behind it. Model: all routers of a step see the FIFOs as
// the step before has left them, so their order cannot be seen in the result. Limits: fluid_simulator.hpp.
#include "core/flow/fluid_simulator.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/config/error.hpp"
#include "core/routing/routing.hpp"
#include "core/units/check.hpp"

namespace exanet {

namespace {

constexpr double kDust = 1e-6;  // of a packet, or of a FIFO: too little to stand in anybody's way
constexpr double kLastDust = 1e-3;  // of a packet
constexpr std::uint64_t kStepsBetweenLeaps = 4;
constexpr double kLeastLeap = 4;  // steps
constexpr double kTolerated = 1.0 / 32;  // of a buffer

double bits_in(Rate rate, double step_s) { return static_cast<double>(rate) * 1e-6 * step_s; }

}  // namespace

FluidSimulator::FluidSimulator(const FlowNetwork& network)
    : Flows(network),
      links_(network.link_count()),
      channels_(network.channels()),
      sources_(links_ * channels_),
      sinks_(sources_ + network.sender_count()),
      buffer_bits_(network.buffer_bits()),
      packet_bits_(network.packet_bits()),
      step_(network.credit_loop()),
      fifos_(sinks_ + network.sender_count()),
      output_slot_(network.resource_count()),
      output_mark_(network.resource_count()),
      crossing_(network.topology().node_count()),
      turn_(network.sender_count(), kNothing),
      last_(turn_),
      used_bits_(network.resource_count()) {
  if (!network.in_turn())
    throw ConfigError(
        "router.arbitration",
        "FIFO sharing models routers that serve their FIFOs in turn; this machine's routers serve links or a "
        "fixed priority first, "
        "or have a queue for each output: choose max-min, or the packet level");
  const Topology& topology = network.topology();
  const std::uint32_t wanted =
      topology.routing() == nullptr ? topology.virtual_channels() : topology.routing()->virtual_channels();
  if (wanted > channels_)
    throw ConfigError("router.virtual_channels", "this routing needs " + std::to_string(wanted) +
                                                     " virtual channels, and the machine's routers have " +
                                                     std::to_string(channels_));
  first_input_.resize(topology.node_count() + 1);
  const auto each_link = [&](auto visit) {
    for (NodeId node = 0; node < topology.node_count(); ++node)
      for (std::uint16_t port = 0; port < topology.port_count(node); ++port)
        if (const NodeId far = topology.neighbour(node, port).node; far != kNoNode)
          visit(network.link(node, port), far);
  };
  link_end_.resize(links_, kNoNode);
  each_link([&](ResourceId link, NodeId far) {
    link_end_[link] = far;
    ++first_input_[far + 1];
  });
  for (NodeId node = 0; node < topology.node_count(); ++node) first_input_[node + 1] += first_input_[node];
  input_links_.resize(first_input_.back());
  std::vector<std::uint32_t> next(first_input_.begin(), first_input_.end() - 1);
  each_link([&](ResourceId link, NodeId far) { input_links_[next[far]++] = link; });
}

bool FluidSimulator::step(Time limit) {
  if (under_way() == 0) {  // what still stands behind last bits is of no interest
    const Time next = next_start();
    if (next == Time::never() || next > limit) {
      if (limit != Time::never()) now_ = max(now_, limit);
      return false;
    }
    now_ = max(now_, next);
  }
  start_due();
  const Time step = min(step_, limit - now_);
  if (step <= Time()) return false;
  if (nodes_changed_) list_nodes();
  const double step_s = static_cast<double>(step.ps()) * 1e-12;
  for (const FifoId id : used_fifos_) fifos_[id].out = 0;
  for (const NodeId node : nodes_) route(node, step_s);
  move();
  now_ = now_ + step;
  advance_marks(step);
  ++events_;
  if (step == step_ && events_ % kStepsBetweenLeaps == 0) leap(limit);
  return true;
}

void FluidSimulator::begin(FlowId id) {
  if (next_of_sender_.size() < flows_.size()) {
    next_of_sender_.resize(flows_.size(), kNothing);
    moving_of_.resize(flows_.size(), kNothing);
  }
  FlowId& last = last_[sender_of(id)];
  if (last != kNothing) {
    next_of_sender_[last] = id;
    last = id;
    return;
  }
  last = id;
  if (release(id))
    moving_.back().late = now_ - flows_[id].begin;
  else
    turn_[sender_of(id)] = last = kNothing;
}

bool FluidSimulator::release(FlowId id) {
  const Flow& flow = flows_[id];
  network_.route(flow.src, flow.dst, route_, &route_channels_);
  turn_[route_.front() - links_] = id;
  if (!network_.works(route_)) {
    arrive(id, now_, Status::kLinkDown);
    return false;
  }
  const auto hops = static_cast<std::uint32_t>(route_.size() - 2);
  hops_ += hops;
  ++routes_;
  const double volume = network_.volume_bits(flow.bytes);
  moving_of_[id] = static_cast<std::uint32_t>(moving_.size());
  moving_.push_back({id, static_cast<std::uint32_t>(places_.size()), hops + 1, volume, 0, 0, Time()});
  EXANET_CHECK(places_.size() + hops + 1 < kNothing, "the routes of the flows are too many", now_.ps(), id, hops);
  FifoId fifo = sources_ + (route_.front() - links_);
  for (std::uint32_t hop = 0; hop <= hops; ++hop) {
    const FifoId target =
        hop < hops ? route_[hop + 1] * channels_ + route_channels_[hop] : sources_ + (route_.back() - links_);
    places_.push_back({branch(fifo, target), hop == 0 ? volume : 0});
    nodes_changed_ |= crossing_[node_of(fifo)]++ == 0;
    fifo = target;
  }
  Branch& first = branches_[places_[moving_.back().first].branch];
  first.bits += volume;
  moving_.back().ahead = fifos_[first.fifo].bits += volume;
  return true;
}

// The sender's next messages, if there are any: until they are a packet's worth.
void FluidSimulator::pass_turn(FlowId id) {
  const std::uint32_t sender = sender_of(id);
  double bits = 0;
  while (bits < packet_bits_ && last_[sender] != id)
    if (release(id = next_of_sender_[id])) bits += moving_.back().volume;
  if (bits >= packet_bits_) return;
  turn_[sender] = last_[sender] = kNothing;
}

std::uint32_t FluidSimulator::branch(FifoId fifo, FifoId target) {
  for (std::uint32_t b = fifos_[fifo].first; b != kNothing; b = branches_[b].next)
    if (branches_[b].target == target) return b;
  if (fifos_[fifo].first == kNothing) used_fifos_.push_back(fifo);
  branches_.push_back({fifo, target, fifos_[fifo].first});
  return fifos_[fifo].first = static_cast<std::uint32_t>(branches_.size() - 1);
}

NodeId FluidSimulator::node_of(FifoId fifo) const {
  return fifo < sources_ ? link_end_[fifo / channels_] : (fifo - sources_) / network_.topology().rails();
}

void FluidSimulator::list_nodes() {
  nodes_.clear();
  for (NodeId node = 0; node < crossing_.size(); ++node)
    if (crossing_[node] > 0) nodes_.push_back(node);
  nodes_changed_ = false;
}

// Computes what each FIFO of a router passes on in this step, as a share of what it holds.
void FluidSimulator::route(NodeId node, double step_s) {
  router_.clear();
  solved_.clear();
  ++solving_;
  const double read = bits_in(network_.read_rate(), step_s);
  const auto add = [&](FifoId id) {
    const Fifo& fifo = fifos_[id];
    if (fifo.bits <= 0) {  // of which rounding may be left
      for (std::uint32_t b = fifo.first; b != kNothing; b = branches_[b].next) branches_[b].share = 1;
      return;
    }
    solved_.push_back(id);
    router_.add_input(std::min(fifo.bits, read));
    for (std::uint32_t b = fifo.first; b != kNothing; b = branches_[b].next) {
      const Branch& branch = branches_[b];
      if (branch.bits <= kDust * fifo.bits) continue;
      const double share = branch.bits / fifo.bits;
      router_.ask(output(branch.target, step_s), share);
      if (branch.target < sources_) router_.ask(space(branch.target), share);
    }
  };
  for (std::uint32_t i = first_input_[node]; i < first_input_[node + 1]; ++i)
    for (std::uint32_t channel = 0; channel < channels_; ++channel) add(input_links_[i] * channels_ + channel);
  const std::uint32_t rails = network_.topology().rails();
  for (std::uint32_t sender = node * rails; sender < turn_.size() && sender < (node + 1) * rails; ++sender)
    add(sources_ + sender);
  const std::vector<double>& amounts = router_.solve();
  for (std::size_t i = 0; i < solved_.size(); ++i) {
    Fifo& fifo = fifos_[solved_[i]];
    const double share = fifo.bits > kDust * packet_bits_ ? amounts[i] / fifo.bits : 1;
    fifo.out = share * fifo.bits;
    for (std::uint32_t b = fifo.first; b != kNothing; b = branches_[b].next) branches_[b].share = share;
  }
}

ResourceId FluidSimulator::resource(FifoId fifo) const {
  return fifo < sources_ ? fifo / channels_ : fifo - sources_ + links_;
}

std::uint32_t FluidSimulator::output(FifoId target, double step_s) {
  const ResourceId id = resource(target);
  if (output_mark_[id] != solving_) {
    output_mark_[id] = solving_;
    output_slot_[id] = router_.add_resource(bits_in(network_.capacity(id), step_s));
  }
  return output_slot_[id];
}

std::uint32_t FluidSimulator::space(FifoId target) {
  Fifo& fifo = fifos_[target];
  if (fifo.mark != solving_) {
    fifo.mark = solving_;
    fifo.slot = router_.add_resource(buffer_bits_ - fifo.bits);
  }
  return fifo.slot;
}

// All fluid by one hop at once: what arrives in a FIFO in this step moves on in the next one.
void FluidSimulator::move() {
  for (const FifoId id : used_fifos_) {
    Fifo& fifo = fifos_[id];
    fifo.in = fifo.out - fifo.bits;  // less what stays; what is there afterwards is added below
    fifo.bits = 0;
  }
  for (Branch& b : branches_) b.bits = 0;
  const double dust = kLastDust * packet_bits_;
  for (Moving& m : moving_) {
    double arriving = 0;
    for (std::uint32_t p = m.first; p < m.first + m.length; ++p) {
      Place& place = places_[p];
      Branch& branch = branches_[place.branch];
      // The last dust goes at once: it would get less and less for ever.
      const double leaving = place.bits < dust && arriving == 0 ? place.bits : place.bits * branch.share;
      const double change = arriving - leaving;
      place.bend = change - place.change;
      place.change = change;
      place.bits += change;
      branch.bits += place.bits;
      arriving = leaving;
    }
    m.delivered += arriving;
    m.last_move = arriving;
    work_ += m.length;
  }
  for (const Branch& b : branches_) fifos_[b.fifo].bits += b.bits;
  for (const FifoId id : used_fifos_) fifos_[id].in += fifos_[id].bits;
}

// Where rates hardly change, many steps as one (projective integration: Gear and Kevrekidis, "Projective methods for
// stiff differential equations", 2003): all contents change on as in the last step, as long as what changes in that
// amounts to no more than a small part of a buffer, no FIFO becomes full or loses a message, and none arrives or
// starts.
void FluidSimulator::leap(Time limit) {
  if (under_way() == 0) return;
  double steps = static_cast<double>((min(limit, next_start()) - now_).ps() / step_.ps());
  const double tolerated = 2 * buffer_bits_ * kTolerated;
  for (const FifoId id : used_fifos_) {
    const Fifo& fifo = fifos_[id];
    if (id < sources_ && fifo.in > fifo.out)
      steps = std::min(steps, (buffer_bits_ - fifo.bits) / (fifo.in - fifo.out) - 1);
  }
  for (const Moving& m : moving_) {
    if (steps < kLeastLeap) return;
    if (m.mark < m.length) {
      const double out = fifos_[branches_[places_[m.first + m.mark].branch].fifo].out;
      if (out > 0) steps = std::min(steps, m.ahead / out - 1);
    }
    for (std::uint32_t p = m.first; p < m.first + m.length; ++p) {
      const Place& place = places_[p];
      if (std::abs(place.bend) * steps * steps > tolerated) steps = std::sqrt(tolerated / std::abs(place.bend));
      // Not beyond the step with which the sender's next message begins.
      const double reserve = p == m.first && place.bits >= packet_bits_ ? packet_bits_ : 0;
      if (place.change < 0) steps = std::min(steps, (place.bits - reserve) / -place.change - 1);
    }
  }
  if (steps < kLeastLeap) return;
  const double leapt = std::floor(steps);
  for (Branch& b : branches_) b.bits = 0;
  for (Moving& m : moving_) {
    if (m.mark < m.length) m.ahead -= leapt * fifos_[branches_[places_[m.first + m.mark].branch].fifo].out;
    for (std::uint32_t p = m.first; p < m.first + m.length; ++p) {
      places_[p].bits += leapt * places_[p].change;
      branches_[places_[p].branch].bits += places_[p].bits;
    }
    m.delivered += leapt * m.last_move;
  }
  for (const FifoId id : used_fifos_) fifos_[id].bits = 0;
  for (const Branch& b : branches_) fifos_[b.fifo].bits += b.bits;
  now_ = now_ + step_ * static_cast<std::int64_t>(leapt);
}

// The last bits go on from where all that was before them has gone in this step, and messages arrive with them.
void FluidSimulator::advance_marks(Time step) {
  passing_.clear();
  for (std::size_t i = 0; i < moving_.size();) {
    Moving& m = moving_[i];
    if (turn_[sender_of(m.flow)] == m.flow && places_[m.first].bits < packet_bits_) passing_.push_back(m.flow);
    if (m.mark < m.length) advance_mark(m, step);
    if (m.mark == m.length && m.volume - m.delivered < kDust * packet_bits_)
      retire(i);
    else
      ++i;
  }
  for (const FlowId flow : passing_) pass_turn(flow);
}

void FluidSimulator::advance_mark(Moving& m, Time step) {
  const Branch& branch = branches_[places_[m.first + m.mark].branch];
  const Fifo& fifo = fifos_[branch.fifo];
  const bool emptied = branch.share > 1 - kDust;
  if (!emptied && m.ahead > fifo.out && m.ahead > kDust * packet_bits_) {
    m.ahead = std::min(m.ahead - fifo.out, fifo.bits);
    m.rate = fifo.out;
    return;
  }
  // Through a FIFO that holds nobody back it goes as it came; out of its sender, at the rate of what went before it, or
  // of the link.
  if (!emptied)
    m.passed = fifo.out > 0 ? std::min(1.0, m.ahead / fifo.out) : 0;
  else if (m.mark == 0)
    m.passed = std::min(
        1.0, m.ahead / (m.rate > 0 ? m.rate : bits_in(network_.capacity(resource(branch.target)), step.ps() * 1e-12)));
  if (++m.mark == m.length) return arrive_mark(m, step);
  const Fifo& next = fifos_[branch.target];
  m.ahead = std::max(0.0, next.bits - (1 - m.passed) * next.in);
}

void FluidSimulator::arrive_mark(const Moving& m, Time step) {
  const Flow& flow = flows_[m.flow];
  own_route(m, route_);
  const Time early = Time::ps(static_cast<std::int64_t>((1 - m.passed) * static_cast<double>(step.ps())));
  arrive(m.flow,
         max(now_ - early - step_ * (m.length - 1) - m.late, flow.begin) + network_.latency(route_, flow.bytes));
}

void FluidSimulator::retire(std::size_t index) {
  const Moving m = moving_[index];
  check_whole(m, take_out(m));
  own_route(m, route_);
  for (const ResourceId r : route_) used_bits_[r] += m.volume;
  erase(index);
}

// What it has moved counts as used.
void FluidSimulator::lose(std::size_t index) {
  const Moving m = moving_[index];
  add_use(m, used_bits_);
  take_out(m);
  erase(index);
  if (turn_[sender_of(m.flow)] == m.flow) pass_turn(m.flow);
  arrive(m.flow, now_, Status::kLinkDown);
}

// A message whose last bit has arrived stays: what is left of it is rounding.
void FluidSimulator::links_changed() {
  for (std::size_t i = 0; i < moving_.size();) {
    own_route(moving_[i], route_);
    if (moving_[i].mark < moving_[i].length && !network_.works(route_))
      lose(i);
    else
      ++i;
  }
}

// Takes what is left of a message out of the FIFOs; returns how much it was.
double FluidSimulator::take_out(const Moving& m) {
  double left = 0;
  for (std::uint32_t p = m.first; p < m.first + m.length; ++p) {
    Branch& branch = branches_[places_[p].branch];
    left += places_[p].bits;
    branch.bits -= places_[p].bits;
    fifos_[branch.fifo].bits -= places_[p].bits;
    nodes_changed_ |= --crossing_[node_of(branch.fifo)] == 0;
  }
  return left;
}

void FluidSimulator::erase(std::size_t index) {
  dead_places_ += moving_[index].length;
  moving_[index] = moving_.back();
  moving_of_[moving_[index].flow] = static_cast<std::uint32_t>(index);
  moving_.pop_back();
  if (dead_places_ > 1024 && dead_places_ > places_.size() / 2) close_gaps();
}

void FluidSimulator::close_gaps() {
  std::vector<Place> kept;
  kept.reserve(places_.size() - dead_places_);
  for (Moving& m : moving_) {
    const auto first = static_cast<std::uint32_t>(kept.size());
    kept.insert(kept.end(), places_.begin() + m.first, places_.begin() + m.first + m.length);
    m.first = first;
  }
  places_ = std::move(kept);
  dead_places_ = 0;
}

double FluidSimulator::moved_bits(FlowId id) const {
  const Flow& flow = flows_[id];
  if (flow.status != Status::kOk) return 0;
  if (flow.finished != Time::never()) return 8.0 * static_cast<double>(flow.bytes);
  const std::uint32_t m = id < moving_of_.size() ? moving_of_[id] : kNothing;
  return m == kNothing
             ? 0
             : 8.0 * static_cast<double>(flow.bytes) * std::min(1.0, moving_[m].delivered / moving_[m].volume);
}

std::vector<double> FluidSimulator::use_bits() const {
  std::vector<double> use = used_bits_;
  for (const Moving& m : moving_) add_use(m, use);
  return use;
}

// What the message has moved until now.
void FluidSimulator::add_use(const Moving& m, std::vector<double>& use) const {
  std::vector<ResourceId> route;
  own_route(m, route);
  double passed = m.volume;
  for (std::uint32_t hop = 0; hop < m.length; ++hop) use[route[hop + 1]] += passed -= places_[m.first + hop].bits;
  use[route.front()] += m.volume - places_[m.first].bits;
}

// As FlowNetwork::route() gave it when the message left its sender.
void FluidSimulator::own_route(const Moving& m, std::vector<ResourceId>& route) const {
  route.assign(1, resource(branches_[places_[m.first].branch].fifo));
  for (std::uint32_t p = m.first; p < m.first + m.length; ++p)
    route.push_back(resource(branches_[places_[p].branch].target));
}

std::uint64_t FluidSimulator::memory_bytes() const {
  return base_memory_bytes() + fifos_.capacity() * sizeof(Fifo) + branches_.capacity() * sizeof(Branch) +
         moving_.capacity() * sizeof(Moving) + places_.capacity() * sizeof(Place) +
         used_bits_.capacity() * sizeof(double) +
         (output_slot_.capacity() + output_mark_.capacity() + link_end_.capacity() + first_input_.capacity() +
          input_links_.capacity() + crossing_.capacity() + nodes_.capacity() + next_of_sender_.capacity() +
          turn_.capacity() + last_.capacity() + used_fifos_.capacity() + moving_of_.capacity()) *
             sizeof(std::uint32_t);
}

// Each message is whole, what FIFOs hold is what is left of messages, and none is forgotten.
void FluidSimulator::check_conserved() const {
  double standing = 0, left = 0, volumes = 0;
  std::uint64_t here = 0;
  for (const Moving& m : moving_) {
    double in_flight = 0;
    for (std::uint32_t p = m.first; p < m.first + m.length; ++p) in_flight += places_[p].bits;
    check_whole(m, in_flight);
    left += in_flight;
    volumes += m.volume;
    here += m.mark < m.length;
  }
  for (const FifoId id : used_fifos_) standing += fifos_[id].bits;
  EXANET_CHECK(std::abs(standing - left) <= kDust * volumes, "FIFOs hold what belongs to no message", now_.ps(),
               standing, left);
  for (std::size_t sender = 0; sender < turn_.size(); ++sender)
    for (FlowId id = turn_[sender]; id != last_[sender]; id = next_of_sender_[id]) ++here;
  EXANET_CHECK(here == under_way(), "messages have been lost or doubled", now_.ps(), here, under_way());
}

void FluidSimulator::check_whole(const Moving& m, double in_flight) const {
  EXANET_CHECK(std::abs(m.volume - m.delivered - in_flight) <= kDust * m.volume,
               "some of a message has been lost or doubled", now_.ps(), m.flow, in_flight);
}

}  // namespace exanet
