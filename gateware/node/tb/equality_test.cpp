// SPDX-License-Identifier: Apache-2.0
// Are the Verilated nodes and the model of core/network/exanet the same network, cycle by cycle?
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "gateware/node/tb/equality_bench.hpp"
#include "gateware/tb/long.hpp"

using namespace exanet;
using namespace exanet::equality;

TEST_CASE("equality: one packet between two nodes") {
  for (const unsigned bytes : {0u, 1u, 16u, 17u, 512u})
    compare({.topology = {"mesh", {2}}, .load = 0.01, .packets = 1, .least_bytes = bytes, .most_bytes = bytes});
}

TEST_CASE("equality: two nodes") {
  for (const double load : {0.1, 0.5, 1.0, 2.0})
    for (const unsigned line : {0u, 1u, 20u, 45u})
      compare({.topology = {"mesh", {2}}, .load = load, .packets = 1000, .seed = 7, .line_cycles = line});
}

// Packets of 15 words from one port fill the space beyond a long line but for 2 words, and each credit makes them 17. A
// long packet from the other port, offered when they do, goes in its turn all the same.
TEST_CASE("equality: short packets do not starve a long one") {
  constexpr std::size_t kShort = 300;
  const Case c{.topology = {"mesh", {2}}, .line_cycles = 700};
  std::vector<Offer> offers(kShort, {Time(), {0, 1, 240, 1, 0, 0}});
  offers.push_back({kCycle * 2000, {0, 1, 512, 0, 0, 0}});
  for (std::size_t i = 0; i < offers.size(); ++i) offers[i].packet.user = i;
  const std::vector<equality::Fate> fates = compare(c, offers);
  std::size_t before = 0;
  for (std::size_t i = 0; i < kShort; ++i) before += fates[i].delivered < fates[kShort].delivered;
  CHECK(before < kShort / 2);
}

// Nothing moves for most of an interval, while packets wait for space of which the far end has said nothing yet.
TEST_CASE("equality: packets wait for credits that are held back") {
  for (const std::int64_t interval : {40, 1000}) {
    const Case c{.topology = {"mesh", {2}}, .line_cycles = 300, .credit_threshold = 4095, .credit_interval = interval};
    std::vector<Offer> offers(200, {Time(), {0, 1, 16, 0, 0, 0}});
    for (std::size_t i = 0; i < offers.size(); ++i) offers[i].packet.user = i;
    compare(c, offers);
  }
}

// Half of the patterns and two loads of three, but in full size.
const auto patterns = gateware::tried({Pattern::kUniform, Pattern::kTornado, Pattern::kHotspot, Pattern::kNeighbour},
                                      {Pattern::kUniform, Pattern::kHotspot});
const auto loads = gateware::tried({0.1, 0.4, 1.0}, {0.4, 1.0});

// Every shape with every pattern, lightly to fully loaded, each with long and short packets; arbiters in turn.
TEST_CASE("equality: random traffic on rings, meshes and tori") {
  std::uint64_t seed = 20'000;
  for (const TopologySpec& t : {TopologySpec{"torus", {4}}, TopologySpec{"torus", {7}}, TopologySpec{"torus", {2, 2}},
                                TopologySpec{"mesh", {2, 2}}, TopologySpec{"torus", {4, 4}},
                                TopologySpec{"torus", {4, 4}, {0, 1}}, TopologySpec{"torus", {2, 2, 2}, {1, 2, 0}}})
    for (const Pattern pattern : patterns)
      for (const double load : loads) {
        compare({.topology = t,
                 .pattern = pattern,
                 .load = load,
                 .packets = 500,
                 .seed = ++seed,
                 .arbitration = in_turn(seed)});
        compare({.topology = t,
                 .pattern = pattern,
                 .load = load,
                 .packets = 1400,
                 .seed = ++seed,
                 .most_bytes = 64,
                 .arbitration = in_turn(seed / 2)});
      }
  MESSAGE("packets compared: " << total_packets);
}

TEST_CASE("equality: random traffic on 64 nodes") {
  std::uint64_t seed = 21'000;
  const TopologySpec torus{"torus", {4, 4, 4}, {2, 0, 1}};
  for (const Pattern pattern : patterns) {
    for (const double load : loads)
      compare({.topology = torus,
               .pattern = pattern,
               .load = load,
               .packets = 800,
               .seed = ++seed,
               .arbitration = in_turn(seed)});
    compare({.topology = torus,
             .pattern = pattern,
             .load = 1.0,
             .packets = 3000,
             .seed = ++seed,
             .most_bytes = 96,
             .arbitration = in_turn(seed)});
  }
  MESSAGE("packets compared: " << total_packets);
}

// 200 packets and more from each node of 4x4x4, without and with all that can be set. By hand: gateware_tests --no-skip
// -tc="equality: steady*"
TEST_CASE("equality: steady traffic on 64 nodes" * doctest::skip()) {
  std::uint64_t seed = 34'000;
  for (const double load : {0.3, 0.6, 1.0})
    for (const bool all : {false, true})
      compare({.topology = {"torus", {4, 4, 4}},
               .load = load,
               .packets = 64 * 220,
               .seed = ++seed,
               .most_bytes = 256,
               .arbitration = in_turn(seed),
               .pause_every = all ? 32 : 0,
               .credit_threshold = all ? 100 : 0,
               .credit_interval = all ? 256 : 0,
               .magic_one_in = all ? 8u : 0u,
               .stalls = all ? 64u : 0u,
               .threads = 2});
  MESSAGE("packets compared: " << total_packets);
}

// The ExaNeSt blade: four QFDBs in a ring, lightly to beyond what the ring carries, as the prototype's lines are (32
// words to a pause) and without pauses.
TEST_CASE("equality: a blade of four QFDBs" * doctest::skip(!EXANET_VARIANTS)) {
  std::uint64_t seed = 26'000;
  const TopologySpec blade{"qfdb-torus", {4, 1, 1}};
  for (const Pattern pattern : {Pattern::kUniform, Pattern::kTornado, Pattern::kHotspot, Pattern::kNeighbour})
    for (const double load : {0.1, 0.3, 0.8}) {
      ++seed;
      compare({.topology = blade,
               .pattern = pattern,
               .load = load,
               .packets = 3200,
               .seed = seed,
               .most_bytes = load < 0.2 || seed % 2 == 0 ? 96u : 512u,
               .arbitration = in_turn(seed / 2),
               .pause_every = seed % 2 == 0 ? 32 : 0});
    }
  for (const unsigned line : {0u, 700u})
    compare({.topology = blade,
             .load = 2.0,
             .packets = 1600,
             .seed = ++seed,
             .arbitration = in_turn(seed),
             .line_cycles = line,
             .priority_one_in = 2});
  MESSAGE("packets compared: " << total_packets);
}

TEST_CASE("equality: QFDBs alone, in rings and in tori" * doctest::skip(!EXANET_VARIANTS)) {
  std::uint64_t seed = 27'000;
  for (const TopologySpec& t : {TopologySpec{"qfdb-torus", {1, 1, 1}}, TopologySpec{"qfdb-torus", {2, 1, 1}},
                                TopologySpec{"qfdb-torus", {1, 1, 3}}, TopologySpec{"qfdb-torus", {2, 2, 1}, {0, 1, 2}},
                                TopologySpec{"qfdb-torus", {2, 2, 2}}, TopologySpec{"qfdb-torus", {3, 2, 1}}})
    for (const Pattern pattern : {Pattern::kUniform, Pattern::kTornado})
      for (const double load : {0.1, 1.0})
        compare({.topology = t,
                 .pattern = pattern,
                 .load = load,
                 .packets = 600,
                 .seed = ++seed,
                 .arbitration = in_turn(seed)});
  MESSAGE("packets compared: " << total_packets);
}

// A pause may fall on any word of a packet or credit.
TEST_CASE("equality: transceivers that pause") {
  std::uint64_t seed = 24'000;
  for (const std::int64_t every : {32, 7})
    for (const TopologySpec& t : {TopologySpec{"mesh", {2}}, TopologySpec{"torus", {5}}, TopologySpec{"torus", {2, 2}},
                                  TopologySpec{"torus", {4, 4}}})
      for (const double load : {0.1, 0.5, 1.0, 3.0})
        for (const unsigned most : {64u, 512u})
          compare({.topology = t,
                   .load = load,
                   .packets = 400,
                   .seed = ++seed,
                   .most_bytes = most,
                   .arbitration = in_turn(seed),
                   .pause_every = every});
  MESSAGE("packets compared: " << total_packets);
}

// Space runs out where a line is long: every wait for a credit shows.
TEST_CASE("equality: long lines, loaded beyond what space allows") {
  std::uint64_t seed = 22'000;
  for (const TopologySpec& t : {TopologySpec{"mesh", {2}}, TopologySpec{"torus", {5}}, TopologySpec{"torus", {2, 2}}})
    for (const Pattern pattern : {Pattern::kUniform, Pattern::kHotspot})
      for (const unsigned most : {24u, 512u})
        compare({.topology = t,
                 .pattern = pattern,
                 .load = 3.0,
                 .packets = 1500,
                 .seed = ++seed,
                 .most_bytes = most,
                 .line_cycles = 700});
  MESSAGE("packets compared: " << total_packets);
}

// Half of the packets have priority: where space is short, which class it goes to shows, and so does who overtakes whom
// at the senders.
TEST_CASE("equality: as much priority as bulk") {
  std::uint64_t seed = 25'000;
  for (const TopologySpec& t : {TopologySpec{"mesh", {2}}, TopologySpec{"torus", {5}}, TopologySpec{"torus", {2, 2}},
                                TopologySpec{"torus", {4, 4}}})
    for (const Arbitration arbitration :
         {Arbitration::kRoundRobin, Arbitration::kLinksFirst, Arbitration::kFixedPriority})
      for (const unsigned line : {20u, 700u})
        for (const unsigned most : {24u, 512u})
          compare({.topology = t,
                   .load = 2.0,
                   .packets = 400,
                   .seed = ++seed,
                   .most_bytes = most,
                   .arbitration = arbitration,
                   .line_cycles = line,
                   .wide = seed % 3 == 0,
                   .priority_one_in = 2});
  MESSAGE("packets compared: " << total_packets);
}

// Links of four lanes, a line word for each router word. The lines' own words cost less, so that the routers are what
// is short more often.
TEST_CASE("equality: links of four lanes" * doctest::skip(!EXANET_VARIANTS)) {
  for (const unsigned bytes : {0u, 1u, 16u, 17u, 512u})
    compare({.topology = {"mesh", {2}},
             .load = 0.01,
             .packets = 1,
             .least_bytes = bytes,
             .most_bytes = bytes,
             .wide = true});
  std::uint64_t seed = 23'000;
  for (const double load : {0.1, 0.5, 1.0, 2.0})
    for (const unsigned line : {0u, 1u, 20u, 45u, 700u})
      for (const unsigned most : {0u, 24u, 512u})
        compare({.topology = {"mesh", {2}},
                 .load = load,
                 .packets = 400,
                 .seed = ++seed,
                 .most_bytes = most,
                 .line_cycles = line,
                 .wide = true});
  for (const TopologySpec& t : {TopologySpec{"torus", {4}}, TopologySpec{"torus", {5}}, TopologySpec{"torus", {2, 2}},
                                TopologySpec{"mesh", {2, 2}}, TopologySpec{"torus", {4, 4}, {0, 1}}})
    for (const Pattern pattern : {Pattern::kUniform, Pattern::kTornado, Pattern::kHotspot, Pattern::kNeighbour})
      for (const double load : {0.2, 1.0, 3.0})
        for (const unsigned most : {48u, 512u})
          compare({.topology = t,
                   .pattern = pattern,
                   .load = load,
                   .packets = 300,
                   .seed = ++seed,
                   .most_bytes = most,
                   .arbitration = in_turn(seed),
                   .wide = true});
  MESSAGE("packets compared: " << total_packets);
}

// Nodes that are built for multicast, without and with such packets.
TEST_CASE("equality: multicast" * doctest::skip(!EXANET_VARIANTS)) {
  for (const TopologySpec& t : {TopologySpec{"mesh", {2}}, TopologySpec{"torus", {5}}, TopologySpec{"mesh", {3, 3}},
                                TopologySpec{"torus", {3, 2, 2}}, TopologySpec{"qfdb-torus", {4, 1, 1}}})
    compare({.topology = t, .load = 0.01, .packets = 8, .seed = 3, .multicast = true, .multicast_one_in = 1});
  std::uint64_t seed = 28'000;
  for (const TopologySpec& t :
       {TopologySpec{"torus", {4}}, TopologySpec{"torus", {7}}, TopologySpec{"mesh", {4, 3}},
        TopologySpec{"torus", {4, 4}, {0, 1}}, TopologySpec{"torus", {4, 2, 3}, {1, 2, 0}},
        TopologySpec{"qfdb-torus", {4, 1, 1}}, TopologySpec{"qfdb-torus", {2, 3, 1}, {0, 1, 2}}})
    for (const double load : {0.05, 0.3, 1.0})
      for (const unsigned one_in : {0u, 1u, 4u})
        compare({.topology = t,
                 .load = load,
                 .packets = one_in == 1 ? 150u : 400u,
                 .seed = ++seed,
                 .most_bytes = seed % 2 == 0 ? 64u : 512u,
                 .arbitration = in_turn(seed),
                 .pause_every = seed % 3 == 0 ? 32 : 0,
                 .priority_one_in = 4,
                 .multicast = true,
                 .multicast_one_in = one_in});
  MESSAGE("packets compared: " << total_packets << ", copies of multicast packets: " << total_copies);
}

// Idle links that wait until space for so many words has come back, and repeat what they have advertised, also between
// packets that follow each other closely.
TEST_CASE("equality: credits in time and in bulk") {
  std::uint64_t seed = 30'000;
  const std::pair<std::int64_t, std::int64_t> settings[] = {{0, 1},    {1, 3},      {33, 100},   {100, 17},
                                                            {448, 64}, {449, 2000}, {4095, 256}, {4095, 0}};
  for (const TopologySpec& t : {TopologySpec{"mesh", {2}}, TopologySpec{"torus", {5}}, TopologySpec{"torus", {2, 2}}})
    for (const auto& [threshold, interval] : settings) {
      ++seed;
      compare({.topology = t,
               .load = seed % 3 == 0 ? 0.1 : 2.0,
               .packets = 300,
               .seed = seed,
               .most_bytes = seed % 2 == 0 ? 64u : 512u,
               .arbitration = in_turn(seed),
               .line_cycles = seed % 5 == 0 ? 300u : 20u,
               .pause_every = seed % 4 == 1 ? 32 : 0,
               .wide = seed % 4 == 3,
               .credit_threshold = threshold,
               .credit_interval = interval});
    }
  MESSAGE("packets compared: " << total_packets);
}

// Payload words that equal Magic take a line word more; a narrow line sends each half twice, a wide one a word whose
// lower half does.
TEST_CASE("equality: payload that equals Magic") {
  std::uint64_t seed = 31'000;
  for (const TopologySpec& t : {TopologySpec{"mesh", {2}}, TopologySpec{"torus", {5}}, TopologySpec{"torus", {4, 3}}})
    for (const bool wide : {false, true})
      for (const double load : {0.1, 0.6, 2.0}) {
        ++seed;
        compare({.topology = t,
                 .load = load,
                 .packets = 300,
                 .seed = seed,
                 .most_bytes = seed % 2 == 0 ? 64u : 512u,
                 .arbitration = in_turn(seed),
                 .pause_every = !wide && seed % 4 != 0 ? 7 : 0,
                 .wide = wide,
                 .magic_one_in = 2});
      }
  MESSAGE("packets compared: " << total_packets);
}

// Network interfaces that give back no slot for a while.
TEST_CASE("equality: interfaces that stall") {
  std::uint64_t seed = 32'000;
  for (const TopologySpec& t :
       {TopologySpec{"mesh", {2}}, TopologySpec{"torus", {5}}, TopologySpec{"qfdb-torus", {2, 1, 1}}})
    for (const double load : {0.3, 1.0, 3.0})
      for (const unsigned stalls : {1u, 40u})
        compare({.topology = t, .load = load, .packets = 500, .seed = ++seed, .most_bytes = 100, .stalls = stalls});
  MESSAGE("packets compared: " << total_packets);
}

// Wrong bits on the lines: packets that are lost or marked, credits that are not heard, and space that is given back
// when a report says what was sent.
TEST_CASE("equality: wrong bits on the lines") {
  std::uint64_t seed = 33'000;
  for (const TopologySpec& t : {TopologySpec{"mesh", {2}}, TopologySpec{"torus", {5}}, TopologySpec{"torus", {4, 3}}})
    for (const bool wide : {false, true})
      for (const unsigned one_in : {4u, 50u})
        for (const double load : {0.2, 2.0}) {
          ++seed;
          compare({.topology = t,
                   .load = load,
                   .packets = 200,
                   .seed = seed,
                   .most_bytes = seed % 3 == 0 ? 64u : 512u,
                   .arbitration = in_turn(seed),
                   .pause_every = !wide && seed % 4 == 0 ? 32 : 0,
                   .wide = wide,
                   .credit_threshold = seed % 2 == 0 ? 100 : 0,
                   .credit_interval = seed % 5 == 0 ? 20 : 256,
                   .fault_one_in = one_in});
        }
  CHECK(total_lost > 0);
  CHECK(total_marked > 0);
  MESSAGE("packets compared: " << total_packets << ", lost: " << total_lost << ", marked: " << total_marked);
}

namespace {

// So many links, in one direction or both.
void disable_ports(Case& c, unsigned links, std::mt19937_64& random) {
  const std::unique_ptr<Topology> topology = make_topology(c.topology);
  for (unsigned disabled = 0; disabled < links;) {
    const auto node = static_cast<NodeId>(random() % topology->node_count());
    const auto port = static_cast<std::uint16_t>(random() % topology->port_count(node));
    const PortRef far = topology->neighbour(node, port);
    if (far.node == kNoNode) continue;
    c.topology.disabled.emplace_back(node, port);
    if (random() % 4 != 0) c.topology.disabled.emplace_back(far.node, far.port);
    ++disabled;
  }
}

}  // namespace

// Packets go the other way round, or are discarded where they cannot.
TEST_CASE("equality: disabled ports") {
  std::uint64_t seed = 29'000;
  for (const TopologySpec& t :
       {TopologySpec{"torus", {3}}, TopologySpec{"torus", {7}}, TopologySpec{"torus", {2, 2}},
        TopologySpec{"mesh", {3, 3}}, TopologySpec{"torus", {4, 3}, {0, 1}}, TopologySpec{"qfdb-torus", {4, 1, 1}}})
    for (const double load : {0.1, 1.0}) {
      std::mt19937_64 random(++seed);
      Case c{.topology = t, .load = load, .packets = 500, .seed = seed, .arbitration = in_turn(seed)};
      disable_ports(c, 1 + seed % 3, random);
      compare(c);
    }
  CHECK(total_discarded > 0);
  MESSAGE("packets compared: " << total_packets << ", discarded: " << total_discarded);
}

// Cases that are drawn, on seeds that no other case here has: EXANET_EQUALITY_PACKETS of them from EXANET_EQUALITY_SEED
// on, for a campaign.
TEST_CASE("equality: drawn cases") {
  const std::uint64_t packets = gateware::given("EXANET_EQUALITY_PACKETS", 3'000);
  std::uint64_t seed = gateware::given("EXANET_EQUALITY_SEED", 1'000'000), compared = 0;
  const std::vector<TopologySpec> topologies = {{"qfdb-torus", {4, 1, 1}},
                                                {"qfdb-torus", {2, 2, 1}},
                                                {"qfdb-torus", {3, 1, 2}, {1, 2, 0}},
                                                {"torus", {6}},
                                                {"torus", {3, 4}, {0, 1}},
                                                {"mesh", {3, 3}},
                                                {"torus", {3, 2, 2}},
                                                {"mesh", {2, 3, 2}}};
  for (; compared < packets; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](const auto& from) { return from[random() % from.size()]; };
    Case c{.topology = pick(topologies)};
    c.pattern = static_cast<Pattern>(random() % 4);
    c.load = pick(std::vector<double>{0.1, 0.3, 0.7, 1.5, 3.0});
    c.packets = static_cast<unsigned>(500 + random() % 2500);
    c.seed = seed;
    c.most_bytes = pick(std::vector<unsigned>{0, 16, 64, 200, 512});
    c.arbitration = static_cast<Arbitration>(random() % 3);
    c.line_cycles = pick(std::vector<unsigned>{0, 1, 7, 20, 45, 300});
    c.line_cycles_between_qfdbs = pick(std::vector<unsigned>{0, 3, 33, 200});
    c.wide = !c.of_qfdbs() && c.topology.shape.size() < 3 && random() % 3 == 0;
    c.pause_every = c.wide ? 0 : pick(std::vector<std::int64_t>{0, 0, 5, 32, 66});
    c.priority_one_in = pick(std::vector<unsigned>{2, 8, 1'000'000});
    c.multicast = !c.wide && random() % 2 == 0;
    if (c.multicast) c.multicast_one_in = pick(std::vector<unsigned>{0, 1, 3, 20});
    if (c.multicast_one_in == 1) c.packets /= 4;  // each is many
    c.threads = static_cast<unsigned>(1 + random() % 3);
    if (random() % 2 == 0) {
      c.credit_threshold = pick(std::vector<std::int64_t>{0, 1, 20, 64, 200, 448, 449, 4095});
      c.credit_interval = pick(std::vector<std::int64_t>{1, 2, 7, 40, 256, 1000, 65'535});
    }
    c.magic_one_in = pick(std::vector<unsigned>{0, 0, 1, 4});
    c.stalls = pick(std::vector<unsigned>{0, 0, 3, 60});
    if (c.credit_interval != 0 && random() % 2 == 0) {
      c.fault_one_in = pick(std::vector<unsigned>{4, 20, 200});
      c.credit_interval = pick(std::vector<std::int64_t>{20, 64, 256});
    }
    if (random() % 3 == 0) disable_ports(c, static_cast<unsigned>(1 + random() % 4), random);
    compare_whole(c);
    if (library_of(c) != nullptr) compared += c.packets;
  }
  MESSAGE("packets compared: " << compared << ", copies of multicast packets: " << total_copies
                               << ", discarded: " << total_discarded << ", lost: " << total_lost
                               << ", marked: " << total_marked << ", seeds up to " << seed - 1);
}
