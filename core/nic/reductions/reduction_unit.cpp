// SPDX-License-Identifier: Apache-2.0
// Carries out the units that reduce along trees: parts of processes and of nodes below are added up, sums go up,
// results come down. Model and limits: reduction_unit.hpp.
#include "core/nic/reductions/reduction_unit.hpp"

#include <algorithm>
#include <bit>

namespace exanet {

namespace {

constexpr Cycle kRound = 256, kSlot = 16;  // of scans: of all trees, and of one
constexpr Cycle kTurn = 9;  // a word's read by the engine to that of its sum by the next pass
constexpr Cycle kToSender = 2;  // a step to its request at the sender
constexpr std::uint8_t kMaxBackoffExponent = 5;

std::uint8_t bit(std::uint8_t branch) { return static_cast<std::uint8_t>(1u << branch); }

}  // namespace

ReductionUnits::ReductionUnits(EventQueue& events, const ReductionsConfig& config, std::size_t nodes, void* self,
                               ReductionSender::Ended ended)
    : events_(events), config_(config), sender_(events, config, nodes, self, ended), nodes_(nodes) {
  on_step_ = events.add_handler(
      [](void* its, Time, std::uint32_t node, std::uint64_t) { static_cast<ReductionUnits*>(its)->step(node); }, this);
  on_scan_ = events.add_handler(
      [](void* its, Time, std::uint32_t node, std::uint64_t t) {
        static_cast<ReductionUnits*>(its)->scan(node, static_cast<std::uint8_t>(t));
      },
      this);
  on_receive_ = events.add_handler(
      [](void* its, Time, std::uint32_t node, std::uint64_t) { static_cast<ReductionUnits*>(its)->receive(node); },
      this);
}

void ReductionUnits::attach(Network& network) {
  network_ = &network;
  sender_.attach(network);
}

void ReductionUnits::open(NodeId node, std::uint8_t tree, const ReductionPlace& place) {
  Tree& t = nodes_[node].trees[tree];
  t = {};
  t.place = place;
  t.enabled = true;
  sender_.open(node, tree, place);
}

// --- Stores.

void ReductionUnits::store(NodeId node) { nodes_[node].orders.push_back({now(), false, 0, 0, {}}); }

void ReductionUnits::call(NodeId node, std::uint8_t tree, std::uint8_t branch, const ReductionShape& shape) {
  Node& n = nodes_[node];
  n.orders.push_back({now(), true, tree, branch, shape});
  wake(node, n);
}

// From which cycle on the first call asks for its step, as far as is known: words of vectors before it wait for those
// of packets.
Cycle ReductionUnits::front_order(Node& n) {
  for (; !n.orders.empty(); n.orders.pop_front()) {
    const Order& order = n.orders.front();
    Cycle cycle = std::max(order.stored + 2, n.order_done + 1);
    if (order.call) return cycle;
    for (const Span& span : n.writes)
      if (cycle >= span.first && cycle <= span.last) cycle = span.last + 1;
    if (cycle >= now())
      return std::any_of(n.orders.begin(), n.orders.end(), [](const Order& o) { return o.call; }) ? cycle + 1
                                                                                                  : kUnknown;
    n.order_done = cycle;
    while (!n.writes.empty() && n.writes.front().last <= cycle) n.writes.pop_front();
  }
  return kUnknown;
}

// --- Packets.

void ReductionUnits::arrived(const Packet& packet, Cycle footer) {
  if (packet.marked != 0)
    return network_->give_back(packet.dst, packet.intra_port, time_of(EjectPort::dropped(footer), config_.cycle));
  Node& n = nodes_[packet.dst];
  n.arrivals.push_back({ReductionWord::unpack(packet.user), packet.payload_bytes, footer});
  if (n.arrivals.size() == 1) begin(packet.dst, n);
  // Its first beat may get to the port's register while the one before it waits.
  if (n.arrivals.size() == 2 && n.arrivals[0].taken) load(packet.dst, n, n.arrivals[1]);
}

void ReductionUnits::load(NodeId node, Node& n, Arrival& arrival) {
  const std::uint32_t words = words_of(arrival.bytes);
  arrival.load = n.eject.load(arrival.footer, words);
  if (words > 1) return;
  n.eject.last_load = arrival.load;
  network_->give_back(node, config_.port, time_of(arrival.load + 1, config_.cycle));
}

// The first packet is looked at in the first cycle in which it is there and nothing else is being taken.
void ReductionUnits::begin(NodeId node, Node& n) {
  if (n.arrivals.empty()) return;
  Arrival& arrival = n.arrivals.front();
  if (arrival.load == kUnknown) load(node, n, arrival);
  at(std::max(arrival.load + 1, n.receiver_free), on_receive_, node);
}

void ReductionUnits::receive(NodeId node) {
  Node& n = nodes_[node];
  Arrival& arrival = n.arrivals.front();
  const ReductionWord& word = arrival.word;
  const Tree& tree = n.trees[word.tree];
  const State& state = tree.seen(now());
  const bool current =
      tree.enabled && word.number == (std::uint32_t{tree.place.epoch} << 16 | state.round) && word.reason == 0;
  const bool keeps = current && (word.result ? state.phase == Phase::kAwait
                                             : state.phase == Phase::kGather &&
                                                   (tree.place.remote() & ~state.come & bit(word.branch)) != 0);
  const std::uint32_t words = words_of(arrival.bytes);
  arrival.taken = true;
  arrival.kept = keeps && arrival.bytes == word.shape.bytes;
  const Cycle last = n.eject.take(arrival.load, now() + 1, words);
  if (words > 1) network_->give_back(node, config_.port, time_of(last + 1, config_.cycle));
  while (n.orders.empty() && !n.writes.empty() && n.writes.front().last < now()) n.writes.pop_front();
  if (keeps && !word.result && words != 0) n.writes.push_back({now() + 1, now() + words});
  arrival.whole = now() + std::max(words, 1u) + 1;
  if (n.arrivals.size() > 1) load(node, n, n.arrivals[1]);
  wake(node, n);
}

// --- Steps.

// A step may be chosen two cycles behind the one before, and in neither the cycle of a scan nor the two around it.
void ReductionUnits::wake(NodeId node, Node& n) {
  Cycle cycle = std::min(front_order(n), n.combined);
  if (!n.arrivals.empty()) cycle = std::min(cycle, n.arrivals.front().whole);
  if (cycle == kUnknown) return;
  cycle = std::max({cycle, n.last_step + 2, now()});
  const Cycle phase = cycle % kSlot;
  if (phase < 2) cycle += 2 - phase;
  if (phase == kSlot - 1) cycle += 3;
  if (cycle >= n.event) return;
  n.event = cycle;
  at(cycle, on_step_, node);
}

void ReductionUnits::step(NodeId node) {
  Node& n = nodes_[node];
  const Cycle cycle = now();
  if (cycle != n.event) return;  // an earlier one came between
  n.event = kUnknown;
  if (!n.arrivals.empty() && n.arrivals.front().whole <= cycle) {
    const Arrival arrival = n.arrivals.front();
    n.arrivals.pop_front();
    n.receiver_free = cycle + 1;
    n.last_step = cycle;
    begin(node, n);
    take_arrival(node, n, arrival, cycle);
  } else if (n.combined <= cycle) {
    const std::uint8_t t = n.jobs.front().tree;
    n.jobs.pop_front();
    n.combined = kUnknown;
    n.last_step = cycle;
    start_engine(n, cycle + 1);
    take_combined(node, n, t, cycle);
  } else if (front_order(n) <= cycle) {
    const Order order = n.orders.front();
    n.orders.pop_front();
    n.order_done = cycle;
    n.last_step = cycle;
    take_call(node, n, order, cycle);
  }
  wake(node, n);
}

bool ReductionUnits::agrees(const Tree& tree, const ReductionShape& shape) {
  return shape.legal() && (tree.state.come == 0 || tree.shape == shape);
}

void ReductionUnits::take_call(NodeId node, Node& n, const Order& order, Cycle cycle) {
  Tree& tree = n.trees[order.tree];
  const std::uint8_t one = bit(order.branch);
  if (!tree.enabled || (tree.place.branches & tree.place.locals & one) == 0) return;
  if (tree.state.phase == Phase::kBroken) return send_to(node, order.tree, {.locals = one}, cycle);
  if (tree.state.phase != Phase::kGather || (tree.state.come & one) != 0) return;
  if (!agrees(tree, order.shape)) return fail(node, tree, order.tree, ReductionEnding::kMismatch, cycle);
  take_part(node, n, order.tree, order.branch, order.shape, cycle);
}

void ReductionUnits::take_arrival(NodeId node, Node& n, const Arrival& arrival, Cycle cycle) {
  const ReductionWord& word = arrival.word;
  Tree& tree = n.trees[word.tree];
  const State& state = tree.state;
  const std::uint8_t one = bit(word.branch);
  const bool ours = tree.enabled && word.number >> 16 == tree.place.epoch &&
                    (word.result ? !tree.place.root : (tree.place.remote() & one) != 0);
  const auto round = static_cast<std::uint16_t>(word.number);
  if (ours && word.reason != 0 && state.phase != Phase::kBroken)
    return fail(node, tree, word.tree, ReductionEnding{word.reason}, cycle);
  if (ours && !word.result && word.reason == 0 && state.phase == Phase::kBroken)
    return send_to(node, word.tree, {.down = one}, cycle);
  if (ours && word.result && state.phase == Phase::kAwait && round == state.round && arrival.kept &&
      word.shape == tree.shape)
    return end(node, tree, word.tree, cycle);
  if (ours && !word.result && state.phase == Phase::kGather && (state.come & one) == 0) {
    if (round == state.round && arrival.kept) {
      if (!agrees(tree, word.shape)) return fail(node, tree, word.tree, ReductionEnding::kMismatch, cycle);
      return take_part(node, n, word.tree, word.branch, word.shape, cycle);
    }
    if (state.begun && round == static_cast<std::uint16_t>(state.round - 1)) {
      ++repeated_;
      return send_to(node, word.tree, {.down = one}, cycle);
    }
  }
  ++dropped_;
}

void ReductionUnits::take_part(NodeId node, Node& n, std::uint8_t t, std::uint8_t branch, const ReductionShape& shape,
                               Cycle cycle) {
  Tree& tree = n.trees[t];
  State state = tree.state;
  if (state.come == 0) {
    tree.first = scans_before(t, cycle);
    tree.shape = shape;
  }
  state.come |= bit(branch);
  if (state.come == tree.place.branches) {
    state.phase = Phase::kCombine;
    n.jobs.push_back(
        {t, static_cast<std::uint32_t>(std::popcount(tree.place.branches)), words_of(shape.bytes), cycle + 1});
    if (n.jobs.size() == 1) start_engine(n, cycle + 2);
  }
  const bool first = tree.state.come == 0;
  change(tree, state, cycle);
  if (first) await_scan(node, t);
}

// The first job's passes, from this cycle on if it has been there for one.
void ReductionUnits::start_engine(Node& n, Cycle cycle) {
  if (n.jobs.empty()) return;
  const Job& job = n.jobs.front();
  const Cycle words = job.words, pass = words == 0 ? 1 : std::max(words, kTurn);
  n.combined = std::max(cycle, job.pushed + 1) + 1 + (job.branches - 1) * pass + std::max<Cycle>(words, 1) + kTurn;
}

void ReductionUnits::take_combined(NodeId node, Node& n, std::uint8_t t, Cycle cycle) {
  Tree& tree = n.trees[t];
  if (tree.state.phase != Phase::kCombine) return;
  if (tree.place.root) return end(node, tree, t, cycle);
  State state = tree.state;
  state.phase = Phase::kAwait;
  change(tree, state, cycle);
  tree.since = scans_before(t, cycle);
  tree.backoff_exponent = 0;
  sender_.request(node,
                  {cycle + kToSender, t, true, {.up = true}, {tree.number(), tree.shape, ReductionEnding::kWhole}});
  await_scan(node, t);
}

void ReductionUnits::change(Tree& tree, const State& state, Cycle cycle) {
  tree.before = tree.state;
  tree.state = state;
  tree.changed = cycle + 2;
}

void ReductionUnits::end(NodeId node, Tree& tree, std::uint8_t t, Cycle cycle) {
  ++ended_;
  const ReductionPlace& place = tree.place;
  const auto locals = static_cast<std::uint8_t>(place.branches & place.locals);
  sender_.request(node, {cycle + kToSender,
                         t,
                         true,
                         {.down = place.remote(), .locals = locals},
                         {tree.number(), tree.shape, ReductionEnding::kWhole}});
  change(tree, {Phase::kGather, 0, true, static_cast<std::uint16_t>(tree.state.round + 1)}, cycle);
}

void ReductionUnits::fail(NodeId node, Tree& tree, std::uint8_t t, ReductionEnding ending, Cycle cycle) {
  ++failed_;
  const ReductionPlace& place = tree.place;
  const auto locals = static_cast<std::uint8_t>(place.branches & place.locals);
  ReductionShape shape = tree.shape;
  shape.bytes = 0;
  sender_.request(node,
                  {cycle + kToSender, t, true, {!place.root, place.remote(), locals}, {tree.number(), shape, ending}});
  State state = tree.state;
  state.phase = Phase::kBroken;
  change(tree, state, cycle);
}

void ReductionUnits::send_to(NodeId node, std::uint8_t t, const ReductionSender::Targets& targets, Cycle cycle) {
  sender_.request(node, {cycle + kToSender, t, false, targets, {}});
}

// --- Retransmission scans.

Cycle ReductionUnits::scans_before(std::uint8_t tree, Cycle cycle) {
  const Cycle behind = cycle - kSlot * tree;
  return behind < 0 ? 0 : behind / kRound + 1;
}

// The next scan of a tree that finds something due, if any.
void ReductionUnits::await_scan(NodeId node, std::uint8_t t) {
  const Tree& tree = nodes_[node].trees[t];
  if (tree.state.phase == Phase::kBroken || tree.state.come == 0) return;
  Cycle due = kUnknown;
  if (config_.limit != 0) due = tree.first + std::max<Cycle>(config_.limit, 1) - 1;
  if (tree.state.phase == Phase::kAwait && config_.timeout != 0)
    due = std::min(due, tree.since + (Cycle{config_.timeout} << tree.backoff_exponent) - 1);
  if (due != kUnknown) at(scan_cycle(t, due), on_scan_, node, t);
}

// One that was waited for by a reduction that has ended since finds nothing due.
void ReductionUnits::scan(NodeId node, std::uint8_t t) {
  Tree& tree = nodes_[node].trees[t];
  if (tree.state.phase == Phase::kBroken || tree.state.come == 0) return;
  const Cycle scan = now() / kRound;
  if (config_.limit != 0 && scan - tree.first + 1 >= config_.limit)
    return fail(node, tree, t, ReductionEnding::kSilent, now());
  if (tree.state.phase != Phase::kAwait || config_.timeout == 0) return;
  if (scan - tree.since + 1 < Cycle{config_.timeout} << tree.backoff_exponent) return;
  ++repeated_;
  tree.since = scan + 1;
  tree.backoff_exponent = std::min<std::uint8_t>(tree.backoff_exponent + 1, kMaxBackoffExponent);
  send_to(node, t, {.up = true}, now());
  await_scan(node, t);
}

}  // namespace exanet
