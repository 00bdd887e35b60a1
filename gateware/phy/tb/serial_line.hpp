// SPDX-License-Identifier: Apache-2.0
// One direction of a cable between transceivers, a lane or several: bits in the order of the line, whatever the words'
// borders are at the far end. Wrong bits are those of the line, before a descrambler or a decoder makes more of them. A
// cable that is pulled brings noise; the next time it is plugged the borders lie elsewhere, and so do the lanes.
#pragma once

#include <cstdint>
#include <deque>
#include <random>
#include <vector>

namespace exanet::gateware {

class SerialLine {
 public:
  // `bits` of a word, 64 at most.
  SerialLine(unsigned bits, unsigned latency_words, double bit_error_rate, std::uint64_t seed)
      : random_(seed),
        bits_(bits),
        mask_(~std::uint64_t{0} >> (64 - bits)),
        rate_(bit_error_rate),
        to_error_(draw()),
        words_(latency_words, 0),
        offset_(random_() % bits) {}

  void set_bit_error_rate(double rate) {
    rate_ = rate;
    to_error_ = draw();
  }
  std::uint64_t wrong_bits() const { return wrong_bits_; }
  bool plugged() const { return plugged_; }
  void plug(bool plugged) {
    plugged_ = plugged;
    offset_ = random_() % bits_;
  }
  // The far end's borders move by a bit, as when its transceiver loses its place.
  void slip() { offset_ = (offset_ + 1) % bits_; }

  void put(std::uint64_t word) { words_.push_back(word); }
  std::uint64_t take() {
    std::uint64_t word = 0;
    if (!words_.empty()) {
      word = words_.front();
      words_.pop_front();
    }
    if (!plugged_) word = random_() & mask_;
    for (; to_error_ < bits_; to_error_ += 1 + draw()) {
      word ^= std::uint64_t{1} << to_error_;
      ++wrong_bits_;
    }
    if (to_error_ != UINT64_MAX) to_error_ -= bits_;
    const std::uint64_t out = offset_ == 0 ? before_ : before_ >> offset_ | word << (bits_ - offset_);
    before_ = word;
    return out & mask_;
  }

 private:
  std::uint64_t draw() {
    if (rate_ <= 0) return UINT64_MAX;
    return std::geometric_distribution<std::uint64_t>(rate_)(random_);
  }

  std::mt19937_64 random_;
  std::uint64_t bits_, mask_;
  double rate_;
  std::uint64_t to_error_, before_ = 0, wrong_bits_ = 0;
  std::deque<std::uint64_t> words_;
  std::uint64_t offset_;
  bool plugged_ = true;
};

// Lanes of one length, but for up to `skew` words.
class Cable {
 public:
  Cable(unsigned lanes, unsigned bits, unsigned latency_words, unsigned skew, double bit_error_rate, std::uint64_t seed)
      : random_(seed) {
    for (unsigned lane = 0; lane < lanes; ++lane)
      lanes_.emplace_back(bits, latency_words + static_cast<unsigned>(random_() % (skew + 1)), bit_error_rate,
                          random_());
  }
  void set_bit_error_rate(double rate) {
    for (SerialLine& lane : lanes_) lane.set_bit_error_rate(rate);
  }
  std::uint64_t wrong_bits() const {
    std::uint64_t sum = 0;
    for (const SerialLine& lane : lanes_) sum += lane.wrong_bits();
    return sum;
  }
  void plug(bool plugged) {
    for (SerialLine& lane : lanes_) lane.plug(plugged);
  }
  void slip() { lanes_[random_() % lanes_.size()].slip(); }
  SerialLine& lane(unsigned lane) { return lanes_[lane]; }

 private:
  std::mt19937_64 random_;
  std::vector<SerialLine> lanes_;
};

}  // namespace exanet::gateware
