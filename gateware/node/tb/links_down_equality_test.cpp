// SPDX-License-Identifier: Apache-2.0
// Are the Verilated nodes and the model of core/network/exanet the same network, cycle by cycle, while links go down
// and come up amid traffic?
//
// What begins on a line that is down is lost, packets and credits alike; senders go on until the credits are used up,
// and wait. When the line is up again, its reports name what was lost, and the space comes back. Every packet has to be
// taken, delivered or lost in the same cycle in both.
#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "gateware/node/tb/equality_bench.hpp"
#include "gateware/tb/long.hpp"

using namespace exanet;
using namespace exanet::equality;

namespace {

std::uint64_t total_outages = 0;

// So many links that go down for `most` cycles at the longest, some of them several times; one in four in one direction
// alone.
void take_links_down(Case& c, unsigned links, std::int64_t most, std::mt19937_64& random) {
  const std::unique_ptr<Topology> topology = make_topology(c.topology);
  const std::vector<Offer> offers = traffic(c);
  const auto last = static_cast<std::uint64_t>(offers.back().at.ps() / kCycle.ps());
  for (unsigned down = 0; down < links;) {
    const auto node = static_cast<NodeId>(random() % topology->node_count());
    const auto port = static_cast<std::uint16_t>(random() % topology->port_count(node));
    const PortRef far = topology->neighbour(node, port);
    if (far.node == kNoNode) continue;
    const bool both = random() % 4 != 0;
    for (std::uint64_t times = 1 + random() % 3; times > 0; --times) {
      const auto from = static_cast<std::int64_t>(100 + random() % (last + 1000));
      const std::int64_t until = from + 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
      c.outages.push_back({node, port, from, until});
      if (both) c.outages.push_back({far.node, far.port, from, until});
      ++total_outages;
    }
    ++down;
  }
}

void report() {
  CHECK(total_lost > 0);
  MESSAGE("packets compared: " << total_packets << ", links that went down: " << total_outages
                               << ", packets lost: " << total_lost << ", marked: " << total_marked);
}

void begin_count() { total_packets = total_lost = total_marked = total_outages = 0; }

}  // namespace

// A link goes down in each cycle in turn, so at each word of a packet and of a credit.
TEST_CASE("links down equality: between two nodes, at each word of a packet") {
  begin_count();
  for (std::int64_t from = 100; from < (gateware::in_full() ? 220 : 120); ++from) {
    Case c{.topology = {"mesh", {2}}, .load = 2.0, .packets = 60, .seed = 5, .credit_interval = 64};
    c.outages = {{0, 0, from, from + 400}, {1, 1, from, from + 400}};
    total_outages += 1;
    compare_whole(c);
  }
  report();
}

TEST_CASE("links down equality: rings, meshes and tori") {
  begin_count();
  std::uint64_t seed = 35'000;
  for (const TopologySpec& t : {TopologySpec{"mesh", {2}}, TopologySpec{"torus", {5}}, TopologySpec{"torus", {4, 3}}})
    for (const std::int64_t most : {40, 1000, 6000})
      for (const double load : {0.2, 2.0}) {
        std::mt19937_64 random(++seed);
        Case c{.topology = t,
               .load = load,
               .packets = gateware::taken(600u),
               .seed = seed,
               .most_bytes = seed % 3 == 0 ? 64u : 512u,
               .arbitration = in_turn(seed),
               .pause_every = seed % 4 == 0 ? 32 : 0,
               .credit_threshold = seed % 2 == 0 ? 100 : 0,
               .credit_interval = seed % 5 == 0 ? 20 : 256,
               .fault_one_in = seed % 3 == 1 ? 30u : 0u};
        take_links_down(c, 1 + static_cast<unsigned>(seed % 3), most, random);
        compare_whole(c);
      }
  report();
}

// Cases that are drawn, on seeds that no other case here has: EXANET_LINKS_DOWN_PACKETS of them from
// EXANET_LINKS_DOWN_SEED on, for a campaign.
TEST_CASE("links down equality: drawn cases") {
  begin_count();
  const std::uint64_t packets = gateware::given("EXANET_LINKS_DOWN_PACKETS", gateware::in_full() ? 20'000 : 2'000);
  std::uint64_t seed = gateware::given("EXANET_LINKS_DOWN_SEED", 22'000'000), compared = 0;
  const std::vector<TopologySpec> topologies = {
      {"mesh", {2}},        {"torus", {6}},      {"torus", {3, 4}, {0, 1}}, {"mesh", {3, 3}},
      {"torus", {3, 2, 2}}, {"mesh", {2, 3, 2}}, {"qfdb-torus", {4, 1, 1}}};
  for (; compared < packets; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](const auto& from) { return from[random() % from.size()]; };
    Case c{.topology = pick(topologies)};
    c.pattern = static_cast<Pattern>(random() % 4);
    c.load = pick(std::vector<double>{0.1, 0.3, 0.7, 1.5, 3.0});
    c.packets = static_cast<unsigned>(500 + random() % (gateware::in_full() ? 2500 : 300));
    c.seed = seed;
    c.most_bytes = pick(std::vector<unsigned>{0, 16, 64, 200, 512});
    c.arbitration = static_cast<Arbitration>(random() % 3);
    c.line_cycles = pick(std::vector<unsigned>{0, 1, 7, 20, 45, 300});
    c.line_cycles_between_qfdbs = pick(std::vector<unsigned>{0, 3, 33, 200});
    c.wide = !c.of_qfdbs() && c.topology.shape.size() < 3 && random() % 4 == 0;
    c.pause_every = c.wide ? 0 : pick(std::vector<std::int64_t>{0, 0, 5, 32, 66});
    c.priority_one_in = pick(std::vector<unsigned>{2, 8, 1'000'000});
    c.threads = static_cast<unsigned>(1 + random() % 2);
    c.credit_threshold = pick(std::vector<std::int64_t>{0, 1, 20, 64, 200, 448, 449, 4095});
    c.credit_interval = pick(std::vector<std::int64_t>{20, 64, 256});
    c.stalls = pick(std::vector<unsigned>{0, 0, 3, 60});
    c.fault_one_in = pick(std::vector<unsigned>{0, 0, 20, 200});
    take_links_down(c, static_cast<unsigned>(1 + random() % 6),
                    pick(std::vector<std::int64_t>{10, 100, 1000, 5000, 20'000}), random);
    compare_whole(c);
    if (library_of(c) != nullptr) compared += c.packets;
  }
  MESSAGE("cases up to seed " << seed - 1);
  report();
}
