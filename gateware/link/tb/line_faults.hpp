// SPDX-License-Identifier: Apache-2.0
// Faults on a line by what its words are: it follows the framing of the sender, which is never wrong, so that wrong
// bits can be kept to one kind of word, and knows how many packets it has touched.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <random>

#include "core/spec/integrity.hpp"
#include "gateware/link/tb/line_errors.hpp"

namespace exanet::gateware {

struct FaultConfig {
  unsigned kinds = kAnyWord;  // words that the rates below apply to
  double bit_error_rate = 0;  // of the line; what becomes of each: line_errors.hpp
  unsigned alone =
      0;  // words from one wrong bit to the next on average, and half as many at least, so that each comes alone
  double wrecked = 0;  // share of words in which up to eight bits are turned
  double dropped = 0;
  double repeated = 0;  // the word comes twice; four later the line drops one to be in time again
  double illegal =
      0;  // share of headers replaced by one with right check bits, too long or for a node that is not there
  std::uint64_t down_every = 0, down_for = 0;  // in words
  int bad_lane = -1;  // of 32 bits, the one whose bits are wrong; -1: all
  double late =
      0;  // share of words at which a lane, for four words, brings what it had a word before: deskew has failed
};

template <typename Word>
class LineFaults {
 public:
  LineFaults(FaultConfig config, std::uint64_t seed)
      : config_(config), errors_(config.bit_error_rate, ~seed, config.bad_lane), random_(seed) {}

  std::uint64_t packets_touched() const { return touched_; }
  std::uint64_t words_touched() const { return words_touched_; }
  std::uint64_t wrong_bits() const { return errors_.count(); }
  void stop() { config_ = {.kinds = 0}; }

  std::optional<Word> operator()(const Word& word) {
    const unsigned before = framing_.position();
    const LineWordKind kind = framing_.next(word);
    new_packet_ = new_packet_ || kind == kStart;
    if (config_.alone > 0 && to_next_-- == 0) {
      errors_.once();
      to_next_ = config_.alone / 2 + static_cast<unsigned>(random_() % config_.alone);
    }
    std::optional<Word> out = (kind & config_.kinds) ? disturb(word, kind, before) : errors_(word, false);
    ++count_;
    if (config_.down_every && count_ % config_.down_every < config_.down_for) out.reset();
    if (out) out = delay_lane(*out, word);
    if (out != word) touch();
    return slip(out, kind);
  }

 private:
  double draw() { return std::uniform_real_distribution<double>()(random_); }

  std::optional<Word> disturb(const Word& was, LineWordKind kind, unsigned position) {
    Word word = errors_(was);
    if (config_.wrecked > 0 && draw() < config_.wrecked)
      for (std::uint64_t n = 1 + random_() % 8; n > 0; --n) turn_bit(word, random_() % kLineBits<Word>);
    if (config_.illegal > 0 && kind == kHeader)
      for (unsigned i = 0; i < kLineBits<Word> / 64; ++i)
        set_part(word, i, forge(position + i, part(was, i), part(word, i)));
    if (config_.dropped > 0 && draw() < config_.dropped) return std::nullopt;
    return word;
  }

  // Both halves of a header are rewritten, the check bits with them.
  std::uint64_t forge(unsigned position, std::uint64_t was, std::uint64_t word) {
    if (position == 0) {
      forging_ = draw() < config_.illegal;
      too_long_ = random_() % 2 == 0;
      lower_ = was;
      // The destination's lowest 16 bits are in the lower half; a node far outside of the machine.
      if (forging_ && !too_long_) lower_ = (was & 0x0000ffffffffffffull) | 0x0077ull << 48;
      return forging_ ? lower_ : word;
    }
    if (!forging_) return word;
    spec::Header header;
    header.raw = {static_cast<std::uint32_t>(lower_), static_cast<std::uint32_t>(lower_ >> 32),
                  static_cast<std::uint32_t>(was), static_cast<std::uint32_t>(was >> 32)};
    if (too_long_) header.set_length(513 + random_() % 511);
    spec::protect(header);
    return header.raw[2] | std::uint64_t{header.raw[3]} << 32;
  }

  // 32 bits of the word are those of the word before.
  Word delay_lane(Word out, const Word& word) {
    if (config_.late > 0 && late_for_ == 0 && draw() < config_.late) {
      late_for_ = 4;
      late_lane_ = static_cast<unsigned>(random_() % (kLineBits<Word> / 32));
    }
    if (late_for_ > 0) {
      --late_for_;
      const unsigned i = late_lane_ / 2;
      const std::uint64_t mask = std::uint64_t{0xffffffff} << 32 * (late_lane_ % 2);
      set_part(out, i, (part(out, i) & ~mask) | (part(before_, i) & mask));
    }
    before_ = word;
    return out;
  }

  std::optional<Word> slip(std::optional<Word> word, unsigned kind) {
    if (config_.repeated <= 0 && waiting_.empty()) return word;
    waiting_.push_back(word);
    if ((kind & config_.kinds) && draw() < config_.repeated) {
      waiting_.push_back(word);
      touch();
    }
    const auto out = waiting_.front();
    waiting_.pop_front();
    if (waiting_.size() > 4) {
      waiting_.clear();
      touch();
    }
    return out;
  }

  void touch() {
    ++words_touched_;
    touched_ += new_packet_;
    new_packet_ = false;
  }

  FaultConfig config_;
  LineErrors<Word> errors_;
  std::mt19937_64 random_;
  std::uint64_t touched_ = 0, words_touched_ = 0, count_ = 0, lower_ = 0;
  std::deque<std::optional<Word>> waiting_;
  Framing<Word> framing_;
  Word before_{};
  unsigned to_next_ = 0, late_for_ = 0, late_lane_ = 0;
  bool new_packet_ = false, forging_ = false, too_long_ = false;
};

}  // namespace exanet::gateware
