// SPDX-License-Identifier: Apache-2.0
// Links of four lanes, a line word for each router word: rates with credits, the time of a hop, the space that a long
// line needs, stuffing, and what becomes of packets on lines with wrong bits.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "gateware/node/tb/node_network.hpp"

using namespace exanet;
using namespace exanet::gateware;

namespace {

using Pair = PairOf<WideNodeNetwork>;

constexpr double kLimit = 3200.0 / 35;  // 512 B: 32 words of payload, header, footer, and one word of framing

}  // namespace

TEST_CASE("wide link: one way, with credits") {
  for (const unsigned bytes : {64u, 256u, 512u}) {
    Pair pair{{.latency_cycles = 45}};
    pair.send(0, 0, 400, bytes);
    pair.network.run(400 * 36 + 600);
    CHECK(pair.network.node(1).receivers[0].arrivals.size() == 400);
    CHECK(pair.unsound(1, 0) == 0);
    const double share = pair.efficiency(1, 0, 50), limit = 100.0 * bytes / (bytes + 48);
    MESSAGE("wide link one way, " << bytes << " B: " << share << " % of 20 Gb/s (limit " << limit << ")");
    CHECK(share == doctest::Approx(limit).epsilon(0.001));
  }
}

TEST_CASE("wide link: both ways full") {
  Pair pair{{.latency_cycles = 45}};
  for (const unsigned from : {0u, 1u}) pair.send(from, from, 400, 512);
  pair.network.run(400 * 36 + 600);
  for (const unsigned from : {0u, 1u}) {
    CHECK(pair.unsound(1 - from, from) == 0);
    const double share = pair.efficiency(1 - from, from, 50);
    MESSAGE("wide link both ways, 512 B: " << share << " % of 20 Gb/s each way, credit words "
                                           << pair.network.node(from).counters(0).tx_credits());
    CHECK(share == doctest::Approx(kLimit).epsilon(0.001));
  }
}

// The link takes the next packet's grant two cycles after a Start, and its words come three later: five cycles, which 1
// + 4 words fill.
TEST_CASE("wide link: the shortest packets") {
  for (const auto& [bytes, cycles] : std::map<unsigned, double>{{0, 5}, {16, 5}, {32, 5}, {48, 6}}) {
    Pair pair{{.latency_cycles = 5}};
    pair.send(0, 0, 300, bytes);
    pair.network.run(300 * 8 + 500);
    const auto& a = pair.network.node(1).receivers[0].arrivals;
    REQUIRE(a.size() == 300);
    const double each = static_cast<double>(a[250].tail_cycle - a[50].tail_cycle) / 200;
    MESSAGE("wide link, " << bytes << " B: a packet every " << each << " cycles");
    CHECK(each == cycles);
  }
}

TEST_CASE("wide link: how long a line one virtual channel's 512 words keep full") {
  for (const unsigned latency : {20u, 100u, 200u, 250u, 300u, 500u}) {
    Pair pair{{.latency_cycles = latency}};
    pair.send(0, 0, 300, 512);
    pair.network.run(300 * 36 + 2 * latency * 300 / 15 + 3000);
    CHECK(pair.unsound(1, 0) == 0);
    const double share = pair.efficiency(1, 0, 59), round_trip = 15 * 32 * 100 / share;
    MESSAGE("wide line of " << latency << " cycles: " << share << " %; 15 packets in " << round_trip << " cycles, "
                            << round_trip - 2 * latency << " more than there and back");
    // 15 packets of bulk in the time there and back and of a packet's own passage, or on a full line.
    CHECK(round_trip == doctest::Approx(std::max(15 * 35u, 2 * latency + 50)).epsilon(0.001));
  }
}

TEST_CASE("wide link: time of a hop") {
  for (const unsigned latency : {0u, 45u}) {
    WideNodeNetwork network{{two_by_two(0, 0), two_by_two(1, 0), two_by_two(0, 1), two_by_two(1, 1)}, 0, 256};
    for (const auto& [a, b, port] : {std::tuple{0u, 1u, 0u}, {2u, 3u, 0u}, {0u, 2u, 1u}, {1u, 3u, 1u}})
      network.connect(a, port, b, port, {.latency_cycles = latency});
    std::uint64_t time[2]{};
    for (const unsigned hops : {1u, 2u}) {
      std::mt19937_64 random{1};
      network.run(1000);
      const unsigned to = hops == 1 ? 2 : 3;
      network.node(0).senders[0].push(make_packet(dcid(0, 0), dcid(to & 1, to >> 1), 0, 16, 0, random));
      network.run(500);
      const auto& arrivals = network.node(to).receivers[0].arrivals;
      REQUIRE(arrivals.size() == 1);
      CHECK(arrivals[0].sound);
      time[hops - 1] = arrivals[0].head_cycle - network.node(0).senders[0].sent_cycles().back();
    }
    MESSAGE("wide line of " << latency << " cycles: two hops less one " << time[1] - time[0] << " cycles");
    CHECK(time[1] - time[0] == 9 + latency);
  }
}

TEST_CASE("wide link: a word that looks like Magic is data when it is data") {
  const auto low = static_cast<std::uint32_t>(spec::kMagicWord),
             high = static_cast<std::uint32_t>(spec::kMagicWord >> 32);
  for (const bool both : {true, false}) {
    Pair pair{{.latency_cycles = 5}};
    Packet packet = make_packet(dcid(0, 0), dcid(1, 0), 0, 512, 0, pair.random);
    for (auto& word : packet.payload) word = {low, high, both ? low : word[2], both ? high : word[3]};
    packet.footer.set_crc32(spec::packet_crc(packet.header, packet.payload, packet.footer));
    pair.network.node(0).senders[0].push(packet);
    pair.send(0, 0, 3, 512);
    pair.network.run(600);
    CHECK(pair.network.node(1).receivers[0].arrivals.size() == 4);
    CHECK(pair.unsound(1, 0) == 0);
    CHECK(pair.network.node(0).counters(0).tx_stuffed() == 32);
  }
}

TEST_CASE("wide link: one bad lane") {
  Pair pair{{.latency_cycles = 45, .bit_error_rate = 1e-3, .seed = 7, .bad_lane = 3}};
  pair.send(0, 0, 1000, 64);
  pair.network.run(60'000);
  const auto c = pair.network.node(1).counters(0);
  const auto& arrivals = pair.network.node(1).receivers[0].arrivals;
  MESSAGE("bad lane: " << pair.network.node(0).tx[0]->wrong_bits() << " wrong bits, " << arrivals.size()
                       << " of 1000 packets arrived, " << pair.unsound(1, 0) << " marked, " << c.rx_bad_headers()
                       << " headers refused, " << c.rx_reclaimed() << " given up");
  CHECK(pair.network.node(0).senders[0].idle());
  CHECK(c.rx_bad_headers() > 0);
  CHECK(c.rx_bad_payloads() > 0);
  CHECK(c.rx_bad_controls() > 0);  // the lane carries the upper part of control words
  CHECK(arrivals.size() + c.rx_reclaimed() == 1000);
}
