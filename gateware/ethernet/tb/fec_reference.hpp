// SPDX-License-Identifier: Apache-2.0
// RS(528,514) as a polynomial division, symbol by symbol: the reference of the gateware's encoder. Its tables are made
// here, from logarithms, so nothing is shared with those of the gateware.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace exanet::gateware::fec {

inline constexpr unsigned kSymbols = 528, kMessage = 514, kParity = 14, kCorrectable = 7;
using Codeword = std::array<std::uint16_t, kSymbols>;

class Field {
 public:
  Field() {
    unsigned a = 1;
    for (unsigned i = 0; i < 1023; ++i) {
      power_[i] = power_[i + 1023] = static_cast<std::uint16_t>(a);
      logarithm_[a] = i;
      a = (a << 1) ^ (a & 512 ? 0x409U : 0U);
    }
  }
  unsigned power(unsigned i) const { return power_[i % 1023]; }
  unsigned multiply(unsigned a, unsigned b) const { return a && b ? power_[logarithm_[a] + logarithm_[b]] : 0; }

 private:
  std::array<std::uint16_t, 2046> power_{};
  std::array<unsigned, 1024> logarithm_{};
};

inline const Field& field() {
  static const Field only;
  return only;
}

// Coefficients of the generator, that of x^14 first.
inline std::vector<unsigned> generator() {
  std::vector<unsigned> product{1};
  for (unsigned root = 0; root < kParity; ++root) {
    product.push_back(0);
    for (std::size_t i = product.size() - 1; i > 0; --i)
      product[i] ^= field().multiply(product[i - 1], field().power(root));
  }
  return product;
}

// Fills in the parity behind a message.
inline void encode(Codeword& word) {
  static const std::vector<unsigned> divisor = generator();
  std::array<unsigned, kSymbols> rest{};
  for (unsigned i = 0; i < kMessage; ++i) rest[i] = word[i];
  for (unsigned i = 0; i < kMessage; ++i) {
    const unsigned first = rest[i];
    if (!first) continue;
    for (unsigned k = 1; k <= kParity; ++k) rest[i + k] ^= field().multiply(first, divisor[k]);
  }
  for (unsigned i = kMessage; i < kSymbols; ++i) word[i] = static_cast<std::uint16_t>(rest[i]);
}

}  // namespace exanet::gateware::fec
