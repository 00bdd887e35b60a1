// SPDX-License-Identifier: Apache-2.0
// One direction of a cable between two transceivers: bits in the order of the line, whatever the words' borders are at the far end. Wrong bits are those of the
// line, before a descrambler makes more of them. A cable that is pulled brings noise; the next time it is plugged the borders lie elsewhere.
#pragma once

#include <cstdint>
#include <deque>
#include <random>

namespace exanet::gateware {

class SerialLine {
 public:
  SerialLine(unsigned latency_words, double bit_error_rate, std::uint64_t seed)
      : random_(seed), rate_(bit_error_rate), to_error_(draw()), words_(latency_words, 0), offset_(random_() % 64) {}

  void set_bit_error_rate(double rate) {
    rate_ = rate;
    to_error_ = draw();
  }
  std::uint64_t wrong_bits() const { return wrong_bits_; }
  bool plugged() const { return plugged_; }
  void plug(bool plugged) {
    plugged_ = plugged;
    offset_ = random_() % 64;
  }
  // The far end's borders move by a bit, as when its transceiver loses its place.
  void slip() { offset_ = (offset_ + 1) % 64; }

  void put(std::uint64_t word) { words_.push_back(word); }
  std::uint64_t take() {
    std::uint64_t word = 0;
    if (!words_.empty()) {
      word = words_.front();
      words_.pop_front();
    }
    if (!plugged_) word = random_();
    for (; to_error_ < 64; to_error_ += 1 + draw()) {
      word ^= std::uint64_t{1} << to_error_;
      ++wrong_bits_;
    }
    if (to_error_ != UINT64_MAX) to_error_ -= 64;
    const std::uint64_t out = offset_ == 0 ? before_ : before_ >> offset_ | word << (64 - offset_);
    before_ = word;
    return out;
  }

 private:
  std::uint64_t draw() {
    if (rate_ <= 0) return UINT64_MAX;
    return std::geometric_distribution<std::uint64_t>(rate_)(random_);
  }

  std::mt19937_64 random_;
  double rate_;
  std::uint64_t to_error_, before_ = 0, wrong_bits_ = 0;
  std::deque<std::uint64_t> words_;
  std::uint64_t offset_;
  bool plugged_ = true;
};

}  // namespace exanet::gateware
