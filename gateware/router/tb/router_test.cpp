// SPDX-License-Identifier: Apache-2.0
// One Verilated router of three intra-tile and two inter-tile ports, and four of them as a 2x2 mesh: rates, latency,
// order, integrity.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <tuple>

#include "gateware/router/tb/router_network.hpp"

using namespace exanet;
using namespace exanet::gateware;

namespace {

constexpr unsigned kBytes = 512;

// Payload share of one intra-tile output's capacity between the first and last tail of the packets after a warm-up.
double efficiency(const Receiver& receiver, std::size_t warm_up) {
  const auto& a = receiver.arrivals;
  const double cycles = static_cast<double>(a.back().tail_cycle - a[warm_up].tail_cycle);
  double words = 0;
  for (std::size_t i = warm_up + 1; i < a.size(); ++i) words += static_cast<double>(a[i].packet.payload.size());
  return 100.0 * words / cycles;
}

void expect_sound(const Receiver& receiver, std::size_t packets) {
  CHECK(receiver.arrivals.size() == packets);
  CHECK(receiver.framing_errors() == 0);
  std::size_t bad = 0;
  for (const Arrival& arrival : receiver.arrivals) bad += !arrival.sound;
  CHECK(bad == 0);
}

struct OneRouter {
  RouterNetwork network{std::vector{two_by_two(0, 0)}};
  std::mt19937_64 random{1};

  void send(unsigned from, unsigned to, unsigned packets, unsigned bytes) {
    for (unsigned i = 0; i < packets; ++i)
      network.node(0).senders[from].push(make_packet(dcid(0, 0), dcid(0, 0), to, bytes, i, random));
  }
  Receiver& receiver(unsigned port) { return network.node(0).receivers[port]; }
};

}  // namespace

TEST_CASE("router: one sender to one port") {
  OneRouter one;
  one.send(0, 1, 200, kBytes);
  one.network.run(200 * 34 + 100);
  expect_sound(one.receiver(1), 200);
  const double share = efficiency(one.receiver(1), 20);
  MESSAGE("one sender, 512 B: " << share << " % of 20 Gb/s (published 76, limit 94.12)");
  CHECK(share >= 94.0);
}

TEST_CASE("router: two senders to one port") {
  OneRouter one;
  one.send(0, 2, 150, kBytes);
  one.send(1, 2, 150, kBytes);
  one.network.run(300 * 34 + 100);
  expect_sound(one.receiver(2), 300);
  const double share = efficiency(one.receiver(2), 20);
  MESSAGE("two senders to one port, 512 B: " << share << " % of 20 Gb/s (published 89.5, limit 94.12)");
  CHECK(share >= 94.0);
}

TEST_CASE("router: fixed priority serves the lowest input, round robin all") {
  for (const bool fixed : {false, true}) {
    spec::RouterConfig config = two_by_two(0, 0);
    config.set_fixed_priority(fixed);
    RouterNetwork network{std::vector{config}};
    std::mt19937_64 random{2};
    for (unsigned from = 0; from < 2; ++from)
      for (unsigned i = 0; i < 40; ++i) network.node(0).senders[from].push(make_packet(from, 0, 2, 64, i, random));
    network.run(40 * 6 + 20);
    unsigned lower = 0;
    for (const Arrival& arrival : network.node(0).receivers[2].arrivals)
      lower += arrival.packet.header.source_dcid() == 0;
    CHECK(lower == doctest::Approx(fixed ? 40 : 20).epsilon(0.1));
  }
}

TEST_CASE("router: a packet of high priority goes before those that wait") {
  OneRouter one;
  one.send(0, 2, 30, kBytes);
  one.send(1, 2, 30, kBytes);
  one.network.run(10 * 34 + 3);  // just after a grant
  const std::uint64_t asked = one.network.cycle();
  one.network.node(0).senders[2].push(make_packet(7, dcid(0, 0), 2, 16, 0, one.random, true));
  one.network.run(52 * 34);
  std::uint64_t arrived = 0;
  for (const Arrival& arrival : one.receiver(2).arrivals)
    if (arrival.packet.header.source_dcid() == 7) arrived = arrival.head_cycle;
  REQUIRE(arrived > asked);
  MESSAGE("priority packet against two bulk senders: header " << arrived - asked << " cycles after it was offered");
  CHECK(arrived - asked <= 34 + 4 + 1);
}

// Two senders beside the far port keep its output busy, so bulk from here fills the pool of the link's channel, the
// pool of its own port, and waits in front of it. A priority packet on the same way waits for the packet on each wire
// that it comes to, and for nothing else.
TEST_CASE("router: a priority packet passes queues and pools full of bulk") {
  RouterNetwork network{std::vector{two_by_two(0, 0), two_by_two(1, 0)}};
  network.connect({0, 0}, {1, 0});
  std::mt19937_64 random{4};
  constexpr unsigned kBulk = 400, kWait = 34;
  for (unsigned i = 0; i < kBulk; ++i) {
    for (const unsigned from : {0u, 1u})
      network.node(1).senders[from].push(make_packet(dcid(1, 0), dcid(1, 0), 2, kBytes, i, random));
    network.node(0).senders[0].push(make_packet(dcid(0, 0), dcid(1, 0), 2, kBytes, i, random));
  }
  network.run(6000);
  Sender& sender = network.node(0).senders[0];
  Receiver& receiver = network.node(1).receivers[2];
  std::uint64_t worst = 0;
  for (unsigned i = 0; i < 40; ++i) {
    const std::size_t before = receiver.arrivals.size();
    std::size_t arrived_from_here = 0;
    for (const Arrival& arrival : receiver.arrivals)
      arrived_from_here += arrival.packet.header.source_dcid() == dcid(0, 0);
    const std::size_t within = sender.sent_cycles().size() - arrived_from_here;
    REQUIRE(within >= 77);  // 63 and 15 are what bulk may take of the pools; one of them may be moving
    REQUIRE(sender.waiting() > 0);
    const std::uint64_t offered = network.cycle();
    sender.push(make_packet(dcid(0, 0), dcid(1, 0), 2, 16 * (i % 33), i, random, true));
    network.run(6 * kWait + i);
    std::uint64_t arrived = 0;
    for (std::size_t k = before; k < receiver.arrivals.size(); ++k)
      if (receiver.arrivals[k].packet.header.high_priority()) arrived = receiver.arrivals[k].head_cycle;
    REQUIRE(arrived > offered);
    worst = std::max(worst, arrived - offered);
  }
  MESSAGE("priority packet through two routers full of bulk: header after " << worst << " cycles at most (empty: 8)");
  CHECK(worst <= 3 * kWait + 2 * 4 + 2);
}

TEST_CASE("router: all intra-tile ports busy in a permutation") {
  OneRouter one;
  for (unsigned from = 0; from < kIntra; ++from) one.send(from, (from + 1) % kIntra, 150, kBytes);
  one.network.run(150 * 34 + 100);
  for (unsigned port = 0; port < kIntra; ++port) {
    expect_sound(one.receiver(port), 150);
    const double share = efficiency(one.receiver(port), 20);
    MESSAGE("permutation, port " << port << ", 512 B: " << share << " % of 20 Gb/s (limit 94.12)");
    CHECK(share >= 94.0);
  }
}

TEST_CASE("router: latency in an empty router, for any length") {
  for (const unsigned bytes : {0u, 1u, 16u, 17u, 256u, 512u}) {
    OneRouter one;
    one.send(0, 1, 1, bytes);
    one.network.run(80);
    expect_sound(one.receiver(1), 1);
    const Arrival& arrival = one.receiver(1).arrivals[0];
    const std::uint64_t sent = one.network.node(0).senders[0].sent_cycles()[0];
    CHECK(arrival.head_cycle - sent == 4);
    CHECK(arrival.tail_cycle - sent == 4 + 1 + (bytes + 15) / 16);
    if (bytes == 512)
      MESSAGE("zero-load latency: " << arrival.head_cycle - sent << " cycles, input wire to output wire");
  }
}

TEST_CASE("router: a packet without a route is discarded and counted, and holds nothing up") {
  spec::RouterConfig config = two_by_two(0, 0);
  config.set_disabled(1);
  RouterNetwork network{std::vector{config}};
  std::mt19937_64 random{3};
  for (unsigned i = 0; i < 200; ++i)
    network.node(0).senders[0].push(make_packet(0, i % 2 ? dcid(0, 0) : dcid(1, 0), 1, 512, i, random));
  network.run(200 * 36);
  expect_sound(network.node(0).receivers[1], 100);
  CHECK(network.node(0).model->discarded_o == 100);
}

TEST_CASE("routers: a 2x2 mesh delivers everything, in order, uncorrupted") {
  for (const std::uint64_t seed : {11u, 12u, 13u}) {
    RouterNetwork network{std::vector{two_by_two(0, 0), two_by_two(1, 0), two_by_two(0, 1), two_by_two(1, 1)}};
    network.connect({0, 0}, {1, 0});
    network.connect({2, 0}, {3, 0});
    network.connect({0, 1}, {2, 1});
    network.connect({1, 1}, {3, 1});
    std::mt19937_64 random{seed};
    std::map<std::tuple<unsigned, unsigned, unsigned>, std::uint32_t> sent, seen;
    constexpr unsigned kPackets = 1000;
    for (unsigned from = 0; from < 4; ++from)
      for (unsigned port = 0; port < kIntra; ++port)
        for (unsigned i = 0; i < kPackets; ++i) {
          const unsigned to = static_cast<unsigned>(random() % 4),
                         kind = port;  // a flow: source node, source port, destination
          const unsigned bytes = static_cast<unsigned>(random() % 513);
          network.node(from).senders[port].push(make_packet(dcid(from & 1, from >> 1), dcid(to & 1, to >> 1), kind,
                                                            bytes, sent[{from, port, to}]++, random));
        }
    std::size_t arrived = 0;
    while (arrived < 4 * kIntra * kPackets && network.cycle() < 400'000) {
      network.run(500);
      arrived = 0;
      for (unsigned n = 0; n < 4; ++n)
        for (const Receiver& receiver : network.node(n).receivers) arrived += receiver.arrivals.size();
    }
    std::size_t bad = 0, astray = 0, out_of_order = 0;
    for (unsigned n = 0; n < 4; ++n)
      for (unsigned port = 0; port < kIntra; ++port) {
        CHECK(network.node(n).receivers[port].framing_errors() == 0);
        for (const Arrival& arrival : network.node(n).receivers[port].arrivals) {
          const auto& header = arrival.packet.header;
          const unsigned from = static_cast<unsigned>((header.source_dcid() & 1) | header.source_dcid() >> 8 << 1);
          bad += !arrival.sound;
          astray += header.dcid() != dcid(n & 1, n >> 1) || header.kind() != port;
          out_of_order += arrival.packet.footer.number() != seen[{from, port, n}]++;
        }
      }
    MESSAGE("2x2 mesh, seed " << seed << ": " << arrived << " packets in " << network.cycle() << " cycles, " << bad
                              << " bad, " << astray << " astray, " << out_of_order << " out of order");
    CHECK(arrived == 4 * kIntra * kPackets);
    CHECK(bad == 0);
    CHECK(astray == 0);
    CHECK(out_of_order == 0);
  }
}

TEST_CASE("routers: full rings drain, with the traffic that would close the cycle of waiting on one channel") {
  // The busiest links of the ring of 7 carry 2400 packets of 34 words, as each takes packets of eight senders a round:
  // 81,600 cycles. With links first not much more is needed; where all inputs are served alike, packets on the way
  // stand behind those that enter.
  struct Ring {
    unsigned side;
    bool links_first;
    unsigned most_cycles;
  };
  for (const auto [side, links_first, most_cycles] :
       {Ring{4, false, 300'000}, Ring{7, false, 300'000}, Ring{7, true, 83'000}}) {
    std::vector<spec::RouterConfig> configs;
    for (unsigned x = 0; x < side; ++x)
      configs.push_back(on_ring(x, side)), configs.back().set_links_first(links_first);
    RouterNetwork network(configs);
    for (unsigned x = 0; x < side; ++x) network.connect({x, 0}, {(x + 1) % side, 1});
    std::mt19937_64 random{5};
    constexpr unsigned kPackets = 300;
    for (unsigned x = 0; x < side; ++x)  // tornado: everyone to just short of half way round, and half way
      for (unsigned port = 0; port < kIntra; ++port)
        for (unsigned i = 0; i < kPackets; ++i)
          network.node(x).senders[port].push(
              make_packet(x, (x + side / 2 - (side > 4 ? port % 2 : 0)) % side, port, 512, i, random));
    std::size_t arrived = 0;
    while (arrived < side * kIntra * kPackets && network.cycle() < 300'000) {
      network.run(1000);
      arrived = 0;
      for (unsigned x = 0; x < side; ++x)
        for (const Receiver& receiver : network.node(x).receivers) arrived += receiver.arrivals.size();
    }
    MESSAGE("ring of " << side << std::string(links_first ? ", links first: " : ": ") << arrived << " packets in "
                       << network.cycle() << " cycles");
    CHECK(arrived == side * kIntra * kPackets);
    CHECK(network.cycle() <= most_cycles);
  }
}
