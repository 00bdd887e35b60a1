// SPDX-License-Identifier: Apache-2.0
// Encoder and decoder of RS(528,514) against a polynomial division, codewords with 0 to 8 wrong symbols between them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <random>

#include "Veth_fec_decoder.h"
#include "Veth_fec_encoder.h"
#include "core/units/size_harness.hpp"
#include "gateware/ethernet/tb/fec_reference.hpp"
#include "gateware/ethernet/tb/wide_bits.hpp"
#include "gateware/phy/tb/half.hpp"

namespace {
using namespace exanet::gateware;

constexpr unsigned kChunk = 514, kRow = 132, kSteps = 10, kLatency = 58;

// What the Python package reedsolo makes of the message 0, 1, 2, ... 513; tests/unit/test_ethernet_fec.py compares it.
constexpr std::array<std::uint16_t, fec::kParity> kLibraryParity{50,  868, 380, 280, 841, 435, 1015,
                                                                 875, 433, 667, 96,  823, 273, 57};

fec::Codeword drawn(std::mt19937_64& random) {
  fec::Codeword word{};
  for (unsigned i = 0; i < fec::kMessage; ++i) word[i] = random() & 1023;
  fec::encode(word);
  return word;
}

// A codeword's bits in the order of each lane, and those of its message.
struct Bits {
  std::array<std::array<std::uint32_t, 42>, 4> lanes{};
  std::array<std::uint32_t, 161> message{};
  explicit Bits(const fec::Codeword& word) {
    for (unsigned i = 0; i < fec::kSymbols; ++i) set_bits(lanes[i % 4], 10 * (i / 4), 10, word[i]);
    for (unsigned i = 0; i < fec::kMessage; ++i) set_bits(message, 10 * i, 10, word[i]);
  }
  template <class Words>
  void put_row(Words& row, unsigned step) const {
    for (unsigned i = 0; i < 4 * kRow; i += 44)
      set_bits(row, i, 44, bits_of(lanes[i / kRow], kRow * step + i % kRow, 44));
  }
  template <class Words>
  bool is_row(const Words& row, unsigned step) const {
    for (unsigned i = 0; i < 4 * kRow; i += 44)
      if (bits_of(row, i, 44) != bits_of(lanes[i / kRow], kRow * step + i % kRow, 44)) return false;
    return true;
  }
  template <class Words>
  void put_chunk(Words& chunk, unsigned step) const {
    for (unsigned i = 0; i < kChunk; i += 64)
      set_bits(chunk, i, std::min(64U, kChunk - i), bits_of(message, kChunk * step + i, std::min(64U, kChunk - i)));
  }
  template <class Words>
  bool is_chunk(const Words& chunk, unsigned step) const {
    for (unsigned i = 0; i < kChunk; i += 64)
      if (bits_of(chunk, i, std::min(64U, kChunk - i)) !=
          bits_of(message, kChunk * step + i, std::min(64U, kChunk - i)))
        return false;
    return true;
  }
};

// Makes `count` symbols of a codeword wrong, of a burst on one lane, next to each other, or anywhere.
void damage(fec::Codeword& word, unsigned count, std::mt19937_64& random) {
  std::vector<unsigned> places;
  const unsigned kind = random() % 3;
  const unsigned from = random() % fec::kSymbols;
  while (places.size() < count) {
    const auto more = static_cast<unsigned>(places.size());
    const unsigned place = kind == 0   ? (from + more) % fec::kSymbols
                           : kind == 1 ? (from + 4 * more) % fec::kSymbols
                                       : random() % fec::kSymbols;
    if (std::ranges::find(places, place) == places.end()) places.push_back(place);
  }
  for (const unsigned place : places) word[place] ^= 1 + random() % 1023;
}

struct Outcome {
  unsigned long right = 0, detected = 0, silent = 0, miscounted = 0;
};

// Sends codewords without a stop but those of `stalls`, and counts what becomes of those with so many wrong symbols.
std::array<Outcome, 12> decoded(unsigned long codewords, unsigned most, bool bypass, bool stalls, unsigned seed) {
  std::mt19937_64 random{seed};
  Half<Veth_fec_decoder> decoder;
  decoder.model.bypass_i = bypass;
  struct Sent {
    Bits bits;
    unsigned wrong;
    bool same = true;
  };
  std::deque<Sent> sent;
  std::array<Outcome, 12> outcomes{};
  std::vector<fec::Codeword> words;
  for (int i = 0; i < 64; ++i) words.push_back(drawn(random));
  std::optional<Bits> line;
  unsigned long in = 0, out = 0;  // steps
  while (out < codewords * kSteps) {
    decoder.model.step_i = !stalls || random() % 33 != 0;
    if (decoder.model.step_i) {
      if (in % kSteps == 0) {
        // Sums of codewords are codewords: all of them differ.
        const auto &a = words[random() % 64], &b = words[random() % 64], &c = words[random() % 64];
        fec::Codeword word{};
        for (unsigned i = 0; i < fec::kSymbols; ++i) word[i] = a[i] ^ b[i] ^ c[i];
        const Bits right{word};
        const auto wrong = static_cast<unsigned>(random() % (most + 1));
        damage(word, wrong, random);
        line.emplace(word);
        sent.push_back({.bits = bypass ? *line : right, .wrong = wrong});
      }
      line->put_row(decoder.model.lanes_i, in % kSteps);
      ++in;
    }
    decoder.edge();
    if (!decoder.model.step_i || in < kLatency) continue;
    REQUIRE(decoder.model.valid_o);
    REQUIRE(decoder.model.first_o == (out % kSteps == 0));
    Sent& now = sent.front();
    now.same = now.same && now.bits.is_chunk(decoder.model.chunk_o, out % kSteps);
    if (++out % kSteps != 0) continue;
    Outcome& outcome = outcomes.at(now.wrong);
    if (decoder.model.bad_o)
      ++outcome.detected;
    else if (now.same)
      ++outcome.right;
    else
      ++outcome.silent;
    if (!bypass && !decoder.model.bad_o && now.same) outcome.miscounted += decoder.model.corrected_o != now.wrong;
    sent.pop_front();
  }
  return outcomes;
}

// Words within seven symbols of a codeword are taken for it: their share of all words.
double mistaken() {
  double share = 0, ways = 1;
  for (unsigned i = 0; i <= fec::kCorrectable; ++i) {
    share += ways * std::pow(1023.0, i) / std::pow(1024.0, fec::kParity);
    ways *= static_cast<double>(fec::kSymbols - i) / (i + 1);
  }
  return share;
}
}  // namespace

TEST_CASE("ethernet: the bench's own encoder gives the codeword of another library") {
  fec::Codeword word{};
  for (unsigned i = 0; i < fec::kMessage; ++i) word[i] = static_cast<std::uint16_t>(i);
  fec::encode(word);
  CHECK(std::equal(kLibraryParity.begin(), kLibraryParity.end(), word.begin() + fec::kMessage));
}

TEST_CASE("ethernet: the encoder's parity is that of a polynomial division, with stops and without") {
  std::mt19937_64 random{71};
  for (const bool stalls : {false, true}) {
    CAPTURE(stalls);
    Half<Veth_fec_encoder> encoder;
    std::deque<Bits> sent;
    const unsigned long codewords = exanet::testing::in_full() ? 20'000 : 300;
    unsigned long in = 0, out = 0, wrong = 0;
    while (out < codewords * kSteps) {
      encoder.model.step_i = !stalls || random() % 3 != 0;
      if (encoder.model.step_i) {
        if (in % kSteps == 0) sent.emplace_back(drawn(random));
        sent.back().put_chunk(encoder.model.chunk_i, in % kSteps);
        ++in;
      }
      encoder.model.eval();
      if (in > 4 && encoder.model.step_i) {
        REQUIRE(encoder.model.first_o == (out % kSteps == 0));
        wrong += !sent.front().is_row(encoder.model.lanes_o, out % kSteps);
        if (++out % kSteps == 0) sent.pop_front();
      }
      encoder.edge();
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("ethernet: the decoder corrects up to seven wrong symbols, and detects eight but for the expected share") {
  const unsigned long codewords = exanet::testing::in_full() ? 1'000'000 : 3000;
  const auto outcomes = decoded(codewords, 8, false, true, 72);
  for (unsigned wrong = 0; wrong <= fec::kCorrectable; ++wrong) {
    CAPTURE(wrong);
    CHECK(outcomes[wrong].right > codewords / 10);
    CHECK(outcomes[wrong].detected == 0);
    CHECK(outcomes[wrong].silent == 0);
    CHECK(outcomes[wrong].miscounted == 0);
  }
  const Outcome& eight = outcomes[8];
  const double expected = mistaken() * static_cast<double>(eight.detected + eight.silent);
  MESSAGE(codewords << " codewords; of " << eight.detected + eight.silent << " with eight wrong symbols "
                    << eight.silent << " are taken for another codeword, expected " << expected);
  CHECK(eight.right == 0);
  CHECK(static_cast<double>(eight.silent) <= expected + 4 * std::sqrt(expected));  // none below 0.05 expected
}

TEST_CASE("ethernet: seven wrong symbols in codeword after codeword keep the decoder's time") {
  const auto outcomes = decoded(exanet::testing::in_full() ? 20'000 : 300, 7, false, false, 73);
  for (unsigned wrong = 0; wrong <= fec::kCorrectable; ++wrong)
    CHECK(outcomes[wrong].detected + outcomes[wrong].silent == 0);
}

TEST_CASE("ethernet: a decoder that is bypassed gives symbols as they came, and says which messages have wrong ones") {
  const auto outcomes = decoded(exanet::testing::in_full() ? 20'000 : 300, 11, true, true, 74);
  CHECK(outcomes[0].detected == 0);
  CHECK(outcomes[0].silent == 0);
  for (unsigned wrong = 1; wrong < outcomes.size(); ++wrong) CHECK(outcomes[wrong].right + outcomes[wrong].silent == 0);
}
