// SPDX-License-Identifier: Apache-2.0
// Do reductions take the gateware's cycles where they can be counted by hand, and what do they take on many nodes?
// gateware/ni/tb/reduce_equality_test.cpp holds the model to the Verilated units themselves.
#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <memory>

#include "core/network/exanet/exanet_harness.hpp"
#include "core/network/model.hpp"
#include "core/nic/messages/messages.hpp"
#include "core/nic/reductions/reduction_unit.hpp"
#include "core/routing/make_topology.hpp"

using namespace exanet;

namespace {

constexpr Time kCycle = Time::ps(6400);
ReductionShape doubles(std::uint16_t bytes) { return {0, 5, bytes}; }

struct Bench {
  Bench(const TopologySpec& spec, Cycle line, ReductionsConfig config)
      : topology(make_topology(spec)),
        units(queue, config, topology->node_count(), this,
              [](void* self, const ReductionEnd& e) { static_cast<Bench*>(self)->ends.push_back(e); }) {
    NetworkConfig fabric = testing::published_fabric(512);
    for (LinkConfig& link : fabric.links) link.latency = kCycle * line, link.pause_every = 0;
    fabric.router = Messages::router(fabric.router);
    fabric.priority = true;
    PacketSink sink{this,
                    [](void* self, const Packet& packet, Time injected, Time tail) {
                      Bench& bench = *static_cast<Bench*>(self);
                      bench.headers.push_back(cycle_of(injected, kCycle));
                      bench.units.arrived(packet, cycle_of(tail, kCycle) - 1);
                    },
                    [](void* self, NodeId node, std::uint8_t, std::uint8_t, Time) {
                      static_cast<Bench*>(self)->units.ready(node);
                    }};
    sink.gives_back = 1;
    network = std::make_unique<ExanetNetwork>(queue, *topology, fabric, sink);
    units.attach(*network);
  }
  // In a cycle behind all that has happened: the vector a line a cycle, then the call.
  void call(Cycle at, NodeId node, std::uint8_t branch, std::uint16_t bytes) {
    for (Cycle i = 0; i < words_of(bytes); ++i) {
      queue.run_until(kCycle * (at + i));
      units.store(node);
    }
    queue.run_until(kCycle * (at + words_of(bytes)));
    units.call(node, 0, branch, doubles(bytes));
  }
  void run() {
    while (!queue.empty()) queue.run_one();
  }

  EventQueue queue;
  std::unique_ptr<Topology> topology;
  ReductionUnits units;
  std::unique_ptr<ExanetNetwork> network;
  std::vector<ReductionEnd> ends;
  std::vector<Cycle> headers;
};

// The first cycle from this one on in which a step may be chosen.
Cycle step_from(Cycle cycle) {
  const Cycle phase = cycle % 16;
  return phase < 2 ? cycle + 2 - phase : phase == 15 ? cycle + 3 : cycle;
}

}  // namespace

TEST_CASE("a reduction of two nodes takes the cycles of its stages") {
  for (const std::uint16_t bytes : std::initializer_list<std::uint16_t>{0, 8, 16, 24, 128, 136, 144, 160, 512})
    for (const Cycle begin : {1000, 1005, 1011}) {
      Bench b({"mesh", {2}}, 20, {.port = 0, .timeout = 0});
      b.units.open(0, 0, {.branches = 0b101, .locals = 0b1, .root = true, .below = {{{}, {}, {1, 0, 0}}}});
      b.units.open(1, 0, {.branches = 0b10, .locals = 0b10, .above = {0, 0, 2}});
      b.call(500, 0, 0, bytes);
      b.call(begin, 1, 1, bytes);
      b.run();
      REQUIRE(b.ends.size() == 2);
      const Cycle words = words_of(bytes), beats = std::max<Cycle>(words, 1);
      const auto across = [&](NodeId from, NodeId to) {
        return static_cast<const NetworkModel&>(*b.network).zero_load_latency(from, to, bytes).ps() / kCycle.ps();
      };
      // Two cycles in the queue of stores, a step, the engine's pass with a sum behind it, a step; three cycles to the
      // sender, three to choose, and the port.
      const Cycle called = step_from(begin + words + 2);
      const Cycle combined = step_from(called + 2 + 1 + beats + 9);
      CHECK(b.headers[0] == combined + 6 + beats + 3);
      // Out of the port, looked at, taken in, a step; two passes; a step, and the same way out.
      const auto arrived = [&](Cycle header, NodeId from, NodeId to) {
        return step_from(header + across(from, to) - 1 + (words != 0 ? 3 : 2) + 1 + beats + 1);
      };
      const Cycle passes = (words == 0 ? 1 : std::max<Cycle>(words, 9)) + beats;
      const Cycle ended = step_from(arrived(b.headers[0], 1, 0) + 2 + 1 + passes + 9);
      CHECK(b.headers[1] == ended + 6 + beats + 3);
      // A beat a cycle to memory, and the end.
      const Cycle back = arrived(b.headers[1], 0, 1);
      CHECK(b.ends.back().node == 1);
      CHECK(b.ends.back().at == back + 7 + words);
    }
}

namespace {

// A tree of QFDBs in a torus, whose coordinates are at most this: in each dimension towards its middle, the last
// dimension last. The network FPGA of a QFDB has the three others below it or, where that is too many, one of them,
// which has the other two.
std::vector<ReductionPlace> qfdb_tree(const std::array<NodeId, 3>& sides) {
  const NodeId nodes = 4 * sides[0] * sides[1] * sides[2];
  std::vector<NodeId> above(nodes);
  std::vector<unsigned> below(nodes);
  for (NodeId q = 0; q < nodes / 4; ++q) {
    NodeId at = q, stride = 1, to = q;
    for (unsigned d = 0; d < 3 && to == q; ++d) {
      const NodeId x = at % sides[d], middle = sides[d] / 2;
      if (x != middle) to = x < middle ? q + stride : q - stride;
      at /= sides[d];
      stride *= sides[d];
    }
    above[4 * q] = 4 * to;
    if (to != q) ++below[4 * to];
  }
  for (NodeId q = 0; q < nodes / 4; ++q) {
    const bool full = below[4 * q] + 3 + 1 > kReductionBranches;
    for (NodeId f = 1; f < 4; ++f) above[4 * q + f] = full && f > 1 ? 4 * q + 1 : 4 * q;
  }
  std::vector<ReductionPlace> places(nodes);
  for (NodeId n = 0; n < nodes; ++n) {
    places[n].branches |= 1, places[n].locals |= 1;
    places[n].root = above[n] == n;
    if (places[n].root) continue;
    ReductionPlace& to = places[above[n]];
    unsigned b = 1;
    while ((to.branches >> b & 1) != 0) ++b;
    REQUIRE(b < kReductionBranches);
    to.branches |= static_cast<std::uint8_t>(1u << b);
    to.below[b] = {n, 0, 0};
    places[n].above = {above[n], 0, static_cast<std::uint8_t>(b)};
  }
  return places;
}

}  // namespace

// All call at once; lines as the prototype's, a process on each node.
TEST_CASE("reductions on 4 to 1024 nodes of QFDBs in a torus") {
  Cycle before = 0;
  for (const auto& sides : std::vector<std::array<NodeId, 3>>{{1, 1, 1}, {2, 2, 1}, {4, 2, 2}, {4, 4, 4}, {8, 8, 4}}) {
    Bench b({"qfdb-torus", {sides[0], sides[1], sides[2]}}, 38, {.port = 0, .timeout = 0, .memory_answer = 20});
    const auto places = qfdb_tree(sides);
    for (NodeId n = 0; n < places.size(); ++n) b.units.open(n, 0, places[n]);
    b.queue.run_until(kCycle * 1000);
    for (NodeId n = 0; n < places.size(); ++n) b.units.store(n);
    b.queue.run_until(kCycle * 1001);
    for (NodeId n = 0; n < places.size(); ++n) b.units.call(n, 0, 0, doubles(8));
    b.run();
    REQUIRE(b.ends.size() == places.size());
    Cycle last = 0;
    for (const ReductionEnd& end : b.ends) {
      CHECK(end.ending == ReductionEnding::kWhole);
      last = std::max(last, end.at);
    }
    MESSAGE(places.size() << " nodes: " << last - 1001 << " cycles from the call to the last end in memory, "
                          << time_of(last - 1001, kCycle).ps() / 1000 << " ns");
    CHECK(last > before);
    before = last;
    CHECK(b.units.repeated() + b.units.dropped() + b.units.failed() == 0);
  }
  CHECK(before < 1001 + 3000);
}
