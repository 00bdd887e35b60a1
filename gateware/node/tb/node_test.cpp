// SPDX-License-Identifier: Apache-2.0
// Verilated nodes joined by links: rates with credits, where a hop's time goes, and what becomes of packets on lines
// with wrong bits.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "gateware/node/tb/node_network.hpp"

using namespace exanet;
using namespace exanet::gateware;

namespace {

constexpr unsigned kThreshold = 0, kInterval = 256;

using Pair = PairOf<VerilatedNetwork>;

}  // namespace

TEST_CASE("link: one way, with credits") {
  for (const unsigned bytes : {256u, 512u}) {
    Pair pair{{.latency_cycles = 45}};
    pair.send(0, 0, 400, bytes);
    pair.network.run(400 * 72 + 500);
    CHECK(pair.network.node(1).receivers[0].arrivals.size() == 400);
    CHECK(pair.unsound(1, 0) == 0);
    const double share = pair.efficiency(1, 0, 50);
    MESSAGE("link one way, " << bytes << " B: " << share << " % of 10 Gb/s (limit " << (bytes == 512 ? 91.43 : 84.21)
                             << ", published 90 at 512 B)");
    CHECK(share >= (bytes == 512 ? 91.0 : 83.7));
    CHECK(pair.network.node(0).counters(0).rx_bad_controls() == 0);
  }
}

TEST_CASE("link: both ways full") {
  Pair pair{{.latency_cycles = 45}};
  for (const unsigned from : {0u, 1u}) pair.send(from, from, 400, 512);
  pair.network.run(400 * 72 + 500);
  for (const unsigned from : {0u, 1u}) {
    CHECK(pair.unsound(1 - from, from) == 0);
    // Upwards on the upper channel, downwards on the lower, and the header says so with its check bits right.
    for (const Arrival& arrival : pair.network.node(1 - from).receivers[from].arrivals)
      REQUIRE(arrival.packet.header.vc() == 1 - from);
    const double share = pair.efficiency(1 - from, from, 50);
    MESSAGE("link both ways, 512 B: " << share << " % of 10 Gb/s, credit words "
                                      << pair.network.node(from).counters(0).tx_credits());
    CHECK(share >= 90.0);
  }
}

TEST_CASE("link: the gearbox's pauses cost one word in 33") {
  Pair pair{{.latency_cycles = 45, .pause_every = 32}};
  pair.send(0, 0, 400, 512);
  pair.network.run(400 * 75 + 500);
  CHECK(pair.unsound(1, 0) == 0);
  const double share = pair.efficiency(1, 0, 50);
  MESSAGE("link one way with 64b/66b pauses, 512 B: " << share << " % of 10 Gb/s (limit " << 91.43 * 32 / 33 << ")");
  CHECK(share >= 91.0 * 32 / 33);
}

// The assertions of exanet_stream_check end the test when a word that waits is changed or withdrawn.
TEST_CASE_TEMPLATE("link: a word that waits for the transceiver stays as it is", Network, EXANET_NODE_NETWORKS) {
  for (const unsigned pause : {2u, 3u, 7u, 32u}) {
    PairOf<Network> pair{{.latency_cycles = 5, .pause_every = pause}};
    constexpr unsigned kBursts = 40;
    unsigned sent[2]{};
    for (unsigned burst = 0; burst < kBursts; ++burst) {
      for (const unsigned from : {0u, 1u}) {
        const auto packets = static_cast<unsigned>(pair.random() % 4);
        pair.send(from, 0, packets, static_cast<unsigned>(pair.random() % 513));
        sent[from] += packets;
      }
      pair.network.run(pair.random() % 300);
    }
    pair.network.run(20'000);
    CAPTURE(pause);
    for (const unsigned from : {0u, 1u}) {
      CHECK(pair.network.node(1 - from).receivers[0].arrivals.size() == sent[from]);
      CHECK(pair.unsound(1 - from, 0) == 0);
    }
  }
}

TEST_CASE_TEMPLATE("node: the lines carry nothing that was there before the reset", Network, EXANET_NODE_NETWORKS) {
  using Word = typename Network::LineWord;
  std::vector<std::vector<std::pair<std::uint64_t, Word>>> runs;
  for (const int before : {1, 2, 3}) {
    Network network({two_by_two(0, 0), two_by_two(1, 0)}, kThreshold, kInterval, before);
    network.connect(0, 0, 1, 0, {.latency_cycles = 5, .pause_every = 7});
    auto& words = runs.emplace_back();
    for (const unsigned n : {0u, 1u})
      network.node(n).tx[0]->tamper = [&words, &network](const Word& word) {
        words.emplace_back(network.cycle(), word);
        return std::optional(word);
      };
    std::mt19937_64 random{9};
    for (unsigned i = 0; i < 20; ++i)
      for (const unsigned n : {0u, 1u})
        network.node(n).senders[0].push(
            make_packet(dcid(n, 0), dcid(1 - n, 0), 0, static_cast<unsigned>(random() % 513), i, random));
    network.run(3000);
    CHECK(network.node(1).receivers[0].arrivals.size() == 20);
  }
  CHECK(runs[0].size() > 700);
  CHECK(runs[1] == runs[0]);
  CHECK(runs[2] == runs[0]);
}

TEST_CASE("link: how long a line one virtual channel's 512 words keep full") {
  // Time from a packet's grant to its credit's use, on a line of L cycles each way and with one sender: measured as the
  // words in flight at which the rate falls. The space of 15 packets, which bulk may take of 16, must last for their
  // round trip.
  for (const unsigned latency : {200u, 400u, 500u, 600u, 1000u, 2000u}) {
    Pair pair{{.latency_cycles = latency}};
    pair.send(0, 0, 300, 512);
    pair.network.run(300 * 72 + 2 * latency * 300 / 15 + 3000);
    CHECK(pair.unsound(1, 0) == 0);
    const double share = pair.efficiency(1, 0, 59);  // over whole rounds of 15
    const double round_trip = 15 * 64 * 100 / share;
    MESSAGE("line of " << latency << " cycles: " << share << " %; 15 packets in " << round_trip << " cycles, "
                       << round_trip - 2 * latency << " more than there and back");
    CHECK(round_trip == doctest::Approx(std::max(15 * 70u, 2 * latency + 85))
                            .epsilon(0.001));  // a full line, or there and back and a packet's passage
  }
}

TEST_CASE("node: time of a hop") {
  std::map<unsigned, std::uint64_t> heads;
  for (const unsigned latency : {0u, 1u, 45u}) {
    VerilatedNetwork network{
        {two_by_two(0, 0), two_by_two(1, 0), two_by_two(0, 1), two_by_two(1, 1)}, kThreshold, kInterval};
    network.connect(0, 0, 1, 0, {.latency_cycles = latency});
    network.connect(2, 0, 3, 0, {.latency_cycles = latency});
    network.connect(0, 1, 2, 1, {.latency_cycles = latency});
    network.connect(1, 1, 3, 1, {.latency_cycles = latency});
    std::uint64_t time[2]{};
    for (const unsigned hops : {1u, 2u}) {
      std::mt19937_64 random{1};
      network.run(1000);
      Sender& sender = network.node(0).senders[0];
      const unsigned to = hops == 1 ? 2 : 3;
      sender.push(make_packet(dcid(0, 0), dcid(to & 1, to >> 1), 0, 16, 0, random));
      network.run(500);
      const auto& arrivals = network.node(to).receivers[0].arrivals;
      REQUIRE(arrivals.size() == 1);
      CHECK(arrivals[0].sound);
      time[hops - 1] = arrivals[0].head_cycle - sender.sent_cycles().back();
    }
    const std::uint64_t hop = time[1] - time[0];
    MESSAGE("line of " << latency << " cycles: one hop " << time[0] << ", two hops " << time[1] << ", difference "
                       << hop << " cycles = " << static_cast<double>(hop) * 6.4 << " ns");
    heads[latency] = hop;
  }
  CHECK(heads[0] == 11);
  CHECK(heads[1] - heads[0] == 1);
  CHECK(heads[45] - heads[0] == 45);
}

TEST_CASE("nodes: a 2x2 mesh of routers and links delivers everything, in order, uncorrupted") {
  VerilatedNetwork network({two_by_two(0, 0), two_by_two(1, 0), two_by_two(0, 1), two_by_two(1, 1)}, kThreshold,
                           kInterval);
  const TransceiverConfig line{.latency_cycles = 45, .pause_every = 32};
  network.connect(0, 0, 1, 0, line);
  network.connect(2, 0, 3, 0, line);
  network.connect(0, 1, 2, 1, line);
  network.connect(1, 1, 3, 1, line);
  std::mt19937_64 random{21};
  constexpr unsigned kPackets = 500, kAll = 4 * VerilatedNetwork::kIntra * kPackets;
  std::map<std::tuple<unsigned, unsigned, unsigned>, std::uint32_t> sent, seen;
  for (unsigned from = 0; from < 4; ++from)
    for (unsigned port = 0; port < VerilatedNetwork::kIntra; ++port)
      for (unsigned i = 0; i < kPackets; ++i) {
        const unsigned to = static_cast<unsigned>(random() % 4), bytes = static_cast<unsigned>(random() % 513);
        network.node(from).senders[port].push(make_packet(dcid(from & 1, from >> 1), dcid(to & 1, to >> 1), port, bytes,
                                                          sent[{from, port, to}]++, random));
      }
  std::size_t arrived = 0, bad = 0, out_of_order = 0;
  while (arrived < kAll && network.cycle() < 300'000) {
    network.run(500);
    arrived = 0;
    for (unsigned n = 0; n < 4; ++n)
      for (const Receiver& receiver : network.node(n).receivers) arrived += receiver.arrivals.size();
  }
  for (unsigned n = 0; n < 4; ++n)
    for (unsigned port = 0; port < VerilatedNetwork::kIntra; ++port)
      for (const Arrival& arrival : network.node(n).receivers[port].arrivals) {
        const auto source = arrival.packet.header.source_dcid();
        bad += !arrival.sound || arrival.packet.header.dcid() != dcid(n & 1, n >> 1);
        out_of_order +=
            arrival.packet.footer.number() != seen[{static_cast<unsigned>((source & 1) | source >> 8 << 1), port, n}]++;
      }
  MESSAGE("2x2 mesh with links: " << arrived << " packets in " << network.cycle() << " cycles, " << bad
                                  << " bad or astray, " << out_of_order << " out of order");
  CHECK(arrived == kAll);
  CHECK(bad == 0);
  CHECK(out_of_order == 0);
}

TEST_CASE("link: a word that equals Magic is data when it is data") {
  Pair pair{{.latency_cycles = 5}};
  Packet packet = make_packet(dcid(0, 0), dcid(1, 0), 0, 512, 0, pair.random);
  const auto low = static_cast<std::uint32_t>(spec::kMagicWord),
             high = static_cast<std::uint32_t>(spec::kMagicWord >> 32);
  for (auto& word : packet.payload) word = {low, high, low, high};
  packet.footer.set_crc32(spec::packet_crc(packet.header, packet.payload, packet.footer));
  pair.network.node(0).senders[0].push(packet);
  pair.send(0, 0, 3, 512);
  pair.network.run(600);
  CHECK(pair.network.node(1).receivers[0].arrivals.size() == 4);
  CHECK(pair.unsound(1, 0) == 0);
  CHECK(pair.network.node(0).counters(0).tx_stuffed() == 64);
}

TEST_CASE("link: wrong bits are seen, nothing arrives silently changed, nothing hangs") {
  for (const double rate : {1e-5, 1e-4, 1e-3}) {
    Pair pair{{.latency_cycles = 45, .bit_error_rate = rate, .seed = 7}};
    constexpr unsigned kPackets = 2000;
    std::map<std::uint32_t, Packet> sent;
    for (unsigned i = 0; i < kPackets; ++i) {
      Packet packet =
          make_packet(dcid(0, 0), dcid(1, 0), 0, static_cast<unsigned>(pair.random() % 513), i, pair.random);
      sent.emplace(i, packet);
      pair.network.node(0).senders[0].push(packet);
    }
    std::uint64_t limit = 0;
    while (!pair.network.node(0).senders[0].idle() && limit++ < 400) pair.network.run(1000);
    CHECK(pair.network.node(0).senders[0].idle());
    pair.network.run(12'000);
    std::size_t sound = 0, changed = 0, marked = 0;
    const Receiver& receiver = pair.network.node(1).receivers[0];
    CHECK(receiver.framing_errors() == 0);
    for (const Arrival& arrival : receiver.arrivals) {
      marked += arrival.packet.footer.error();
      if (!arrival.sound) continue;
      ++sound;
      Packet original = sent.at(static_cast<std::uint32_t>(arrival.packet.footer.number()));
      original.header.set_vc(arrival.packet.header.vc());
      spec::protect(original.header);
      changed += original.header.raw != arrival.packet.header.raw || original.payload != arrival.packet.payload;
    }
    const auto c = pair.network.node(1).counters(0);
    MESSAGE("bit error rate " << rate << ": " << pair.network.node(0).tx[0]->wrong_bits() << " wrong bits, " << kPackets
                              << " packets sent, " << receiver.arrivals.size() << " arrived, " << sound << " sound, "
                              << marked << " marked, " << changed << " silently changed; bad headers "
                              << c.rx_bad_headers() << ", bad controls " << c.rx_bad_controls() << ", bad payloads "
                              << c.rx_bad_payloads() << ", cut " << c.rx_cut_packets() << ", reclaimed "
                              << c.rx_reclaimed());
    CHECK(changed == 0);
    CHECK(c.rx_bad_headers() > 0);
    CHECK(c.rx_bad_payloads() > 0);
    CHECK(marked == receiver.arrivals.size() - sound);
    CHECK(c.rx_reclaimed() == kPackets - receiver.arrivals.size());
  }
}

TEST_CASE("link: dropped words and a line that goes down in mid-packet hang nothing") {
  Pair pair{{.latency_cycles = 45}};
  std::uint64_t count = 0;
  // Every 997th word is lost; from cycle 20,000 to 26,000 all are.
  pair.network.node(0).tx[0]->tamper = [&](std::uint64_t word) -> std::optional<std::uint64_t> {
    ++count;
    return count % 997 == 0 || (pair.network.cycle() > 20'000 && pair.network.cycle() < 26'000) ? std::nullopt
                                                                                                : std::optional(word);
  };
  pair.send(0, 0, 1000, 512);
  pair.network.run(120'000);
  const auto c = pair.network.node(1).counters(0);
  const auto& arrivals = pair.network.node(1).receivers[0].arrivals;
  MESSAGE("words lost: 1000 packets sent, " << arrivals.size() << " arrived, " << pair.unsound(1, 0)
                                            << " of them marked, cut " << c.rx_cut_packets() << ", reclaimed "
                                            << c.rx_reclaimed() << ", stray words " << c.rx_stray_words());
  CHECK(pair.network.node(0).senders[0].idle());
  CHECK(c.rx_cut_packets() > 0);
  CHECK(arrivals.size() + c.rx_reclaimed() == 1000);
  // The line carries on after all that.
  pair.network.node(0).tx[0]->tamper = nullptr;
  pair.send(0, 0, 50, 512);
  pair.network.run(50 * 72 + 6000);
  std::size_t sound = 0;
  for (std::size_t i = arrivals.size() - 45; i < arrivals.size(); ++i) sound += arrivals[i].sound;
  CHECK(sound == 45);
}

TEST_CASE_TEMPLATE("link: a neighbour hears of a node's health at once after the reset", Network,
                   EXANET_NODE_NETWORKS) {
  PairOf<Network> pair{{.latency_cycles = 45}};
  pair.network.node(0).model->health_i = 0x5a;
  pair.network.node(0).model->eval();
  pair.network.run(45 + 8);
  CHECK(pair.network.node(1).model->health_o[0] == 0x5a);
}

// Two senders beside the far port keep it busy, so bulk fills the pool behind the link and what is before it. A
// priority packet waits for the words on its own wire, for two packets on the line (one on it, one in the link's
// buffer) and for one at the far port.
TEST_CASE("node: a priority packet passes links, queues and pools full of bulk") {
  constexpr unsigned kLine = 45, kBulk = 400, kRouterPacket = 34, kLinkPacket = 70;
  VerilatedNetwork network({two_by_two(0, 0), two_by_two(1, 0)}, kThreshold, kInterval);
  network.connect(0, 0, 1, 0, {.latency_cycles = kLine});
  std::mt19937_64 random{4};
  for (unsigned i = 0; i < kBulk; ++i) {
    for (const unsigned from : {0u, 1u})
      network.node(1).senders[from].push(make_packet(dcid(1, 0), dcid(1, 0), 2, 512, i, random));
    network.node(0).senders[0].push(make_packet(dcid(0, 0), dcid(1, 0), 2, 512, i, random));
  }
  network.run(6000);
  Sender& sender = network.node(0).senders[0];
  auto& arrivals = network.node(1).receivers[2].arrivals;
  std::uint64_t worst = 0;
  for (unsigned i = 0; i < 40; ++i) {
    std::size_t arrived_from_here = 0;
    for (const Arrival& arrival : arrivals) arrived_from_here += arrival.packet.header.source_dcid() == dcid(0, 0);
    REQUIRE(sender.sent_cycles().size() - arrived_from_here >= 77);  // 63 and 15 are what bulk may take of the pools
    REQUIRE(sender.waiting() > 0);
    const std::size_t before = arrivals.size();
    const std::uint64_t offered = network.cycle();
    sender.push(make_packet(dcid(0, 0), dcid(1, 0), 2, 16 * (i % 33), i, random, true));
    network.run(400 + i);
    std::uint64_t arrived = 0;
    for (std::size_t k = before; k < arrivals.size(); ++k)
      if (arrivals[k].packet.header.high_priority()) arrived = arrivals[k].head_cycle;
    REQUIRE(arrived > offered);
    worst = std::max(worst, arrived - offered);
  }
  constexpr unsigned kEmpty = 15 + kLine;
  MESSAGE("priority packet over a link, through two routers full of bulk: header after "
          << worst << " cycles at most (empty: " << kEmpty << ")");
  CHECK(worst <= kEmpty + kRouterPacket + 2 * kLinkPacket + kRouterPacket);
}

TEST_CASE("node: a stuck receiver stops its senders and loses nothing") {
  Pair pair{{.latency_cycles = 45}};
  pair.network.node(1).stuck = true;
  pair.send(0, 0, 100, 512);
  pair.network.run(20'000);
  const std::size_t taken = pair.network.node(1).receivers[0].arrivals.size();
  CHECK(taken == 8);  // the slots of the intra-tile port
  pair.network.node(1).stuck = false;
  pair.network.run(10'000);
  CHECK(pair.network.node(1).receivers[0].arrivals.size() == 100);
  CHECK(pair.unsound(1, 0) == 0);
}
