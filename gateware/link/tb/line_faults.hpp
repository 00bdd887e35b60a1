// SPDX-License-Identifier: Apache-2.0
// Faults on a line by what its words are: it follows the framing of the sender, which is never wrong, so that wrong bits can be kept to one kind
// of word, and knows how many packets it has touched.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <random>

#include "core/spec/integrity.hpp"

namespace exanet::gateware {

enum LineWord : unsigned { kMagic = 1, kStart = 2, kCredit = 4, kHeader = 8, kPayload = 16, kFooter = 32, kAnyWord = 63 };

struct FaultConfig {
  unsigned kinds = kAnyWord;      // words that the rates below apply to
  double bit_error_rate = 0;
  double wrecked = 0;             // share of words in which up to eight bits are turned
  double dropped = 0;
  double repeated = 0;            // the word comes twice; four later the line drops one to be in time again
  double illegal = 0;             // share of headers replaced by one with right check bits, too long or for a node that is not there
  std::uint64_t down_every = 0, down_for = 0;  // in words
};

class LineFaults {
 public:
  LineFaults(FaultConfig config, std::uint64_t seed) : config_(config), random_(seed) { next_error(); }

  std::uint64_t packets_touched() const { return touched_; }
  std::uint64_t words_touched() const { return words_touched_; }
  void stop() { config_ = {.kinds = 0}; }

  std::optional<std::uint64_t> operator()(std::uint64_t word) {
    const unsigned kind = classify(word);
    std::optional<std::uint64_t> out = (kind & config_.kinds) ? disturb(word, kind) : word;
    ++count_;
    if (config_.down_every && count_ % config_.down_every < config_.down_for) out.reset();
    if (out != word) touch();
    return slip(out, kind);
  }

 private:
  double draw() { return std::uniform_real_distribution<double>()(random_); }

  unsigned classify(std::uint64_t word) {
    if (!magic_ && word == spec::kMagicWord) {
      magic_ = true;
      return position_ == 0 || position_ > 3 + 2 * words_ ? kMagic : data_kind();
    }
    const bool control = magic_ && word != spec::kMagicWord;
    magic_ = false;
    if (control) {
      if ((word & 3) != static_cast<unsigned>(spec::ControlKind::kStart)) return kCredit;
      position_ = 0;
      words_ = 0;
      new_packet_ = true;
      return kStart;
    }
    const unsigned kind = data_kind();
    if (++position_ == 2) words_ = (static_cast<unsigned>(word >> 38 & 0x3ff) + 15) / 16;
    return kind;
  }
  unsigned data_kind() const { return position_ < 2 ? kHeader : position_ < 2 + 2 * words_ ? kPayload : kFooter; }

  void next_error() {
    to_error_ = config_.bit_error_rate > 0 ? std::geometric_distribution<std::uint64_t>(config_.bit_error_rate)(random_) : UINT64_MAX;
  }
  std::optional<std::uint64_t> disturb(std::uint64_t word, unsigned kind) {
    const std::uint64_t was = word;
    std::uint64_t left = 64;
    while (to_error_ < left) {
      word ^= std::uint64_t{1} << (64 - left + to_error_);
      left -= to_error_ + 1;
      next_error();
    }
    if (to_error_ != UINT64_MAX) to_error_ -= left;
    if (config_.wrecked > 0 && draw() < config_.wrecked)
      for (std::uint64_t n = 1 + random_() % 8; n > 0; --n) word ^= std::uint64_t{1} << (random_() % 64);
    if (config_.illegal > 0 && kind == kHeader) word = forge(was, word);
    if (config_.dropped > 0 && draw() < config_.dropped) return std::nullopt;
    return word;
  }

  // Both halves of a header are rewritten, the check bits with them.
  std::uint64_t forge(std::uint64_t was, std::uint64_t word) {
    if (position_ == 1) {
      forging_ = draw() < config_.illegal;
      too_long_ = random_() % 2 == 0;
      lower_ = was;
      // The destination's lowest 16 bits are in the lower half; a node far outside of the machine.
      if (forging_ && !too_long_) lower_ = (was & 0x0000ffffffffffffull) | 0x0077ull << 48;
      return forging_ ? lower_ : word;
    }
    if (!forging_) return word;
    spec::Header header;
    header.raw = {static_cast<std::uint32_t>(lower_), static_cast<std::uint32_t>(lower_ >> 32), static_cast<std::uint32_t>(was),
                  static_cast<std::uint32_t>(was >> 32)};
    if (too_long_) header.set_length(513 + random_() % 511);
    spec::protect(header);
    return header.raw[2] | std::uint64_t{header.raw[3]} << 32;
  }

  std::optional<std::uint64_t> slip(std::optional<std::uint64_t> word, unsigned kind) {
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
  std::mt19937_64 random_;
  std::uint64_t to_error_ = UINT64_MAX, touched_ = 0, words_touched_ = 0, count_ = 0, lower_ = 0;
  std::deque<std::optional<std::uint64_t>> waiting_;
  unsigned position_ = 0, words_ = 0;
  bool magic_ = false, new_packet_ = false, forging_ = false, too_long_ = false;
};

}  // namespace exanet::gateware
