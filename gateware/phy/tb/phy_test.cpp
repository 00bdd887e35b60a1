// SPDX-License-Identifier: Apache-2.0
// Two nodes over 64b/66b, or over four lanes of 8b/10b, each with clocks of its own: packets both ways, wrong bits,
// cables that are pulled and plugged, and resets of one side while traffic runs. Nothing is delivered twice or changed,
// what is lost is counted, and the channel comes up and goes down within the times that docs/gateware.md states.
#include <algorithm>
#include <string>

#include "gateware/phy/tb/phy_pair.hpp"
#include "gateware/tb/long.hpp"

using namespace exanet;
using namespace exanet::gateware;

namespace {

// As docs/gateware.md states them, in cycles of the core at 156.25 MHz; phy_node has Quiet 512, the line 40 words.
constexpr std::uint64_t kQuiet = 512, kLatency = 40;
constexpr std::uint64_t kUpAgain = 1024 + 4 * kLatency;  // from the plugged cable
constexpr std::uint64_t kUpAfterReset = kUpAgain + kQuiet;  // from the released reset
constexpr std::uint64_t kDownReported = 80,
                        kDownNoise = 400;  // from the pulled cable, with and without what the transceiver says
constexpr std::uint64_t kDownFar = kDownNoise + kLatency + 40;  // at the end that still receives

template <class Code>
struct Traffic {
  PhyPair<Code>& pair;
  std::map<std::uint32_t, Packet> sent[2]{};  // by number, of each source
  std::size_t looked_at[2]{};
  std::map<std::uint32_t, unsigned> got[2]{};
  std::uint64_t sound = 0, marked = 0, changed = 0, twice = 0, astray = 0;
  std::uint32_t number = 0;

  void push(unsigned from, unsigned count, unsigned most = 512) {
    for (unsigned i = 0; i < count; ++i) {
      const auto bytes = static_cast<unsigned>(pair.random() % (most + 1));
      Packet packet = make_packet(from, 1 - from, 0, bytes, ++number, pair.random, pair.random() % 8 == 0);
      sent[from].emplace(number, packet);
      pair.node(from).sender.push(std::move(packet));
    }
  }
  // Packets of the largest size, whose words leave no gap.
  void fill(unsigned from, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      Packet packet = make_packet(from, 1 - from, 0, 512, ++number, pair.random);
      sent[from].emplace(number, packet);
      pair.node(from).sender.push(std::move(packet));
    }
  }
  void collect() {
    for (unsigned to = 0; to < 2; ++to) {
      const auto& arrivals = pair.node(to).receiver.arrivals;
      for (; looked_at[to] < arrivals.size(); ++looked_at[to]) {
        const Arrival& arrival = arrivals[looked_at[to]];
        const auto found = sent[1 - to].find(static_cast<std::uint32_t>(arrival.packet.footer.number()));
        if (!arrival.sound) {
          ++marked;
          continue;
        }
        ++sound;
        if (found == sent[1 - to].end() || arrival.packet.header.dcid() != to) {
          ++astray;
          continue;
        }
        changed += arrival.packet.payload != found->second.payload ||
                   arrival.packet.header.dmadd() != found->second.header.dmadd();
        twice += got[to][found->first]++ > 0;
      }
    }
  }
  // Until nothing moves any more; what is left in a sender was never let go.
  void settle() {
    for (int quiet = 0, i = 0; quiet < 12 && i < 4000; ++i) {
      const std::size_t before = pair.node(0).receiver.arrivals.size() + pair.node(1).receiver.arrivals.size() +
                                 pair.node(0).sender.waiting() + pair.node(1).sender.waiting();
      pair.run(200);
      const std::size_t now = pair.node(0).receiver.arrivals.size() + pair.node(1).receiver.arrivals.size() +
                              pair.node(0).sender.waiting() + pair.node(1).sender.waiting();
      quiet = before == now ? quiet + 1 : 0;
    }
    collect();
    for (unsigned n = 0; n < 2; ++n) CHECK(pair.node(n).sender.idle());
    CHECK(changed == 0);
    CHECK(twice == 0);
    CHECK(astray == 0);
    for (unsigned n = 0; n < 2; ++n) CHECK(pair.node(n).receiver.framing_errors() == 0);
  }
  std::uint64_t lost(unsigned from) const { return sent[from].size() - got[1 - from].size(); }
};

// Registers of a link: docs/reference/registers.md.
enum : unsigned { kTxPackets = 0x04, kRxPackets = 0x10, kRxCut = 0x24, kRxReclaimed = 0x2C, kTxUnconfirmed = 0x34 };

// What one end sent is what the other one handed on or gave up.
template <class Code>
bool accounted(PhyPair<Code>& pair) {
  for (unsigned n = 0; n < 2; ++n) {
    const std::uint32_t there =
        pair.counter(1 - n, kRxPackets) + pair.counter(1 - n, kRxCut) + pair.counter(1 - n, kRxReclaimed);
    if ((pair.counter(n, kTxPackets) - there) % 128 != 0) return false;
  }
  return true;
}

// All space is there: as many packets as the far pool and the slots hold go over to a receiver that takes none.
template <class Code>
bool whole_space(PhyPair<Code>& pair, Traffic<Code>& traffic) {
  for (unsigned from = 0; from < 2; ++from) {
    const std::uint32_t before = pair.counter(from, kTxPackets);
    pair.node(1 - from).stuck = true;
    for (int i = 0; i < 60; ++i) {
      Packet packet = make_packet(from, 1 - from, 0, 512, ++traffic.number, pair.random, true);
      traffic.sent[from].emplace(traffic.number, packet);
      pair.node(from).sender.push(std::move(packet));
    }
    pair.run(6000);
    const std::uint32_t over = pair.counter(from, kTxPackets) - before;
    pair.node(1 - from).stuck = false;
    traffic.settle();
    if (over != 8 + 16) return false;
  }
  return true;
}

// EXANET_PHY_SEEDS: more cables and resets than `make gateware` tries.
std::uint64_t seeds(std::uint64_t otherwise) { return given("EXANET_PHY_SEEDS", otherwise); }

template <class Code>
void until_up(PhyPair<Code>& pair, std::uint64_t limit) {
  std::uint64_t begin = pair.node(0).cycle;
  while (!pair.both_up() && pair.node(0).cycle - begin <= limit) pair.run(1);
  REQUIRE(pair.both_up());
}

}  // namespace

TEST_CASE_TEMPLATE("phy: packets both ways at 100 ppm and at 200 ppm, whoever is faster", Code, EXANET_LINE_CODES) {
  for (const double ppm : {-200.0, -100.0, 100.0, 200.0}) {
    PhyPair<Code> pair{{.core_ppm = {ppm, -ppm}, .line_ppm = {-ppm, ppm}, .seed = 3}};
    until_up(pair, 4000);
    Traffic<Code> traffic{pair};
    for (unsigned from = 0; from < 2; ++from) traffic.fill(from, 220);
    traffic.settle();
    CHECK(traffic.sound == 440);
    CHECK(traffic.marked == 0);
    for (unsigned n = 0; n < 2; ++n) {
      CHECK((pair.read(n, 0x34) >> 18 & 0x1ff) == 0);  // no overflow
      const auto& a = pair.node(n).receiver.arrivals;
      const double share =
          100.0 * Code::kPayloadWords * 150 / static_cast<double>(a[200].tail_cycle - a[50].tail_cycle);
      MESSAGE(ppm << " ppm: " << share << " % of the core's rate on the link");
      CHECK(share > 91.43 * (1 - 1e-3 * 2 - 2 * std::abs(ppm) * 1e-6));
    }
    CHECK(accounted(pair));
  }
}

TEST_CASE_TEMPLATE("phy: a hundred thousand words at 200 ppm, with every word's place filled", Code,
                   EXANET_LINE_CODES) {
  PhyPair<Code> pair{{.core_ppm = {200, -200}, .line_ppm = {200, -200}, .seed = 5}};
  until_up(pair, 4000);
  Traffic<Code> traffic{pair};
  traffic.fill(0, 1500);
  traffic.settle();
  CHECK(traffic.sound == 1500);  // 70 words each
  CHECK((pair.read(1, 0x34) >> 18 & 0x1ff) == 0);
  CHECK(pair.counter(1, 0x30) == 0);  // no stray words
}

// The far end's refreshed flags fall on every place of a receiver's count, as the line's length goes through 16 words.
TEST_CASE_TEMPLATE("phy: lines in step with their cores leave gaps, however long they are", Code, EXANET_LINE_CODES) {
  for (unsigned length = 0; length < 16; ++length) {
    CAPTURE(length);
    PhyPair<Code> pair{{.core_ppm = {200, -200}, .line_ppm = {200, -200}, .latency_words = 20 + length, .seed = 5}};
    until_up(pair, 4000);
    Traffic<Code> traffic{pair};
    const unsigned packets = 40'000 / (Code::kPayloadWords + Code::kPayloadWords / 10);
    traffic.fill(0, packets);
    traffic.settle();
    CHECK(traffic.sound == packets);
    CHECK((pair.read(1, 0x34) >> 18 & 0x1ff) == 0);  // no overflow
  }
}

#if EXANET_VARIANTS
TEST_CASE("phy: lanes that are faster than the cores") {
  for (const double clock : {157.0, 160.0, 175.0, 212.5}) {
    CAPTURE(clock);
    PhyPair<FourLanes> pair{{.core_ppm = {200, -200}, .line_clock = clock, .seed = 15}};
    until_up(pair, 4000);
    Traffic<FourLanes> traffic{pair};
    for (unsigned from = 0; from < 2; ++from) traffic.fill(from, 1000);
    traffic.settle();
    CHECK(traffic.sound == 2000);
    for (unsigned n = 0; n < 2; ++n) CHECK((pair.read(n, 0x34) >> 18 & 0x1ff) == 0);
  }
}
#endif

TEST_CASE_TEMPLATE("phy: latency of a word through both ends", Code, EXANET_LINE_CODES) {
  PhyPair<Code> pair{{.core_ppm = {0, 0}, .line_ppm = {0, 0}, .latency_words = 0}};
  until_up(pair, 4000);
  double least = 1e9, most = 0;
  for (int i = 0; i < 100; ++i) {
    pair.run(100 + pair.random() % 40);
    const std::uint64_t from = pair.node(0).cycle, skew = pair.node(1).cycle - from;
    pair.node(0).sender.push(make_packet(0, 1, 0, 0, 1, pair.random));
    const std::size_t before = pair.node(1).receiver.arrivals.size();
    while (pair.node(1).receiver.arrivals.size() == before) pair.run(1);
    const double cycles = static_cast<double>(pair.node(1).receiver.arrivals.back().head_cycle - skew - from);
    least = std::min(least, cycles);
    most = std::max(most, cycles);
  }
  MESSAGE("header in to header out, two nodes, no line: " << least << " to " << most << " cycles");
  CHECK(most <= 40);
}

TEST_CASE_TEMPLATE("phy: wrong bits on the line", Code, EXANET_LINE_CODES) {
  for (const double rate : {1e-5, 1e-4, 1e-3}) {
    PhyPair<Code> pair{{.bit_error_rate = 0, .seed = 11}};
    until_up(pair, 4000);
    Traffic<Code> traffic{pair};
    for (unsigned n = 0; n < 2; ++n) pair.line(n).set_bit_error_rate(rate);
    for (unsigned n = 0; n < 2; ++n) traffic.push(n, 300, 128);
    traffic.settle();
    for (unsigned n = 0; n < 2; ++n) pair.line(n).set_bit_error_rate(0);
    pair.run(12'000);
    MESSAGE(rate << ": " << pair.line(0).wrong_bits() + pair.line(1).wrong_bits() << " wrong bits, " << traffic.sound
                 << " of 600 sound, " << traffic.marked << " marked");
    CHECK(traffic.sound < 600);
    CHECK(accounted(pair));
    CHECK(whole_space(pair, traffic));
  }
}

TEST_CASE_TEMPLATE("phy: a cable that is pulled and plugged while traffic runs", Code, EXANET_LINE_CODES) {
  for (std::uint64_t seed = 1; seed <= seeds(10); ++seed) {
    CAPTURE(seed);
    PhyPair<Code> pair{{.seed = seed}};
    until_up(pair, 4000);
    Traffic<Code> traffic{pair};
    for (unsigned n = 0; n < 2; ++n) pair.clear_interrupts(n);
    const bool reported = seed % 2 == 0, one_way = seed % 3 == 0, stops = seed % 5 == 0;
    std::uint64_t slowest_up = 0, slowest_down = 0, slowest_far = 0;
    for (int pulls = 0; pulls < 6; ++pulls) {
      for (unsigned n = 0; n < 2; ++n) traffic.push(n, 12);
      pair.run(300 + pair.random() % 800);
      pair.plug(1, false, reported);
      if (!one_way) pair.plug(0, false, reported);
      if (stops) pair.stop_receive_clock(1, true);
      const std::uint64_t begin = pair.node(0).cycle;
      const std::uint64_t down = pair.until_interrupt(1, 2000);
      pair.until_interrupt(0, 2000);
      slowest_down = std::max(slowest_down, down);
      slowest_far = std::max(slowest_far, pair.node(0).cycle - begin);
      CHECK(!pair.up(0));
      CHECK(!pair.up(1));
      CHECK((pair.read(0, 0x34) & 0x7ffffff) == 1);
      CHECK((pair.read(1, 0x34) & 0x7ffffff) == 1);
      pair.run(pair.random() % 1000);
      for (unsigned n = 0; n < 2; ++n) pair.clear_interrupts(n);
      CHECK(pair.node(0).model->interrupt_o == 0);
      pair.plug(1, true, reported);
      if (!one_way) pair.plug(0, true, reported);
      if (stops) pair.stop_receive_clock(1, false);
      const std::uint64_t again = pair.node(0).cycle;
      for (unsigned n = 0; n < 2; ++n) pair.until_interrupt(n, 4000);
      slowest_up = std::max(slowest_up, pair.node(0).cycle - again);
      CHECK(pair.both_up());
      CHECK((pair.read(0, 0x34) & 0x7ffffff) == 1 << 9);
      for (unsigned n = 0; n < 2; ++n) pair.clear_interrupts(n);
    }
    traffic.settle();
    pair.run(12'000);
    const std::string how =
        std::string(reported ? ", reported" : "") + (one_way ? ", one way" : "") + (stops ? ", clock stopped" : "");
    MESSAGE("pulled" << how << ": down within " << slowest_down << ", at the far end " << slowest_far << ", up within "
                     << slowest_up << " cycles; " << traffic.lost(0) + traffic.lost(1) << " packets lost");
    CHECK(slowest_down <= (reported || stops ? kDownReported : kDownNoise));
    CHECK(slowest_far <= (reported || stops ? kDownReported + kLatency + 40 : kDownFar));
    CHECK(slowest_up <= kUpAgain);
    CHECK(accounted(pair));
    for (unsigned n = 0; n < 2; ++n) CHECK(pair.counter(n, kTxUnconfirmed) == 0);
    CHECK(whole_space(pair, traffic));
  }
}

TEST_CASE_TEMPLATE("phy: a transceiver that slips a bit loses lock and finds it again", Code, EXANET_LINE_CODES) {
  PhyPair<Code> pair{{.seed = 9}};
  until_up(pair, 4000);
  Traffic<Code> traffic{pair};
  for (int slips = 0; slips < 8; ++slips) {
    for (unsigned n = 0; n < 2; ++n) traffic.push(n, 10);
    pair.run(pair.random() % 800);
    pair.line(slips % 2).slip();
    pair.run(kDownFar + kUpAgain);
    CHECK(pair.both_up());
  }
  traffic.settle();
  pair.run(12'000);
  CHECK(accounted(pair));
  CHECK(whole_space(pair, traffic));
}

TEST_CASE_TEMPLATE("phy: what came before a reset leaves before anything new comes", Code, EXANET_LINE_CODES) {
  PhyPair<Code> pair{{.seed = 21}};
  until_up(pair, 4000);
  Traffic<Code> traffic{pair};
  pair.node(0).stuck = true;
  traffic.push(1, 20, 0);
  pair.run(3000);  // 8 are with the receiver, 12 in the pool
  pair.stop(1);
  pair.run(20);
  pair.start(1);
  until_up(pair, 4000);
  traffic.push(1, 5);
  traffic.push(0, 5);
  pair.run(4000);
  CHECK(pair.counter(1, kTxPackets) == 0);
  CHECK(pair.counter(0, kTxPackets) == 5);  // the other way nothing waits
  pair.node(0).stuck = false;
  traffic.settle();
  CHECK(traffic.sound == 30);
  CHECK(pair.counter(1, kTxPackets) == 5);
  CHECK(whole_space(pair, traffic));
}

TEST_CASE_TEMPLATE("phy: one side is reset while traffic runs", Code, EXANET_LINE_CODES) {
  std::uint64_t unknown = 0;
  for (std::uint64_t seed = 1; seed <= seeds(8); ++seed) {
    CAPTURE(seed);
    PhyPair<Code> pair{{.seed = 100 + seed}};
    until_up(pair, 4000);
    Traffic<Code> traffic{pair};
    std::uint64_t slowest = 0;
    pair.node(0).stuck = seed % 4 == 0;  // what came before the reset stays in the pool of the side that was not reset
    for (int resets = 0; resets < 4; ++resets) {
      for (unsigned n = 0; n < 2; ++n) traffic.push(n, 30);
      pair.run(200 + pair.random() % 1500);
      pair.clear_interrupts(0);
      pair.stop(1);
      pair.run(1 + pair.random() % (seed % 2 ? 20 : 2000));  // shorter than the line and longer than it takes to notice
      std::uint64_t begin = pair.node(0).cycle;
      pair.start(1);
      // The other side has noticed when it comes up again; a second reset in the middle of the first one's handshake
      // comes to the same.
      if (seed % 3 == 0) {
        pair.run(pair.random() % (2 * kQuiet));
        pair.stop(1);
        pair.run(1 + pair.random() % 20);
        begin = pair.node(0).cycle;
        pair.start(1);
      }
      while (!pair.both_up() && pair.node(0).cycle - begin < 10'000) pair.run(1);
      slowest = std::max(slowest, pair.node(0).cycle - begin);
      CHECK((pair.read(0, 0x34) & 0x201) == 0x201);  // it went down and came up
    }
    traffic.collect();
    pair.node(0).stuck = false;
    traffic.settle();
    // Of the side that was not reset nothing is lost but what it counts as not known, and what it still held is sent.
    const std::uint32_t unconfirmed = pair.counter(0, kTxUnconfirmed);
    MESSAGE("reset: up again within " << slowest << " cycles; " << traffic.lost(0)
                                      << " packets to the side that was reset lost, " << unconfirmed << " unconfirmed, "
                                      << traffic.marked << " cut");
    CHECK(slowest <= kUpAfterReset);
    CHECK(traffic.lost(0) <= unconfirmed);
    unknown += unconfirmed;
    // From now on as on the first day.
    const std::uint64_t before = traffic.sound, lost = traffic.lost(0) + traffic.lost(1);
    for (unsigned n = 0; n < 2; ++n) traffic.push(n, 50);
    traffic.settle();
    CHECK(traffic.sound == before + 100);
    CHECK(traffic.lost(0) + traffic.lost(1) == lost);
    CHECK(whole_space(pair, traffic));
  }
  CHECK(unknown > 0);
}
