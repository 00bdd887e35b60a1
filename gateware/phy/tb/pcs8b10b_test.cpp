// SPDX-License-Identifier: Apache-2.0
// Both halves of a line of four lanes of 8b/10b against a coder by the tables of IEEE 802.3 clause 36, both columns:
// what the transmitter sends is those characters; words are found wherever they begin on each lane and however far, up
// to seven words, lanes are apart; a lane goes out of step where docs/gateware.md says; and one wrong bit in a word
// makes neither other flags nor flags of data.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "Vpcs8b10b_rx.h"
#include "Vpcs8b10b_tx.h"
#include "gateware/phy/tb/half.hpp"
#include "verilated.h"

using exanet::gateware::Half;

namespace {

constexpr unsigned kLanes = 4, kBytes = 4, kBits = 40;

// abcdei and fghj where the disparity is negative, and where it is positive.
constexpr std::array<std::array<std::string_view, 2>, 32> kSix = {{
    {"100111", "011000"}, {"011101", "100010"}, {"101101", "010010"}, {"110001", "110001"}, {"110101", "001010"},
    {"101001", "101001"}, {"011001", "011001"}, {"111000", "000111"}, {"111001", "000110"}, {"100101", "100101"},
    {"010101", "010101"}, {"110100", "110100"}, {"001101", "001101"}, {"101100", "101100"}, {"011100", "011100"},
    {"010111", "101000"}, {"011011", "100100"}, {"100011", "100011"}, {"010011", "010011"}, {"110010", "110010"},
    {"001011", "001011"}, {"101010", "101010"}, {"011010", "011010"}, {"111010", "000101"}, {"110011", "001100"},
    {"100110", "100110"}, {"010110", "010110"}, {"110110", "001001"}, {"001110", "001110"}, {"101110", "010001"},
    {"011110", "100001"}, {"101011", "010100"},
}};
constexpr std::array<std::array<std::string_view, 2>, 8> kFour = {{{"1011", "0100"},
                                                                   {"1001", "1001"},
                                                                   {"0101", "0101"},
                                                                   {"1100", "0011"},
                                                                   {"1101", "0010"},
                                                                   {"1010", "1010"},
                                                                   {"0110", "0110"},
                                                                   {"1110", "0001"}}};

// A lane's coder; bits in the order of the line.
class Coder {
 public:
  void put(bool control, unsigned byte, std::deque<bool>& bits) {
    if (control) {
      // Of the markers alone: K28.3 and K28.5.
      const std::string_view code = byte == 0x7C ? "0011110011" : "0011111010";
      for (const char bit : code) bits.push_back((bit == '1') != positive_);
      positive_ = !positive_;  // six of their bits are alike
      return;
    }
    const unsigned x = byte & 31, y = byte >> 5;
    part(kSix[x][positive_], bits);
    if (y == 7 && (positive_ ? x == 11 || x == 13 || x == 14 : x == 17 || x == 18 || x == 20))
      part(positive_ ? "1000" : "0111", bits);
    else
      part(kFour[y][positive_], bits);
  }
  // Not a character of the code, nor part of a comma; leaves the disparity as it was.
  void put_unsound(std::deque<bool>& bits) {
    for (const char bit : std::string_view{"0101010000"}) bits.push_back((bit == '1') != positive_);
  }

 private:
  void part(std::string_view code, std::deque<bool>& bits) {
    unsigned ones = 0;
    for (const char bit : code) {
      bits.push_back(bit == '1');
      ones += bit == '1';
    }
    if (2 * ones != code.size()) positive_ = 2 * ones > code.size();
  }
  bool positive_ = false;
};

// What goes over the four lanes, as words of a receiver's bus; lanes have `before[l]` bits of noise in front.
class Words {
 public:
  Words(std::mt19937_64& random, const std::array<unsigned, kLanes>& before) : random_(random) {
    for (unsigned l = 0; l < kLanes; ++l)
      for (unsigned i = 0; i < before[l]; ++i) bits_[l].push_back(random_() & 1);
  }
  void data(const std::array<std::uint32_t, 4>& word) {
    for (unsigned l = 0; l < kLanes; ++l)
      for (unsigned b = 0; b < kBytes; ++b) coder_[l].put(false, word[l] >> 8 * b & 255, bits_[l]);
  }
  // With K28.3 16 to 31 words behind the last one.
  void flags(unsigned flags) {
    const bool align = left_ == 0;
    left_ = align ? 15 + static_cast<unsigned>(random_() % 16) : left_ - 1;
    for (unsigned l = 0; l < kLanes; ++l)
      for (unsigned b = 0; b < kBytes; ++b)
        coder_[l].put(b == 0, b > 0 ? l << 4 | flags : align ? 0x7C : 0xBC, bits_[l]);
  }
  // A word of which one character on one lane is none.
  void unsound(unsigned lane) {
    for (unsigned l = 0; l < kLanes; ++l)
      for (unsigned b = 0; b < kBytes; ++b)
        if (l == lane && b == 2)
          coder_[l].put_unsound(bits_[l]);
        else
          coder_[l].put(false, 0x4A, bits_[l]);
  }
  // A bit of the last word.
  void turn(unsigned lane, unsigned bit) {
    const std::size_t at = bits_[lane].size() - 1 - bit;
    bits_[lane][at] = !bits_[lane][at];
  }
  // Two lanes change places at the receiver.
  void swap(unsigned one, unsigned other) { std::swap(plugged_[one], plugged_[other]); }
  // A lane's next bits go missing.
  void lose(unsigned lane, unsigned bits) { missing_[lane] += bits; }
  bool has_word() {
    bool there = true;
    for (unsigned l = 0; l < kLanes; ++l) {
      for (; missing_[l] > 0 && !bits_[l].empty(); --missing_[l]) bits_[l].pop_front();
      there = there && bits_[l].size() >= kBits;
    }
    return there;
  }
  template <class Bus>
  void take(Bus& bus) {
    for (unsigned w = 0; w < 5; ++w) bus[w] = 0;
    for (unsigned l = 0; l < kLanes; ++l)
      for (unsigned i = 0; i < kBits; ++i) {
        const unsigned at = l * kBits + i;
        std::deque<bool>& bits = bits_[plugged_[l]];
        bus[at / 32] |= EData{bits.front()} << at % 32;
        bits.pop_front();
      }
  }

 private:
  std::mt19937_64& random_;
  unsigned left_ = 15;
  std::array<std::deque<bool>, kLanes> bits_;
  std::array<unsigned, kLanes> missing_{}, plugged_{0, 1, 2, 3};
  std::array<Coder, kLanes> coder_;
};

using Word = std::array<std::uint32_t, 4>;

Word draw(std::mt19937_64& random) {
  Word word;
  for (std::uint32_t& part : word) part = static_cast<std::uint32_t>(random());
  return word;
}

// A receiver that is fed, and what it has passed on.
struct Receiver {
  Half<Vpcs8b10b_rx> rx;
  std::vector<Word> data;
  std::vector<unsigned> flags;
  Receiver() { rx.model.signal_i = 1; }
  void feed(Words& words) {
    while (words.has_word()) {
      words.take(rx.model.data_i);
      step();
    }
  }
  void step() {
    rx.edge();
    if (!rx.model.valid_o) return;
    const Word word{rx.model.data_o[0], rx.model.data_o[1], rx.model.data_o[2], rx.model.data_o[3]};
    if (rx.model.control_o)
      flags.push_back(word[0]);
    else
      data.push_back(word);
  }
  bool locked() const { return rx.model.locked_o; }
};

// Control words until the receiver is in step, and the rest of what is on its way.
unsigned bring_up(Receiver& receiver, Words& words, unsigned most) {
  unsigned sent = 0;
  for (; sent < most && !receiver.locked(); ++sent) {
    words.flags(5);
    receiver.feed(words);
  }
  for (int i = 0; i < 16; ++i) {
    words.flags(5);
    receiver.feed(words);
  }
  return sent;
}

}  // namespace

TEST_CASE("pcs8b10b: the transmitter's characters are those of the tables") {
  std::mt19937_64 random{7};
  Half<Vpcs8b10b_tx> tx;
  std::array<Coder, kLanes> coder;
  unsigned flags = 4;  // out of a reset: a restart is asked for
  struct Item {
    bool control;
    Word word;
  };
  std::deque<Item> sent{{true, {flags, 0, 0, 0}}};
  unsigned wrong = 0, aligned = 0, apart = 0, since = 100, closest = 100, distances = 0;
  for (unsigned cycle = 0; cycle < 6000; ++cycle, ++since) {
    const bool valid = random() % 4 != 0, control = random() % 8 == 0;
    Word word = draw(random);
    if (control) word = {static_cast<std::uint32_t>(random() % 16), 0, 0, 0};
    tx.model.valid_i = valid;
    tx.model.control_i = control;
    for (unsigned w = 0; w < 4; ++w) tx.model.data_i[w] = word[w];
    tx.model.eval();
    CHECK((tx.model.read_o != 0) == valid);
    if (valid && control) flags = word[0];
    sent.push_back(valid && !control ? Item{false, word} : Item{true, {flags, 0, 0, 0}});
    tx.edge();
    if (cycle == 0) continue;
    const Item item = sent.front();
    sent.pop_front();
    unsigned of_align = 0;
    for (unsigned l = 0; l < kLanes; ++l) {
      std::deque<bool> got;
      for (unsigned i = 0; i < kBits; ++i)
        got.push_back(tx.model.data_o[(l * kBits + i) / 32] >> (l * kBits + i) % 32 & 1);
      const Coder before = coder[l];
      const auto coded = [&](unsigned marker) {
        std::deque<bool> want;
        coder[l] = before;
        for (unsigned b = 0; b < kBytes; ++b)
          if (item.control)
            coder[l].put(b == 0, b == 0 ? marker : l << 4 | item.word[0], want);
          else
            coder[l].put(false, item.word[l] >> 8 * b & 255, want);
        return want;
      };
      if (coded(0xBC) == got) continue;
      if (item.control && coded(0x7C) == got)
        ++of_align;
      else
        ++wrong;
    }
    if (of_align == 0) continue;
    ++aligned;
    apart += of_align != kLanes;
    closest = std::min(closest, since);
    if (since < 32) distances |= 1u << since;
    since = 0;
  }
  CHECK(wrong == 0);
  CHECK(aligned > 100);
  CHECK(apart == 0);
  CHECK(closest == 16);
  CHECK(std::popcount(distances) > 10);  // drawn
}

TEST_CASE("pcs8b10b: words are found wherever they begin, on lanes up to seven words apart") {
  std::mt19937_64 random{13};
  unsigned longest = 0;
  for (unsigned trial = 0; trial < 120; ++trial) {
    CAPTURE(trial);
    std::array<unsigned, kLanes> before;
    // Every place of a word on the first lane; the farthest apart on some.
    for (unsigned l = 0; l < kLanes; ++l) before[l] = static_cast<unsigned>(random() % (7 * kBits + 1));
    before[0] = trial % kBits;
    if (trial % 3 == 0) before[1 + trial % 2] = before[0] + 7 * kBits;
    for (unsigned l = 1; l < kLanes; ++l) before[l] = std::max(before[l], before[0]);
    Receiver receiver;
    Words words{random, before};
    longest = std::max(longest, bring_up(receiver, words, 400));
    REQUIRE(receiver.locked());
    REQUIRE(!receiver.flags.empty());
    std::vector<Word> sent;
    for (unsigned i = 0; i < 300; ++i) {
      if (random() % 8 == 0) {
        words.flags(i % 16);
      } else {
        sent.push_back(draw(random));
        words.data(sent.back());
      }
      receiver.feed(words);
    }
    for (int i = 0; i < 24; ++i) words.flags(5);
    receiver.feed(words);
    CHECK(receiver.locked());
    CHECK(receiver.data == sent);
  }
  MESSAGE("words found within " << longest << " words");
  CHECK(longest <= 220);
}

TEST_CASE("pcs8b10b: lanes further apart are not put side by side, and a lane that moves is noticed") {
  std::mt19937_64 random{17};
  for (unsigned apart = 8; apart < 40; ++apart) {
    CAPTURE(apart);
    std::array<unsigned, kLanes> before{};
    before[1 + apart % 3] = apart * kBits;
    Receiver receiver;
    Words words{random, before};
    bring_up(receiver, words, 2000);
    CHECK(!receiver.locked());
    CHECK(receiver.data.empty());
    CHECK(receiver.flags.empty());
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    Receiver receiver;
    Words words{random, {}};
    bring_up(receiver, words, 400);
    REQUIRE(receiver.locked());
    words.lose(lane, kBits);  // a whole word: every character stays sound
    unsigned sent = 0;
    for (; sent < 200 && receiver.locked(); ++sent) {
      words.flags(5);
      receiver.feed(words);
    }
    CHECK(!receiver.locked());
    CHECK(sent <= 4 * 31 + 24);
    bring_up(receiver, words, 400);
    CHECK(receiver.locked());
  }
}

TEST_CASE("pcs8b10b: lanes that have changed places bring no flags") {
  std::mt19937_64 random{29};
  Receiver receiver;
  Words words{random, {0, 41, 82, 3}};
  words.swap(1, 3);
  bring_up(receiver, words, 400);
  CHECK(receiver.locked());
  CHECK(receiver.flags.empty());
}

TEST_CASE("pcs8b10b: unsound words put a lane out of step at four, and four sound ones make up for one") {
  std::mt19937_64 random{19};
  for (unsigned lane = 0; lane < kLanes; ++lane)
    for (const auto [bad, good, stays] :
         {std::array<int, 3>{1, 4, 1}, {1, 3, 0}, {3, 12, 1}, {3, 11, 0}, {4, 40, 0}, {2, 8, 1}}) {
      CAPTURE(lane);
      CAPTURE(bad);
      CAPTURE(good);
      Receiver receiver;
      Words words{random, {3, 50, 90, 130}};
      bring_up(receiver, words, 400);
      REQUIRE(receiver.locked());
      bool held = true;
      for (int round = 0; round < 40 && held; ++round) {
        for (int i = 0; i < bad; ++i) words.unsound(lane);
        for (int i = 0; i < good; ++i) words.data(draw(random));
        receiver.feed(words);
        held = receiver.locked();
      }
      for (int i = 0; i < 8; ++i) words.data(draw(random));
      receiver.feed(words);
      CHECK((held && receiver.locked()) == (stays != 0));
    }
}

TEST_CASE("pcs8b10b: one wrong bit in a word makes neither other flags nor flags of data") {
  std::mt19937_64 random{23};
  Receiver receiver;
  Words words{random, {0, 45, 81, 122}};
  bring_up(receiver, words, 400);
  REQUIRE(receiver.locked());
  for (int i = 0; i < 20; ++i) words.flags(9);
  receiver.feed(words);
  receiver.data.clear();
  receiver.flags.clear();
  std::uint64_t turned = 0, data = 0;
  for (unsigned i = 0; i < 80'000; ++i) {
    const bool control = random() % 2 == 0;
    if (control) {
      words.flags(9);
    } else {
      // Bytes that a wrong bit makes a marker's are among them more often than by chance.
      Word word = draw(random);
      for (std::uint32_t& part : word)
        if (random() % 4 == 0) part = (part & ~255u) | (random() % 2 ? 0xBC : 0x7C);
      words.data(word);
      ++data;
    }
    if (i % 40 == 0) {
      words.turn(static_cast<unsigned>(random() % kLanes), static_cast<unsigned>(random() % kBits));
      ++turned;
    }
    receiver.feed(words);
  }
  MESSAGE(turned << " wrong bits; " << data - receiver.data.size() << " words of " << data << " dropped");
  CHECK(receiver.locked());
  unsigned other = 0;
  for (const unsigned flags : receiver.flags) other += flags != 9;
  CHECK(other == 0);
  CHECK(receiver.data.size() <= data);
  CHECK(receiver.data.size() >= data - turned);
}
