// SPDX-License-Identifier: Apache-2.0
// Both halves of the physical coding sublayer of 100GBASE-R over lanes with skew, in any order, with wrong bits and
// slips.
#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

#include "Veth_pcs_rx.h"
#include "Veth_pcs_tx.h"
#include "core/units/size_harness.hpp"
#include "gateware/ethernet/tb/pcs_line.hpp"
#include "gateware/phy/tb/half.hpp"

namespace {
using namespace exanet::gateware;

constexpr unsigned kPeriod = 16;          // codewords from marker to marker, as the models are built
constexpr unsigned kSkew = 4641;  // bits: 180 ns at 25.78125 Gb/s, the most that IEEE 802.3 table 91-3 allows
constexpr unsigned kWords = kPeriod * 10;  // that go meanwhile, about

struct Word {
  std::uint64_t data;
  std::uint8_t control;
  bool operator==(const Word&) const = default;
};
constexpr Word kIdle{0x0707070707070707, 0xFF}, kError{0xFEFEFEFEFEFEFEFE, 0xFF};

// Frames of drawn lengths, gaps, ordered sets and errors, one word of eight bytes after the other.
class Traffic {
 public:
  explicit Traffic(unsigned seed) : random_{seed} {}
  Word next() {
    if (left_ > 0) {
      --left_;
      return {random_(), 0};
    }
    if (ends_) {
      ends_ = false;
      const unsigned bytes = random_() % 8;
      const std::uint64_t data = random_() & ((1ULL << 8 * bytes) - 1);
      const std::uint64_t idles = bytes == 7 ? 0 : 0x0707070707070707ULL << 8 * (bytes + 1);
      return {data | 0xFDULL << 8 * bytes | idles, static_cast<std::uint8_t>(0xFF << bytes)};
    }
    const unsigned what = random_() % 8;
    if (what < 4) {
      left_ = random_() % 3 == 0 ? random_() % 200 : random_() % 10;
      ends_ = true;
      return {0xD5555555555555FBULL, 0x01};
    }
    if (what == 4) return {0x0000000001'00009CULL, 0x01};
    if (what == 5) return kError;
    return kIdle;
  }

 private:
  std::mt19937_64 random_;
  unsigned left_ = 0;
  bool ends_ = false;
};

struct Ends {
  Half<Veth_pcs_tx> tx;
  Half<Veth_pcs_rx> rx;
  Traffic traffic;
  PcsLine line;
  std::deque<std::array<Word, 8>> sent;
  bool found = false;  // the received word that sent begins with
  std::array<Word, 8> next{};
  unsigned long compared = 0, errors = 0, silent = 0, corrected = 0, uncorrected = 0, codewords = 0, lost = 0;

  Ends(unsigned seed, std::array<unsigned, 4> order, std::array<unsigned, 4> delays)
      : traffic{seed}, line{order, delays} {
    draw();
  }
  void draw() {
    for (unsigned i = 0; i < 8; ++i) {
      next[i] = traffic.next();
      set_bits(tx.model.words_i, 72 * i, 64, next[i].data);
      set_bits(tx.model.words_i, 72 * i + 64, 8, next[i].control);
    }
  }
  void cycle() {
    tx.model.eval();
    const bool taken = tx.model.ready_o;
    line.pass(tx.model.lanes_o, rx.model.lanes_i);
    tx.edge();
    if (taken) {
      sent.push_back(next);
      draw();
    }
    const bool was_aligned = rx.model.aligned_o;
    rx.edge();
    lost += was_aligned && !rx.model.aligned_o;
    if (!rx.model.aligned_o) found = false;
    if (rx.model.codeword_o) {
      ++codewords;
      corrected += rx.model.corrected_o;
      uncorrected += rx.model.uncorrected_o;
    }
    if (!rx.model.valid_o) return;
    std::array<Word, 8> came{};
    for (unsigned i = 0; i < 8; ++i)
      came[i] = {bits_of(rx.model.words_o, 72 * i, 64),
                 static_cast<std::uint8_t>(bits_of(rx.model.words_o, 72 * i + 64, 8))};
    if (!found) {
      // Eight words are not sent twice, but where they are idle.
      const bool idle = std::ranges::count(came, kIdle) > 4;
      const auto at = idle ? sent.end() : std::ranges::find(sent, came);
      if (at == sent.end()) return;
      sent.erase(sent.begin(), at);
      found = true;
    }
    REQUIRE(!sent.empty());
    for (unsigned i = 0; i < 8; ++i) {
      ++compared;
      if (came[i] == sent.front()[i]) continue;
      if (came[i] == kError)
        ++errors;
      else
        ++silent;
    }
    sent.pop_front();
  }
  // Within so many cycles, or fails.
  void align() {
    for (unsigned i = 0; !found; ++i) {
      REQUIRE(i < 8 * kWords);
      cycle();
    }
  }
};
}  // namespace

TEST_CASE("ethernet: words come whole over lanes in any order, at any bit, as far apart as the standard allows") {
  std::mt19937_64 random{81};
  for (unsigned trial = 0; trial < (exanet::testing::in_full() ? 240U : 6U); ++trial) {
    CAPTURE(trial);
    std::array<unsigned, 4> order{0, 1, 2, 3}, delays{};
    std::ranges::shuffle(order, random);
    for (auto& delay : delays) delay = random() % (kSkew + 1);
    const unsigned least = random() % 4;
    delays[least] = 0;
    delays[(least + 1 + random() % 3) % 4] = kSkew;
    Ends ends{static_cast<unsigned>(random()), order, delays};
    ends.align();
    for (unsigned i = 0; i < 5 * kWords; ++i) ends.cycle();
    CHECK(ends.compared > 8 * 4 * kWords);
    CHECK(ends.errors + ends.silent + ends.lost == 0);
    CHECK(ends.corrected + ends.uncorrected == 0);
  }
}

TEST_CASE("ethernet: bursts on a lane are corrected up to seven symbols, and longer ones are errors, none silent") {
  std::mt19937_64 random{82};
  Ends ends{83, {2, 0, 3, 1}, {5, 700, 0, 1999}};
  ends.align();
  const unsigned bursts = exanet::testing::in_full() ? 4000 : 100;
  // 61 bits are in seven symbols at most.
  for (unsigned i = 0; i < bursts; ++i) {
    ends.line.burst(static_cast<unsigned>(random() % 4), static_cast<unsigned>(1 + random() % 61), random());
    for (unsigned k = 0; k < 25; ++k) ends.cycle();
  }
  CHECK(ends.corrected > 2 * bursts);
  CHECK(ends.uncorrected + ends.errors + ends.silent + ends.lost == 0);
  // Longer than 80 bits: but for chance there are more than seven symbols, and two codewords at most.
  for (unsigned i = 0; i < bursts; ++i) {
    ends.line.burst(static_cast<unsigned>(random() % 4), static_cast<unsigned>(200 + random() % 400), random());
    for (unsigned k = 0; k < 60; ++k) ends.cycle();
  }
  CHECK(ends.uncorrected > bursts * 9 / 10);
  CHECK(ends.errors >= 70 * ends.uncorrected);
  CHECK(ends.silent == 0);
  CHECK(ends.lost == 0);
}

TEST_CASE("ethernet: behind a slip of a lane the receiver aligns anew") {
  std::mt19937_64 random{84};
  Ends ends{85, {1, 2, 3, 0}, {0, 99, 4641, 17}};
  ends.align();
  const unsigned slips = exanet::testing::in_full() ? 200 : 4;
  for (unsigned i = 0; i < slips; ++i) {
    CAPTURE(i);
    for (unsigned k = 0; k < 10 + random() % kWords; ++k) ends.cycle();
    const unsigned long before = ends.lost;
    ends.line.slip(static_cast<unsigned>(random() % 4), random() & 1);
    for (unsigned k = 0; ends.lost == before; ++k) {
      REQUIRE(k < kWords);
      ends.cycle();
    }
    ends.align();
  }
  CHECK(ends.lost == slips);
  CHECK(ends.silent == 0);
}
