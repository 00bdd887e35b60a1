// SPDX-License-Identifier: Apache-2.0
// Both halves of 64b/66b against a model that goes bit by bit as IEEE 802.3 clause 49 says: the scrambler's bits are
// put right by a descrambler that begins anywhere, and block lock comes behind 64 sound headers in a row and goes with
// 16 unsound ones of 64, wherever among the bits the blocks begin.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "Vpcs_rx.h"
#include "Vpcs_tx.h"
#include "gateware/phy/tb/half.hpp"
#include "verilated.h"

using exanet::gateware::Half;

namespace {

// x^58 + x^39 + 1, both ways: the bits that went over the line, the newest one first.
class Line58 {
 public:
  explicit Line58(std::mt19937_64& random) {
    for (int i = 0; i < 58; ++i) line_.push_front(random() & 1);
  }
  bool scramble(bool bit) { return pass(bit ^ line_[38] ^ line_[57]); }
  bool descramble(bool bit) {
    const bool clear = bit ^ line_[38] ^ line_[57];
    pass(bit);
    return clear;
  }

 private:
  bool pass(bool bit) {
    line_.push_front(bit);
    line_.pop_back();
    return bit;
  }
  std::deque<bool> line_;
};

// The lock of clause 49 (figure 49-12), a header at a time; a slip ends the trial.
struct Lock {
  bool locked = false, slipped = false;
  unsigned headers = 0, invalid = 0;
  void take(bool sound) {
    ++headers;
    invalid += !sound;
    if (!sound && (invalid == 16 || !locked)) {
      locked = false;
      slipped = true;
    } else if (headers == 64) {
      locked = locked || invalid == 0;
      headers = invalid = 0;
    }
  }
};

std::uint64_t control_block(unsigned flags) { return 0x0101010101010100 * flags | 0x1E; }

// Blocks, scrambled, as words of a bus behind some bits of noise.
class Blocks {
 public:
  Blocks(std::mt19937_64& random, unsigned offset) : random_(random), scrambler_(random) {
    for (unsigned i = 0; i < offset; ++i) bits_.push_back(random_() & 1);
  }
  void put(unsigned header, std::uint64_t payload) {
    bits_.push_back(header & 1);
    bits_.push_back(header >> 1 & 1);
    for (int i = 0; i < 64; ++i) bits_.push_back(scrambler_.scramble(payload >> i & 1));
  }
  bool has_word() const { return bits_.size() >= 64; }
  std::uint64_t word() {
    std::uint64_t word = 0;
    for (int i = 0; i < 64; ++i) {
      word |= std::uint64_t{bits_.front()} << i;
      bits_.pop_front();
    }
    return word;
  }

 private:
  std::mt19937_64& random_;
  Line58 scrambler_;
  std::deque<bool> bits_;
};

constexpr unsigned kData = 2, kControl = 1;

}  // namespace

TEST_CASE("pcs: what the transmitter sends is read by a descrambler that begins anywhere") {
  std::mt19937_64 random{7};
  for (int trial = 0; trial < 4; ++trial) {
    Half<Vpcs_tx> tx;
    struct Item {
      bool control;
      std::uint64_t word;
    };
    std::deque<Item> sent;
    std::vector<bool> bits;
    constexpr unsigned kCycles = 33 * 120;
    tx.model.valid_i = 0;
    for (unsigned cycle = 0; cycle < kCycles; ++cycle) {
      if (!tx.model.valid_i) {
        tx.model.valid_i = random() % 4 != 0;
        tx.model.control_i = random() % 8 == 0;
        tx.model.data_i = tx.model.control_i ? random() % 16 : random();
      }
      tx.model.eval();
      const bool taken = tx.model.read_o;
      if (taken) sent.push_back({tx.model.control_i != 0, tx.model.data_i});
      tx.edge();
      if (taken) tx.model.valid_i = 0;
      for (int i = 0; i < 64; ++i) bits.push_back(tx.model.data_o >> i & 1);
    }
    // Blocks begin where all headers are sound.
    std::vector<std::size_t> begins;
    for (std::size_t offset = 66 * 4; offset < 66 * 5; ++offset) {
      bool sound = true;
      for (std::size_t at = offset; sound && at + 66 <= bits.size(); at += 66) sound = bits[at] != bits[at + 1];
      if (sound) begins.push_back(offset);
    }
    REQUIRE(begins.size() == 1);
    Line58 line{random};  // any state
    bool first = true, found = false;
    unsigned flags = 16, wrong = 0, words = 0, fillers = 0;
    for (std::size_t at = begins[0]; at + 66 <= bits.size(); at += 66) {
      std::uint64_t payload = 0;
      for (std::size_t i = 0; i < 64; ++i) payload |= std::uint64_t{line.descramble(bits[at + 2 + i])} << i;
      if (first) {
        first = false;
        continue;  // its bits are right behind the first 58
      }
      const bool control = bits[at];
      if (!found && !control) {  // the first word that was seen
        while (!sent.empty() && (sent.front().control || sent.front().word != payload)) sent.pop_front();
        found = true;
        REQUIRE(!sent.empty());
      }
      if (!found) continue;
      if (!sent.empty() && sent.front().control == control &&
          (control ? control_block(static_cast<unsigned>(sent.front().word)) : sent.front().word) == payload) {
        if (control) flags = static_cast<unsigned>(sent.front().word);
        words += !control;
        sent.pop_front();
      } else if (control && (flags == 16 || payload == control_block(flags))) {
        ++fillers;  // a gap, with the flags of before
      } else {
        ++wrong;
      }
    }
    CHECK(wrong == 0);
    CHECK(words > 2000);
    CHECK(fillers > 0);
    CHECK(sent.size() <= 3);  // in the gearbox
  }
}

TEST_CASE("pcs: block lock comes and goes as clause 49 says, header by header") {
  std::mt19937_64 random{11};
  unsigned kept_at_15 = 0, lost_at_16 = 0, broken_at_63 = 0;
  for (int trial = 0; trial < 400; ++trial) {
    CAPTURE(trial);
    Half<Vpcs_rx> rx;
    rx.model.signal_i = 1;
    Blocks blocks{random, 0};
    Lock lock;
    std::deque<bool> locked;  // behind each block
    std::deque<std::uint64_t> want, came;  // words
    unsigned bad_of_window = 0, placed = 0;
    std::uint64_t fed = 0, taken = 0;
    bool now = false;
    const unsigned first_bad =
        trial % 4 == 0 ? 60 + static_cast<unsigned>(random() % 6) : 1000;  // before the lock, or just behind
    for (unsigned block = 0; block < 64 * 12 && !lock.slipped; ++block) {
      if (block % 64 == 0) {
        constexpr unsigned kBad[] = {0, 1, 14, 15, 15, 16, 17};
        bad_of_window = block == 0 ? 0 : kBad[random() % 7];
        placed = 0;
      }
      const unsigned left = 64 - block % 64;
      const bool bad = block == first_bad || random() % left < bad_of_window - placed;
      placed += bad && block != first_bad;
      const std::uint64_t word = random();
      blocks.put(bad ? (random() & 1) * 3 : kData, word);
      if (!bad && lock.locked) want.push_back(word);
      const bool before = lock.locked;
      kept_at_15 += before && lock.headers == 63 && lock.invalid + bad == 15;
      lock.take(!bad);
      lost_at_16 += before && lock.slipped;
      broken_at_63 += !before && lock.slipped && block == 63;
      locked.push_back(lock.locked);
      for (; blocks.has_word(); ++fed) {
        rx.model.data_i = blocks.word();
        rx.edge();
        // Blocks that were whole a cycle before.
        for (; taken < 64 * fed / 66; ++taken) {
          now = locked.front();
          locked.pop_front();
        }
        REQUIRE((rx.model.locked_o != 0) == now);
        if (rx.model.valid_o) came.push_back(rx.model.data_o);
      }
    }
    // The last ones are on their way.
    for (int i = 0; i < 4 && want.size() > came.size(); ++i) want.pop_back();
    CHECK(came == want);
  }
  // Each edge was met.
  CHECK(kept_at_15 > 20);
  CHECK(lost_at_16 > 20);
  CHECK(broken_at_63 > 5);
}

TEST_CASE("pcs: blocks are found wherever they begin, and their words come whole") {
  std::mt19937_64 random{13};
  unsigned longest = 0;
  for (unsigned offset = 0; offset < 66; ++offset) {
    CAPTURE(offset);
    Half<Vpcs_rx> rx;
    rx.model.signal_i = 1;
    Blocks blocks{random, offset};
    std::vector<std::uint64_t> sent, came;
    unsigned until_lock = 0;
    bool was_locked = false;
    while (came.size() < 200 && sent.size() < 4000) {
      const bool control = random() % 8 == 0;
      const std::uint64_t word = control ? control_block(5) : random();
      blocks.put(control ? kControl : kData, word);
      if (!control) sent.push_back(word);
      until_lock += !was_locked;
      while (blocks.has_word()) {
        rx.model.data_i = blocks.word();
        rx.edge();
        CHECK((rx.model.locked_o || !was_locked));
        was_locked = rx.model.locked_o;
        if (rx.model.valid_o && rx.model.control_o) CHECK(rx.model.data_o == 5);
        if (rx.model.valid_o && !rx.model.control_o) came.push_back(rx.model.data_o);
      }
    }
    REQUIRE(came.size() >= 200);
    longest = std::max(longest, until_lock);
    const auto begin = std::find(sent.begin(), sent.end(), came[0]);
    REQUIRE(sent.end() - begin >= static_cast<std::ptrdiff_t>(came.size()));
    CHECK(std::equal(came.begin(), came.end(), begin));
  }
  MESSAGE("lock within " << longest << " blocks");
  CHECK(longest > 64);
  CHECK(longest < 66 * 8 + 64);
}
