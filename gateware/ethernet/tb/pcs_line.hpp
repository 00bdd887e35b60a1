// SPDX-License-Identifier: Apache-2.0
// The four lanes between two ends of 100GBASE-R: each with its own delay, in any order, with wrong bits and slips.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <random>

#include "gateware/ethernet/tb/wide_bits.hpp"

namespace exanet::gateware {

class PcsLine {
 public:
  // Lane `l` of the sender arrives as lane `order[l]`, `delays[l]` bits later.
  PcsLine(std::array<unsigned, 4> order, std::array<unsigned, 4> delays) : order_{order} {
    for (unsigned l = 0; l < 4; ++l) bits_[l].assign(128 + delays[l], 0);
  }
  template <class Sender, class Receiver>
  void pass(const Sender& sender, Receiver& receiver) {
    for (unsigned l = 0; l < 4; ++l) {
      auto& bits = bits_[l];
      for (unsigned i = 0; i < 128; ++i) bits.push_back(bits_of(sender, 128 * l + i, 1) ^ wrong(l));
      for (unsigned i = 0; i < 128; ++i) {
        set_bits(receiver, 128 * order_[l] + i, 1, bits.front());
        bits.pop_front();
      }
    }
  }
  // So many bits of a lane are drawn from now on.
  void burst(unsigned lane, unsigned bits, std::uint64_t seed) {
    burst_[lane] = bits;
    random_.seed(seed);
  }
  // A bit comes twice, or not at all.
  void slip(unsigned lane, bool twice) {
    if (twice)
      bits_[lane].push_front(bits_[lane].front());
    else
      bits_[lane].pop_front();
  }

 private:
  unsigned wrong(unsigned lane) {
    if (!burst_[lane]) return 0;
    --burst_[lane];
    return random_() & 1;
  }
  std::array<unsigned, 4> order_, burst_{};
  std::array<std::deque<std::uint8_t>, 4> bits_;
  std::mt19937_64 random_;
};

}  // namespace exanet::gateware
