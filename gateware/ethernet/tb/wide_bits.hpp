// SPDX-License-Identifier: Apache-2.0
// Bits of a port that is wider than 64 bits, which Verilator keeps in words of 32.
#pragma once

#include <algorithm>
#include <cstdint>

namespace exanet::gateware {

// Reads up to 64 bits from bit `at` on.
template <class Words>
std::uint64_t bits_of(const Words& words, unsigned at, unsigned count) {
  std::uint64_t found = 0;
  for (unsigned got = 0; got < count;) {
    const unsigned bit = (at + got) % 32, taken = std::min(32 - bit, count - got);
    found |= (static_cast<std::uint64_t>(words[(at + got) / 32]) >> bit & ((std::uint64_t{1} << taken) - 1)) << got;
    got += taken;
  }
  return found;
}

template <class Words>
void set_bits(Words& words, unsigned at, unsigned count, std::uint64_t value) {
  for (unsigned put = 0; put < count;) {
    const unsigned bit = (at + put) % 32, taken = std::min(32 - bit, count - put);
    const auto mask = static_cast<std::uint32_t>(((std::uint64_t{1} << taken) - 1) << bit);
    auto& word = words[(at + put) / 32];
    word = (word & ~mask) | (static_cast<std::uint32_t>(value >> put << bit) & mask);
    put += taken;
  }
}

}  // namespace exanet::gateware
