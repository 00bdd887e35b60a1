// SPDX-License-Identifier: Apache-2.0
// Wrong bits of a line as they reach the link, behind the line's code. On a line of 64b/66b the descrambler (x^58 +
// x^39 + 1, IEEE 802.3 clause
// 49) makes three of each: the bit itself and those 39 and 58 bits later. On four lanes of 8b/10b the symbol with the
//     wrong bit becomes another
// one, so any bits of a byte may be wrong.
#pragma once

#include <cstdint>
#include <random>

#include "gateware/node/model/framing.hpp"

namespace exanet::gateware {

inline constexpr unsigned kLaneBits = 32;

template <typename Word>
class LineErrors {
 public:
  // `lane`: the one with wrong bits; -1: all of them.
  LineErrors(double bit_error_rate, std::uint64_t seed, int lane = -1)
      : rate_(bit_error_rate), lane_(lane), random_(seed), to_error_(draw()) {}

  std::uint64_t count() const { return count_; }  // wrong bits on the line

  // Turns one more bit of the line, in the word that comes next.
  void once() { once_ = true; }

  // The word as it comes out; without `exposed` only what earlier errors make of it.
  Word operator()(Word word, bool exposed = true) {
    const std::uint64_t echo = echo_;
    echo_ = 0;
    if constexpr (kLineBits<Word> == 64) set_part(word, 0, part(word, 0) ^ echo);
    if (once_) {
      strike(word, static_cast<unsigned>(random_() % kLineBits<Word>));
      once_ = false;
    }
    if (!exposed || to_error_ == UINT64_MAX) return word;
    const std::uint64_t bits = lane_ < 0 ? kLineBits<Word> : kLaneBits, first = lane_ < 0 ? 0 : kLaneBits * lane_;
    std::uint64_t left = bits;
    while (to_error_ < left) {
      strike(word, static_cast<unsigned>(first + bits - left + to_error_));
      left -= to_error_ + 1;
      to_error_ = draw();
    }
    to_error_ -= left;
    return word;
  }

 private:
  std::uint64_t draw() {
    if (rate_ <= 0) return UINT64_MAX;
    return std::geometric_distribution<std::uint64_t>(rate_)(random_);
  }
  void strike(Word& word, unsigned bit) {
    ++count_;
    if constexpr (kLineBits<Word> == 64) {
      for (const unsigned later : {0u, 39u, 58u}) {
        if (bit + later < 64)
          turn_bit(word, bit + later);
        else
          echo_ ^= std::uint64_t{1} << (bit + later - 64);
      }
    } else {
      const std::uint64_t wrong = 1 + random_() % 255;
      set_part(word, bit / 64, part(word, bit / 64) ^ wrong << bit % 64 / 8 * 8);
    }
  }

  double rate_;
  int lane_;
  std::mt19937_64 random_;
  std::uint64_t to_error_, echo_ = 0, count_ = 0;
  bool once_ = false;
};

}  // namespace exanet::gateware
